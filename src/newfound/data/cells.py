"""The cells of one Arrow column as text or as numbers, all at once.

A cell is missing when it is null, empty, or one of the usual marks for "not there". The rule is the same for features,
labels and every file format.
"""

from typing import Any

import numpy as np

from newfound.data.problems import DataError

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")
NUMBER = r"^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|[iI][nN][fF](inity)?|[nN][aA][nN])$"
WHOLE_WITH_ZEROS = r"^(-?\d+)\.0+$"


def kind_of(arrow_type: Any) -> str:
    """What the file itself says of a column: "number", "flag", "text", "category", "nothing", "time" or "other"."""
    import pyarrow.types as t

    kinds = {
        "number": (t.is_integer, t.is_floating, t.is_decimal),
        "flag": (t.is_boolean,),
        "text": (t.is_string, t.is_large_string, t.is_string_view),
        "category": (t.is_dictionary,),
        "nothing": (t.is_null,),
        "time": (t.is_temporal,),
    }
    return next((kind for kind, tests in kinds.items() if any(test(arrow_type) for test in tests)), "other")


def text(cells: Any) -> Any:
    """Cells as trimmed text, null where missing; 2.0 is written 2, as integers with gaps come as floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    words = pc.replace_substring_regex(words, WHOLE_WITH_ZEROS, r"\1")
    is_missing = pc.is_in(words, value_set=pa.array(MISSING, pa.large_string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.large_string()), words)


def numbers(cells: Any, name: str, first_row: int = 0) -> np.ndarray:
    """Cells as float64, NaN where missing; a word among them is refused, with its row."""
    kind = kind_of(cells.type)
    if kind in ("time", "other"):
        refuse_type(name, cells.type)
    if kind in ("text", "category"):
        cells = text(cells)
        refuse_stray_word(cells, name, first_row)
    return _as_floats(cells, name)


def flags(cells: Any, name: str, first_row: int = 0) -> np.ndarray:
    """As `numbers`, with true read as 1 and false as 0."""
    import pyarrow.compute as pc

    if kind_of(cells.type) in ("text", "category"):
        words = text(cells)
        words = pc.replace_substring_regex(words, "^(?i:true)$", "1")
        cells = pc.replace_substring_regex(words, "^(?i:false)$", "0")
    return numbers(cells, name, first_row)


def n_numbers(words: Any) -> int:
    """How many of these words are numbers."""
    import pyarrow.compute as pc

    return pc.sum(pc.match_substring_regex(words, NUMBER)).as_py() or 0


def refuse_stray_word(words: Any, name: str, first_row: int = 0) -> None:
    import pyarrow.compute as pc

    is_word = pc.fill_null(pc.invert(pc.match_substring_regex(words, NUMBER)), False)
    row = pc.index(is_word, True).as_py()
    if row >= 0:
        raise DataError(stray_word(name, first_row + row + 1, words[row].as_py()))


def stray_word(name: str, row: int, word: str) -> str:
    return (
        f"Column {name!r} holds numbers, but row {row:,} of the data has {word!r}. Correct or empty that cell, "
        f"or name the column in `ignore` to leave it out or in `categorical` to read it as words."
    )


def refuse_type(name: str, arrow_type: Any) -> None:
    what = "dates or times" if kind_of(arrow_type) == "time" else f"values of type {arrow_type}"
    raise DataError(
        f"Column {name!r} holds {what}, which are neither numbers nor categories. Name it in `ignore` to leave it out, "
        f"or turn it into a number first (such as days since a date)."
    )


def _as_floats(cells: Any, name: str) -> np.ndarray:
    import pyarrow as pa

    try:
        return np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid as error:
        raise DataError(f"Column {name!r} cannot be read as numbers ({error}). Correct it or leave it out.") from None
