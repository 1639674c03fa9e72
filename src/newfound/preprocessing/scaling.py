"""Which columns a model sees and on what scale, decided once when it is fitted.

Units do not matter: a column times any number plus any number gives the same x. It is centred and scaled in double
precision, or 10⁹ with unit noise would lose its noise; a wild cell counts like the fence that it lies behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from newfound.preprocessing.statistics import (
    BLOCK_ROWS,
    ColumnStatistics,
    SumOverRows,
    blocks_of_rows,
    only_zeros_and_ones,
)

Blocks = tuple[tuple[str, tuple[int, ...]], ...]  # feature type ("numeric", "binary", "categorical") and its columns


class Scaling(NamedTuple):
    """x = (row − shift) · scale, for arrays of NumPy and of JAX: bytes cross to the device as bytes."""

    shift: Any  # (d_x,)
    scale: Any  # (d_x,)

    def apply(self, rows: Any) -> Any:
        """(…, d_x) in single precision."""
        shape = (*(1,) * (rows.ndim - 1), -1)
        return (rows.astype(np.float32) - self.shift.reshape(shape)) * self.scale.reshape(shape)


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """What was decided about the columns when a model was fitted."""

    is_kept: np.ndarray  # one flag a column
    fill_value: np.ndarray  # a column's mean: what a dropped column holds in generated rows
    centre: np.ndarray  # what is 0 to the model, of each kept column; bytes are left to `scaling`
    unit: np.ndarray  # what is 1 more
    fences: np.ndarray  # (2, kept columns): cells outside count like the nearer one
    ends: np.ndarray  # (2, kept columns): the least and the greatest value within them
    scaling: Scaling  # of the kept columns as `select` gives them
    spread: float  # root mean square of the kept columns' standard deviations, after scaling
    is_scaled: np.ndarray  # of each kept column, whether its scale is its own
    blocks: Blocks = ()  # the kept columns by feature type, where these were given

    def select(self, X: np.ndarray) -> np.ndarray:
        """The kept columns: bytes as they are, all others within their fences, scaled, in single precision."""
        kept = self.kept(X)
        if self._is_identity:
            return kept if kept.dtype == np.uint8 else kept.astype(np.float32, copy=False)
        selected = np.empty(kept.shape, np.float32)
        low, high = self.fences - self.centre
        for i in range(0, len(kept), BLOCK_ROWS):
            block = np.subtract(kept[i : i + BLOCK_ROWS], self.centre, dtype=float)
            selected[i : i + BLOCK_ROWS] = np.clip(block, low, high, out=block) / self.unit
        return selected

    def kept(self, X: np.ndarray) -> np.ndarray:
        """The kept columns as they are."""
        return X if self.is_kept.all() else np.asarray(np.compress(self.is_kept, X, axis=1))  # thrice as fast as a mask

    @cached_property
    def _is_identity(self) -> bool:
        return not self.centre.any() and bool((self.unit == 1).all() and np.isinf(self.fences).all())

    def n_wild(self, X: np.ndarray) -> np.ndarray:
        """How many cells of each kept column are outside its fences."""
        n_wild = np.zeros(self.fences.shape[1], int)
        for block in blocks_of_rows(X):
            kept = self.kept(block)
            n_wild += ((kept < self.fences[0]) | (kept > self.fences[1])).sum(axis=0)
        return n_wild

    def restore(self, x: np.ndarray) -> np.ndarray:
        """Rows of the user's columns from rows of the model's."""
        rows = np.broadcast_to(self.fill_value, (*x.shape[:-1], len(self.fill_value))).copy()
        rows[..., self.is_kept] = (x / self.scaling.scale + self.scaling.shift) * self.unit + self.centre
        return rows


def is_binary(X: np.ndarray) -> bool:
    """Whether every value can be read as a probability of 0 or 1: images of bytes, or columns of only 0 and 1."""
    return X.dtype == np.uint8 or only_zeros_and_ones(X)


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

    Where X is a sample, `of_all` sums over the rows that it was drawn from.
    """
    is_bytes = X.dtype == np.uint8
    per_unit = 1 / 255 if is_bytes else 1.0  # the grey values of an image are read as 0..1
    columns = ColumnStatistics.of(X, per_unit, of_all)
    if unit_interval and standardize != "min-max":
        _check_unit_interval(columns)
        standardize = False
    elif standardize == "auto":
        standardize = False if is_bytes else "image" if is_image else True
    is_kept = _varying(columns, min_std)
    kept = columns.take(is_kept)
    centre, unit = _scale(kept, standardize, columns.low.min(), columns.high.max())
    is_scaled = np.full(len(unit), standardize in (True, "min-max"))
    blocks: Blocks = ()
    if feature_types is not None:
        kept_types = [t for t, is_there in zip(feature_types, is_kept, strict=True) if is_there]
        blocks = blocks_of_features(kept_types)
        unit = _one_unit_in_a_block(unit, kept_types)
        is_numeric = np.isin(np.arange(len(unit)), [i for name, of in blocks if name == "numeric" for i in of])
        centre, unit = np.where(is_numeric, centre, 0.0), np.where(is_numeric, unit, 1.0)
        is_scaled = is_scaled & is_numeric
    nothing, one = np.zeros_like(centre), np.ones_like(unit)
    own = (centre / per_unit, per_unit / unit) if is_bytes else (nothing, one)
    return Preprocessing(
        is_kept=is_kept,
        fill_value=columns.mean / per_unit,
        centre=nothing if is_bytes else centre,
        unit=one if is_bytes else unit,
        fences=np.where(is_scaled, kept.fences, [[-np.inf], [np.inf]]),
        ends=np.stack([kept.low, kept.high]) / per_unit,
        scaling=Scaling(*(of.astype(np.float32) for of in own)),
        spread=float(np.sqrt(np.mean(np.square(kept.std / unit)))),
        is_scaled=is_scaled,
        blocks=blocks,
    )


def _scale(
    columns: ColumnStatistics, standardize: bool | str, least: float, greatest: float
) -> tuple[np.ndarray, np.ndarray]:
    """What becomes 0, and how much becomes 1, in each column; the pixels of an image are in one unit."""
    width = columns.high - columns.low
    if standardize == "min-max":
        return columns.low, width
    if standardize == "image":
        return np.full_like(width, least), np.full_like(width, greatest - least)
    return (columns.mean, columns.std) if standardize else (np.zeros_like(width), np.ones_like(width))


def _one_unit_in_a_block(unit: np.ndarray, kept_types: Sequence[str]) -> np.ndarray:
    """The columns of "numeric:<block>" share the root mean square of their units: distances stay what they are."""
    shared = unit.copy()
    for name in {t for t in kept_types if t.startswith("numeric:")}:
        is_member = np.array([t == name for t in kept_types])
        shared[is_member] = np.sqrt(np.mean(np.square(unit[is_member])))
    return shared


def _varying(columns: ColumnStatistics, min_std: float) -> np.ndarray:
    is_kept = columns.std > min_std
    if not is_kept.any():
        raise ValueError(
            f"No column of X varies: all {len(is_kept)} have a standard deviation of at most {min_std:g}. "
            f"Give columns that differ between rows, or lower min_std."
        )
    return is_kept


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
