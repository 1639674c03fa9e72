"""What is said of one class, as a record that JSON keeps; numbers and names as a person would write them."""

import math
import re
from html import escape

from newfound._internal.records import Record
from newfound._internal.words import percent
from newfound.explain.columns import SourceColumn
from newfound.tables.dataset import MISSING_CATEGORY

# ---- Numbers and names as a person would write them ----

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


# ---- The record of what is said of one class; plain values, so that JSON keeps it ----


class Difference(Record, frozen=True):
    """A column in which a class differs from the other rows, in the user's units and category names."""

    column: str  # of the source, never a one-hot column of X
    text: str  # "bill_length_mm 48.8, 9.9 more than Adelie"; "island Dream (100%, elsewhere 29%)"
    effect: float  # 0..1, P(more) − P(less) of two rows or the difference of shares; the largest first
    value: float | str  # the class's median, or the category that it has more often than others
    elsewhere: float | str  # the median, or the most frequent category, of all other rows
    in_nearest: float | str | None = None  # and of the nearest known class


class Rule(Record, frozen=True):
    """A short rule from a small decision tree, and how far it holds."""

    text: str  # "bill_length_mm > 43.3 and island = Dream"
    recall: float  # share of the class's rows that it takes
    false_rate: float  # share of all other rows that it takes, too
    fidelity: float  # balanced accuracy, on rows that the tree was not grown on


class Description(Record, frozen=True):
    """What a class is: one sentence, what it rests on, and hints for whoever decides about it."""

    name: str  # of the class
    sentence: str  # "Rows with island Dream and bill_length_mm 48.8, 9.9 more than Adelie."; "" where nothing is told
    nearest: str | None  # the known class it lies nearest to
    differences: tuple[Difference, ...]
    rule: Rule | None
    hints: tuple[str, ...]  # "It could be two classes."; "31% of it borders on “login”."
    suggested_name: str | None  # made from the rule, unique; only ever a suggestion

    def __str__(self) -> str:
        return "\n".join(lines(self))


class Descriptions(tuple[Description, ...]):
    """What is said of each class; `print` shows it as text, a notebook as paragraphs."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{'<br>'.join(map(escape, lines(one)))}</p>" for one in self)


def lines(description: Description) -> list[str]:
    """A description as text: the class and its sentence, then a line each for the rule, the hints and the name."""
    d = description
    said = [f"{d.name}: {d.sentence or 'Nothing sets it apart in a few words.'}"]
    said += [] if d.rule is None else [f"  Rule: {rule_in_words(d.rule)}."]
    said += [f"  {hint}" for hint in d.hints]
    return said if d.suggested_name is None else [*said, f"  A name could be “{d.suggested_name}”."]


def rule_in_words(rule: Rule) -> str:
    """\"bill_length_mm > 43.3 and island = Dream (takes 96% of its rows, 2% of all others)\"."""
    return f"{rule.text} (takes {percent(rule.recall)} of its rows, {percent(rule.false_rate)} of all others)"
