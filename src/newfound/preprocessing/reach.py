"""Whether rows lie where the rows of the fit did: a file in other units does not, and its answers mean little.

Rows of the same kind have a few cells outside of the range that was fitted on, never most of a column.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from newfound.preprocessing.scaling import Preprocessing
from newfound.wording import count, percent, short_list

FEW_ROWS = 10  # of fewer, a column is not judged by itself
MANY = 0.5  # of the cells of a column
NARROW = 1 / 50  # of the range that was fitted on
WORTH_TELLING = 0.01  # of all cells


class Reach(NamedTuple):
    """Of rows, how many cells of each kept column are outside of what was fitted on, and how far the cells reach."""

    n_rows: int
    n_outside: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, preprocessing: Preprocessing) -> "Reach":
        kept = preprocessing.kept(X)
        least, greatest = preprocessing.ends
        low, high = kept.min(axis=0), kept.max(axis=0)
        n_outside = np.zeros(kept.shape[1], int)
        columns = np.flatnonzero((low < least) | (high > greatest))  # mostly few, which makes it quick
        if len(columns):
            some = kept[:, columns]
            n_outside[columns] = ((some < least[columns]) | (some > greatest[columns])).sum(axis=0)
        return cls(len(kept), n_outside, low, high)

    def and_of(self, more: "Reach") -> "Reach":
        low, high = np.minimum(self.low, more.low), np.maximum(self.high, more.high)
        return Reach(self.n_rows + more.n_rows, self.n_outside + more.n_outside, low, high)

    @property
    def share(self) -> float:
        return float(self.n_outside.sum()) / max(1, self.n_rows * len(self.n_outside))


def about_reach(reach: Reach, preprocessing: Preprocessing, name: Callable[[int], str]) -> str:
    """What to say where rows are elsewhere than those of the fit, else nothing; `name` is that of a kept column."""
    if _is_elsewhere(reach):
        return f"{_outside(reach, preprocessing, name)} {ASK}"
    if _is_narrow(reach, preprocessing):
        first = _ranges(reach, preprocessing, 0, name)
        return f"No column varies by more than a fiftieth of what it did in the fit: {first}. {ASK}"
    return ""


def about_cells(reach: Reach, preprocessing: Preprocessing, name: Callable[[int], str]) -> str:
    """The same, and where it is no more than some cells, how many."""
    said = about_reach(reach, preprocessing, name)
    return said or (_outside(reach, preprocessing, name) if reach.share >= WORTH_TELLING else "")


ASK = (
    "Are these rows in the units that were fitted on? If so, they are unlike all that the model has seen, and their "
    "classes mean little."
)


def _is_elsewhere(reach: Reach) -> bool:
    return reach.share > MANY or (reach.n_rows >= FEW_ROWS and bool((reach.n_outside > MANY * reach.n_rows).any()))


def _is_narrow(reach: Reach, preprocessing: Preprocessing) -> bool:
    """As where a table, or the pixels of an image, were divided by a number; rows that are all equal say nothing."""
    least, greatest = preprocessing.ends
    widths = (reach.high / 2 - reach.low / 2) / (greatest / 2 - least / 2)  # halves do not overflow
    return reach.n_rows >= FEW_ROWS and 0 < widths.max() < NARROW


def _outside(reach: Reach, preprocessing: Preprocessing, name: Callable[[int], str]) -> str:
    order = np.argsort(-reach.n_outside, kind="stable")[: np.count_nonzero(reach.n_outside)]
    columns = short_list([f"{name(int(i))} ({reach.n_outside[i]:,})" for i in order], 5)
    n = int(reach.n_outside.sum())
    return (
        f"{count(n, 'cell')} ({percent(reach.share)}) {'lies' if n == 1 else 'lie'} outside of what was fitted on: "
        f"{columns}. {_ranges(reach, preprocessing, int(order[0]), name)}."
    )


def _ranges(reach: Reach, preprocessing: Preprocessing, column: int, name: Callable[[int], str]) -> str:
    low, high = preprocessing.ends[:, column]
    return (
        f"{name(column)} was fitted on {low:.4g} to {high:.4g} and is {reach.low[column]:.4g} to "
        f"{reach.high[column]:.4g} here"
    )
