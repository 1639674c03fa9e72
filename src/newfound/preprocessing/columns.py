"""Statistics of the columns of X, the columns that a model uses, and their scales: decided once, by the fit.

Units do not matter: a column times any number plus any number gives the same x. Columns are centred and scaled in
double precision, because 10⁹ with unit noise would lose its noise otherwise. Outliers are clipped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np

BLOCK_ROWS = 8192  # statistics are summed over blocks, so that not all uint8 rows are floats at once
CLIP_ROWS = 10_000  # rows that the clip range is taken from
# For each quantile q: cells may lie this many times the distance between the quantiles q and 1 − q outside of them
CLIP_QUANTILES = {0.25: 10.0, 0.05: 100.0, 0.005: 100.0}

Blocks = tuple[tuple[str, tuple[int, ...]], ...]  # feature type ("numeric", "binary", "categorical") and its columns


class ColumnStatistics(NamedTuple):
    """Mean, standard deviation, minimum and maximum of each column, without outliers."""

    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    clip_range: np.ndarray  # (2, columns): a cell outside is an outlier

    @classmethod
    def of(cls, X: np.ndarray, per_unit: float = 1.0, of_all: "SumOverRows | None" = None) -> "ColumnStatistics":
        """Of the rows of X; if these are a sample, `of_all` sums over all rows."""
        low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
        clip_range = _tightened(_clip_range(X), X, low, high)
        if of_all is not None:
            return cls._of_all(X, per_unit, clip_range, of_all)
        low, high = np.clip(low, *clip_range), np.clip(high, *clip_range)
        width = np.where(high > low, high - low, 1.0)  # squares of 1e200 would overflow
        n, mean = _moment(X, clip_range, low, width, 0.0)
        mean = mean / n
        squares = _moment(X, clip_range, low, width, mean, power=2)[1]
        std = np.where(low == high, 0.0, width * np.sqrt(squares / n))  # exactly 0, not a rounding error
        mean = low + width * mean
        return cls(per_unit * mean, per_unit * std, per_unit * low, per_unit * high, clip_range)

    @classmethod
    def _of_all(
        cls, X: np.ndarray, per_unit: float, clip_range: np.ndarray, of_all: "SumOverRows"
    ) -> "ColumnStatistics":
        """In one pass, relative to the sample's mean and deviation, so that no precision is lost."""
        sample = cls.of(X)
        unit = np.where(sample.std > 0, sample.std, 1.0)
        n, mean, squares, low, high = of_all(partial(Moments.of, clip_range=clip_range, centre=sample.mean, unit=unit))
        mean = mean / n
        std = np.where(low == high, 0.0, unit * np.sqrt(np.maximum(squares / n - mean**2, 0.0)))
        low, high = (np.clip(end, *clip_range) for end in (low, high))
        mean = sample.mean + unit * mean
        return cls(per_unit * mean, per_unit * std, per_unit * low, per_unit * high, clip_range)


class Moments(NamedTuple):
    """Sums over rows: n, Σa and Σa² of each column without outliers, and its minimum and maximum with them.

    a = (cell − centre) / unit
    """

    n: np.ndarray
    first: np.ndarray
    second: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, clip_range: np.ndarray, centre: np.ndarray, unit: np.ndarray) -> "Moments":
        parts = []
        for block in blocks_of_rows(X):
            a, n = np.subtract(block, centre, dtype=float), np.full(X.shape[1], len(block))
            a /= unit
            low, high = block.min(axis=0).astype(float), block.max(axis=0).astype(float)
            if (low < clip_range[0]).any() or (high > clip_range[1]).any():
                is_outlier = (clip_range[0] > block) | (clip_range[1] < block)
                a[is_outlier] = 0.0
                n -= is_outlier.sum(axis=0)
            parts.append(cls(n, a.sum(axis=0), np.einsum("ij,ij->j", a, a), low, high))
        return reduce(Moments.__add__, parts)

    def __add__(self, other: "Moments") -> "Moments":  # type: ignore[override]
        """Of the rows of both."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(self.n + other.n, self.first + other.first, self.second + other.second, low, high)


SumOverRows = Callable[[Callable[[np.ndarray], Moments]], Moments]  # from the moments of a block to those of all rows


def _clip_range(X: np.ndarray) -> np.ndarray:
    """(2, columns): from 10 interquartile ranges below the lower quartile to 10 above the upper one.

    If the quartiles are equal, as in a column that is mostly 0, outer quantiles are used, and the range is wider; if
    all quantiles are equal, it is infinite.
    """
    clip_range = np.array([[-np.inf], [np.inf]]).repeat(X.shape[1], axis=1)
    if X.dtype == np.uint8:
        return clip_range
    sample = X[np.random.default_rng(0).permutation(len(X))[:CLIP_ROWS]].astype(float)
    for quantile, ranges in reversed(CLIP_QUANTILES.items()):  # the innermost quantiles that differ are used
        low, high = np.quantile(sample, (quantile, 1 - quantile), axis=0, method="nearest")
        beyond = 2 * ranges * (high / 2 - low / 2)
        clip_range = np.where(high > low, [low - beyond, high + beyond], clip_range)
    return clip_range


def _tightened(clip_range: np.ndarray, X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """If there are outliers, the range ends at the nearest other value, and they are clipped to that value.

    Otherwise a clipped cell would still be ten ranges away, and a single such row would distort the network.
    """
    clip_range = clip_range.copy()
    for column in np.flatnonzero((low < clip_range[0]) | (high > clip_range[1])):
        cells, (minimum, maximum) = X[:, column], clip_range[:, column]
        others = cells[(cells >= minimum) & (cells <= maximum)]
        clip_range[0, column] = others.min() if low[column] < minimum else minimum
        clip_range[1, column] = others.max() if high[column] > maximum else maximum
    return clip_range


def _moment(
    X: np.ndarray,
    clip_range: np.ndarray,
    low: np.ndarray,
    width: np.ndarray,
    around: np.ndarray | float,
    power: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """For each column, the number of cells and the sum of ((cell − low) / width − around)^power, without outliers."""
    n, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    can_clip = bool(np.isfinite(clip_range).any())
    for block in blocks_of_rows(X):
        apart = np.subtract(block, low, dtype=float) / width - around
        if can_clip and (is_outlier := (block < clip_range[0]) | (block > clip_range[1])).any():
            apart[is_outlier] = 0.0
            n -= is_outlier.sum(axis=0)
        n += len(block)
        total += (apart**power).sum(axis=0)
    return n, total


def blocks_of_rows(X: np.ndarray) -> Iterator[np.ndarray]:
    return (X[i : i + BLOCK_ROWS] for i in range(0, len(X), BLOCK_ROWS))


class Scaling(NamedTuple):
    """x = (row − shift) · scale, for arrays of NumPy and of JAX: bytes are sent to the device as bytes."""

    shift: Any  # (d_x,)
    scale: Any  # (d_x,)

    def apply(self, rows: Any) -> Any:
        """(…, d_x) in single precision."""
        shape = (*(1,) * (rows.ndim - 1), -1)
        return (rows.astype(np.float32) - self.shift.reshape(shape)) * self.scale.reshape(shape)


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """How a fitted model reads columns."""

    is_kept: np.ndarray  # one flag for each column
    fill_value: np.ndarray  # each column's mean, the value of dropped columns in generated rows
    centre: np.ndarray  # of each kept column, the value that becomes 0; bytes are scaled by `scaling` alone
    unit: np.ndarray  # the difference that becomes 1
    clip_range: np.ndarray  # (2, kept columns): cells outside are clipped
    fitted_range: np.ndarray  # (2, kept columns): minimum and maximum within the clip range
    scaling: Scaling  # of the kept columns as `select` gives them
    spread: float  # root mean square of the kept columns' standard deviations, after scaling
    is_scaled: np.ndarray  # of each kept column, whether its scale is its own
    blocks: Blocks = ()  # the kept columns by feature type, if types were given

    def select(self, X: np.ndarray) -> np.ndarray:
        """The kept columns: bytes unchanged, all others clipped and scaled, in single precision."""
        kept = self.kept(X)
        if self._is_identity:
            return kept if kept.dtype == np.uint8 else kept.astype(np.float32, copy=False)
        selected = np.empty(kept.shape, np.float32)
        low, high = self.clip_range - self.centre
        for i in range(0, len(kept), BLOCK_ROWS):
            block = np.subtract(kept[i : i + BLOCK_ROWS], self.centre, dtype=float)
            selected[i : i + BLOCK_ROWS] = np.clip(block, low, high, out=block) / self.unit
        return selected

    def kept(self, X: np.ndarray) -> np.ndarray:
        """The kept columns, unchanged."""
        if self.is_kept.all():
            return X
        return np.asarray(np.compress(self.is_kept, X, axis=1))  # three times as fast as a mask

    @cached_property
    def _is_identity(self) -> bool:
        return not self.centre.any() and bool((self.unit == 1).all() and np.isinf(self.clip_range).all())

    def n_outliers(self, X: np.ndarray) -> np.ndarray:
        """The number of cells of each kept column outside its clip range."""
        n_outliers = np.zeros(self.clip_range.shape[1], int)
        for block in blocks_of_rows(X):
            kept = self.kept(block)
            n_outliers += ((kept < self.clip_range[0]) | (kept > self.clip_range[1])).sum(axis=0)
        return n_outliers

    def restore(self, x: np.ndarray) -> np.ndarray:
        """Rows of the user's columns from rows of the model's."""
        rows = np.broadcast_to(self.fill_value, (*x.shape[:-1], len(self.fill_value))).copy()
        rows[..., self.is_kept] = (x / self.scaling.scale + self.scaling.shift) * self.unit + self.centre
        return rows


def is_binary(X: np.ndarray) -> bool:
    """Whether every value can be read as a probability: bytes of images, or 0 and 1."""
    return X.dtype == np.uint8 or all(bool(np.isin(block, (0, 1)).all()) for block in blocks_of_rows(X))


def decide(
    X: np.ndarray,
    standardize: bool | str,
    min_std: float,
    feature_types: Sequence[str] | None = None,
    *,
    unit_interval: bool = False,
    is_image: bool = False,
    of_all: SumOverRows | None = None,
) -> Preprocessing:
    """Choose the columns that vary enough, and their scaling; a likelihood may need them in the unit interval.

    If X is a sample, `of_all` sums over the rows that it was drawn from.
    """
    is_bytes = X.dtype == np.uint8
    per_unit = 1 / 255 if is_bytes else 1.0  # the grey values of an image are read as 0..1
    columns = ColumnStatistics.of(X, per_unit, of_all)
    if unit_interval and standardize != "min-max":
        _check_unit_interval(columns)
        standardize = False
    elif standardize == "auto":
        standardize = False if is_bytes else "image" if is_image else True
    is_kept = columns.std > min_std
    if not is_kept.any():
        raise ValueError(
            f"No column of X varies: all {len(is_kept)} have a standard deviation of at most {min_std:g}. "
            f"Give columns that differ between rows, or lower min_std."
        )
    kept = ColumnStatistics(*(of[..., is_kept] for of in columns))
    centre, unit = _scale(kept, standardize, columns.low.min(), columns.high.max())
    is_scaled = np.full(len(unit), standardize in (True, "min-max"))
    blocks: Blocks = ()
    if feature_types is not None:
        kept_types = [t for t, is_there in zip(feature_types, is_kept, strict=True) if is_there]
        blocks = blocks_of_features(kept_types)
        shared = unit.copy()
        for name in {t for t in kept_types if t.startswith("numeric:")}:  # a block has one unit, which keeps distances
            is_member = np.array([t == name for t in kept_types])
            shared[is_member] = np.sqrt(np.mean(np.square(unit[is_member])))
        is_numeric = np.array([t.partition(":")[0] == "numeric" for t in kept_types])
        centre, unit = np.where(is_numeric, centre, 0.0), np.where(is_numeric, shared, 1.0)
        is_scaled = is_scaled & is_numeric
    nothing, one = np.zeros_like(centre), np.ones_like(unit)
    own = (centre / per_unit, per_unit / unit) if is_bytes else (nothing, one)
    return Preprocessing(
        is_kept=is_kept,
        fill_value=columns.mean / per_unit,
        centre=nothing if is_bytes else centre,
        unit=one if is_bytes else unit,
        clip_range=np.where(is_scaled, kept.clip_range, [[-np.inf], [np.inf]]),
        fitted_range=np.stack([kept.low, kept.high]) / per_unit,
        scaling=Scaling(*(of.astype(np.float32) for of in own)),
        spread=float(np.sqrt(np.mean(np.square(kept.std / unit)))),
        is_scaled=is_scaled,
        blocks=blocks,
    )


def _scale(
    columns: ColumnStatistics, standardize: bool | str, least: float, greatest: float
) -> tuple[np.ndarray, np.ndarray]:
    """For each column, the value that becomes 0 and the difference that becomes 1; those of pixels are the same."""
    width = columns.high - columns.low
    if standardize == "min-max":
        return columns.low, width
    if standardize == "image":
        return np.full_like(width, least), np.full_like(width, greatest - least)
    return (columns.mean, columns.std) if standardize else (np.zeros_like(width), np.ones_like(width))


def blocks_of_features(feature_types: Sequence[str]) -> Blocks:
    """Columns of one type together: "numeric", "binary", and one for each group "categorical:…" and "numeric:…"."""
    names = sorted(set(feature_types))
    return tuple((name.partition(":")[0], tuple(i for i, t in enumerate(feature_types) if t == name)) for name in names)


def _check_unit_interval(columns: ColumnStatistics) -> None:
    outside = (columns.low < 0) | (columns.high > 1)
    if outside.any():
        column = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"The Bernoulli likelihood needs values from 0 to 1, got {columns.low[column]:g} to "
            f"{columns.high[column]:g} in column {column} ({outside.sum()} such columns). "
            f"Scale X to 0..1 (standardize='min-max' does), pass images as uint8, or use likelihood='gaussian'."
        )
