"""Numbers as people write them: with a currency, a percent sign or a unit, thousands separators, a decimal comma.

A format is read where the whole column agrees on it. 12 % becomes 12, not 0.12: units do not matter.
"""

from typing import Any, NamedTuple

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
MAX_UNITS = 5  # different ones in a column of measurements; more of them are codes


class NumberFormat(NamedTuple):
    """How the numbers of a column are written."""

    unit: str = ""  # "$", "%", "kg", …: the same in every cell
    thousands: str = ""
    decimal: str = "."


class FormatFound(NamedTuple):
    """The format of most cells, how many follow it, and all units there are."""

    number_format: NumberFormat
    n_cells: int
    units: list[str]


def find_format(words: Any) -> FormatFound | None:
    """The format that most of these texts have; None where there are no numbers in them."""
    import pyarrow.compute as pc

    split = _split(words)
    counts = pc.value_counts(split["unit"].drop_null()).to_pylist()
    if not counts:
        return None
    unit = max(counts, key=lambda found: found["counts"])["values"]
    digits = split["digits"].filter(pc.fill_null(pc.equal(split["unit"], unit), False))
    n_by_format = {NumberFormat(unit, *pair): _count(digits, _grouped(*pair)) for pair in SEPARATORS}
    best = max(n_by_format, key=lambda form: n_by_format[form])
    return FormatFound(best, n_by_format[best], sorted(found["values"] for found in counts))


def plain_numbers(words: Any, number_format: NumberFormat) -> Any:
    """The same numbers as computers write them; texts of another format stay as they are."""
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
    """Unit and digits of each text, null where it is no number, and whether it is below 0: -5, −5 or (5)."""
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
    """A pattern for digits in groups of three; 1,234 is a thousand and more, 0,123 is not."""
    point = rf"\{decimal}"
    whole = rf"(?:[1-9]\d{{0,2}}(?:{_escaped(thousands)}\d{{3}})+|\d{{1,3}})" if thousands else r"\d+"
    return rf"^(?:{whole}(?:{point}\d*)?|{point}\d+)$"


def _escaped(separator: str) -> str:
    return rf"\{separator}" if separator in ".'" else separator


def _count(words: Any, pattern: str) -> int:
    import pyarrow.compute as pc

    return pc.sum(pc.match_substring_regex(words, pattern)).as_py() or 0
