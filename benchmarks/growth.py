"""How seconds and memory of a fit grow with rows, columns, components and seeds, each fit in a process of its own.

    python benchmarks/growth.py

One pass in each phase, after a small fit of the same shape that compiles everything. An exponent is that of the power
law through all sizes but the smallest numbers of rows and of columns, where what is the same for every fit has the
upper hand.
Memory is the peak of the process; of `newfound predict`, which reads a file piece by piece, too.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import exponent, in_process

USUAL = {"rows": 10_000, "columns": 50, "components": 20, "seeds": 1}
GROWING = {
    "rows": (1_000, 10_000, 100_000, 1_000_000),
    "columns": (10, 100, 1_000),
    "components": (10, 50, 200),
    "seeds": (1, 2, 4, 8),
}
TOO_SMALL = {"rows": 1_000, "columns": 10}  # to tell how seconds grow

FIT = """
import json, time
import numpy as np
from newfound import GMDGM, Config
rng = np.random.default_rng(0)
n_rows, n_columns = {rows}, {columns}
truth = rng.integers(0, 10, n_rows)
centres = 2 * rng.standard_normal((10, n_columns), dtype=np.float32)
X = rng.standard_normal((n_rows, n_columns), dtype=np.float32) + centres[truth]
y = np.where((truth < 5) & (rng.random(n_rows) < 0.2), truth, -1)
y[:10] = np.arange(10) % 5
brief = Config().replace(pretrain_epochs=1)
fit = GMDGM({components} - 5, n_init={seeds}, max_epochs=1, random_state=0, verbose=False, config=brief)
first = min(n_rows, 6000)
fit.fit(X[:first], y[:first])
before = peak_gb()
began = time.perf_counter()
fit.fit(X, y)
seconds = time.perf_counter() - began
print(json.dumps({{"seconds": seconds, "added_gb": peak_gb() - before, "peak_gb": peak_gb()}}))
"""

PREDICT = """
import json, sys
sys.argv = ["newfound", "predict", {run!r}, {table!r}, "--out", {out!r}]
from newfound.cli.app import app
try:
    app()
except SystemExit:
    pass
print(json.dumps({{"peak_gb": peak_gb()}}))
"""


def measure() -> dict[str, Any]:
    results: dict[str, Any] = {"exponents": {}}
    for what, sizes in GROWING.items():
        fits = {n: in_process(FIT.format(**USUAL | {what: n})) for n in sizes}
        enough = [n for n in sizes if n != TOO_SMALL.get(what)]
        results[what] = {str(n): _rounded(fit) for n, fit in fits.items()}
        results["exponents"][what] = round(exponent(enough, [fits[n]["seconds"] for n in enough]), 2)
        for n, fit in fits.items():
            print(f"{n:>9,} {what}: {fit['seconds']:.1f} s, {fit['peak_gb']:.2f} GB", flush=True)
    print("seconds ~", ", ".join(f"{what}^{power}" for what, power in results["exponents"].items()))
    results["streaming_peak_gb"] = streaming()
    print(f"newfound predict, peak by rows of the file: {results['streaming_peak_gb']}")
    return results


def streaming(sizes: tuple[int, ...] = (20_000, 200_000, 1_000_000)) -> dict[str, float]:
    """Peak memory of `newfound predict` over files of growing length."""
    import subprocess

    import numpy as np

    rng = np.random.default_rng(0)
    header = ",".join(f"c{i}" for i in range(20))
    block = rng.standard_normal((20_000, 20)).round(3)
    lines = "\n".join(",".join(map(str, row)) for row in block) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        small, run = Path(folder, "train.csv"), Path(folder, "run")
        kinds = rng.integers(0, 2, 2_000)
        small.write_text(
            header
            + ",label\n"
            + "".join(f"{','.join(map(str, row))},{k}\n" for row, k in zip(block[:2_000], kinds, strict=True))
        )
        fit = [sys.executable, "-m", "newfound", "fit", str(small), "--label", "label", "--out", str(run)]
        subprocess.run([*fit, "--epochs", "1"], check=True, capture_output=True)
        peaks = {}
        for n in sizes:
            table = Path(folder, f"{n}.csv")
            table.write_text(header + "\n" + lines * (n // len(block)))
            code = PREDICT.format(run=str(run), table=str(table), out=str(Path(folder, "out.csv")))
            peaks[str(n)] = round(in_process(code)["peak_gb"], 2)
    return peaks


def _rounded(fit: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in fit.items()}


if __name__ == "__main__":
    measure()
