"""From the columns of a table to the columns of X: feature types are inferred once and then applied.

The rules: numbers are numeric, and binary where they are exactly 0 and 1; true and false are binary; text is
categorical when it has at most 50 different values and fewer than half as many as there are rows, and is refused
otherwise; what the file or the user declares categorical is. A missing number becomes the column's median, a missing
binary value its most frequent one, a missing category a category of its own. An infinite number counts as missing.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from newfound.data.cells import booleans, cell_type, check_numeric, count_numbers, numbers, raise_unsupported_type, text
from newfound.data.schema import MISSING_CATEGORY, Column
from newfound.errors import DataError
from newfound.labels import sorted_names

MAX_CATEGORIES = 50
MOSTLY_NUMBERS = 0.9  # of a column's texts that are numbers, for the others to be taken as typing errors


def infer_columns(table: Any, names: Sequence[str], declared: Collection[str]) -> list[Column]:
    """The feature type of each named column that is not empty, and its positions in X."""
    columns, width = [], 0
    for name in names:
        column = infer_column(name, table.column(name), name in declared)
        if column is not None:
            end = width + len(column.feature_names)
            columns.append(replace(column, positions=tuple(range(width, end))))
            width = end
    return columns


def infer_column(name: str, cells: Any, is_declared: bool) -> Column | None:
    """None where every cell is missing."""
    found = cell_type(cells.type)
    if found == "null" or cells.null_count == len(cells):
        return None
    if found in ("time", "other"):
        raise_unsupported_type(name, cells.type)
    if is_declared or found == "categorical":
        return infer_categorical(name, text(cells))
    if found == "text":
        return _infer_text(name, text(cells))
    return infer_number(name, numbers(cells, name), is_boolean=found == "boolean")


def infer_number(name: str, values: np.ndarray, is_boolean: bool = False) -> Column | None:
    """Numeric or binary, from the values alone, so that it is the same for a file and for an array."""
    values = finite_singles(values)
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return None
    is_one = present == 1
    if is_boolean or (is_one.any() and not is_one.all() and bool((is_one | (present == 0)).all())):
        return Column(name, "binary", fill_value=float(2 * is_one.sum() > len(present)))
    return Column(name, "numeric", fill_value=float(np.median(present)))


def infer_categorical(name: str, words: Any) -> Column | None:
    found = sorted_names(words.unique().drop_null().to_pylist())
    if not found:
        return None
    is_missing_new = words.null_count > 0 and MISSING_CATEGORY not in found
    return Column(name, "categorical", categories=(*found, *([MISSING_CATEGORY] if is_missing_new else [])))


def _infer_text(name: str, words: Any) -> Column | None:
    import pyarrow.compute as pc

    n_filled, n_number = len(words) - words.null_count, count_numbers(words)
    if n_number == n_filled:
        return infer_number(name, numbers(words, name))
    n_different = pc.count_distinct(words).as_py()
    if n_different <= 2 and set(pc.utf8_lower(words).unique().drop_null().to_pylist()) <= {"true", "false"}:
        return infer_number(name, booleans(words, name), is_boolean=True)
    is_categorical = n_different <= MAX_CATEGORIES and 2 * n_different < len(words)
    if n_number >= MOSTLY_NUMBERS * n_filled or (2 * n_number >= n_filled and not is_categorical):
        check_numeric(words, name)
    if not is_categorical:
        _raise_too_many(name, n_different, len(words))
    return infer_categorical(name, words)


def _raise_too_many(name: str, n_different: int, n_rows: int) -> NoReturn:
    raise DataError(
        f"Column {name!r} is text with {n_different:,} different values in {n_rows:,} rows, too many for a categorical "
        f"column (at most {MAX_CATEGORIES}, and fewer than half the number of rows). Name it in `ignore` to drop it, "
        f"in `id` if it names the rows, or in `categorical` if it is categorical all the same."
    )


def finite_singles(values: np.ndarray) -> np.ndarray:
    """Single precision, NaN for what is missing or out of its range."""
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    singles[~np.isfinite(singles)] = np.nan
    return singles


def encode(table: Any, columns: Sequence[Column], first_row: int = 0) -> tuple[np.ndarray, list[Column]]:
    """X, and the columns with what was missing or unknown in these rows counted."""
    X = np.zeros((table.num_rows, sum(len(column.positions) for column in columns)), np.float32)
    encoders = {"numeric": _encode_numbers, "binary": _encode_numbers, "categorical": _encode_categories}
    counted = [encoders[column.feature_type](X, column, table.column(column.name), first_row) for column in columns]
    return X, counted


def _encode_numbers(X: np.ndarray, column: Column, cells: Any, first_row: int) -> Column:
    read = booleans if column.feature_type == "binary" else numbers
    X[:, column.positions[0]] = finite_singles(read(cells, column.name, first_row))
    return fill_missing(X, column)


def fill_missing(X: np.ndarray, column: Column) -> Column:
    """Fill NaN, and what is not 0 or 1 in a binary column, in place; the column with both counted."""
    values = X[:, column.positions[0]]
    is_missing = np.isnan(values)
    is_binary = column.feature_type == "binary"
    is_unknown = ~is_missing & (values != 0) & (values != 1) if is_binary else np.zeros_like(is_missing)
    values[is_missing | is_unknown] = column.fill_value
    return replace(column, n_missing=int(is_missing.sum()), n_unknown=int(is_unknown.sum()))


def _encode_categories(X: np.ndarray, column: Column, cells: Any, first_row: int) -> Column:
    """One-hot; all zeros where the category is unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = text(cells)
    known = pa.array(column.categories, pa.large_string())
    codes = pc.index_in(pc.fill_null(words, MISSING_CATEGORY), value_set=known)
    rows = np.flatnonzero(codes.is_valid().to_numpy())
    X[rows, column.positions[0] + np.asarray(codes.drop_null().to_numpy())] = 1
    n_unknown = pc.sum(pc.and_(words.is_valid(), codes.is_null())).as_py() or 0
    return replace(column, n_missing=words.null_count, n_unknown=n_unknown)
