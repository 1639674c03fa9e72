"""Which columns a model sees and on what scale, decided once when it is fitted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from newfound.preprocessing.statistics import ColumnStatistics, only_zeros_and_ones

Blocks = tuple[tuple[str, tuple[int, ...]], ...]  # feature type ("numeric", "binary", "categorical") and its columns


class Scaling(NamedTuple):
    """x = (row − shift) · scale, for arrays of NumPy and of JAX: rows cross to the device in their own dtype."""

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
    scaling: Scaling  # of the kept columns
    spread: float  # root mean square of the kept columns' standard deviations, after scaling
    blocks: Blocks = ()  # the kept columns by feature type, where these were given

    def select(self, X: np.ndarray) -> np.ndarray:
        """The kept columns, in the data's own dtype."""
        return X if self.is_kept.all() else np.asarray(np.compress(self.is_kept, X, axis=1))  # thrice as fast as a mask

    def restore(self, x: np.ndarray) -> np.ndarray:
        """Rows of the user's columns from rows of the model's."""
        rows = np.broadcast_to(self.fill_value, (*x.shape[:-1], len(self.fill_value))).copy()
        rows[..., self.is_kept] = x / self.scaling.scale + self.scaling.shift
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
) -> Preprocessing:
    """Choose the columns that vary enough, and their scaling; a likelihood may need them in the unit interval."""
    per_unit = 1 / 255 if X.dtype == np.uint8 else 1.0  # the grey values of an image are read as 0..1
    columns = ColumnStatistics.of(X, per_unit)
    if unit_interval and standardize != "min-max":
        _check_unit_interval(columns)
        standardize = False
    elif standardize == "auto":  # columns within −1..1 are taken to be in one unit already
        standardize = bool(columns.low.min() < -1 or columns.high.max() > 1)
    is_kept = _varying(columns, min_std)
    centre, unit = _scale(columns, is_kept, standardize)
    blocks: Blocks = ()
    if feature_types is not None:
        kept_types = [t for t, kept in zip(feature_types, is_kept, strict=True) if kept]
        blocks = blocks_of_features(kept_types)
        unit = _one_unit_in_a_block(unit, kept_types)
        is_numeric = np.isin(np.arange(len(unit)), [i for name, of in blocks if name == "numeric" for i in of])
        centre, unit = np.where(is_numeric, centre, 0.0), np.where(is_numeric, unit, 1.0)
    return Preprocessing(
        is_kept=is_kept,
        fill_value=columns.mean / per_unit,
        scaling=Scaling((centre / per_unit).astype(np.float32), (per_unit / unit).astype(np.float32)),
        spread=float(np.sqrt(np.mean(np.square(columns.std[is_kept] / unit)))),
        blocks=blocks,
    )


def _scale(columns: ColumnStatistics, is_kept: np.ndarray, standardize: bool | str) -> tuple[np.ndarray, np.ndarray]:
    """What becomes 0, and how much becomes 1, in each kept column."""
    mean, std = columns.mean[is_kept], columns.std[is_kept]
    if standardize == "min-max":
        return columns.low[is_kept], (columns.high - columns.low)[is_kept]
    return (mean, std) if standardize else (np.zeros_like(mean), np.ones_like(std))


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
