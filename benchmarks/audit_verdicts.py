"""How often the audit's verdict is right: with nothing hidden (false alarms), and with one class hidden.

    python benchmarks/audit_verdicts.py --masks 30

A share of the labels is kept at random, another for each mask. Tables of scikit-learn and clouds of points; several
minutes.
"""

import argparse
from collections import Counter

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from newfound import GMDGM
from newfound.config import Initialisation
from newfound.discovery.discover import discover
from newfound.discovery.rows import projected
from newfound.explain.audit import judge
from newfound.labels import UNLABELLED

SETTINGS = Initialisation()
SHARES = (0.2, 0.3, 0.5), (0.1, 0.2, 0.4)  # of labels kept: of small tables, and of larger ones


def clouds() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 1000)
    return (4 * np.eye(5, 8)[truth] + rng.standard_normal((1000, 8))).astype(np.float32), truth


SETS = {
    "digits": lambda: load_digits(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "clouds": clouds,
}


def verdicts(name: str, n_masks: int) -> dict[str, Counter]:
    """Counts of verdicts, for each mask with nothing hidden and with one class hidden."""
    X, truth = SETS[name]()
    image_shape = (8, 8) if name == "digits" else None
    rows, _ = GMDGM(image_shape=image_shape).rows_and_labels(X, truth)
    rows, n_classes = projected(rows, SETTINGS, 0), int(truth.max()) + 1
    counts: dict[str, Counter] = {"nothing hidden": Counter(), "one hidden": Counter()}
    for mask in range(n_masks):
        share = SHARES[len(truth) > 900][mask % 3]
        kept = np.random.default_rng(100 + mask).random(len(truth)) < share
        for what, hidden in (("nothing hidden", n_classes), ("one hidden", mask // 3 % n_classes)):
            known = np.delete(np.arange(n_classes), hidden) if hidden < n_classes else np.arange(n_classes)
            codes = np.where(kept & (truth != hidden), np.searchsorted(known, truth), UNLABELLED)
            found = discover(rows, codes, len(known), SETTINGS, mask)
            counts[what][judge(found, codes, len(known)).answer] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masks", type=int, default=30)
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    for name in options.sets.split(","):
        for what, count in verdicts(name, options.masks).items():
            print(
                f"{name:14} {what:15}", *(f"{answer} {count[answer]:3}" for answer in ("yes", "perhaps", "none seen"))
            )


if __name__ == "__main__":
    main()
