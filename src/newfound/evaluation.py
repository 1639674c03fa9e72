"""How well components agree with true classes. Every number has its exact name, and none of them picks a model.

many-to-one accuracy
    Each component stands for the true class most common in it (the paper's ACC, also called purity). It can only grow
    with the number of components.
one-to-one accuracy
    Each class is given at most one component, so that as many rows as possible agree (the Hungarian method); rows of
    components left over count as wrong. It is what the literature on category discovery reports.

Both are given for all rows and, *under the same mapping*, for the rows whose true class is known or new.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Accuracy:
    """Share of rows that agree: all of them, those of known and those of new classes (nan where there are none)."""

    all: float
    known: float
    new: float


@dataclass(frozen=True)
class Evaluation:
    """A comparison of true classes with the components a model put the rows in."""

    classes: np.ndarray  # the true classes, sorted
    counts: np.ndarray  # (true classes, components): the rows of each pair
    many_to_one: Accuracy
    one_to_one: Accuracy
    many_to_one_class: np.ndarray  # for each component, the position in `classes` it stands for; −1 where it is empty


def evaluate(truth: np.ndarray, component: np.ndarray, n_components: int, known: np.ndarray) -> Evaluation:
    """Compare each row's true class with its component; `known` are the classes of which labels were seen."""
    classes, positions = np.unique(truth, return_inverse=True)
    counts = np.zeros((len(classes), n_components), dtype=int)
    np.add.at(counts, (positions, component), 1)
    is_known = np.isin(classes, known)
    many, one = many_to_one(counts), one_to_one(counts)
    return Evaluation(classes, counts, _accuracy(counts, many, is_known), _accuracy(counts, one, is_known), many)


def many_to_one(counts: np.ndarray) -> np.ndarray:
    """For each component, the class most common in it; −1 where it is empty."""
    return np.where(counts.sum(axis=0) > 0, counts.argmax(axis=0), -1)


def one_to_one(counts: np.ndarray) -> np.ndarray:
    """For each component, its class in the best one-to-one assignment; −1 where it has none."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(counts, maximize=True)
    assigned = np.full(counts.shape[1], -1)
    assigned[columns] = rows
    return assigned


def _accuracy(counts: np.ndarray, class_of: np.ndarray, is_known: np.ndarray) -> Accuracy:
    agree = np.where(class_of[None] == np.arange(len(counts))[:, None], counts, 0).sum(axis=1)
    totals = counts.sum(axis=1)

    def share(chosen: np.ndarray) -> float:
        return float(agree[chosen].sum() / totals[chosen].sum()) if totals[chosen].sum() else float("nan")

    return Accuracy(all=share(np.ones_like(is_known)), known=share(is_known), new=share(~is_known))
