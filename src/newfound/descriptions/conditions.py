"""The conditions of a rule: bounds of a number, or what a category is and is not; merged, rounded and put in words."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from newfound.data.schema import MISSING_CATEGORY
from newfound.descriptions.in_words import MOST_DECIMALS, category_text, number_text, plain_name
from newfound.descriptions.source_columns import SourceColumn

EXTRA_DECIMALS = 4  # that a bound may have beyond one digit of its column's spread
COST_OF_ROUNDING = 0.0025  # of what a rule is worth


@dataclass(frozen=True, eq=False)
class Condition:
    """What a rule asks of one column."""

    column: SourceColumn
    above: float = -math.inf
    up_to: float = math.inf
    allowed: tuple[int, ...] = ()  # positions of categories
    decimals: tuple[int, int] = (MOST_DECIMALS, MOST_DECIMALS)  # of the two bounds

    def holds(self) -> np.ndarray:
        """A flag for each row of the column."""
        values = self.column.values
        if self.column.is_categorical:
            return values == self.allowed[0] if len(self.allowed) == 1 else ~np.isin(values, self.excluded)
        above, up_to = np.array([self.above, self.up_to], np.float32)  # as rows are: 42.4 is not above 42.4
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
        low, high = (number_text(*bound) for bound in zip(self.bounds, self.decimals, strict=True))
        if math.isinf(self.above):
            return f"{name} ≤ {high}"
        return f"{name} > {low}" if math.isinf(self.up_to) else f"{low} < {name} ≤ {high}"

    @property
    def bounds(self) -> tuple[float, float]:
        return tuple(bound if math.isfinite(bound) else 0.0 for bound in (self.above, self.up_to))

    def _categories(self) -> str:
        is_one = len(self.allowed) == 1
        codes = list(self.allowed) if is_one else self.excluded
        names = [self.column.categories[code] for code in codes]
        if names == [MISSING_CATEGORY]:
            return "is missing" if is_one else "is not missing"
        words = " or ".join(map(category_text, names))
        return f"= {words}" if is_one else f"is not {words}"


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


def simplify(conditions: list[Condition], worth: Callable[[list[Condition]], float]) -> list[Condition]:
    """Without what adds nothing, and with bounds as short as they can be at no cost."""
    conditions = _without_idle(conditions, worth)
    for i, condition in enumerate(conditions):
        for side in ("above", "up_to"):
            if math.isfinite(getattr(condition, side)):
                condition = _rounded(conditions, i, side, worth)
                conditions = [*conditions[:i], condition, *conditions[i + 1 :]]
    return conditions


def _without_idle(conditions: list[Condition], worth: Callable[[list[Condition]], float]) -> list[Condition]:
    for condition in conditions[::-1]:
        fewer = [other for other in conditions if other is not condition]
        if fewer and worth(fewer) >= worth(conditions):
            conditions = fewer
    return conditions


def _rounded(conditions: list[Condition], i: int, side: str, worth: Callable[[list[Condition]], float]) -> Condition:
    """The condition with one of its bounds rounded to the fewest decimals that leave the rule what it is worth."""
    condition, least = conditions[i], worth(conditions) - COST_OF_ROUNDING
    spread = condition.column.spread
    first = -math.floor(math.log10(spread)) if spread > 0 else 0
    for decimals in range(first, first + EXTRA_DECIMALS + 1):
        bound = round(getattr(condition, side), decimals)
        shown = list(condition.decimals)
        shown[side == "up_to"] = max(decimals, 0)
        changed = replace(condition, **{side: bound}, decimals=tuple(shown))
        if worth([*conditions[:i], changed, *conditions[i + 1 :]]) >= least:
            return changed
    return condition
