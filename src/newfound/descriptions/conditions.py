"""The conditions of a rule: bounds of a number, or what a category is and is not; merged, rounded and put in words."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from newfound.data.schema import MISSING_CATEGORY
from newfound.descriptions.in_words import MOST_DECIMALS, category_text, number_text, plain_name
from newfound.descriptions.source_columns import SourceColumn

EXTRA_DECIMALS = 4  # that a bound may have beyond one digit of its column's spread
COST_OF_ROUNDING = 0.0025  # of what a rule is worth


class Bound(NamedTuple):
    """Of a number."""

    value: float
    decimals: int = MOST_DECIMALS

    @property
    def text(self) -> str:
        return number_text(self.value, self.decimals)


UNBOUNDED = Bound(-math.inf), Bound(math.inf)


@dataclass(frozen=True, eq=False)
class Condition:
    """What a rule asks of one column."""

    column: SourceColumn
    above: Bound = UNBOUNDED[0]
    up_to: Bound = UNBOUNDED[1]
    allowed: tuple[int, ...] = ()  # positions of categories

    @property
    def has_lower(self) -> bool:
        return math.isfinite(self.above.value)

    @property
    def has_upper(self) -> bool:
        return math.isfinite(self.up_to.value)

    def holds(self) -> np.ndarray:
        """A flag for each row of the column."""
        values = self.column.values
        if self.column.is_categorical:
            return values == self.allowed[0] if len(self.allowed) == 1 else ~np.isin(values, self.excluded)
        above, up_to = np.array([self.above.value, self.up_to.value], np.float32)  # as rows are: 42.4 is not above 42.4
        return (values > above) & (values <= up_to)

    def merged(self, other: "Condition") -> "Condition":
        """Both of them, of the same column."""
        both = tuple(code for code in self.allowed if code in other.allowed)
        return Condition(self.column, max(self.above, other.above), min(self.up_to, other.up_to), both)

    @property
    def excluded(self) -> list[int]:
        return [code for code in range(len(self.column.categories)) if code not in self.allowed]

    @property
    def text(self) -> str:
        """“bill_length_mm > 43.3”, “2.5 < petal length ≤ 4.8”, “island = Dream”, “island is not Biscoe or Dream”."""
        name = plain_name(self.column.name)
        if self.column.is_categorical:
            return f"{name} {self._categories()}"
        if not self.has_lower:
            return f"{name} ≤ {self.up_to.text}"
        return f"{self.above.text} < {name} ≤ {self.up_to.text}" if self.has_upper else f"{name} > {self.above.text}"

    def _categories(self) -> str:
        is_one = len(self.allowed) == 1
        codes = list(self.allowed) if is_one else self.excluded
        names = [self.column.categories[code] for code in codes]
        if names == [MISSING_CATEGORY]:
            return "is missing" if is_one else "is not missing"
        words = " or ".join(map(category_text, names))
        return f"= {words}" if is_one else f"is not {words}"


Worth = Callable[[list[Condition]], float]  # of a rule, larger is better
Put = Callable[[Condition, Bound], Condition]


def merge(conditions: Sequence[Condition]) -> list[Condition]:
    """One condition for each column, in the order in which columns are first met."""
    merged: dict[str, Condition] = {}
    for condition in conditions:
        name = condition.column.name
        merged[name] = merged[name].merged(condition) if name in merged else condition
    return list(merged.values())


def all_hold(conditions: Sequence[Condition], n_rows: int) -> np.ndarray:
    """Flags of the rows for which every condition holds."""
    flags = np.ones(n_rows, bool)
    for condition in conditions:
        flags &= condition.holds()
    return flags


def simplify(conditions: list[Condition], worth: Worth) -> list[Condition]:
    """Without what adds nothing, and with bounds as short as they can be at no cost."""
    conditions = _without_idle(conditions, worth)
    for i in range(len(conditions)):
        for bound, put in ((conditions[i].above, _with_lower), (conditions[i].up_to, _with_upper)):
            if math.isfinite(bound.value):
                conditions = _rounded(conditions, i, bound, put, worth)
    return conditions


def _with_lower(condition: Condition, bound: Bound) -> Condition:
    return replace(condition, above=bound)


def _with_upper(condition: Condition, bound: Bound) -> Condition:
    return replace(condition, up_to=bound)


def _without_idle(conditions: list[Condition], worth: Worth) -> list[Condition]:
    for condition in conditions[::-1]:
        fewer = [other for other in conditions if other is not condition]
        if fewer and worth(fewer) >= worth(conditions):
            conditions = fewer
    return conditions


def _rounded(conditions: list[Condition], i: int, bound: Bound, put: Put, worth: Worth) -> list[Condition]:
    """The conditions with one bound rounded to the fewest decimals that leave the rule what it is worth."""
    least = worth(conditions) - COST_OF_ROUNDING
    for shorter in _shorter(bound.value, conditions[i].column.spread):
        changed = [*conditions[:i], put(conditions[i], shorter), *conditions[i + 1 :]]
        if worth(changed) >= least:
            return changed
    return conditions


def _shorter(value: float, spread: float) -> Iterator[Bound]:
    """Rounded and cut off, to one digit of the spread and then to more.

    A bound lies halfway between two values; cut off at as many decimals as these have, it parts them as well.
    """
    first = -math.floor(math.log10(spread)) if spread > 0 else 0
    for decimals in range(first, first + EXTRA_DECIMALS + 1):
        unit = 10.0**-decimals
        for rounded in (round(value, decimals), round(math.floor(value / unit) * unit, decimals)):
            yield Bound(rounded, max(decimals, 0))
