"""The cells of one Arrow column as text or as numbers, all at once, in the formats in which people write numbers."""

from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import DataError
from newfound.labels import MISSING

# ---- Numbers as people write them ----
# With a currency, a percent sign or a unit, thousands separators, a decimal comma. A format is read if the whole column
# has it. 12 % becomes 12, not 0.12: units do not matter.

CURRENCY = (
    r"(?:US|CA|AU|NZ|HK|[ACRS])?\$|[€£¥₹₽₩₺₴₪฿]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|ZAR"
    r"|kr\.?|zł|Fr\.|Rs\.?"
)
UNIT = rf"{CURRENCY}|[%‰]|°? ?[A-Za-zµμΩ²³/°]{{1,8}}"
CELL = (
    rf"^(?P<open>\(?)(?P<sign>[+-]?)(?P<before>{CURRENCY})? ?(?P<sign_after>[+-]?)"
    rf"(?P<digits>\d(?:[\d.,' ]*\d)?|[.,]\d+) ?(?P<after>{UNIT})?\)?$"
)
SEPARATORS = (("", "."), (",", "."), (" ", "."), ("'", "."), ("", ","), (".", ","), (" ", ","), ("'", ","))
ODD_SPACES = "[\u00a0\u2007\u2009\u202f]"  # between thousands
MAX_UNITS = 5  # in a column of measurements; a column with more holds codes


class NumberFormat(NamedTuple):
    """How the numbers of a column are written."""

    unit: str = ""  # "$", "%", "kg", …: the same in every cell
    thousands: str = ""
    decimal: str = "."


class FormatFound(NamedTuple):
    """The format of most cells, the number of cells that have it, and all units in the column."""

    number_format: NumberFormat
    n_cells: int
    units: list[str]


def find_format(words: Any) -> FormatFound | None:
    """The most frequent format of these texts; None if no text holds a number."""
    import pyarrow.compute as pc

    split = _split(words)
    counts = pc.value_counts(split["unit"].drop_null()).to_pylist()
    if not counts:
        return None
    unit = max(counts, key=lambda found: found["counts"])["values"]
    digits = split["digits"].filter(pc.fill_null(pc.equal(split["unit"], unit), False))
    n_by_format = {}
    for pair in SEPARATORS:
        n_by_format[NumberFormat(unit, *pair)] = pc.sum(pc.match_substring_regex(digits, _grouped(*pair))).as_py() or 0
    best = max(n_by_format, key=lambda form: n_by_format[form])
    return FormatFound(best, n_by_format[best], sorted(found["values"] for found in counts))


def plain_numbers(words: Any, number_format: NumberFormat) -> Any:
    """The same numbers in plain notation; texts of another format are unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    split = _split(words)
    is_read = pc.and_(
        pc.is_in(split["unit"], value_set=pa.array([number_format.unit, ""], pa.large_string())),
        pc.match_substring_regex(split["digits"], _grouped(number_format.thousands, number_format.decimal)),
    )
    digits = split["digits"]
    if number_format.thousands:
        digits = pc.replace_substring(digits, number_format.thousands, "")
    digits = pc.replace_substring(digits, number_format.decimal, ".")
    signed = pc.if_else(split["is_negative"], _joined("-", digits), digits)
    return pc.if_else(pc.fill_null(is_read, False), signed, words)


def _split(words: Any) -> dict[str, Any]:
    """Unit and digits of each text, null if it is not a number, and whether it is negative: -5, −5 or (5)."""
    import pyarrow.compute as pc

    plain = pc.replace_substring(pc.replace_substring_regex(words, ODD_SPACES, " "), "\N{MINUS SIGN}", "-")
    found = pc.extract_regex(plain, CELL)
    part = {name: pc.struct_field(found, name) for name in ("open", "sign", "before", "sign_after", "digits", "after")}
    marks = _joined(part["open"], part["sign"], part["sign_after"])
    return {
        "unit": _joined(part["before"], part["after"]),
        "digits": part["digits"],
        "is_negative": pc.match_substring_regex(marks, r"[-(]"),
    }


def _joined(*parts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    as_large = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*as_large, pa.scalar("", pa.large_string()))


def _grouped(thousands: str, decimal: str) -> str:
    """A pattern for digits in groups of three: it accepts 1,234 and refuses 0,123."""
    point = rf"\{decimal}"
    separator = rf"\{thousands}" if thousands in ".'" else thousands
    whole = rf"(?:[1-9]\d{{0,2}}(?:{separator}\d{{3}})+|\d{{1,3}})" if thousands else r"\d+"
    return rf"^(?:{whole}(?:{point}\d*)?|{point}\d+)$"


# ---- Cells as text or as numbers ----
# A cell is missing when it is null, empty, or one of the usual marks (`newfound.labels.MISSING`). The rule is the same
# for features, labels and all file formats.

NUMBER = r"^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|[iI][nN][fF](inity)?|[nN][aA][nN])$"
TRUE_WORDS = ("true", "t", "yes", "y", "on", "ja", "oui", "sí", "si", "sì", "sim", "wahr", "vrai", "是")
FALSE_WORDS = ("false", "f", "no", "n", "off", "nein", "non", "não", "nao", "falsch", "faux", "否")
WHOLE_WITH_ZEROS = r"^(-?\d+)\.0+$"
MAX_ROUNDING = 1e-3  # of the spread of a column


def cell_type(arrow_type: Any) -> str:
    """The type in the file: "number", "boolean", "text", "categorical", "null", "time", "list" or "other"."""
    import pyarrow.types as t

    tests = {
        "number": (t.is_integer, t.is_floating, t.is_decimal, t.is_duration),
        "boolean": (t.is_boolean,),
        "text": (t.is_string, t.is_large_string, t.is_string_view),
        "categorical": (t.is_dictionary,),
        "null": (t.is_null,),
        "time": (t.is_temporal,),
        "list": (t.is_list, t.is_large_list, t.is_fixed_size_list),
    }
    return next((name for name, any_of in tests.items() if any(test(arrow_type) for test in any_of)), "other")


def text(cells: Any) -> Any:
    """Cells as trimmed text, null where missing; 2.0 becomes "2", because integers with gaps are read as floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = trimmed(cells)
    is_missing = pc.is_in(words, value_set=pa.array(MISSING, pa.large_string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.large_string()), words)


def trimmed(cells: Any) -> Any:
    """As `text`, but marks of missing cells are kept."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    return pc.replace_substring_regex(words, WHOLE_WITH_ZEROS, r"\1")


def numbers(cells: Any, name: str, first_row: int = 0) -> np.ndarray:
    """Cells as float64, NaN where missing; the error for a cell of text names its row."""
    import pyarrow.compute as pc

    found = cell_type(cells.type)
    if found in ("time", "list", "other"):
        what = "dates or times" if found == "time" else f"values of type {cells.type}"
        raise DataError(
            f"Column {name!r} holds {what}; expected numbers or categories. Give the data that the model was fitted on."
        )
    if found in ("text", "categorical"):
        cells = text(cells)
        row = pc.index(pc.and_(pc.invert(_is_number(cells)), cells.is_valid()), True).as_py()
        if row >= 0:
            raise DataError(not_a_number(name, first_row + row + 1, cells[row].as_py()))
    return _as_floats(cells, name)


def numbers_among_text(words: Any, name: str) -> np.ndarray:
    """As `numbers`, NaN for every text that is not a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return _as_floats(pc.if_else(_is_number(words), words, pa.scalar(None, words.type)), name)


def booleans(cells: Any, name: str, first_row: int = 0) -> np.ndarray:
    """As `numbers`, with true, yes and the like read as 1, their opposites as 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if cell_type(cells.type) in ("text", "categorical"):
        cells = text(cells)
        lower = pc.utf8_lower(cells)
        for number, words in (("1", TRUE_WORDS), ("0", FALSE_WORDS)):
            is_word = pc.is_in(lower, value_set=pa.array(words, pa.large_string()))
            cells = pc.if_else(is_word, pa.scalar(number, pa.large_string()), cells)
    return numbers(cells, name, first_row)


def are_booleans(words: Any) -> bool:
    """Whether these texts are two opposite words, in any spelling."""
    import pyarrow.compute as pc

    found = set(pc.utf8_lower(words).unique().drop_null().to_pylist())
    return len(found) == 2 and len(found & {*TRUE_WORDS}) == 1 and len(found & {*FALSE_WORDS}) == 1


def count_numbers(words: Any) -> int:
    """How many of these texts are numbers."""
    import pyarrow.compute as pc

    return pc.sum(_is_number(words)).as_py() or 0


def _is_number(words: Any) -> Any:
    import pyarrow.compute as pc

    return pc.fill_null(pc.match_substring_regex(words, NUMBER), False)


def not_a_number(name: str, row: int, cell: str) -> str:
    """The message for text in a numeric column."""
    return (
        f"Column {name!r} holds numbers, but row {row:,} of the data has {cell!r}. Correct or empty that cell, "
        f"or name the column in `ignore` to drop it or in `categorical` to read it as categories."
    )


def finite(values: np.ndarray, dtype: Any = np.float32) -> np.ndarray:
    """A copy in single precision, or in `dtype`; NaN for missing cells and for those out of its range."""
    with np.errstate(over="ignore", invalid="ignore"):  # signalling NaN, and overflow
        cast = values.astype(dtype)
    cast[~np.isfinite(cast)] = np.nan
    return cast


def needs_doubles(present: np.ndarray) -> bool:
    """Whether single precision would remove the differences between these numbers: 10⁹ with unit noise, or 10⁻⁶⁰."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rounded_by = np.median(np.abs(present - present.astype(np.float32)))
        apart = np.abs(present / 2 - np.median(present / 2))  # halved, so that differences do not overflow
        return bool(rounded_by > 2 * MAX_ROUNDING * (np.median(apart) or apart.mean()))


def _as_floats(cells: Any, name: str) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_duration(cells.type):
        cells = cells.cast(pa.duration("us"), safe=False).cast(pa.int64())
    try:
        cells = cells.cast(pa.float64(), safe=False)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {name!r} cannot be read as numbers ({error}). Correct it, or name it in `ignore` to drop it."
        ) from None
    is_in_one_piece = isinstance(cells, pa.ChunkedArray) and cells.num_chunks == 1
    return np.asarray(cells.chunk(0) if is_in_one_piece else cells)  # a single chunk is not copied
