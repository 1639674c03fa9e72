"""Does a process that fits and predicts for long grow? 200 small fits, then 16 threads of predictions.

    python benchmarks/endurance.py            # or with fewer: python benchmarks/endurance.py 40

Prints resident memory as it goes, the growth of each fit over the second half, and whether every thread's answers have
the same bits. The first fits compile programs and fill caches; a leak is what goes on after that. Writes
benchmarks/results/endurance.json.
"""

import gc
import json
import sys
import threading
import warnings
from pathlib import Path
from resource import getpagesize

import numpy as np

from newfound import GMDGM
from newfound.config import Config

N_THREADS, N_PREDICTIONS = 16, 25
RESULT = Path(__file__).parent / "results" / "endurance.json"
FEW_BYTES = 50_000  # a fit may leave behind: less than one of its models, so no model is kept


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


def rows(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 4
    X = 4 * np.eye(5)[truth] + 0.3 * rng.standard_normal((n, 5))
    return X.astype(np.float32), np.where((truth < 2) & (np.arange(n) % 3 == 0), truth, -1)


def fit(seed: int) -> GMDGM:
    config = Config().replace(pretrain_epochs=2)
    settings = {"hidden_layer_sizes": (16, 16), "latent_dim": 2, "batch_size": 16, "max_epochs": 2, "verbose": False}
    return GMDGM(2, random_state=seed, config=config, **settings).fit(*rows(seed))


def many_fits(n: int) -> float:
    """Bytes that each fit of the second half left behind; a shape that is new is left out, since it is compiled."""
    used, is_compiled, shapes = [], [], set()
    for i in range(n):
        shape = fit(i).architecture_
        gc.collect()
        used.append(resident())
        is_compiled.append(shape not in shapes)
        shapes.add(shape)
        if (i + 1) % max(1, n // 10) == 0:
            print(f"{i + 1:4} fits: {used[-1] / 2**20:7.1f} MB, {len(shapes)} shapes compiled", flush=True)
    grown = np.diff(used)[n // 2 :][~np.array(is_compiled[1:])[n // 2 :]]
    print(f"growth over the second half: {grown.mean() / 1024:.1f} kB a fit")
    return float(grown.mean())


def many_threads() -> int:
    """How many of the threads' answers have other bits."""
    model, X = fit(0), rows(99, 1000)[0]
    expected, wrong = model.predict_proba(X).tobytes(), []

    def work() -> None:
        for _ in range(N_PREDICTIONS):
            if model.predict_proba(X).tobytes() != expected:
                wrong.append(1)

    before = resident()
    threads = [threading.Thread(target=work) for _ in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grown = (resident() - before) / 2**20
    print(
        f"{N_THREADS} threads, {N_PREDICTIONS} predictions of 1,000 rows each: {len(wrong)} differ, {grown:.1f} MB more"
    )
    return len(wrong)


def main(n: int) -> None:
    warnings.simplefilter("ignore")
    grown, n_wrong = many_fits(n), many_threads()
    about = {"fits": n, "bytes a fit": round(grown), "threads": N_THREADS, "predictions": N_THREADS * N_PREDICTIONS}
    about |= {"that differ": n_wrong, "grows": grown > FEW_BYTES}
    RESULT.write_text(json.dumps(about, indent=1) + "\n")
    sys.exit(grown > FEW_BYTES or n_wrong > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
