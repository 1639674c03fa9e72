"""The description of a class as a record for JSON; numbers and names as a person would write them."""

import math
import re
from html import escape

from newfound._internal.records import Record
from newfound._internal.words import percent
from newfound.tables.dataset import MISSING_CATEGORY

# ---- Numbers and names as a person would write them ----

MAX_NAME_LENGTH = 60
MAX_DECIMALS = 5
THOUSANDS_FROM = 10_000  # smaller numbers have no comma: 2009 may be a year
NOT_PLAIN = re.compile(r"[,;:<>=≤≥“”\"|&]|\b(and|or|is|not|than|more|less|with)\b|^[\W\d]*$", re.IGNORECASE)


def number_text(value: float, decimals: int) -> str:
    """\"48.8\", \"2009\", \"−0.5\", \"12,500\", \"3.1e−09\"; 0 is never negative."""
    if value != 0 and (abs(value) >= 1e9 or decimals > MAX_DECIMALS):
        digits = min(max(decimals + math.floor(math.log10(abs(value))) + 1, 2), 9)
        return f"{value:.{3 if abs(value) >= 1e9 else digits}g}".replace("-", "−")
    rounded = round(value, decimals) + 0.0  # a negative zero becomes 0
    mark = "," if abs(rounded) >= THOUSANDS_FROM else ""
    return f"{rounded:{mark}.{decimals}f}".replace("-", "−")


def plain_name(name: str) -> str:
    """A name for use within a sentence, in quotes if it contains words or signs that would be misread there."""
    text = short_name(name)
    return f"“{text}”" if NOT_PLAIN.search(text) else text


def short_name(name: str) -> str:
    """A name on one line of at most MAX_NAME_LENGTH characters; "(no name)" if it is empty."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split()) or "(no name)"
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"


def category_text(category: str) -> str:
    """The name of a category; "missing" for empty cells."""
    if category == MISSING_CATEGORY:
        return "missing"
    return category if re.fullmatch(r"[+-]?\d+(\.\d+)?", category) else plain_name(category)


# ---- The description of one class, of plain values for JSON ----


class Difference(Record, frozen=True):
    """A column in which a class differs from the other rows, in the user's units and category names."""

    column: str  # of the source, never a one-hot column of X
    text: str  # "bill_length_mm 48.8, 9.9 more than Adelie"; "island Dream (100%, elsewhere 29%)"
    effect: float  # 0..1, P(more) − P(less) of two rows or the difference of shares; the largest first
    value: float | str  # the class's median, or the category that it has more often than others
    elsewhere: float | str  # the median, or the most frequent category, of all other rows
    in_nearest: float | str | None = None  # and of the nearest known class


class Rule(Record, frozen=True):
    """A short rule from a small decision tree, and how well it fits."""

    text: str  # "bill_length_mm > 43.3 and island = Dream"
    recall: float  # share of the class's rows that match it
    false_rate: float  # share of all other rows that match it
    fidelity: float  # balanced accuracy, on rows that the tree was not grown on


class Description(Record, frozen=True):
    """What a class is: one sentence, the differences and the rule behind it, and hints for a decision."""

    name: str  # of the class
    sentence: str  # "Rows with island Dream and bill_length_mm 48.8, 9.9 more than Adelie."; may be ""
    nearest: str | None  # the nearest known class
    differences: tuple[Difference, ...]
    rule: Rule | None
    hints: tuple[str, ...]  # "It could be two classes."; "31% of it borders on “login”."
    suggested_name: str | None  # made from the rule, unique

    def __str__(self) -> str:
        return "\n".join(lines(self))


class Descriptions(tuple[Description, ...]):
    """The description of each class; `print` shows text, a notebook shows paragraphs."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{'<br>'.join(map(escape, lines(one)))}</p>" for one in self)


def lines(description: Description) -> list[str]:
    """A description as text: the class and its sentence, then a line each for the rule, the hints and the name."""
    d = description
    text = [f"{d.name}: {d.sentence or 'Nothing sets it apart in a few words.'}"]
    text += [] if d.rule is None else [f"  Rule: {rule_in_words(d.rule)}."]
    text += [f"  {hint}" for hint in d.hints]
    return text if d.suggested_name is None else [*text, f"  A name could be “{d.suggested_name}”."]


def rule_in_words(rule: Rule) -> str:
    """\"bill_length_mm > 43.3 and island = Dream (takes 96% of its rows, 2% of all others)\"."""
    return f"{rule.text} (takes {percent(rule.recall)} of its rows, {percent(rule.false_rate)} of all others)"
