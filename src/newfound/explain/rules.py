"""A short rule for a class: the best path of a small decision tree, measured on rows that the tree was not grown on."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from newfound.explain.columns import SourceColumn
from newfound.explain.wording import MOST_DECIMALS, Rule, category_text, number_text, plain_name
from newfound.tables.dataset import MISSING_CATEGORY

# ---- The conditions of a rule: bounds of a number, or what a category is and is not ----
# Merged, rounded and put in words.

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


MAX_DEPTH = 3
MIN_ROWS = 15  # of the class and of the others; of fewer, a third would measure nothing
MAX_GROWING_ROWS = 6_000
PRICE_OF_CONDITION = 0.01  # of balanced accuracy: what another condition must gain
MIN_FIDELITY = 0.65  # below, a rule says nothing


class Grown(NamedTuple):
    """A rule and the conditions it consists of."""

    rule: Rule
    conditions: tuple[Condition, ...]


class Split(NamedTuple):
    """A yes-or-no question to a row: a column of the tree's features and the conditions of its two answers."""

    feature: np.ndarray
    no: Condition | None  # None for a number: its conditions depend on the threshold
    yes: Condition | None
    column: SourceColumn


def grow_rule(columns: Sequence[SourceColumn], own: np.ndarray, weight: np.ndarray) -> Grown | None:
    """A rule that tells the rows `own` from all others; None where rows are too few, or no rule does."""
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
    """Positions of the rows to grow on, and of a third of the class and of the others to measure on."""
    rng = np.random.default_rng(0)
    parts = [rng.permutation(np.flatnonzero(rows)) for rows in (own, ~own)]
    held_out = np.concatenate([part[: len(part) // 3] for part in parts])
    growing = np.concatenate([part[len(part) // 3 :][: MAX_GROWING_ROWS // 2] for part in parts])
    return growing, held_out


def _rates(taken: np.ndarray, own: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """The shares of the class and of all other rows that a rule takes."""
    taken, own, weight = taken[rows], own[rows], weight[rows]
    return float(np.average(taken[own], weights=weight[own])), float(np.average(taken[~own], weights=weight[~own]))


def _best_path(
    columns: Sequence[SourceColumn], own: np.ndarray, weight: np.ndarray, growing: np.ndarray
) -> list[Condition]:
    """The path to a node of the tree, whether or not it ends there, with the best balanced accuracy for its length."""

    def worth(conditions: list[Condition]) -> float:
        recall, false_rate = _rates(all_hold(conditions, len(own)), own, weight, growing)
        return (1 + recall - false_rate) / 2 - PRICE_OF_CONDITION * len(conditions)

    paths = [merge(path) for path in _paths(columns, own, weight, growing)]
    return simplify(max(paths, key=worth), worth) if paths else []


def _paths(
    columns: Sequence[SourceColumn], own: np.ndarray, weight: np.ndarray, growing: np.ndarray
) -> Iterator[list[Condition]]:
    """The conditions that lead to each node of a tree; it sees ranks, so that units do not matter."""
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
    """The conditions of the left and of the right branch; a bound lies halfway between two values."""
    if split.no is not None and split.yes is not None:
        return split.no, split.yes
    values = split.column.ranks[0]
    below = int(np.floor(threshold))
    bound = Bound(float(values[below] + values[below + 1]) / 2)
    return Condition(split.column, up_to=bound), Condition(split.column, above=bound)
