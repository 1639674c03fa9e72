"""The cells of one Arrow column as text or as numbers, all at once.

A cell is missing when it is null, empty, or one of the usual marks (`newfound.labels.MISSING`). The rule is the same
for features, labels and every file format.
"""

from typing import Any, NoReturn

import numpy as np

from newfound.errors import DataError
from newfound.labels import MISSING

NUMBER = r"^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|[iI][nN][fF](inity)?|[nN][aA][nN])$"
WHOLE_WITH_ZEROS = r"^(-?\d+)\.0+$"


def cell_type(arrow_type: Any) -> str:
    """What the file itself says: "number", "boolean", "text", "categorical", "null", "time" or "other"."""
    import pyarrow.types as t

    tests = {
        "number": (t.is_integer, t.is_floating, t.is_decimal),
        "boolean": (t.is_boolean,),
        "text": (t.is_string, t.is_large_string, t.is_string_view),
        "categorical": (t.is_dictionary,),
        "null": (t.is_null,),
        "time": (t.is_temporal,),
    }
    return next((name for name, any_of in tests.items() if any(test(arrow_type) for test in any_of)), "other")


def text(cells: Any) -> Any:
    """Cells as trimmed text, null where missing; 2.0 becomes "2", as integers with gaps come as floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    words = pc.replace_substring_regex(words, WHOLE_WITH_ZEROS, r"\1")
    is_missing = pc.is_in(words, value_set=pa.array(MISSING, pa.large_string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.large_string()), words)


def numbers(cells: Any, name: str, first_row: int = 0) -> np.ndarray:
    """Cells as float64, NaN where missing; text among them raises an error that names its row."""
    found = cell_type(cells.type)
    if found in ("time", "other"):
        raise_unsupported_type(name, cells.type)
    if found in ("text", "categorical"):
        cells = text(cells)
        check_numeric(cells, name, first_row)
    return _as_floats(cells, name)


def booleans(cells: Any, name: str, first_row: int = 0) -> np.ndarray:
    """As `numbers`, with true read as 1 and false as 0."""
    import pyarrow.compute as pc

    if cell_type(cells.type) in ("text", "categorical"):
        words = text(cells)
        words = pc.replace_substring_regex(words, "^(?i:true)$", "1")
        cells = pc.replace_substring_regex(words, "^(?i:false)$", "0")
    return numbers(cells, name, first_row)


def count_numbers(words: Any) -> int:
    """How many of these texts are numbers."""
    import pyarrow.compute as pc

    return pc.sum(pc.match_substring_regex(words, NUMBER)).as_py() or 0


def check_numeric(words: Any, name: str, first_row: int = 0) -> None:
    """Raise an error at the first text that is not a number."""
    import pyarrow.compute as pc

    is_not_number = pc.fill_null(pc.invert(pc.match_substring_regex(words, NUMBER)), False)
    row = pc.index(is_not_number, True).as_py()
    if row >= 0:
        raise DataError(not_a_number(name, first_row + row + 1, words[row].as_py()))


def not_a_number(name: str, row: int, cell: str) -> str:
    """The message for text in a numeric column."""
    return (
        f"Column {name!r} holds numbers, but row {row:,} of the data has {cell!r}. Correct or empty that cell, "
        f"or name the column in `ignore` to drop it or in `categorical` to read it as categories."
    )


def raise_unsupported_type(name: str, arrow_type: Any) -> NoReturn:
    what = "dates or times" if cell_type(arrow_type) == "time" else f"values of type {arrow_type}"
    raise DataError(
        f"Column {name!r} holds {what}; expected numbers or categories. Name it in `ignore` to drop it, "
        f"or convert it to a number first (such as days since a date)."
    )


def _as_floats(cells: Any, name: str) -> np.ndarray:
    import pyarrow as pa

    try:
        return np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {name!r} cannot be read as numbers ({error}). Correct it, or name it in `ignore` to drop it."
        ) from None
