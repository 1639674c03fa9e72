"""What each column of X holds, in numbers."""

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

BLOCK_ROWS = 8192  # statistics are summed over blocks, so that uint8 rows are never all floats at once
FENCE_ROWS = 10_000  # rows that the fences are taken from
FENCES = {0.25: 10.0, 0.05: 100.0, 0.005: 100.0}  # a quantile, and how many ranges to its opposite a cell may be beyond


class ColumnStatistics(NamedTuple):
    """Mean, standard deviation, least and greatest value of each column; wild cells are left out of all of them."""

    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fences: np.ndarray  # (2, columns): a cell outside is a wild one

    @classmethod
    def of(cls, X: np.ndarray, per_unit: float = 1.0, of_all: "SumOverRows | None" = None) -> "ColumnStatistics":
        """Of the rows of X; or, where these are a sample, of all rows, over which `of_all` sums."""
        low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
        fences = _drawn_in(fences_of(X), X, low, high)
        if of_all is not None:
            return cls._of_all(X, per_unit, fences, of_all)
        low, high = np.clip(low, *fences), np.clip(high, *fences)
        width = np.where(high > low, high - low, 1.0)  # squares of 1e200 would overflow
        n, mean = _moment(X, fences, low, width, 0.0)
        mean = mean / n
        squares = _moment(X, fences, low, width, mean, power=2)[1]
        std = np.where(low == high, 0.0, width * np.sqrt(squares / n))  # exactly 0 where rounding would leave a trace
        mean = low + width * mean
        return cls(per_unit * mean, per_unit * std, per_unit * low, per_unit * high, fences)

    @classmethod
    def _of_all(cls, X: np.ndarray, per_unit: float, fences: np.ndarray, of_all: "SumOverRows") -> "ColumnStatistics":
        """In one pass: cells are summed relative to the sample's, so that no digit is lost."""
        sample = cls.of(X)
        unit = np.where(sample.std > 0, sample.std, 1.0)
        n, mean, squares, low, high = of_all(partial(Moments.of, fences=fences, centre=sample.mean, unit=unit))
        mean = mean / n
        std = np.where(low == high, 0.0, unit * np.sqrt(np.maximum(squares / n - mean**2, 0.0)))
        low, high = (np.clip(end, *fences) for end in (low, high))
        mean = sample.mean + unit * mean
        return cls(per_unit * mean, per_unit * std, per_unit * low, per_unit * high, fences)

    def take(self, columns: np.ndarray) -> "ColumnStatistics":
        return ColumnStatistics(*(of[..., columns] for of in self))


class Moments(NamedTuple):
    """What blocks of rows add up to: of each column n, Σa and Σa² over cells that are not wild, and both ends.

    a = (cell − centre) / unit
    """

    n: np.ndarray
    first: np.ndarray
    second: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, fences: np.ndarray, centre: np.ndarray, unit: np.ndarray) -> "Moments":
        parts = [cls._of_block(block, fences, centre, unit) for block in blocks_of_rows(X)]
        return reduce(Moments.__add__, parts)

    @classmethod
    def _of_block(cls, X: np.ndarray, fences: np.ndarray, centre: np.ndarray, unit: np.ndarray) -> "Moments":
        a, n = np.subtract(X, centre, dtype=float), np.full(X.shape[1], len(X))
        a /= unit
        low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
        if (low < fences[0]).any() or (high > fences[1]).any():
            is_wild = (fences[0] > X) | (fences[1] < X)
            a[is_wild] = 0.0
            n -= is_wild.sum(axis=0)
        return cls(n, a.sum(axis=0), np.einsum("ij,ij->j", a, a), low, high)

    def __add__(self, other: "Moments") -> "Moments":  # type: ignore[override]
        """Of the rows of both."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(self.n + other.n, self.first + other.first, self.second + other.second, low, high)


SumOverRows = Callable[[Callable[[np.ndarray], Moments]], Moments]  # from what is said of a block to that of all rows


def fences_of(X: np.ndarray) -> np.ndarray:
    """(2, columns): ten times the interquartile range below the lower quartile, and above the upper one.

    Where the quartiles are the same, as in a column that is mostly 0, quantiles farther out take their place, and the
    fences are farther away; where these are the same, too, there are none.
    """
    fences = np.array([[-np.inf], [np.inf]]).repeat(X.shape[1], axis=1)
    if X.dtype == np.uint8:
        return fences
    sample = X[np.random.default_rng(0).permutation(len(X))[:FENCE_ROWS]].astype(float)
    for quantile, ranges in reversed(FENCES.items()):  # the innermost that differ have the last word
        low, high = np.quantile(sample, (quantile, 1 - quantile), axis=0, method="nearest")
        beyond = 2 * ranges * (high / 2 - low / 2)
        fences = np.where(high > low, [low - beyond, high + beyond], fences)
    return fences


def _drawn_in(fences: np.ndarray, X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where a cell is wild, the fence is at the nearest that is not: so it counts like one of the others.

    A fence stands ten ranges away, and a single row that far out would bend all that a network learns.
    """
    fences = fences.copy()
    for column in np.flatnonzero((low < fences[0]) | (high > fences[1])):
        cells, (least, greatest) = X[:, column], fences[:, column]
        others = cells[(cells >= least) & (cells <= greatest)]
        fences[0, column] = others.min() if low[column] < least else least
        fences[1, column] = others.max() if high[column] > greatest else greatest
    return fences


def _moment(
    X: np.ndarray, fences: np.ndarray, low: np.ndarray, width: np.ndarray, around: np.ndarray | float, power: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Of each column, its cells that are not wild, and the sum of ((cell − low) / width − around)^power over them."""
    n, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    has_fences = bool(np.isfinite(fences).any())
    for block in blocks_of_rows(X):
        apart = np.subtract(block, low, dtype=float) / width - around
        if has_fences and (is_wild := (block < fences[0]) | (block > fences[1])).any():
            apart[is_wild] = 0.0
            n -= is_wild.sum(axis=0)
        n += len(block)
        total += (apart**power).sum(axis=0)
    return n, total


def blocks_of_rows(X: np.ndarray) -> Iterator[np.ndarray]:
    return (X[i : i + BLOCK_ROWS] for i in range(0, len(X), BLOCK_ROWS))


def only_zeros_and_ones(X: np.ndarray) -> bool:
    return all(bool(np.isin(block, (0, 1)).all()) for block in blocks_of_rows(X))
