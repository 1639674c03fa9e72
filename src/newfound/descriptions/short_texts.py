"""One sentence and a suggested name, from what sets a class apart."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from newfound.descriptions.conditions import Condition
from newfound.descriptions.differences import Found
from newfound.descriptions.in_words import category_text, short_name
from newfound.descriptions.source_columns import SourceColumn
from newfound.wording import and_list, count

IN_A_SENTENCE = 3
IN_A_NAME = 2
SAME_STORY = 0.8  # correlation of ranks from which on a second column tells nothing new
WEAK = 0.6  # share of the strongest effect below which a difference is left out of the sentence


def sentence_of(found: Sequence[Found]) -> str:
    """“Rows with island Dream and bill_length_mm 48.8, 9.9 more than Adelie.”; "" where there is nothing to tell."""
    told = telling(found)
    words = [one for one in told if one.column.is_categorical]
    numbers = [one for one in told if not one.column.is_categorical]
    parts = [one.phrase for one in (*words, *numbers)]
    if len(numbers) == 1:
        parts[-1] = numbers[0].difference.text
    return f"Rows with {and_list(parts)}." if parts else ""


def telling(found: Sequence[Found]) -> list[Found]:
    """The strongest few that do not all tell the same story."""
    chosen: list[Found] = []
    for one in found:
        is_strong = one.difference.effect >= WEAK * found[0].difference.effect
        if is_strong and all(_alike(one.column, other.column) < SAME_STORY for other in chosen):
            chosen.append(one)
    return chosen[:IN_A_SENTENCE]


def _alike(one: SourceColumn, other: SourceColumn) -> float:
    """The rank correlation of two columns of numbers."""
    if one.is_categorical or other.is_categorical:
        return 0.0
    return abs(float(np.corrcoef(one.ranks[1], other.ranks[1])[0, 1]))


def size_sentence(n_rows: int, nearest: str | None) -> str:
    """Where no column says anything to a person, as with images: “182 rows, nearest to “7” of the known classes.”."""
    return "" if nearest is None else f"{count(n_rows, 'row')}, nearest to “{nearest}” of the known classes."


# ---- a name to suggest -----------------------------------------------------------------------------------------------


def suggest_name(conditions: Sequence[Condition], found: Sequence[Found], taken: Collection[str]) -> str | None:
    """“island Dream, bill_length_mm high”: from the rule, else from the differences; None where none is left."""
    for name in _names(conditions, found):
        if name.casefold() not in {other.casefold() for other in taken}:
            return name
    return None


def _names(conditions: Sequence[Condition], found: Sequence[Found]) -> Iterator[str]:
    """Short ones first."""
    by_rule = {condition.column.name: _condition_name(condition) for condition in conditions}
    by_difference = {one.column.name: _difference_name(one) for one in found}
    rule = [name for name in by_rule.values() if name]
    others = [name for column, name in by_difference.items() if column not in by_rule and name]
    parts = [*rule, *others]
    first = min(max(len(rule), 1), IN_A_NAME)
    yield from (", ".join(parts[:n]) for n in range(first, len(parts) + 1))


def _condition_name(condition: Condition) -> str:
    name = short_name(condition.column.name)
    if condition.column.is_categorical:
        return f"{name} {category_text(condition.column.categories[condition.allowed[0]])}" * (
            len(condition.allowed) == 1
        )
    if not condition.has_upper:
        return f"{name} high"
    return f"{name} medium" if condition.has_lower else f"{name} low"


def _difference_name(found: Found) -> str:
    difference = found.difference
    name = short_name(difference.column)
    if found.column.is_categorical:
        return f"{name} {difference.value}"
    assert isinstance(difference.value, float)
    assert isinstance(difference.elsewhere, float)
    return f"{name} {'high' if difference.value > difference.elsewhere else 'low'}"
