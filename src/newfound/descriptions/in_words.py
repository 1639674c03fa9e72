"""Numbers and names as a person would write them."""

import math
import re

from newfound.data.schema import MISSING_CATEGORY
from newfound.descriptions.source_columns import SourceColumn

MAX_NAME_LENGTH = 60
MOST_DECIMALS = 5
SEPARATED = 10_000  # thousands are separated from here on: 2009 is a year, 3750 a weight
NOT_PLAIN = re.compile(r"[,;:<>=≤≥“”\"|&]|\b(and|or|is|not|than|more|less|with)\b|^[\W\d]*$", re.IGNORECASE)


def decimals_for(column: SourceColumn) -> int:
    """Two digits of what the column's spread can tell apart, and no more than its values have."""
    if column.spread <= 0:
        return min(column.decimals, MOST_DECIMALS)
    return max(min(1 - math.floor(math.log10(column.spread)), column.decimals), 0)


def number_text(value: float, decimals: int) -> str:
    """\"48.8\", \"2009\", \"−0.5\", \"12,500\", \"3.1e−09\"; 0 is never negative."""
    if value != 0 and (abs(value) >= 1e9 or decimals > MOST_DECIMALS):
        digits = min(max(decimals + math.floor(math.log10(abs(value))) + 1, 2), 9)
        return f"{value:.{3 if abs(value) >= 1e9 else digits}g}".replace("-", "−")
    rounded = round(value, decimals) + 0.0  # a negative zero becomes 0
    mark = "," if abs(rounded) >= SEPARATED else ""
    return f"{rounded:{mark}.{decimals}f}".replace("-", "−")


def plain_name(name: str) -> str:
    """A name that reads as one within a sentence: in quotes where it would not."""
    text = short_name(name)
    return f"“{text}”" if NOT_PLAIN.search(text) else text


def short_name(name: str) -> str:
    """A name on one line, cut where it is too long; one that is empty is still seen."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split()) or "(no name)"
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"


def category_text(category: str) -> str:
    """A category's name; "missing" for the one that stands for empty cells."""
    if category == MISSING_CATEGORY:
        return "missing"
    return category if re.fullmatch(r"[+-]?\d+(\.\d+)?", category) else plain_name(category)
