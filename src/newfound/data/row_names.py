"""Columns that tell rows apart and say nothing about them: ids, names, running numbers."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from newfound.data.cells import cell_type, numbers
from newfound.data.encoding import encode
from newfound.data.schema import Column, Dropped
from newfound.labels import Labels

ID_WORDS = {"id", "ids", "uuid", "guid", "idx", "rowid"}  # last word of a name: always an id
NAME_WORDS = ID_WORDS | {
    "key",
    "name",
    "nr",
    "no",
    "number",
    "index",
    "row",
    "unnamed",
    "url",
    "email",
    "serial",
    "hash",
}
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
NEARLY_ALL = 0.95  # of the cells that are different
MIN_ROWS = 30  # for a column that counts the rows not to be a chance
MIN_ROWS_UNRELATED = 200  # to see whether numbers have to do with others; with fewer, they get the benefit of the doubt
MAX_ROWS = 2000  # that a relation is looked for in
P_RELATED = 0.01  # the chance of one relation or more where there is none


def last_word(name: str) -> str:
    """\"id\" of \"customer_id\", \"CustomerID\" and \"customer id\"."""
    words = WORDS.findall(name)
    return words[-1].casefold() if words else ""


def may_name_rows(name: str) -> bool:
    return last_word(name) in NAME_WORDS


def n_different(cells: Any) -> int:
    import pyarrow.compute as pc

    return pc.count_distinct(cells).as_py()


def names_every_row(name: str, cells: Any) -> bool:
    """Whether a column is called an id or a name, and has another value in every row."""
    is_cell = cell_type(cells.type) in ("text", "number") and not _has_fractions(name, cells)
    return is_cell and may_name_rows(name) and not cells.null_count and n_different(cells) == len(cells)


def why_no_feature(name: str, cells: Any) -> str | None:
    """Of a column of whole numbers: whether it is an id by its name, or only counts the rows."""
    if cell_type(cells.type) != "number" or _has_fractions(name, cells):
        return None
    if last_word(name) in ID_WORDS:
        return "id"
    is_named = may_name_rows(name) and n_different(cells) >= NEARLY_ALL * (len(cells) - cells.null_count)
    if is_named and len(cells) > 2:
        return "id"
    return "counts" if len(cells) >= MIN_ROWS and _counts_up(cells) else None


def unrelated_numbers(
    doubtful: Sequence[Column], table: Any, columns: Sequence[Column], labels: Labels
) -> list[Dropped]:
    """The doubtful columns whose whole numbers are all different and have to do with no other column, and no label."""
    if table.num_rows < MIN_ROWS_UNRELATED:
        return []
    candidates = [c for c in doubtful if c.feature_type == "numeric" and _is_sparse(c, table)]
    if not candidates:
        return []
    rows = np.unique(np.linspace(0, table.num_rows - 1, min(table.num_rows, MAX_ROWS)).astype(int))
    X, _ = encode(table.take(rows), columns)
    is_of_class = labels.codes[rows, None] == np.arange(len(labels.classes))
    return [
        Dropped(column.name, "unrelated")
        for column in candidates
        if not _is_related(X[:, column.positions[0]], np.hstack([np.delete(X, column.positions, axis=1), is_of_class]))
    ]


def _is_sparse(column: Column, table: Any) -> bool:
    cells = table.column(column.name)
    is_whole = cell_type(cells.type) == "number" and not _has_fractions(column.name, cells)
    return is_whole and not cells.null_count and n_different(cells) == len(cells)


def _is_related(values: np.ndarray, others: np.ndarray) -> bool:
    """By Spearman's rank correlation with each other column, at a level for all of them together."""
    from scipy.stats import norm, rankdata

    others = others[:, others.std(axis=0) > 0]
    if others.shape[1] == 0:
        return True  # there is nothing it could have to do with
    ranks = np.apply_along_axis(rankdata, 0, np.column_stack([values, others]).astype(float))
    ranks = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    correlation = ranks[:, 1:].T @ ranks[:, 0] / len(ranks)
    return bool(np.abs(correlation).max() * np.sqrt(len(ranks)) > norm.isf(P_RELATED / 2 / others.shape[1]))


def _has_fractions(name: str, cells: Any) -> bool:
    if cell_type(cells.type) != "number":
        return False
    values = numbers(cells, name)
    present = values[np.isfinite(values)]
    return bool((present != np.rint(present)).any())


def _counts_up(cells: Any) -> bool:
    return not cells.null_count and bool((np.diff(np.asarray(cells.to_numpy(), float)) == 1).all())
