"""Cells become X and labels: each column as it was decided, with missing cells filled and counted."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from newfound._internal.words import DataError
from newfound.labels import MISSING, Labels
from newfound.tables.cells import (
    NUMBER,
    NumberFormat,
    booleans,
    cell_type,
    count_numbers,
    finite,
    numbers,
    numbers_among_text,
    plain_numbers,
    text,
    trimmed,
)
from newfound.tables.dataset import MISSING_CATEGORY, Column

# ---- From cells to X ----


def encode(table: Any, columns: Sequence[Column], first_row: int = 0) -> tuple[np.ndarray, list[Column]]:
    """X, and the columns with the numbers of missing and unknown cells in these rows."""
    X = np.zeros((table.num_rows, sum(len(column.positions) for column in columns)), precision(columns))
    encoders = {"categorical": _encode_categories, "date": _encode_dates, "block": _encode_block}
    return X, [encoders.get(c.feature_type, _encode_numbers)(X, c, table, first_row) for c in columns]


def precision(columns: Sequence[Column]) -> type[np.floating]:
    """Single precision, unless a column needs double."""
    return np.float64 if any(column.is_double for column in columns) else np.float32


def _encode_numbers(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    cells, n_text = table.column(column.name), 0
    is_text = cell_type(cells.type) in ("text", "categorical")
    if is_text and column.number_format:
        cells = plain_numbers(text(cells), NumberFormat(*column.number_format))
    if is_text and column.allows_text:
        words = text(cells)
        n_text = len(words) - words.null_count - count_numbers(words)
        values = numbers_among_text(words, column.name)
    else:
        values = (booleans if column.feature_type == "binary" else numbers)(cells, column.name, first_row)
    values = finite(values, X.dtype)
    counted = fill_missing(values, column)  # while the cells are contiguous
    X[:, column.positions[0]] = values
    return counted.replace(n_missing=counted.n_missing - n_text, n_unknown=counted.n_unknown + n_text)


def fill_missing(values: np.ndarray, column: Column) -> Column:
    """Fill NaN, and other values than 0 and 1 in a binary column, in place; return the column with both counted."""
    is_missing = np.isnan(values)
    is_binary = column.feature_type == "binary"
    is_unknown = ~is_missing & (values != 0) & (values != 1) if is_binary else np.zeros_like(is_missing)
    values[is_missing | is_unknown] = column.fill_value
    return column.replace(n_missing=int(is_missing.sum()), n_unknown=int(is_unknown.sum()))


def _encode_dates(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    from newfound.tables.dates import date_features

    cells = table.column(column.name)
    counted = _fill_rows(X, column, date_features(cells, column, first_row))
    n_empty = text(cells).null_count if cell_type(cells.type) == "text" else counted.n_missing
    return counted.replace(n_missing=n_empty, n_unknown=counted.n_missing - n_empty)


def _encode_block(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    if not column.sources:
        return _fill_rows(X, column, list_values(table.column(column.name), column, first_row))
    values = np.empty((len(column.sources), table.num_rows), np.float32)
    for cells, name in zip(values, column.sources, strict=True):
        cells[:] = finite(numbers(table.column(name), name, first_row))
    return _fill_rows(X, column, values.T)


def _fill_rows(X: np.ndarray, column: Column, values: np.ndarray) -> Column:
    """Put values in place, filled where missing; a row of the block or date counts as one cell."""
    here = X[:, column.positions[0] : column.positions[-1] + 1]
    here[:] = values
    is_missing = np.isnan(values)
    if is_missing.any():
        np.copyto(here, np.asarray(column.fill_value, X.dtype), where=is_missing)
    return column.replace(n_missing=int(is_missing.any(axis=1).sum()), n_unknown=0)


def _encode_categories(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    """One-hot; all zeros if the category is unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = text(table.column(column.name))
    known = pa.array(column.categories, pa.large_string())
    codes = pc.index_in(pc.fill_null(words, MISSING_CATEGORY), value_set=known)
    rows = np.flatnonzero(codes.is_valid().to_numpy())
    X[rows, column.positions[0] + np.asarray(codes.drop_null().to_numpy())] = 1
    n_unknown = pc.sum(pc.and_(words.is_valid(), codes.is_null())).as_py() or 0
    return column.replace(n_missing=words.null_count, n_unknown=n_unknown)


def list_values(cells: Any, column: Column, first_row: int = 0) -> np.ndarray:
    """(n, width), NaN where a list is missing; the error for a list of another length names its row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if cell_type(cells.type) != "list":
        raise DataError(
            f"Column {column.name!r} holds values of type {cells.type}; the model was fitted on lists of "
            f"{column.width} numbers. Give such lists."
        )
    lengths = np.asarray(pc.list_value_length(cells).cast(pa.float64()).to_numpy(), float)
    wrong = np.flatnonzero(np.isfinite(lengths) & (lengths != column.width))
    if len(wrong):
        raise DataError(
            f"Column {column.name!r} holds lists of {column.width} numbers, but row {first_row + wrong[0] + 1:,} of "
            f"the data has {lengths[wrong[0]]:.0f}. Give a list of that length, or empty that cell."
        )
    values = np.full((len(cells), column.width), np.nan, np.float32)
    present = pc.list_flatten(cells.drop_null()).cast(pa.float32(), safe=False)
    values[np.isfinite(lengths)] = np.asarray(present.to_numpy()).reshape(-1, column.width)
    return finite(values)


# ---- From cells to labels, by the rule of newfound.labels ----
# A text file declares no types, so class names are text (3 is "3") and 2.0 is read as 2. A column of fractions is
# refused: it is a measurement, not a label.


def labels_of(table: Any, label: str | None, declared: Sequence[str] = ()) -> Labels:
    """The labels of a table, by the name of their column."""
    if label is None:
        return Labels.none(table.num_rows, declared)
    return labels_of_column(table.column(label), label, declared)


def labels_of_column(cells: Any, name: str, declared: Sequence[str] = ()) -> Labels:
    """Labels of an Arrow column; declared classes keep their place, others follow them."""
    import pyarrow as pa

    plain = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
    if cell_type(plain.type) not in ("number", "boolean", "text", "null", "time"):
        raise DataError(
            f"The labels in {name!r} are values of type {cells.type}; expected integers or text. Name another column."
        )
    encoded = plain.dictionary_encode("encode").combine_chunks()  # one dictionary of all values, nulls included
    values = trimmed(encoded.dictionary).to_pylist()  # a million rows have few distinct values
    present = [value for value in values if value is not None and value not in MISSING]
    if all(re.match(NUMBER, value) for value in present):
        fraction = next((value for value in present if not float(value).is_integer()), None)
        if fraction is not None:
            raise DataError(
                f"The labels in {name!r} are numbers with fractions, such as {fraction}, but labels are names of "
                f"classes. Name another column, or cut these numbers into ranges first."
            )
    return Labels.of_distinct(values, encoded.indices.to_numpy(), declared)


def labels_of_array(y: Any, n_rows: int, name: str = "y", declared: Sequence[str] = ()) -> Labels:
    """Labels of a list or array of integers or strings; −1, None, NaN and "" mean unlabelled."""
    import pyarrow as pa

    if y is None:
        return Labels.none(n_rows, declared)
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    check_one_for_each_row(values, n_rows, name)
    try:
        cells = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(f"The labels {name!r} must all be integers or all strings ({error}).") from None
    except UnicodeDecodeError:
        raise DataError(f"The labels {name!r} are not all valid text. Save them again as UTF-8.") from None
    return labels_of_column(pa.chunked_array([cells]), name, declared)


def check_one_for_each_row(values: np.ndarray, n_rows: int, name: str) -> None:
    if values.ndim != 1 or len(values) != n_rows:
        raise DataError(
            f"The labels {name!r} must be one for each of the {n_rows:,} rows, got an array of shape {values.shape}. "
            f"Give a label for every row, and -1 or '' where there is none."
        )
