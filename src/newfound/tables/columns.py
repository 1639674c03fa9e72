"""From the columns of a table to the columns of X: what becomes of each is decided once (`encode` applies it)."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from newfound._internal.words import DataError
from newfound.labels import sorted_names
from newfound.tables.cells import (
    MAX_UNITS,
    FormatFound,
    are_booleans,
    booleans,
    cell_type,
    count_numbers,
    find_format,
    finite,
    is_list,
    needs_doubles,
    numbers,
    numbers_among_text,
    plain_numbers,
    text,
)
from newfound.tables.dataset import MISSING_CATEGORY, Column, Dropped
from newfound.tables.dates import AMBIGUOUS, find_dates, infer_date

# ---- Blocks of numbers, such as embeddings: a column of lists, or columns e0, e1, … that belong together ----
# A block has one name in reports and one scale in the model, so that distances within it stay what they are.

MIN_COLUMNS = 32  # of a block: fewer numbered columns may be different things
MAX_SPREAD = 10.0  # between the standard deviations of its columns: beyond, they are hardly in one unit
NUMBERED = re.compile(r"(.*?)(\d+)")


def infer_list(name: str, cells: Any) -> Column | Dropped | None:
    """A block where all lists hold as many numbers; None where every cell is missing."""
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
    return column.replace(fill_value=_medians(list_values(cells, column)))


def list_values(cells: Any, column: Column, first_row: int = 0) -> np.ndarray:
    """(n, width), NaN where a list is missing; one of another length raises an error that names its row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_list(cells.type):
        raise DataError(
            f"Column {column.name!r} holds values of type {cells.type}; the model was fitted on lists of "
            f"{column.width} numbers. Give lists of as many numbers."
        )
    lengths = np.asarray(pc.list_value_length(cells).cast(pa.float64()).to_numpy(), float)
    wrong = np.flatnonzero(np.isfinite(lengths) & (lengths != column.width))
    if len(wrong):
        raise DataError(
            f"Column {column.name!r} holds lists of {column.width} numbers, but row {first_row + wrong[0] + 1:,} of "
            f"the data has {lengths[wrong[0]]:.0f}. Give lists of as many numbers, or empty that cell."
        )
    values = np.full((len(cells), column.width), np.nan, np.float32)
    present = pc.list_flatten(cells.drop_null()).cast(pa.float32(), safe=False)
    values[np.isfinite(lengths)] = np.asarray(present.to_numpy()).reshape(-1, column.width)
    return finite(values)


def join_numbered(columns: Sequence[Column], table: Any) -> list[Column]:
    """The same columns, with each run of numbered ones that may be an embedding as one block."""
    joined: list[Column] = []
    for prefix, members in groupby(columns, key=_prefix):
        run = list(members)
        is_block = prefix is not None and len(run) >= MIN_COLUMNS and _is_consecutive(run) and _is_one_unit(run, table)
        joined += [_block(run)] if is_block else run
    return joined


def _prefix(column: Column) -> str | None:
    found = NUMBERED.fullmatch(column.name)
    is_plain = column.feature_type == "numeric" and not column.number_format and not column.allows_text
    return found[1] if found and is_plain else None


def _is_consecutive(run: Sequence[Column]) -> bool:
    numbers_in_names = [int(NUMBERED.fullmatch(column.name)[2]) for column in run]  # type: ignore[index]
    return numbers_in_names == list(range(numbers_in_names[0], numbers_in_names[0] + len(run)))


def _is_one_unit(run: Sequence[Column], table: Any) -> bool:
    """Fractions, and spreads of about one size."""
    spreads = []
    for column in run:
        values = finite(numbers(table.column(column.name), column.name))
        present = values[np.isfinite(values)]
        if bool((present == np.rint(present)).all()):
            return False
        spreads.append(present.std())
    return max(spreads) <= MAX_SPREAD * min(spreads)


def _block(run: Sequence[Column]) -> Column:
    names = tuple(column.name for column in run)
    fill = tuple(float(column.fill_value) for column in run)  # type: ignore[arg-type]
    return Column(f"{names[0]} … {names[-1]}", "block", sources=names, fill_value=fill)


def _medians(values: np.ndarray) -> tuple[float, ...]:
    """Of each column; 0 of one without a number."""
    has_numbers = np.isfinite(values).any(axis=0)
    medians = np.zeros(values.shape[1])
    if has_numbers.any():
        medians[has_numbers] = np.nanmedian(values[:, has_numbers], axis=0)
    return tuple(medians.tolist())


# ---- From the columns of a table to the columns of X ----
# What becomes of each is decided once (`encoding` applies it). The rules: numbers are numeric, and binary where they
# are exactly 0 and 1; so are numbers with units, currencies and separators, where the whole column agrees. Two
# opposite words (yes and no) are binary. Dates and times become numbers, lists of numbers a block. Other text is
# categorical when it has at most 50 different values and fewer than half as many as there are rows; else it is
# dropped, with a note. What the file or the user declares categorical is.
#
# A missing number or date becomes the column's median, a missing binary value its most frequent one, a missing
# category a category of its own. An infinite number counts as missing.

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
        return None if column is None else column.replace(allows_text=n_plain < n_filled)
    found = find_format(words) if find_format(_first(words)) else None
    if found is None or found.n_cells < least:
        return None
    column = infer_number(name, numbers_among_text(plain_numbers(words, found.number_format), name))
    if column is None:
        return None
    return column.replace(
        feature_type="numeric", number_format=found.number_format, allows_text=found.n_cells < n_filled
    )


def _as_dates(name: str, words: Any, least: float) -> Column | Dropped | None:
    found = find_dates(words if find_dates(_first(words)).n_cells else _first(words))
    if found.n_cells < least:
        return None
    if set(found.orders) >= AMBIGUOUS:
        return Dropped(name, "day or month", words.drop_null()[0].as_py())
    column = infer_date(name, words, found.orders[0])
    n_filled = len(words) - words.null_count
    return None if column is None else column.replace(allows_text=found.n_cells < n_filled)


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
        column.replace(positions=tuple(range(start, end)))
        for column, start, end in zip(columns, starts, ends, strict=True)
    ]
