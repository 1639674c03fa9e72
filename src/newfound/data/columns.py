"""From the columns of a table to the columns of X: what becomes of each is decided once (`encoding` applies it).

The rules: numbers are numeric, and binary where they are exactly 0 and 1; so are numbers with units, currencies and
separators, where the whole column agrees. Two opposite words (yes and no) are binary. Dates and times become numbers,
lists of numbers a block. Other text is categorical when it has at most 50 different values and fewer than half as many
as there are rows; else it is dropped, with a note. What the file or the user declares categorical is.

A missing number or date becomes the column's median, a missing binary value its most frequent one, a missing category a
category of its own. An infinite number counts as missing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from newfound.data.cells import (
    are_booleans,
    booleans,
    cell_type,
    count_numbers,
    finite,
    needs_doubles,
    numbers,
    numbers_among_text,
    text,
)
from newfound.data.dates import AMBIGUOUS, find_dates, infer_date
from newfound.data.number_blocks import infer_list
from newfound.data.number_format import MAX_UNITS, FormatFound, find_format, plain_numbers
from newfound.data.schema import MISSING_CATEGORY, Column, Dropped
from newfound.errors import DataError
from newfound.labels import sorted_names

MAX_CATEGORIES = 50
MOSTLY = 0.9  # of a column's texts that are numbers or dates, for the others to be taken as missing
NEARLY_ALL = 0.9  # of a column's texts that are different, for it to tell rows apart and nothing else
MIN_WORDS = 3.0  # on average, in free text
LIST_AS_TEXT = r"^\s*\[[-+\d.,;eE\s]*\d[-+\d.,;eE\s]*\]\s*$"
N_FIRST = 1000  # cells that are looked at before all of them are


def infer_column(name: str, cells: Any, declared: str = "") -> Column | Dropped:
    """`declared` may be "categorical" or "numeric"."""
    found = cell_type(cells.type)
    if found == "null" or cells.null_count == len(cells):
        return Dropped(name, "empty")
    if found == "other":
        return Dropped(name, "other types", str(cells.type))
    return _inferred(name, cells, found, declared) or Dropped(name, "empty")


def _inferred(name: str, cells: Any, found: str, declared: str) -> Column | Dropped | None:
    if found == "list":
        return infer_list(name, cells)
    if declared == "categorical" or found == "categorical":
        return infer_categorical(name, text(cells))
    if found == "time":
        return infer_date(name, cells, _order_of(cells.type))
    if found == "text":
        return _infer_text(name, text(cells), is_numeric=declared == "numeric")
    return infer_number(name, numbers(cells, name), is_boolean=found == "boolean")


def _order_of(arrow_type: Any) -> str:
    import pyarrow.types as t

    return "time only" if t.is_time(arrow_type) else "year first"


def infer_number(name: str, values: np.ndarray, is_boolean: bool = False) -> Column | None:
    """Numeric or binary, from the values alone, so that it is the same for a file and for an array."""
    present = _present(values, float)
    is_double = len(present) > 0 and needs_doubles(present)
    if not is_double:
        present = _present(present, np.float32)
    if len(present) == 0:
        return None
    is_one = present == 1
    if is_boolean or (is_one.any() and not is_one.all() and bool((is_one | (present == 0)).all())):
        return Column(name, "binary", fill_value=float(2 * is_one.sum() > len(present)))
    return Column(name, "numeric", fill_value=float(np.median(present)), is_double=is_double)


def _present(values: np.ndarray, dtype: Any) -> np.ndarray:
    cast = finite(values, dtype)
    return cast[~np.isnan(cast)]


def infer_categorical(name: str, words: Any) -> Column | None:
    found = sorted_names(words.unique().drop_null().to_pylist())
    if not found:
        return None
    is_missing_new = words.null_count > 0 and MISSING_CATEGORY not in found
    return Column(name, "categorical", categories=(*found, *([MISSING_CATEGORY] if is_missing_new else [])))


def _infer_text(name: str, words: Any, is_numeric: bool) -> Column | Dropped | None:
    """Numbers or dates if all cells are, or nearly all; else categories, if there are few enough."""
    import pyarrow.compute as pc

    n_filled = len(words) - words.null_count
    if not n_filled:
        return None
    if are_booleans(words) and not is_numeric:
        return infer_number(name, booleans(words, name), is_boolean=True)
    n_different = pc.count_distinct(words).as_py()
    is_categorical = n_different <= MAX_CATEGORIES and 2 * n_different < len(words)
    least = 1 if is_numeric else MOSTLY * n_filled
    written = _as_numbers(name, words, least)
    if written is not None or is_numeric:
        return written or _raise_no_number(name)
    return (
        _as_dates(name, words, least)
        or (infer_categorical(name, words) if is_categorical else None)
        or Dropped(name, _why_not_categorical(words, n_different, n_filled))
    )


def _as_numbers(name: str, words: Any, least: float) -> Column | None:
    """A numeric column where at least so many texts are numbers, plain or all in one format."""
    n_filled, n_plain = len(words) - words.null_count, count_numbers(words)
    if n_plain >= least:
        column = infer_number(name, numbers_among_text(words, name))
        return None if column is None else replace(column, allows_text=n_plain < n_filled)
    found = find_format(words) if find_format(_first(words)) else None
    if found is None or found.n_cells < least:
        return None
    column = infer_number(name, numbers_among_text(plain_numbers(words, found.number_format), name))
    if column is None:
        return None
    return replace(
        column, feature_type="numeric", number_format=found.number_format, allows_text=found.n_cells < n_filled
    )


def _as_dates(name: str, words: Any, least: float) -> Column | Dropped | None:
    found = find_dates(words if find_dates(_first(words)).n_cells else _first(words))
    if found.n_cells < least:
        return None
    if set(found.orders) >= AMBIGUOUS:
        return Dropped(name, "day or month", words.drop_null()[0].as_py())
    column = infer_date(name, words, found.orders[0])
    n_filled = len(words) - words.null_count
    return None if column is None else replace(column, allows_text=found.n_cells < n_filled)


def _first(words: Any) -> Any:
    """Enough cells to see that a long column holds nothing of a kind."""
    return words.drop_null()[:N_FIRST]


def _why_not_categorical(words: Any, n_different: int, n_filled: int) -> str:
    import pyarrow.compute as pc

    if bool(pc.all(pc.match_substring_regex(_first(words), LIST_AS_TEXT)).as_py()):
        return "lists as text"
    if 2 * count_numbers(words) >= n_filled:
        return "numbers and text"
    if _has_several_units(find_format(words), words):
        return "several units"
    if pc.mean(pc.count_substring(words, " ")).as_py() + 1 >= MIN_WORDS:
        return "free text"
    return "all different" if n_different >= NEARLY_ALL * n_filled else "many categories"


def _has_several_units(found: FormatFound | None, words: Any) -> bool:
    import pyarrow.compute as pc

    if found is None or not 1 < len(found.units) <= MAX_UNITS:
        return False
    pattern = r"^[+-]?\d[\d.,' ]*[^\d]*$|^[^\d]*\d[\d.,' ]*$"
    return bool(pc.all(pc.match_substring_regex(words, pattern)).as_py())


def _raise_no_number(name: str) -> Column:
    raise DataError(f"Column {name!r} is named in `numeric`, but none of its cells is a number. Leave it out there.")


def placed(columns: Sequence[Column]) -> list[Column]:
    """The columns with their positions in X."""
    ends = np.cumsum([len(column.feature_names) for column in columns]).tolist()
    starts = [0, *ends][: len(ends)]
    return [
        replace(column, positions=tuple(range(start, end)))
        for column, start, end in zip(columns, starts, ends, strict=True)
    ]
