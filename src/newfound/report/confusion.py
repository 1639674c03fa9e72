"""True classes against predicted ones, as a table whose cells are shaded."""

from itertools import groupby
from typing import NamedTuple

import numpy as np

from newfound.evaluation import Evaluation
from newfound.plots import column_order
from newfound.report.content import ReportContent
from newfound.report.sentences import percent

MAX_COLUMNS_WITH_NUMBERS = 16  # beyond, a cell shows its share by shade and on hover
KNOWN, EMPTY = "known classes", "empty"


class Column(NamedTuple):
    """One predicted class."""

    name: str
    is_new: bool
    starts_group: bool


class Group(NamedTuple):
    """Neighbouring columns: the known classes, or the new ones that hold mostly the same true class."""

    name: str
    is_new: bool
    n_columns: int


class Cell(NamedTuple):
    """The rows of one true class that were predicted as one class."""

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
    columns: list[Column]
    lines: list[Line]
    is_compact: bool


def confusion(content: ReportContent) -> Matrix | None:
    """Known classes first, then the new ones grouped under the true class most common in each; no empty new ones."""
    evaluation = content.evaluation
    if evaluation is None:
        return None
    is_new = _is_new(content, evaluation)
    order = column_order(evaluation, is_new)
    order = order[(evaluation.counts[:, order].sum(axis=0) > 0) | ~is_new[order]]
    groups = _groups(evaluation, order, is_new)
    starts = _starts(groups)
    columns = [Column(str(evaluation.predicted[k]), bool(is_new[k]), i in starts) for i, k in enumerate(order)]
    return Matrix(groups, columns, _lines(evaluation, order, starts), len(order) > MAX_COLUMNS_WITH_NUMBERS)


def _is_new(content: ReportContent, evaluation: Evaluation) -> np.ndarray:
    """A flag for each column of the evaluation, by its class's name."""
    new = {c.name for c in content.classes if c.is_new}
    return np.array([str(name) in new for name in evaluation.predicted], dtype=bool)


def _groups(evaluation: Evaluation, order: np.ndarray, is_new: np.ndarray) -> list[Group]:
    majority = evaluation.majority

    def key(column: int) -> tuple[bool, str]:
        if not is_new[column]:
            return False, KNOWN
        return True, str(evaluation.classes[majority[column]]) if majority[column] >= 0 else EMPTY

    return [Group(name, new, len(list(members))) for (new, name), members in groupby(order, key=key)]


def _starts(groups: list[Group]) -> set[int]:
    """The columns at which a group of new classes begins."""
    firsts = np.cumsum([0, *(group.n_columns for group in groups)]).tolist()
    return {first for first, group in zip(firsts, groups, strict=False) if group.is_new}


def _lines(evaluation: Evaluation, order: np.ndarray, starts: set[int]) -> list[Line]:
    totals = evaluation.counts.sum(axis=1).tolist()
    return [
        Line(str(name), bool(is_known), total, _cells(counts[order], total, starts))
        for name, is_known, total, counts in zip(
            evaluation.classes, evaluation.is_known, totals, evaluation.counts, strict=True
        )
    ]


def _cells(counts: np.ndarray, total: int, starts: set[int]) -> list[Cell]:
    shares = counts / max(total, 1)
    return [
        Cell(round(float(share), 3), percent(share) if n else "", int(n), i in starts)
        for i, (share, n) in enumerate(zip(shares, counts, strict=True))
    ]


def metrics(content: ReportContent) -> list[tuple[str, str]]:
    """Every metric by its exact name, as it is printed everywhere."""
    return [] if content.evaluation is None else content.evaluation.shown
