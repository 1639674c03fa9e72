"""A short rule for a class: the best path of a small decision tree, scored on rows held out of growing it."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from newfound.explain.columns import SourceColumn
from newfound.explain.wording import MAX_DECIMALS, Rule, category_text, number_text, plain_name
from newfound.tables.dataset import MISSING_CATEGORY

# ---- The conditions of a rule: bounds of a number, or the allowed categories; merged, rounded and in words ----

EXTRA_DECIMALS = 4  # of a bound, beyond one digit of its column's spread
COST_OF_ROUNDING = 0.0025  # loss of a rule's score that is accepted for a shorter bound


class Bound(NamedTuple):
    """A bound of a number."""

    value: float
    decimals: int = MAX_DECIMALS

    @property
    def text(self) -> str:
        return number_text(self.value, self.decimals)


UNBOUNDED = Bound(-math.inf), Bound(math.inf)


@dataclass(frozen=True, eq=False)
class Condition:
    """The condition of a rule on one column."""

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
        """Both conditions on the same column as one."""
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
            is_one = len(self.allowed) == 1
            names = [self.column.categories[code] for code in (self.allowed if is_one else self.excluded)]
            if names == [MISSING_CATEGORY]:
                return f"{name} is missing" if is_one else f"{name} is not missing"
            words = " or ".join(map(category_text, names))
            return f"{name} = {words}" if is_one else f"{name} is not {words}"
        if not self.has_lower:
            return f"{name} ≤ {self.up_to.text}"
        return f"{self.above.text} < {name} ≤ {self.up_to.text}" if self.has_upper else f"{name} > {self.above.text}"


Score = Callable[[list[Condition]], float]  # of a rule, larger is better


def merge(conditions: Sequence[Condition]) -> list[Condition]:
    """One condition for each column, in the order in which columns first occur."""
    merged: dict[str, Condition] = {}
    for condition in conditions:
        name = condition.column.name
        merged[name] = merged[name].merged(condition) if name in merged else condition
    return list(merged.values())


def all_hold(conditions: Sequence[Condition], n_rows: int) -> np.ndarray:
    """For each row, whether every condition holds."""
    flags = np.ones(n_rows, bool)
    for condition in conditions:
        flags &= condition.holds()
    return flags


def simplify(conditions: list[Condition], score: Score) -> list[Condition]:
    """The conditions without those that add nothing, and with bounds of as few decimals as the score allows."""
    for condition in conditions[::-1]:
        fewer = [other for other in conditions if other is not condition]
        if fewer and score(fewer) >= score(conditions):
            conditions = fewer
    for i in range(len(conditions)):
        for side, bound in (("above", conditions[i].above), ("up_to", conditions[i].up_to)):
            if math.isfinite(bound.value):
                conditions = _rounded(conditions, i, side, bound.value, score)
    return conditions


def _rounded(conditions: list[Condition], i: int, side: str, value: float, score: Score) -> list[Condition]:
    """The conditions with one bound rounded to the fewest decimals that cost at most COST_OF_ROUNDING."""
    least = score(conditions) - COST_OF_ROUNDING
    for shorter in _shorter(value, conditions[i].column.spread):
        rounded = replace(conditions[i], **{side: shorter})  # type: ignore[arg-type]
        changed = [*conditions[:i], rounded, *conditions[i + 1 :]]
        if score(changed) >= least:
            return changed
    return conditions


def _shorter(value: float, spread: float) -> Iterator[Bound]:
    """The value rounded and truncated, to one digit of the spread and then to more.

    A bound is halfway between two values; truncated to the decimals of these values, it still separates them.
    """
    first = -math.floor(math.log10(spread)) if spread > 0 else 0
    for decimals in range(first, first + EXTRA_DECIMALS + 1):
        unit = 10.0**-decimals
        for rounded in (round(value, decimals), round(math.floor(value / unit) * unit, decimals)):
            yield Bound(rounded, max(decimals, 0))


MAX_DEPTH = 3
MIN_ROWS = 15  # of the class and of the others; a third of them is held out to measure the rule
MAX_GROWING_ROWS = 6_000
PRICE_OF_CONDITION = 0.01  # balanced accuracy that another condition must gain
MIN_FIDELITY = 0.65  # rules below this are not shown


class Grown(NamedTuple):
    """A rule with its conditions."""

    rule: Rule
    conditions: tuple[Condition, ...]


class Split(NamedTuple):
    """A yes-or-no question: a column of the tree's features, and the conditions that its two answers mean."""

    feature: np.ndarray
    no: Condition | None  # None for a number: its conditions depend on the threshold
    yes: Condition | None
    column: SourceColumn


def grow_rule(columns: Sequence[SourceColumn], own: np.ndarray, weight: np.ndarray) -> Grown | None:
    """A rule that separates the rows `own` from all others; None if rows are too few or no rule is good enough."""
    if not columns or min(own.sum(), (~own).sum()) < MIN_ROWS:
        return None
    growing, held_out = _halves(own)
    conditions = _best_path(columns, own, weight, growing)
    if not conditions:
        return None
    recall, false_rate = _rates(all_hold(conditions, len(own)), own, weight, held_out)
    fidelity = (1 + recall - false_rate) / 2
    if fidelity < MIN_FIDELITY:
        return None
    text = " and ".join(condition.text for condition in conditions)
    return Grown(Rule(text, round(recall, 4), round(false_rate, 4), round(fidelity, 4)), tuple(conditions))


def _halves(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to grow on, and to measure on: a third of the class and a third of the others."""
    rng = np.random.default_rng(0)
    parts = [rng.permutation(np.flatnonzero(rows)) for rows in (own, ~own)]
    held_out = np.concatenate([part[: len(part) // 3] for part in parts])
    growing = np.concatenate([part[len(part) // 3 :][: MAX_GROWING_ROWS // 2] for part in parts])
    return growing, held_out


def _rates(matches: np.ndarray, own: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """The shares of the class and of all other rows that match a rule."""
    matches, own, weight = matches[rows], own[rows], weight[rows]
    of_class = float(np.average(matches[own], weights=weight[own]))
    return of_class, float(np.average(matches[~own], weights=weight[~own]))


def _best_path(
    columns: Sequence[SourceColumn], own: np.ndarray, weight: np.ndarray, growing: np.ndarray
) -> list[Condition]:
    """The path to any node of the tree with the best balanced accuracy for its length."""

    def score(conditions: list[Condition]) -> float:
        recall, false_rate = _rates(all_hold(conditions, len(own)), own, weight, growing)
        return (1 + recall - false_rate) / 2 - PRICE_OF_CONDITION * len(conditions)

    paths = [merge(path) for path in _paths(columns, own, weight, growing)]
    return simplify(max(paths, key=score), score) if paths else []


def _paths(
    columns: Sequence[SourceColumn], own: np.ndarray, weight: np.ndarray, growing: np.ndarray
) -> Iterator[list[Condition]]:
    """The conditions that lead to each node of a tree. It is grown on ranks, so that units do not matter."""
    from sklearn.tree import DecisionTreeClassifier

    splits = [split for column in columns for split in _splits(column)]
    features = np.stack([split.feature[growing] for split in splits], axis=1)
    smallest = max(2, int(own[growing].sum()) // 20)
    tree = DecisionTreeClassifier(
        max_depth=MAX_DEPTH, min_samples_leaf=smallest, class_weight="balanced", random_state=0
    )
    tree = tree.fit(features, own[growing], sample_weight=weight[growing]).tree_
    open_nodes: list[tuple[int, list[Condition]]] = [(0, [])]
    while open_nodes:
        node, path = open_nodes.pop(0)
        if path:
            yield path
        if tree.children_left[node] >= 0:
            no, yes = _answers(splits[tree.feature[node]], tree.threshold[node])
            open_nodes += [(tree.children_left[node], [*path, no]), (tree.children_right[node], [*path, yes])]


def _splits(column: SourceColumn) -> list[Split]:
    if not column.is_categorical:
        return [Split(column.ranks[1].astype(np.float32), None, None, column)]
    codes = range(len(column.categories))
    return [
        Split(
            (column.values == code).astype(np.float32),
            Condition(column, allowed=tuple(other for other in codes if other != code)),
            Condition(column, allowed=(code,)),
            column,
        )
        for code in codes
    ]


def _answers(split: Split, threshold: float) -> tuple[Condition, Condition]:
    """The conditions of the left and of the right branch; a bound is halfway between two values."""
    if split.no is not None and split.yes is not None:
        return split.no, split.yes
    values = split.column.ranks[0]
    below = int(np.floor(threshold))
    bound = Bound(float(values[below] + values[below + 1]) / 2)
    return Condition(split.column, up_to=bound), Condition(split.column, above=bound)
