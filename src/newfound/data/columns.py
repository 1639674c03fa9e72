"""From the columns of a table to the columns of X: numeric, binary or category, decided once and then applied.

The rules: numbers are numeric, and binary where they are exactly 0 and 1; true and false are binary; text is a category
when it has at most 50 different values and fewer than half as many as there are rows, and is refused otherwise; what
the file or the user declares a category is one. Missing numbers become the column's median, missing flags its commonest
value, missing categories a category of their own. An infinite number counts as missing.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from newfound.data.cells import flags, kind_of, n_numbers, numbers, refuse_stray_word, refuse_type, text
from newfound.data.dataset import MISSING_CATEGORY, Column
from newfound.data.problems import DataError

MOST_CATEGORIES = 50
MOSTLY = 0.9  # of a column's words that are numbers, for the others to be taken as slips


def decide_columns(table: Any, names: Sequence[str], declared: Collection[str]) -> list[Column]:
    """The role of each named column that holds anything, and its place in X."""
    columns, width = [], 0
    for name in names:
        column = decide_column(name, table.column(name), name in declared)
        if column is not None:
            end = width + len(column.feature_names)
            columns.append(replace(column, positions=tuple(range(width, end))))
            width = end
    return columns


def decide_column(name: str, cells: Any, is_declared: bool) -> Column | None:
    """None where every cell is missing."""
    kind = kind_of(cells.type)
    if kind == "nothing" or cells.null_count == len(cells):
        return None
    if kind in ("time", "other"):
        refuse_type(name, cells.type)
    if is_declared or kind == "category":
        return decide_category(name, text(cells))
    if kind == "text":
        return _decide_text(name, text(cells))
    return decide_number(name, numbers(cells, name), is_flag=kind == "flag")


def decide_number(name: str, values: np.ndarray, is_flag: bool = False) -> Column | None:
    """Numeric or binary, from the values alone, so that it is the same for a file and for an array."""
    values = finite_singles(values)
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return None
    is_one = present == 1
    if is_flag or (is_one.any() and not is_one.all() and bool((is_one | (present == 0)).all())):
        return Column(name, "binary", fill=float(2 * is_one.sum() > len(present)))
    return Column(name, "numeric", fill=float(np.median(present)))


def decide_category(name: str, words: Any) -> Column | None:
    found = sorted_names(words.unique().drop_null().to_pylist())
    if not found:
        return None
    is_missing_new = words.null_count > 0 and MISSING_CATEGORY not in found
    return Column(name, "category", categories=(*found, *([MISSING_CATEGORY] if is_missing_new else [])))


def _decide_text(name: str, words: Any) -> Column | None:
    import pyarrow.compute as pc

    n_filled, n_number = len(words) - words.null_count, n_numbers(words)
    if n_number == n_filled:
        return decide_number(name, numbers(words, name))
    n_different = pc.count_distinct(words).as_py()
    if n_different <= 2 and set(pc.utf8_lower(words).unique().drop_null().to_pylist()) <= {"true", "false"}:
        return decide_number(name, flags(words, name), is_flag=True)
    is_category = n_different <= MOST_CATEGORIES and 2 * n_different < len(words)
    if n_number >= MOSTLY * n_filled or (2 * n_number >= n_filled and not is_category):
        refuse_stray_word(words, name)
    if not is_category:
        raise DataError(
            f"Column {name!r} is text with {n_different:,} different values in {len(words):,} rows, too many for a "
            f"category (at most {MOST_CATEGORIES}, and fewer than half as many as rows). Name it in `ignore` to leave "
            f"it out, in `id` if it names the rows, or in `categorical` if it is a category all the same."
        )
    return decide_category(name, words)


def sorted_names(names: list[str]) -> list[str]:
    """In the order of their numbers where all are whole numbers, else of their letters."""
    is_whole = all(name.lstrip("-").isdecimal() for name in names)
    return sorted(names, key=int) if is_whole else sorted(names)


def finite_singles(values: np.ndarray) -> np.ndarray:
    """Single precision, NaN for what is missing or beyond it."""
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    singles[~np.isfinite(singles)] = np.nan
    return singles


def encode(table: Any, columns: Sequence[Column], first_row: int = 0) -> tuple[np.ndarray, list[Column]]:
    """X, and the columns with what was missing or unknown in these rows counted."""
    X = np.zeros((table.num_rows, sum(len(column.positions) for column in columns)), np.float32)
    place = {"numeric": _place_numbers, "binary": _place_numbers, "category": _place_category}
    counted = [place[column.role](X, column, table.column(column.name), first_row) for column in columns]
    return X, counted


def _place_numbers(X: np.ndarray, column: Column, cells: Any, first_row: int) -> Column:
    read = flags if column.role == "binary" else numbers
    X[:, column.positions[0]] = finite_singles(read(cells, column.name, first_row))
    return fill_gaps(X, column)


def fill_gaps(X: np.ndarray, column: Column) -> Column:
    """Fill NaN, and what is not 0 or 1 in a binary column, in place; the column with both counted."""
    values = X[:, column.positions[0]]
    is_missing = np.isnan(values)
    is_unknown = ~is_missing & (values != 0) & (values != 1) if column.role == "binary" else np.zeros_like(is_missing)
    values[is_missing | is_unknown] = column.fill
    return replace(column, n_missing=int(is_missing.sum()), n_unknown=int(is_unknown.sum()))


def _place_category(X: np.ndarray, column: Column, cells: Any, first_row: int) -> Column:
    """One 1 in each row; none where the category is not among those decided on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = text(cells)
    known = pa.array(column.categories, pa.large_string())
    codes = pc.index_in(pc.fill_null(words, MISSING_CATEGORY), value_set=known)
    rows = np.flatnonzero(codes.is_valid().to_numpy())
    X[rows, column.positions[0] + np.asarray(codes.drop_null().to_numpy())] = 1
    n_unknown = pc.sum(pc.and_(words.is_valid(), codes.is_null())).as_py() or 0
    return replace(column, n_missing=words.null_count, n_unknown=n_unknown)
