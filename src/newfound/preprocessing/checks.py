"""Checks of X, each error with its remedy; whether rows are in the range of the training data; outliers in words."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.frames import column_values, is_frame, text_columns
from newfound._internal.words import and_list, count, percent, short_list, shortened
from newfound.config import Number
from newfound.preprocessing.columns import Preprocessing


@contextmanager
def explain_overflow() -> Iterator[None]:
    """A readable error for whole numbers that are too large for a float."""
    try:
        yield
    except OverflowError:
        raise ValueError("X holds a whole number beyond 1.8e308, too large to compute with. Correct it.") from None


def check_shape(X: Any) -> None:
    """Refuse lazy tables, and arrays without rows, without columns or of three dimensions."""
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
    """Refuse text columns by name."""
    text = []
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.dtype.kind in "OUS":
            text = [f"column {i}" for i in range(X.shape[1]) if _holds_text(X[:, i])]
    elif is_frame(X):
        text = [f"column {name!r}" for name in text_columns(X) if _holds_text(column_values(X, name))]
    if text:
        raise ValueError(
            f"X must hold numbers only, got text in {and_list(text)}. "
            f"Drop such columns or encode them, for example with sklearn.preprocessing.OneHotEncoder."
        )


def refuse_unknown(arguments: dict[str, Any]) -> None:
    """Refuse arguments that `fit` does not have, and explain why rows have no weights."""
    if not arguments:
        return
    why = (
        " Rows cannot be weighted: classes are discovered by counting rows and labels. Leave rows out instead; score() "
        "takes weights."
    )
    raise TypeError(
        f"fit() takes X, y and groups; got {and_list(map(repr, arguments))}." + why * ("sample_weight" in arguments)
    )


def check_groups(groups: Any, n_rows: int) -> np.ndarray:
    """The number of each row's group; refuse anything but one value for each row."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(
            f"groups must have one value for each row: X has {n_rows} rows, groups has shape {values.shape}. "
            f"Give the person, site or machine that each row comes from, or leave groups out."
        )
    return np.unique(values if values.dtype.kind in "iub" else values.astype(str), return_inverse=True)[1]


def is_plain_matrix(X: Any) -> bool:
    """Whether X is an array of numbers with rows, so that no other check can fail."""
    return type(X) is np.ndarray and X.dtype.kind in "fiub" and X.ndim == 2 and len(X) > 0


def as_rows(X: np.ndarray) -> np.ndarray:
    """An array of numbers in a dtype that models read, uint8 or floating; not copied if it has one."""
    return X if X.dtype in (np.uint8, np.float32, np.float64) else X.astype(np.float64)


def check_finite(X: np.ndarray, names: np.ndarray | None) -> None:
    """Refuse NaN and infinity, with their columns and counts."""
    with np.errstate(over="ignore", invalid="ignore"):
        if X.dtype.kind != "f" or np.isfinite(X.sum()):  # a sum that overflows proves nothing
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
    """Refuse a wrong number of types, and unknown types."""
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
    """Refuse a shape whose number of pixels is not that of the columns."""
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


def _holds_text(column: np.ndarray) -> bool:
    return any(isinstance(value, str) and not _is_number(value) for value in column)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- Whether rows are in the range of the training data: a file in other units is not, and answers are unreliable ----
# Ordinary rows have a few cells outside the range that the model was fitted on, but never most of a column.

MIN_COLUMN_ROWS = 10  # with fewer rows, single columns are not judged
MAX_OUTSIDE = 0.5  # share of the cells of a column
MIN_WIDTH = 1 / 50  # of the training range
SHOW_SHARE = 0.01  # of all cells: a smaller share outside is not reported
CHECK_UNITS = (
    "Check the units. If they match the training data, these rows are far outside it and their classes are unreliable."
)

ColumnName = Callable[[int], str]  # of a column by its number


class RangeCheck(NamedTuple):
    """For each kept column, the number of cells outside the training range, and the range of these rows."""

    n_rows: int
    n_outside: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fitted: np.ndarray  # (2, columns): minimum and maximum in training

    @classmethod
    def of(cls, X: np.ndarray, preprocessing: Preprocessing) -> "RangeCheck":
        kept = preprocessing.kept(X)
        least, greatest = preprocessing.fitted_range
        low, high = kept.min(axis=0), kept.max(axis=0)
        n_outside = np.zeros(kept.shape[1], int)
        columns = np.flatnonzero((low < least) | (high > greatest))  # usually few, so only these are counted
        if len(columns):
            some = kept[:, columns]
            n_outside[columns] = ((some < least[columns]) | (some > greatest[columns])).sum(axis=0)
        return cls(len(kept), n_outside, low, high, preprocessing.fitted_range)

    def joined(self, more: "RangeCheck") -> "RangeCheck":
        """Of the rows of both."""
        low, high = np.minimum(self.low, more.low), np.maximum(self.high, more.high)
        return RangeCheck(self.n_rows + more.n_rows, self.n_outside + more.n_outside, low, high, self.fitted)

    @property
    def share(self) -> float:
        return float(self.n_outside.sum()) / max(1, self.n_rows * len(self.n_outside))

    def units_message(self, name: ColumnName) -> str:
        """A warning if the units seem to differ from those in training, else ""; `name` names kept columns."""
        max_outside = MAX_OUTSIDE * self.n_rows
        is_judged = self.n_rows >= MIN_COLUMN_ROWS
        if self.share > MAX_OUTSIDE or (is_judged and bool((self.n_outside > max_outside).any())):
            return f"{self._outside(name)} {CHECK_UNITS}"
        # Such as a table, or the pixels of an image, divided by a number. Rows that are all equal prove nothing.
        least, greatest = self.fitted
        widths = (self.high / 2 - self.low / 2) / (greatest / 2 - least / 2)  # halves do not overflow
        if is_judged and 0 < widths.max() < MIN_WIDTH:
            first = self._ranges(0, name)
            return f"No column varies by more than {MIN_WIDTH:.0%} of its training range: {first} {CHECK_UNITS}"
        return ""

    def message(self, name: ColumnName) -> str:
        """The same, or the number of cells outside the training range if that is at least 1 % of them."""
        return self.units_message(name) or (self._outside(name) if self.share >= SHOW_SHARE else "")

    def _outside(self, name: ColumnName) -> str:
        order = np.argsort(-self.n_outside, kind="stable")[: np.count_nonzero(self.n_outside)]
        columns = short_list([f"{name(int(i))} ({self.n_outside[i]:,})" for i in order], 5)
        n = int(self.n_outside.sum())
        return (
            f"{count(n, 'cell')} ({percent(self.share)}) {'is' if n == 1 else 'are'} outside the training range: "
            f"{columns}. {self._ranges(int(order[0]), name)}"
        )

    def _ranges(self, column: int, name: ColumnName) -> str:
        low, high = self.fitted[:, column]
        here = f"{self.low[column]:.4g} to {self.high[column]:.4g}"
        return f"{name(column)} was {low:.4g} to {high:.4g} in training and is {here} here."


def outlier_message(X: np.ndarray, preprocessing: Preprocessing, name: ColumnName) -> str:
    """The number of clipped outliers in words, "" if there are none; `name` names columns of X."""
    if not np.isfinite(preprocessing.clip_range).any():
        return ""
    n_outliers = preprocessing.n_outliers(X)
    if not n_outliers.any():
        return ""
    worst, n = int(n_outliers.argmax()), int(n_outliers.sum())
    column = name(int(np.flatnonzero(preprocessing.is_kept)[worst]))
    low, high = preprocessing.clip_range[:, worst]
    cells, were = count(n, "outlier cell"), "was" if n == 1 else "were"
    kept = f"(kept range: {low:.4g} to {high:.4g})"
    if n == n_outliers[worst]:
        return f"{cells} in {column} {were} clipped {kept}."
    return f"{cells} in {count(int((n_outliers > 0).sum()), 'column')} {were} clipped. Most are in {column} {kept}."
