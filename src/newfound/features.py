"""The user's X and the model's x: checks, which columns are kept, how they are scaled, and the way back."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from newfound.errors import Number, and_list
from newfound.models.likelihoods import Blocks

ROWS_AT_A_TIME = 8192  # statistics are summed over blocks, so that uint8 rows are never all floats at once
ROWS_OF_A_CALL = 512  # of a compiled function of rows
FEW_ROWS = 8  # the size of a call where there are no more: one row should not cost what 512 do


class Scaling(NamedTuple):
    """x = (row − shift) · scale, done on the device, so that rows cross to it in their own dtype."""

    shift: Float[Array, " d_x"] | np.ndarray
    scale: Float[Array, " d_x"] | np.ndarray

    def apply(self, rows: Array) -> Float[Array, "*batch d_x"]:
        ones = (1,) * (rows.ndim - 1)
        shift, scale = jnp.reshape(self.shift, (*ones, -1)), jnp.reshape(self.scale, (*ones, -1))
        return (rows.astype(jnp.float32) - shift) * scale


def in_batches(
    function: Callable[[np.ndarray], Array | np.ndarray], X: np.ndarray, rows_of_a_call: int = ROWS_OF_A_CALL
) -> np.ndarray:
    """`function` of every row of X, from calls on so many rows, or on FEW_ROWS, the last of them padded.

    So no number of rows compiles anew, and a row's answer does not depend on the rows beside it, but for the last digit
    where they are few. A call is made before the answer of the one before it is read: the device need not wait.
    """
    size = rows_of_a_call if len(X) > FEW_ROWS else FEW_ROWS
    answers: list[np.ndarray] = []
    under_way: Array | np.ndarray | None = None
    for i in range(0, len(X), size):
        before, under_way = under_way, function(_padded(X[i : i + size], size))
        if before is not None:
            answers.append(np.asarray(before))
    return np.concatenate([*answers, np.asarray(under_way)])[: len(X)]


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    if len(rows) == size:
        return rows
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])


@dataclass(frozen=True)
class Features:
    """What was decided about the columns when a model was fitted."""

    kept: np.ndarray  # one flag a column
    filler: np.ndarray  # a column's mean: what a left-out column holds in generated rows
    scaling: Scaling  # of the kept columns
    spread: float  # root mean square of the kept columns' standard deviations, after scaling
    likelihood: str
    blocks: Blocks = ()  # the kept columns by kind, for the likelihood "mixed"

    def select(self, X: np.ndarray) -> np.ndarray:
        """The kept columns, in the data's own dtype."""
        return X if self.kept.all() else np.asarray(np.compress(self.kept, X, axis=1))  # thrice as fast as X[:, kept]

    def restore(self, x: np.ndarray) -> np.ndarray:
        """Rows of the user's columns from rows of the model's."""
        rows = np.broadcast_to(self.filler, (*x.shape[:-1], len(self.filler))).copy()
        rows[..., self.kept] = x / self.scaling.scale + self.scaling.shift
        return rows


class ColumnStatistics(NamedTuple):
    """Mean, standard deviation, least and greatest value of each column."""

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, per_unit: float = 1.0) -> "ColumnStatistics":
        blocks = [X[i : i + ROWS_AT_A_TIME] for i in range(0, len(X), ROWS_AT_A_TIME)]
        mean = np.sum([block.sum(axis=0, dtype=np.float64) for block in blocks], axis=0) / len(X)
        variance = np.sum([np.square(block - mean).sum(axis=0) for block in blocks], axis=0) / len(X)
        low, high = X.min(axis=0), X.max(axis=0)
        sd = np.where(low == high, 0.0, np.sqrt(variance))  # exactly 0 where rounding would leave a trace
        return cls(per_unit * mean, per_unit * sd, per_unit * low, per_unit * high)


def decide(
    X: np.ndarray,
    likelihood: str,
    standardize: bool | str,
    min_sd: float,
    column_kinds: Sequence[str] | None = None,
) -> Features:
    """Choose the likelihood where it is "auto", the columns that vary enough, and their scaling."""
    per_unit = 1 / 255 if X.dtype == np.uint8 else 1.0  # the grey values of an image are read as 0..1
    columns = ColumnStatistics.of(X, per_unit)
    if column_kinds is not None:
        likelihood = "mixed"
    if likelihood == "auto":
        likelihood = "bernoulli" if X.dtype == np.uint8 or _only_zeros_and_ones(X) else "gaussian"
    if likelihood == "bernoulli" and standardize != "min-max":
        _check_unit_interval(columns)
        standardize = False
    elif standardize == "auto":  # columns within −1..1 are taken to be in one unit already
        standardize = bool(columns.low.min() < -1 or columns.high.max() > 1)
    kept = columns.sd > min_sd
    if not kept.any():
        raise ValueError(
            f"No column of X varies: all {X.shape[1]} have a standard deviation of at most {min_sd:g}. "
            f"Give columns that differ between rows, or lower min_sd."
        )
    mean, sd = columns.mean[kept], columns.sd[kept]
    centre, unit = (mean, sd) if standardize else (np.zeros_like(mean), np.ones_like(sd))
    if standardize == "min-max":
        centre, unit = columns.low[kept], (columns.high - columns.low)[kept]
    blocks: Blocks = ()
    if column_kinds is not None:
        blocks = blocks_of([kind for kind, is_kept in zip(column_kinds, kept, strict=True) if is_kept])
        is_numeric = np.isin(np.arange(len(sd)), [i for kind, columns in blocks if kind == "numeric" for i in columns])
        centre, unit = np.where(is_numeric, centre, 0.0), np.where(is_numeric, unit, 1.0)
    return Features(
        kept=kept,
        filler=columns.mean / per_unit,
        scaling=Scaling((centre / per_unit).astype(np.float32), (per_unit / unit).astype(np.float32)),
        spread=float(np.sqrt(np.mean(np.square(sd / unit)))),
        likelihood=likelihood,
        blocks=blocks,
    )


def blocks_of(kinds: Sequence[str]) -> Blocks:
    """Columns of one kind together: "numeric", "binary", and a block for each group named "category:…"."""
    names = sorted(set(kinds))
    return tuple((name.partition(":")[0], tuple(i for i, kind in enumerate(kinds) if kind == name)) for name in names)


def check_column_kinds(kinds: Any, n_columns: int) -> None:
    """Refuse kinds that are not one for each column, or that nobody knows."""
    if kinds is None:
        return
    if len(kinds) != n_columns:
        raise ValueError(
            f"column_kinds must name a kind for each of the {n_columns} columns of X; got {len(kinds)} kinds. "
            f"Give one of 'numeric', 'binary' or 'category:<group>' for every column."
        )
    for kind in kinds:
        if kind not in ("numeric", "binary") and not str(kind).startswith("category:"):
            raise ValueError(
                f"column_kinds must hold 'numeric', 'binary' or 'category:<group>'; got {kind!r}. "
                f"The columns of one one-hot group share the name after 'category:'."
            )


def check_image_shape(shape: Any, n_columns: int) -> None:
    """Refuse a shape whose pixels are not the columns."""
    if shape is None:
        return
    is_shape = isinstance(shape, (tuple, list)) and len(shape) in (2, 3)
    if not is_shape or not all(Number(1, whole=True).accepts(length) for length in shape):
        raise ValueError(f"image_shape must be (height, width) or (height, width, channels), or None; got {shape!r}.")
    if math.prod(shape) != n_columns:
        raise ValueError(
            f"image_shape = {tuple(shape)} makes {math.prod(shape)} pixels, but X has {n_columns} columns. "
            f"Give the shape that the images had before they were laid out in rows."
        )


def _only_zeros_and_ones(X: np.ndarray) -> bool:
    return all(bool(np.isin(X[i : i + ROWS_AT_A_TIME], (0, 1)).all()) for i in range(0, len(X), ROWS_AT_A_TIME))


def _check_unit_interval(columns: ColumnStatistics) -> None:
    outside = (columns.low < 0) | (columns.high > 1)
    if outside.any():
        column = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"The Bernoulli likelihood needs values from 0 to 1, got {columns.low[column]:g} to "
            f"{columns.high[column]:g} in column {column} ({outside.sum()} such columns). "
            f"Scale X to 0..1 (standardize='min-max' does), pass images as uint8, or use likelihood='gaussian'."
        )


def check_shape(X: Any) -> None:
    """Refuse what has no rows, no columns, or more than two dimensions."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return
    if len(shape) > 2:
        raise ValueError(
            f"X must have two dimensions, rows and features; got {len(shape)} dimensions, shape {tuple(shape)}. "
            f"Flatten each row, for example with X.reshape(len(X), -1)."
        )
    if len(shape) == 2 and 0 in shape:
        what = "sample(s)" if shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"X has 0 {what} (shape={tuple(shape)}) while a minimum of 1 is required. "
            f"Give at least one {'row' if shape[0] == 0 else 'column'}."
        )


def check_numeric(X: Any) -> None:
    """Refuse text columns by name, before anything tries to turn them into numbers."""
    text = _text_columns(X)
    if text:
        raise ValueError(
            f"X must hold numbers only, got text in {and_list(text)}. "
            f"Leave such columns out or encode them, for example with sklearn.preprocessing.OneHotEncoder."
        )


def _text_columns(X: Any) -> list[str]:
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # a data frame
        names = [name for name, dtype in zip(X.columns, X.dtypes, strict=True) if _may_be_text(dtype)]
        return [f"column {name!r}" for name in names if _holds_text(np.asarray(X[name], dtype=object))]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        return [f"column {i}" for i in range(X.shape[1]) if _holds_text(X[:, i])]
    return []


def _may_be_text(dtype: Any) -> bool:
    return str(dtype) in ("object", "str", "category") or "string" in str(dtype)


def _holds_text(column: np.ndarray) -> bool:
    return any(isinstance(value, str) and not _is_number(value) for value in column)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_finite(X: np.ndarray, names: np.ndarray | None) -> None:
    """Refuse NaN and infinity, saying which columns and how many."""
    if X.dtype.kind != "f" or np.isfinite(X.sum(dtype=np.float64)):
        return
    is_bad = ~np.isfinite(X)
    if not is_bad.any():
        return
    columns = np.flatnonzero(is_bad.any(axis=0))
    worst = columns[np.argsort(-is_bad[:, columns].sum(axis=0), kind="stable")][:3]
    called = [f"column {i if names is None else repr(str(names[i]))} ({is_bad[:, i].sum()})" for i in worst]
    kinds = [name for name, is_kind in (("NaN", np.isnan(X)), ("infinity", np.isinf(X))) if is_kind.any()]
    more = f" and {len(columns) - 3} more columns" if len(columns) > 3 else ""
    raise ValueError(
        f"Input X contains {' and '.join(kinds)}: {is_bad.sum()} values, in {and_list(called)}{more}. "
        f"Every value must be a finite number of single precision: fill the gaps (for example with "
        f"sklearn.impute.SimpleImputer) or leave out those rows or columns."
    )
