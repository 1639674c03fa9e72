"""True classes against components, as a table whose cells are shaded."""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from newfound.evaluation import Evaluation
from newfound.plots import component_order
from newfound.report.content import ReportContent
from newfound.report.words import percent

WIDEST_WITH_NUMBERS = 16  # columns; beyond, a cell shows its share by shade and on hover


class Group(NamedTuple):
    """Neighbouring components that stand for the same true class."""

    name: str
    is_new: bool
    n_columns: int


class Cell(NamedTuple):
    """The rows of one true class in one component."""

    share: float
    text: str
    n_rows: int
    starts_group: bool


class Line(NamedTuple):
    """One true class."""

    name: str
    is_known: bool
    n_rows: int
    cells: list[Cell]


class Matrix(NamedTuple):
    """The whole table."""

    groups: list[Group]
    components: list[tuple[int, bool, bool]]  # number, whether it is new, whether it starts a group
    lines: list[Line]
    is_compact: bool


def confusion(content: ReportContent) -> Matrix | None:
    """Known components first, then the new ones grouped under the class most common in each, empty ones last."""
    evaluation, n_known = content.evaluation, content.n_known_components
    if evaluation is None:
        return None
    order = component_order(evaluation, n_known)
    order = order[(evaluation.counts[:, order].sum(axis=0) > 0) | (order < n_known)]
    is_compact = len(order) > WIDEST_WITH_NUMBERS
    groups = _groups(evaluation, order, n_known, merges_known=is_compact)
    starts = _starts(groups)
    known = {c.name for c in content.classes if not c.is_new}
    totals = evaluation.counts.sum(axis=1)
    lines = [
        Line(str(name), str(name) in known, int(total), _cells(counts[order], int(total), starts))
        for name, total, counts in zip(evaluation.classes, totals, evaluation.counts, strict=True)
    ]
    components = [(int(k), bool(k >= n_known), i in starts) for i, k in enumerate(order)]
    return Matrix(groups, components, lines, is_compact)


def _groups(evaluation: Evaluation, order: np.ndarray, n_known: int, *, merges_known: bool) -> list[Group]:
    """Known components are one group where there is no room for a name above each."""

    def key(component: int) -> tuple[bool, str]:
        stands_for = evaluation.many_to_one_class[component]
        name = str(evaluation.classes[stands_for]) if stands_for >= 0 else "empty"
        return bool(component >= n_known), "known" if merges_known and component < n_known else name

    return [Group(name, is_new, len(list(members))) for (is_new, name), members in groupby(order, key=key)]


def _starts(groups: list[Group]) -> set[int]:
    """The columns at which a new group begins; known components need no line between them."""
    firsts = np.cumsum([0, *(group.n_columns for group in groups)]).tolist()
    return {first for first, group in zip(firsts, groups, strict=False) if group.is_new}


def _cells(counts: np.ndarray, total: int, starts: set[int]) -> list[Cell]:
    shares = counts / max(total, 1)
    return [
        Cell(round(float(share), 3), percent(share) if n else "", int(n), i in starts)
        for i, (share, n) in enumerate(zip(shares, counts, strict=True))
    ]


def metrics(content: ReportContent) -> list[tuple[str, str]]:
    """Every metric by its exact name: those given, else the evaluation's own."""
    named = content.metrics or (content.evaluation.metrics if content.evaluation else {})
    return [(name, _metric(name, value)) for name, value in named.items()]


def _metric(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "–"
    if name == "components in use":
        return f"{value:.0f}"
    return f"{value:.1%}" if "accuracy" in name else f"{value:.3f}"
