"""The record of what is said of one class; plain values, so that JSON keeps it."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from newfound.wording import percent


@dataclass(frozen=True)
class Difference:
    """A column in which a class differs from the other rows, in the user's units and category names."""

    column: str  # of the source, never a one-hot column of X
    text: str  # "bill_length_mm 48.8, 9.9 more than Adelie"; "island Dream (100%, elsewhere 29%)"
    effect: float  # 0..1, P(more) − P(less) of two rows or the difference of shares; the largest first
    value: float | str  # the class's median, or the category that it has more often than others
    elsewhere: float | str  # the median, or the most frequent category, of all other rows
    in_nearest: float | str | None = None  # and of the nearest known class


@dataclass(frozen=True)
class Rule:
    """A short rule from a small decision tree, and how far it holds."""

    text: str  # "bill_length_mm > 43.3 and island = Dream"
    recall: float  # share of the class's rows that it takes
    false_rate: float  # share of all other rows that it takes, too
    fidelity: float  # balanced accuracy, on rows that the tree was not grown on


@dataclass(frozen=True)
class Description:
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Description":
        rule = stored["rule"] and Rule(**stored["rule"])
        differences = tuple(Difference(**difference) for difference in stored["differences"])
        return cls(**stored | {"rule": rule, "differences": differences, "hints": tuple(stored["hints"])})


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
