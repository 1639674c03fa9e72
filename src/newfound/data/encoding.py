"""From cells to X, by what was decided about each column; what is missing or unknown is filled and counted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from newfound.data.cells import booleans, cell_type, count_numbers, finite, numbers, numbers_among_text, text
from newfound.data.dates import date_features
from newfound.data.number_blocks import list_values
from newfound.data.number_format import NumberFormat, plain_numbers
from newfound.data.schema import MISSING_CATEGORY, Column


def encode(table: Any, columns: Sequence[Column], first_row: int = 0) -> tuple[np.ndarray, list[Column]]:
    """X, and the columns with what was missing or unknown in these rows counted."""
    X = np.zeros((table.num_rows, sum(len(column.positions) for column in columns)), precision(columns))
    encoders = {"categorical": _encode_categories, "date": _encode_dates, "block": _encode_block}
    return X, [encoders.get(c.feature_type, _encode_numbers)(X, c, table, first_row) for c in columns]


def precision(columns: Sequence[Column]) -> type[np.floating]:
    """What X is in: single precision, unless that would lose something."""
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
    counted = fill_missing(values, column)  # before it goes where its cells are far apart
    X[:, column.positions[0]] = values
    return replace(counted, n_missing=counted.n_missing - n_text, n_unknown=counted.n_unknown + n_text)


def fill_missing(values: np.ndarray, column: Column) -> Column:
    """Fill NaN, and what is not 0 or 1 in a binary column, in place; the column with both counted."""
    is_missing = np.isnan(values)
    is_binary = column.feature_type == "binary"
    is_unknown = ~is_missing & (values != 0) & (values != 1) if is_binary else np.zeros_like(is_missing)
    values[is_missing | is_unknown] = column.fill_value
    return replace(column, n_missing=int(is_missing.sum()), n_unknown=int(is_unknown.sum()))


def _encode_dates(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    cells = table.column(column.name)
    counted = _fill_rows(X, column, date_features(cells, column, first_row))
    n_empty = text(cells).null_count if cell_type(cells.type) == "text" else counted.n_missing
    return replace(counted, n_missing=n_empty, n_unknown=counted.n_missing - n_empty)


def _encode_block(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    if not column.sources:
        return _fill_rows(X, column, list_values(table.column(column.name), column, first_row))
    values = np.empty((len(column.sources), table.num_rows), np.float32)
    for cells, name in zip(values, column.sources, strict=True):
        cells[:] = finite(numbers(table.column(name), name, first_row))
    return _fill_rows(X, column, values.T)


def _fill_rows(X: np.ndarray, column: Column, values: np.ndarray) -> Column:
    """Put values in their place, with the fill values where they are missing; cells are counted by their rows."""
    here = X[:, column.positions[0] : column.positions[-1] + 1]
    here[:] = values
    is_missing = np.isnan(values)
    if is_missing.any():
        np.copyto(here, np.asarray(column.fill_value, X.dtype), where=is_missing)
    return replace(column, n_missing=int(is_missing.any(axis=1).sum()), n_unknown=0)


def _encode_categories(X: np.ndarray, column: Column, table: Any, first_row: int) -> Column:
    """One-hot; all zeros where the category is unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = text(table.column(column.name))
    known = pa.array(column.categories, pa.large_string())
    codes = pc.index_in(pc.fill_null(words, MISSING_CATEGORY), value_set=known)
    rows = np.flatnonzero(codes.is_valid().to_numpy())
    X[rows, column.positions[0] + np.asarray(codes.drop_null().to_numpy())] = 1
    n_unknown = pc.sum(pc.and_(words.is_valid(), codes.is_null())).as_py() or 0
    return replace(column, n_missing=words.null_count, n_unknown=n_unknown)
