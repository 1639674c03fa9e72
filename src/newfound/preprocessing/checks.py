"""What X must be, each refusal with its remedy; and whether new rows lie where the rows of the fit did."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.frames import column_values, is_frame, text_columns
from newfound._internal.words import and_list, count, percent, short_list, shortened
from newfound.config import Number
from newfound.preprocessing.columns import Preprocessing

# ---- What X must be, each refusal with its remedy ----


def check_readable(X: Any) -> None:
    """Refuse what is no matrix, or no matrix of numbers."""
    check_shape(X)
    check_numeric(X)


@contextmanager
def overflow_told() -> Iterator[None]:
    """Say in a sentence that a whole number is beyond what a float can hold."""
    try:
        yield
    except OverflowError:
        raise ValueError("X holds a whole number beyond 1.8e308, too large to compute with. Correct it.") from None


def check_shape(X: Any) -> None:
    """Refuse what is not computed yet, has no rows, no columns, or more than two dimensions."""
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise ValueError(f"X must be a table in memory; got a {type(X).__name__}. Give X.collect() instead.")
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
            f"Drop such columns or encode them, for example with sklearn.preprocessing.OneHotEncoder."
        )


def refuse_unknown(arguments: dict[str, Any]) -> None:
    """Refuse what `fit` does not take, and say why rows have no weights."""
    if not arguments:
        return
    why = (
        " Rows cannot be weighted: classes are discovered by how many rows there are and how many carry a label. Leave "
        "rows out instead; score() takes weights."
    )
    raise TypeError(
        f"fit() takes X, y and groups; got {and_list(map(repr, arguments))}." + why * ("sample_weight" in arguments)
    )


def check_groups(groups: Any, n_rows: int) -> np.ndarray:
    """The number of each row's group; refuse anything but one value a row."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(
            f"groups must have one value for each row: X has {n_rows} rows, groups has shape {values.shape}. "
            f"Give the person, site or machine that each row comes from, or leave groups out."
        )
    return np.unique(values if values.dtype.kind in "iub" else values.astype(str), return_inverse=True)[1]


def is_plain_matrix(X: Any) -> bool:
    """Whether X is an array of numbers with rows, in which other checks would find nothing."""
    return type(X) is np.ndarray and X.dtype.kind in "fiub" and X.ndim == 2 and len(X) > 0


def as_rows(X: np.ndarray) -> np.ndarray:
    """An array of numbers in a dtype that models read, uint8 or floating; itself where it is of one."""
    return X if X.dtype in (np.uint8, np.float32, np.float64) else X.astype(np.float64)


def check_finite(X: np.ndarray, names: np.ndarray | None) -> None:
    """Refuse NaN and infinity, saying which columns and how many."""
    with np.errstate(over="ignore", invalid="ignore"):
        if X.dtype.kind != "f" or np.isfinite(X.sum()):  # a sum that is too large proves nothing, and is looked into
            return
    is_bad = ~np.isfinite(X)
    if not is_bad.any():
        return
    columns = np.flatnonzero(is_bad.any(axis=0))
    worst = columns[np.argsort(-is_bad[:, columns].sum(axis=0), kind="stable")][:3]
    named = [f"column {i if names is None else repr(str(names[i]))} ({is_bad[:, i].sum()})" for i in worst]
    kinds = [name for name, is_kind in (("NaN", np.isnan(X)), ("infinity", np.isinf(X))) if is_kind.any()]
    more = f" and {len(columns) - 3} more columns" if len(columns) > 3 else ""
    raise ValueError(
        f"Input X contains {' and '.join(kinds)}: {is_bad.sum()} values, in {and_list(named)}{more}. "
        f"Every value must be a finite number: fill the gaps (for example with "
        f"sklearn.impute.SimpleImputer) or drop those rows or columns."
    )


def check_feature_types(feature_types: Any, n_columns: int) -> None:
    """Refuse types that are not one for each column, or that nobody knows."""
    if feature_types is None:
        return
    if len(feature_types) != n_columns:
        raise ValueError(
            f"feature_types must name a type for each of the {n_columns} columns of X; got {len(feature_types)} types. "
            f"Give one of 'numeric', 'numeric:<block>', 'binary' or 'categorical:<group>' for every column."
        )
    for feature_type in feature_types:
        is_named = str(feature_type).startswith(("categorical:", "numeric:"))
        if feature_type not in ("numeric", "binary") and not is_named:
            raise ValueError(
                f"feature_types must hold 'numeric', 'binary', 'numeric:<block>' or 'categorical:<group>'; got "
                f"{feature_type!r}. The columns of one block or one-hot group share the name after the colon."
            )


def check_image_shape(shape: Any, n_columns: int) -> None:
    """Refuse a shape whose pixels are not the columns."""
    if shape is None:
        return
    is_shape = isinstance(shape, (tuple, list)) and len(shape) in (2, 3)
    if not is_shape or not all(Number(1, whole=True).accepts(length) for length in shape):
        got = shortened(repr(shape), 100)
        raise ValueError(f"image_shape must be (height, width) or (height, width, channels), or None; got {got}.")
    if math.prod(shape) != n_columns:
        raise ValueError(
            f"image_shape = {tuple(shape)} makes {math.prod(shape)} pixels, but X has {n_columns} columns. "
            f"Give the shape that the images had before they were flattened."
        )


def _text_columns(X: Any) -> list[str]:
    if is_frame(X):
        return [f"column {name!r}" for name in text_columns(X) if _holds_text(column_values(X, name))]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        return [f"column {i}" for i in range(X.shape[1]) if _holds_text(X[:, i])]
    return []


def _holds_text(column: np.ndarray) -> bool:
    return any(isinstance(value, str) and not _is_number(value) for value in column)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- Whether rows lie where the rows of the fit did: a file in other units does not, and its answers mean little ----
# Rows of the same kind have a few cells outside of the range that was fitted on, never most of a column.

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


# ---- Wild cells in words: how many there are, and what became of them ----


def about_wild(X: np.ndarray, preprocessing: Preprocessing, name: Callable[[int], str]) -> str:
    """Nothing where there are none; `name` is that of a column of X."""
    n_wild = preprocessing.n_wild(X) if np.isfinite(preprocessing.fences).any() else np.zeros(1, int)
    if not n_wild.any():
        return ""
    worst, n = int(n_wild.argmax()), int(n_wild.sum())
    column = name(int(np.flatnonzero(preprocessing.is_kept)[worst]))
    low, high = preprocessing.fences[:, worst]
    where = f"in {column}" if n == n_wild[worst] else f"most of them in {column}"
    return (
        f"{count(n, 'cell')} in {count(int((n_wild > 0).sum()), 'column')} {'lies' if n == 1 else 'lie'} far away from "
        f"nearly all others and {'counts' if n == 1 else 'count'} like the nearest value that does not: {where}, where "
        f"values from {low:.4g} to {high:.4g} are taken as they are."
    )
