"""From the columns of a table to the columns of X: the use of each is decided once (`encode` applies it).

Numbers are numeric, and binary if they are exactly 0 and 1. Numbers with units, currencies and separators are numeric
if the whole column has one format. Two opposite words (yes and no) are binary. Dates and times become numbers, lists of
numbers a block. Other text is categorical if it has at most 50 different values and fewer than half as many as there
are rows; otherwise it is dropped, with a note. A column that the file or the user declares categorical is categorical.

A missing number or date becomes the column's median, a missing binary value its most frequent one, a missing category a
category of its own. An infinite number counts as missing.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from newfound._internal.words import DataError
from newfound.labels import sorted_names
from newfound.tables.cells import (
    MAX_UNITS,
    are_booleans,
    booleans,
    cell_type,
    count_numbers,
    find_format,
    finite,
    needs_doubles,
    numbers,
    numbers_among_text,
    plain_numbers,
    text,
)
from newfound.tables.dataset import MISSING_CATEGORY, Column, Dropped
from newfound.tables.dates import AMBIGUOUS, find_dates, infer_date
from newfound.tables.encode import list_values

MAX_CATEGORIES = 50
MIN_SHARE_READ = 0.9  # of a column's texts that are numbers or dates; the others then count as missing
MIN_SHARE_DIFFERENT = 0.9  # of a column's texts, if all that it does is to tell rows apart
MIN_WORDS = 3.0  # on average, in free text
LIST_AS_TEXT = r"^\s*\[[-+\d.,;eE\s]*\d[-+\d.,;eE\s]*\]\s*$"
N_FIRST = 1000  # cells that are looked at before all of them


def infer_column(name: str, cells: Any, declared: str = "") -> Column | Dropped:
    """`declared` may be "categorical" or "numeric"."""
    import pyarrow.types as t

    found = cell_type(cells.type)
    inferred: Column | Dropped | None
    if found == "null" or cells.null_count == len(cells):
        inferred = None
    elif found == "other":
        inferred = Dropped(name, "other types", str(cells.type))
    elif found == "list":
        inferred = _infer_list(name, cells)
    elif declared == "categorical" or found == "categorical":
        inferred = _infer_categorical(name, text(cells))
    elif found == "time":
        inferred = infer_date(name, cells, "time only" if t.is_time(cells.type) else "year first")
    elif found == "text":
        inferred = _infer_text(name, text(cells), is_numeric=declared == "numeric")
    else:
        inferred = infer_number(name, numbers(cells, name), is_boolean=found == "boolean")
    return inferred or Dropped(name, "empty")


def infer_number(name: str, values: np.ndarray, is_boolean: bool = False) -> Column | None:
    """Numeric or binary, from the values alone, so that a file and an array give the same."""
    present = finite(values, float)
    present = present[~np.isnan(present)]
    is_double = len(present) > 0 and needs_doubles(present)
    if not is_double:
        present = finite(present)
        present = present[~np.isnan(present)]
    if len(present) == 0:
        return None
    is_one = present == 1
    if is_boolean or (is_one.any() and not is_one.all() and bool((is_one | (present == 0)).all())):
        return Column(name, "binary", fill_value=float(2 * is_one.sum() > len(present)))
    return Column(name, "numeric", fill_value=float(np.median(present)), is_double=is_double)


def _infer_categorical(name: str, words: Any) -> Column | None:
    found = sorted_names(words.unique().drop_null().to_pylist())
    if not found:
        return None
    is_missing_new = words.null_count > 0 and MISSING_CATEGORY not in found
    return Column(name, "categorical", categories=(*found, *([MISSING_CATEGORY] if is_missing_new else [])))


def _infer_text(name: str, words: Any, is_numeric: bool) -> Column | Dropped | None:
    """Numbers or dates if at least 90 % of the cells are; otherwise categories, if there are few enough."""
    import pyarrow.compute as pc

    n_filled = len(words) - words.null_count
    if not n_filled:
        return None
    if are_booleans(words) and not is_numeric:
        return infer_number(name, booleans(words, name), is_boolean=True)
    n_different = pc.count_distinct(words).as_py()
    is_categorical = n_different <= MAX_CATEGORIES and 2 * n_different < len(words)
    minimum = 1 if is_numeric else MIN_SHARE_READ * n_filled
    column = _as_numbers(name, words, minimum)
    if column is None and is_numeric:
        raise DataError(
            f"Column {name!r} is named in `numeric`, but none of its cells is a number. Remove it from `numeric`."
        )
    return (
        column
        or _as_dates(name, words, minimum)
        or (_infer_categorical(name, words) if is_categorical else None)
        or Dropped(name, _why_not_categorical(words, n_different, n_filled))
    )


def _as_numbers(name: str, words: Any, minimum: float) -> Column | None:
    """A numeric column if at least `minimum` texts are numbers, plain or all in one format."""
    n_filled, n_plain = len(words) - words.null_count, count_numbers(words)
    if n_plain >= minimum:
        column = infer_number(name, numbers_among_text(words, name))
        return None if column is None else column.replace(allows_text=n_plain < n_filled)
    found = find_format(words) if find_format(_first(words)) else None
    if found is None or found.n_cells < minimum:
        return None
    column = infer_number(name, numbers_among_text(plain_numbers(words, found.number_format), name))
    if column is None:
        return None
    return column.replace(
        feature_type="numeric", number_format=found.number_format, allows_text=found.n_cells < n_filled
    )


def _as_dates(name: str, words: Any, minimum: float) -> Column | Dropped | None:
    found = find_dates(words if find_dates(_first(words)).n_cells else _first(words))
    if found.n_cells < minimum:
        return None
    if set(found.orders) >= AMBIGUOUS:
        return Dropped(name, "day or month", words.drop_null()[0].as_py())
    column = infer_date(name, words, found.orders[0])
    n_filled = len(words) - words.null_count
    return None if column is None else column.replace(allows_text=found.n_cells < n_filled)


def _first(words: Any) -> Any:
    """Enough cells to see that a long column holds no numbers, dates or lists."""
    return words.drop_null()[:N_FIRST]


def _why_not_categorical(words: Any, n_different: int, n_filled: int) -> str:
    import pyarrow.compute as pc

    if bool(pc.all(pc.match_substring_regex(_first(words), LIST_AS_TEXT)).as_py()):
        return "lists as text"
    if 2 * count_numbers(words) >= n_filled:
        return "numbers and text"
    found = find_format(words)
    if found is not None and 1 < len(found.units) <= MAX_UNITS:
        number_with_unit = r"^[+-]?\d[\d.,' ]*[^\d]*$|^[^\d]*\d[\d.,' ]*$"
        if bool(pc.all(pc.match_substring_regex(words, number_with_unit)).as_py()):
            return "several units"
    if pc.mean(pc.count_substring(words, " ")).as_py() + 1 >= MIN_WORDS:
        return "free text"
    return "all different" if n_different >= MIN_SHARE_DIFFERENT * n_filled else "many categories"


def placed(columns: Sequence[Column]) -> list[Column]:
    """The columns with their positions in X."""
    ends = np.cumsum([len(column.feature_names) for column in columns]).tolist()
    starts = [0, *ends][: len(ends)]
    return [
        column.replace(positions=tuple(range(start, end)))
        for column, start, end in zip(columns, starts, ends, strict=True)
    ]


# ---- Blocks of numbers, such as embeddings: a column of lists, or columns e0, e1, … that belong together ----
# A block has one name in reports and one scale in the model, so that distances within it are kept.

MIN_BLOCK_COLUMNS = 32  # of a block: fewer numbered columns may be different things
MAX_SPREAD_RATIO = 10.0  # of the standard deviations of its columns: beyond, they are probably in different units
NUMBERED = re.compile(r"(.*?)(\d+)")


def _infer_list(name: str, cells: Any) -> Column | Dropped | None:
    """A block if all lists hold the same number of numbers; None if every cell is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    item = cells.type.value_type
    if not (pa.types.is_integer(item) or pa.types.is_floating(item)):
        return Dropped(name, "lists of other things")
    lengths = pc.unique(pc.list_value_length(cells)).drop_null().to_pylist()
    if len(lengths) > 1:
        return Dropped(name, "lists of different lengths")
    if not lengths or lengths[0] == 0:
        return None
    column = Column(name, "block", width=lengths[0])
    values = list_values(cells, column)
    has_numbers = np.isfinite(values).any(axis=0)
    medians = np.zeros(column.width)
    if has_numbers.any():
        medians[has_numbers] = np.nanmedian(values[:, has_numbers], axis=0)
    return column.replace(fill_value=tuple(medians.tolist()))


def join_numbered(columns: Sequence[Column], table: Any) -> list[Column]:
    """The same columns, with each run of numbered ones that may be an embedding as one block."""
    joined: list[Column] = []
    for prefix, members in groupby(columns, key=_prefix):
        run = list(members)
        if prefix is None or len(run) < MIN_BLOCK_COLUMNS or not _is_embedding(run, table):
            joined += run
            continue
        names = tuple(column.name for column in run)
        fill = tuple(float(column.fill_value) for column in run)  # type: ignore[arg-type]
        joined.append(Column(f"{names[0]} … {names[-1]}", "block", sources=names, fill_value=fill))
    return joined


def _prefix(column: Column) -> str | None:
    found = NUMBERED.fullmatch(column.name)
    is_plain = column.feature_type == "numeric" and not column.number_format and not column.allows_text
    return found[1] if found and is_plain else None


def _is_embedding(run: Sequence[Column], table: Any) -> bool:
    """Whether columns with consecutive numbers hold fractions of similar spread."""
    in_names = [int(NUMBERED.fullmatch(column.name)[2]) for column in run]  # type: ignore[index]
    if in_names != list(range(in_names[0], in_names[0] + len(run))):
        return False
    spreads = []
    for column in run:
        values = finite(numbers(table.column(column.name), column.name))
        present = values[np.isfinite(values)]
        if bool((present == np.rint(present)).all()):
            return False
        spreads.append(present.std())
    return max(spreads) <= MAX_SPREAD_RATIO * min(spreads)
