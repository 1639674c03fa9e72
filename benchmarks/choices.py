"""Two settings of the paper's tables, chosen by what a user has: no test row is read here.

    NEWFOUND_DATA=... python benchmarks/choices.py

How many epochs SSVAE is trained on MNIST: the fewest whose accuracy on held-out labels, semi-supervised, is within one
standard error of the best. Where GM-DGM's components start: by the held-out ELBO, semi-unsupervised; a start is taken
if it is the better one on at least two of the three data sets, in the mean over seeds. Every finished fit is a line of
results/choices.jsonl, and is not made again.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from newfound import GMDGM, SSVAE
from newfound.data import load_named
from newfound.masking import paper_setup
from newfound.reproduce.presets import settings_of

RESULTS = Path(__file__).parent / "results" / "choices.jsonl"
FITS = [
    *(("ssvae", "mnist", "semi-supervised", seed, "max_epochs", n) for seed in range(4) for n in (10, 20, 40)),
    *(
        ("gmdgm", dataset, "semi-unsupervised", seed, "start", start)
        for seed in range(2)
        for dataset in ("mnist", "fashion-mnist", "har")
        for start in ("distances", "neighbours")
    ),
]
NAMES = ("model", "dataset", "regime", "seed", "setting", "value")


def fit(model: str, dataset: str, regime: str, seed: int, setting: str, value: Any) -> dict[str, float]:
    train = load_named(dataset).train
    y, n_new = paper_setup(regime, train.y, random_state=seed)
    settings = settings_of("quick", dataset, model) | {"validation_fraction": 0.1, setting: value}
    estimator = {"ssvae": SSVAE, "gmdgm": GMDGM}[model](n_new=n_new, random_state=seed, progress=False, **settings)
    history = estimator.fit(train.X, y).history_
    return {
        "heldout_accuracy": float(history["heldout_accuracy"][-1]),
        "heldout_elbo": float(history["heldout_elbo"][-1]),
        "seconds": round(float(history["seconds"][-1]), 1),
    }


def done() -> dict[tuple, dict[str, Any]]:
    lines = map(json.loads, RESULTS.read_text().splitlines()) if RESULTS.exists() else ()
    return {tuple(line[name] for name in NAMES): line for line in lines}


def main() -> None:
    for which in FITS:
        if which not in done():
            line = dict(zip(NAMES, which, strict=True)) | fit(*which)
            with RESULTS.open("a") as file:
                file.write(json.dumps(line) + "\n")
    results = done()
    print(
        f"{'model':<6} {'data':<14} {'value':<11} {'held-out accuracy, %':<21} held-out ELBO   (mean ± SE over seeds)"
    )
    for model, dataset, value in dict.fromkeys((which[0], which[1], which[5]) for which in FITS):
        lines = [results[which] for which in FITS if (which[0], which[1], which[5]) == (model, dataset, value)]
        accuracy = _mean([100 * line["heldout_accuracy"] for line in lines])
        elbo = _mean([line["heldout_elbo"] for line in lines])
        print(f"{model:<6} {dataset:<14} {value:<11} {accuracy:<21} {elbo}")


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"


if __name__ == "__main__":
    RESULTS.parent.mkdir(exist_ok=True)
    main()
