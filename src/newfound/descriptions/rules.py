"""A short rule for a class: the best path of a small decision tree, measured on rows that the tree was not grown on."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from newfound.descriptions.conditions import Bound, Condition, all_hold, merge, simplify
from newfound.descriptions.description import Rule
from newfound.descriptions.source_columns import SourceColumn

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
