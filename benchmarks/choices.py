"""Two settings of the paper's tables, chosen by what a user has: no test row is read here.

    NEWFOUND_DATA=... python benchmarks/choices.py

How many epochs SSVAE is trained on MNIST: the fewest whose accuracy on validation labels, semi-supervised, is within
one standard error of the best. How GM-DGM's components are initialised: by the validation ELBO, semi-unsupervised; a
method is taken if it is the better one on at least two of the three data sets, in the mean over seeds. Every finished
fit is a line of results/choices.jsonl, and is not made again.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import repository  # noqa: F401

from experiments.named import load_named
from experiments.presets import changes_of, keywords
from experiments.tasks import paper_setup
from newfound.estimator import estimator_of

RESULTS = Path(__file__).parent / "results" / "choices.jsonl"
FITS = [
    *(("ssvae", "mnist", "semi-supervised", seed, "max_epochs", n) for seed in range(4) for n in (10, 20, 40)),
    *(
        ("gmdgm", dataset, "semi-unsupervised", seed, "init", init)
        for seed in range(2)
        for dataset in ("mnist", "fashion-mnist", "har")
        for init in ("kmeans", "graph")
    ),
]
NAMES = ("model", "dataset", "regime", "seed", "setting", "value")


def fit(model: str, dataset: str, regime: str, seed: int, setting: str, value: Any) -> dict[str, float]:
    train = load_named(dataset).train
    labels, n_new = paper_setup(regime, train.labels, random_state=seed)
    settings = keywords(changes_of("quick", dataset, model) | {"validation_fraction": 0.1, setting: value})
    estimator = estimator_of(model)(n_new=n_new, random_state=seed, verbose=False, **settings)
    history = estimator.fit(train.X, labels).history_
    return {
        "validation_accuracy": float(history["validation_accuracy"][-1]),
        "validation_elbo": float(history["validation_elbo"][-1]),
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
        f"{'model':<6} {'data':<14} {'value':<9} {'validation accuracy, %':<23} validation ELBO  (mean ± SE over seeds)"
    )
    for model, dataset, value in dict.fromkeys((which[0], which[1], which[5]) for which in FITS):
        lines = [results[which] for which in FITS if (which[0], which[1], which[5]) == (model, dataset, value)]
        accuracy = _mean([100 * line["validation_accuracy"] for line in lines])
        elbo = _mean([line["validation_elbo"] for line in lines])
        print(f"{model:<6} {dataset:<14} {value:<9} {accuracy:<23} {elbo}")


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"


if __name__ == "__main__":
    RESULTS.parent.mkdir(exist_ok=True)
    main()
