"""Do units matter? Random tables, each column of which is multiplied by a number and moved by another.

    python benchmarks/units.py            # 500 tables; or with fewer: python benchmarks/units.py 50

Tables of 40 to 100 rows and 2 to 6 columns (normal, skewed, whole numbers, flags), two known classes and up to two that
nobody labelled. Every column is multiplied by a number from 1e-30 to 1e30, half of them negative, and moved by up to a
million times its unit. What the model sees must be the same, but for the signs, and so must be the classes that are
discovered. Writes benchmarks/results/units.json as it goes.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from newfound.config import Config
from newfound.discovery.discover import discover
from newfound.discovery.rows import feature_sets
from newfound.estimator import GMDGM
from newfound.fit import prepared_rows

RESULT = Path(__file__).parent / "results" / "units.json"
SAME = 1e-4  # of a column's standard deviation: single precision, after a move by a million


class Table(NamedTuple):
    """Rows, and the known class of each or -1."""

    X: np.ndarray
    codes: np.ndarray
    n_known: int


def random_table(rng: np.random.Generator) -> Table:
    n, d, n_known, n_new = rng.integers(40, 101), rng.integers(2, 7), 2, rng.integers(0, 3)
    truth = rng.integers(0, n_known + n_new, n)
    X = rng.normal(0, rng.uniform(1, 5), (n_known + n_new, d))[truth] + rng.normal(size=(n, d))
    for column, kind in enumerate(rng.choice(["normal", "skewed", "whole", "flag"], d, p=[0.5, 0.2, 0.2, 0.1])):
        if kind == "skewed":
            X[:, column] = np.exp(X[:, column] / 2)
        elif kind == "whole":
            X[:, column] = np.round(3 * X[:, column])
        elif kind == "flag" and d > 2:
            X[:, column] = X[:, column] > np.median(X[:, column])
    is_labelled = (truth < n_known) & (rng.random(n) < 0.5)
    return Table(X, np.where(is_labelled, truth, -1), int(n_known))


def in_other_units(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The same rows, and the sign that each column was multiplied by."""
    sign = rng.choice([-1.0, 1.0], X.shape[1])
    scale = sign * 10.0 ** rng.uniform(-30, 30, X.shape[1])
    return X * scale + scale * rng.uniform(-1e6, 1e6, X.shape[1]), sign


def seen(X: np.ndarray) -> np.ndarray:
    rows = prepared_rows(X, GMDGM().get_params(deep=False) | {"config": Config()})
    return np.asarray(rows.scaling.apply(rows.X))


def discovered(X: np.ndarray, table: Table) -> np.ndarray:
    """The class of every row, new ones after the known."""
    settings = Config().initialisation
    rows = prepared_rows(X, GMDGM().get_params(deep=False) | {"config": Config()})
    space = feature_sets(rows, table.codes, settings, 0)
    found = discover(rows, table.codes, table.n_known, settings, 0, space=space)
    of_component = np.append(np.arange(table.n_known), table.n_known + found.group)
    return of_component[found.labels]


def main(n: int) -> None:
    warnings.simplefilter("ignore")
    about = dict.fromkeys(("tables", "seen alike", "as many new classes", "rows", "rows in another class"), 0)
    for seed in range(n):
        rng = np.random.default_rng(seed)
        table = random_table(rng)
        other, sign = in_other_units(table.X, rng)
        is_kept = table.X.std(axis=0) > 0
        apart = np.abs(seen(other) - seen(table.X) * sign[is_kept]).max()
        before, after = discovered(table.X, table), discovered(other, table)
        counts = (1, apart < SAME, before.max() == after.max(), len(before), (before != after).sum())
        about = {name: total + int(one) for (name, total), one in zip(about.items(), counts, strict=True)}
        if (seed + 1) % 25 == 0 or seed + 1 == n:
            print(about, flush=True)
            RESULT.write_text(json.dumps(about, indent=1) + "\n")
    sys.exit(about["seen alike"] < n or about["as many new classes"] < n)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
