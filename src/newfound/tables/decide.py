"""What each column of a table is used for: decided by its cells, its name and the user's choice."""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import DataError, quoted_list
from newfound.labels import Labels
from newfound.tables.cells import cell_type, numbers
from newfound.tables.columns import infer_column, join_numbered, placed
from newfound.tables.dataset import Column, Dropped
from newfound.tables.encode import encode, labels_of
from newfound.tables.sources import OpenedTable, check_column


class Choice(NamedTuple):
    """What a user chooses for the columns of a table."""

    label: str | None = None
    id: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    group: str | None = None


def check_choice(opened: OpenedTable, choice: Choice) -> None:
    """Refuse columns that do not exist, and a column with two uses."""
    if len(opened.names) < 2:
        raise DataError(
            f"{opened.where} has only one column, {opened.names[0]!r}. A table needs two or more, separated by commas, "
            f"tabs, semicolons or bars. If your file uses another separator, save it again with commas."
        )
    chosen = [("label column", choice.label), ("id column", choice.id), ("group column", choice.group)]
    chosen += [("column to ignore", name) for name in choice.ignore]
    chosen += [("categorical column", name) for name in choice.categorical]
    chosen += [("numeric column", name) for name in choice.numeric]
    for what, name in chosen:
        if name is not None:
            check_column(name, opened, what)
    single = [name for name in (choice.label, choice.id, choice.group, *choice.ignore) if name is not None]
    repeated = {name for name in single if single.count(name) > 1} | (
        {*choice.numeric} & {*choice.categorical, *single}
    )
    if repeated:
        raise DataError(
            f"Column {repeated.pop()!r} is named twice. Name it once: in `label`, `id`, `group`, `ignore`, "
            f"`categorical` or `numeric`."
        )


def decided(table: Any, names: Sequence[str], choice: Choice) -> tuple[list[Column], list[Dropped]]:
    """The columns that are used, and those that are not: first each by itself, then in relation to the others."""
    found: list[Column | Dropped] = []
    for name in names:
        why = None if name in (*choice.numeric, *choice.categorical) else _why_no_feature(name, table.column(name))
        declared = "categorical" if name in choice.categorical else "numeric" if name in choice.numeric else ""
        found.append(Dropped(name, why) if why else infer_column(name, table.column(name), declared))
    dropped = [each for each in found if isinstance(each, Dropped)]
    columns = placed(join_numbered([each for each in found if isinstance(each, Column)], table))
    doubtful = [column for column in columns if column.name not in choice.numeric]
    unrelated = _unrelated_numbers(doubtful, table, columns, labels_of(table, choice.label))
    unused = {each.name for each in unrelated}
    return placed([column for column in columns if column.name not in unused]), [*dropped, *unrelated]


# ---- Columns that only tell rows apart: ids, names, running numbers ----

ID_WORDS = {"id", "ids", "uuid", "guid", "idx", "rowid"}  # as the last word of a name: always an id
NAME_WORDS = ID_WORDS | {
    *("key", "name", "nr", "no", "number", "index", "row", "unnamed", "url", "email", "serial", "hash"),
}
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
MIN_DIFFERENT = 0.95  # share of the cells of a column with such a name that differ, if it is an id
MIN_ROWS_COUNTED = 30  # in a column that counts the rows: with fewer, it may be a coincidence
MIN_ROWS_UNRELATED = 200  # to see whether a column is related to others; with fewer, it is used
MAX_ROWS_RELATED = 2000  # that are searched for a relation
P_RELATED = 0.01  # the probability of finding one or more relations where there are none


def column_of_row_names(table: Any, names: Sequence[str], choice: Choice) -> str | None:
    """The first column that is called an id or a name, and has another value in every row."""
    for name in names:
        cells = table.column(name)
        if name in (*choice.categorical, *choice.numeric) or _last_word(name) not in NAME_WORDS:
            continue
        is_cell = cell_type(cells.type) in ("text", "number") and not _has_fractions(name, cells)
        if is_cell and not cells.null_count and _n_different(cells) == len(cells):
            return name
    return None


def _why_no_feature(name: str, cells: Any) -> str | None:
    """Why a column of whole numbers is dropped: its name is that of an id, or it only counts the rows."""
    if cell_type(cells.type) != "number" or _has_fractions(name, cells):
        return None
    last_word = _last_word(name)
    if last_word in ID_WORDS:
        return "id"
    n_present = len(cells) - cells.null_count
    if last_word in NAME_WORDS and len(cells) > 2 and _n_different(cells) >= MIN_DIFFERENT * n_present:
        return "id"
    if len(cells) < MIN_ROWS_COUNTED or cells.null_count:
        return None
    return "counts" if bool((np.diff(np.asarray(cells.to_numpy(), float)) == 1).all()) else None


def _unrelated_numbers(
    doubtful: Sequence[Column], table: Any, columns: Sequence[Column], labels: Labels
) -> list[Dropped]:
    """The doubtful columns of different whole numbers that are related to no other column and no label."""
    if table.num_rows < MIN_ROWS_UNRELATED:
        return []
    candidates = []
    for column in doubtful:
        if column.feature_type == "numeric":
            cells = table.column(column.name)
            is_whole = cell_type(cells.type) == "number" and not _has_fractions(column.name, cells)
            if is_whole and not cells.null_count and _n_different(cells) == len(cells):
                candidates.append(column)
    if not candidates:
        return []
    rows = _spread_rows(table.num_rows, MAX_ROWS_RELATED)
    X, _ = encode(table.take(rows), columns)
    is_of_class = labels.codes[rows, None] == np.arange(len(labels.classes))
    return [
        Dropped(column.name, "unrelated")
        for column in candidates
        if not _is_related(X[:, column.positions[0]], np.hstack([np.delete(X, column.positions, axis=1), is_of_class]))
    ]


def _is_related(values: np.ndarray, others: np.ndarray) -> bool:
    """By Spearman's rank correlation with each other column, corrected for their number."""
    from scipy.stats import norm, rankdata

    others = others[:, others.std(axis=0) > 0]
    if others.shape[1] == 0:
        return True  # there is nothing to be related to
    ranks = np.apply_along_axis(rankdata, 0, np.column_stack([values, others]).astype(float))
    ranks = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    correlation = ranks[:, 1:].T @ ranks[:, 0] / len(ranks)
    return bool(np.abs(correlation).max() * np.sqrt(len(ranks)) > norm.isf(P_RELATED / 2 / others.shape[1]))


def _last_word(name: str) -> str:
    """\"id\" of \"customer_id\", \"CustomerID\" and \"customer id\"."""
    words = WORDS.findall(name)
    return words[-1].casefold() if words else ""


def _n_different(cells: Any) -> int:
    import pyarrow.compute as pc

    return pc.count_distinct(cells).as_py()


def _has_fractions(name: str, cells: Any) -> bool:
    if cell_type(cells.type) != "number":
        return False
    values = numbers(cells, name)
    present = values[np.isfinite(values)]
    return bool((present != np.rint(present)).any())


def _spread_rows(n_rows: int, at_most: int) -> np.ndarray:
    """Row numbers at equal distances."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, at_most)).astype(int))


# ---- Relations between columns: constant, almost identical, or determined by the label ----

ALMOST_IDENTICAL = 0.999  # correlation
MAX_COLUMNS_COMPARED = 300  # that are compared in pairs
MAX_ROWS_COMPARED = 5000
MIN_ROWS_PER_VALUE = 5  # labelled rows, on average: with fewer, a value may be in one class only by chance
MAX_GROUPS_SHOWN = 5


def about_relations(columns: Sequence[Column], X: np.ndarray) -> list[str]:
    """Sentences about columns that are constant, and about columns that are almost identical."""
    constant = []
    for column in columns:
        part = X[:, list(column.positions)]
        if len(X) > 1 and bool((part == part[0]).all()):
            constant.append(column.name)
    sentences = [f"The same value in every row, so not useful: {quoted_list(constant)}."] if constant else []
    rows = X[_spread_rows(len(X), MAX_ROWS_COMPARED)]
    groups: list[list[str]] = []  # of names that pairs connect
    for pair in _same_numbers(columns, rows) + _same_categories(columns, rows):
        touched = [group for group in groups if not set(pair).isdisjoint(group)]
        groups = [group for group in groups if group not in touched]
        groups.append(list(dict.fromkeys(name for names in (*touched, pair) for name in names)))
    if groups:
        shown = [quoted_list(group) for group in groups[:MAX_GROUPS_SHOWN]]
        more = [f"{len(groups) - MAX_GROUPS_SHOWN:,} more such groups"] if len(groups) > MAX_GROUPS_SHOWN else []
        sentences.append(
            f"Almost identical, and all used unless you name all but one in `ignore`: {'; '.join([*shown, *more])}."
        )
    return sentences


def _same_numbers(columns: Sequence[Column], X: np.ndarray) -> list[tuple[str, str]]:
    """Pairs of columns of numbers that are almost perfectly correlated."""
    plain = [c for c in columns if c.feature_type in ("numeric", "binary")][:MAX_COLUMNS_COMPARED]
    values = X[:, [c.positions[0] for c in plain]].astype(float)
    varies = np.flatnonzero(values.std(axis=0) > 0)
    if len(varies) < 2 or len(values) < 3:
        return []
    correlation = np.abs(np.corrcoef(values[:, varies], rowvar=False))
    first, second = np.nonzero(np.triu(correlation > ALMOST_IDENTICAL, 1))
    return [(plain[varies[i]].name, plain[varies[j]].name) for i, j in zip(first, second, strict=True)]


def _same_categories(columns: Sequence[Column], X: np.ndarray) -> list[tuple[str, str]]:
    """Pairs of columns with the same categories under different names."""
    categorical = [c for c in columns if c.feature_type == "categorical" and len(c.categories) > 1]
    categorical = categorical[:MAX_COLUMNS_COMPARED]
    codes = {c.name: X[:, list(c.positions)].argmax(axis=1) for c in categorical}
    return [
        (a.name, b.name)
        for a, b in combinations(categorical, 2)
        if len(a.categories) == len(b.categories) == len(np.unique(np.stack([codes[a.name], codes[b.name]]), axis=1).T)
    ]


def columns_like_label(columns: Sequence[Column], X: np.ndarray, labels: Labels) -> list[str]:
    """A flag for each column that alone determines every label."""
    codes, rows = labels.codes[labels.is_labelled], X[labels.is_labelled]
    if len(np.unique(codes)) < 2:
        return []
    plain = [column for column in columns if column.feature_type in ("numeric", "binary", "categorical")]
    return [
        f"{column.name!r} alone determines every label. If it was filled in after the label was known, or because of "
        f"it, name it in `ignore`: it cannot show new classes."
        for column in plain
        if _determines_labels(rows[:, list(column.positions)], codes)
    ]


def _determines_labels(part: np.ndarray, codes: np.ndarray) -> bool:
    """Whether no value is in two classes and, if these are numbers, no class has two values."""
    is_code = part.shape[1] > 1
    values = part.argmax(axis=1) if is_code else np.unique(part, return_inverse=True)[1].ravel()
    n_values = len(np.unique(values))
    if n_values < 2 or n_values * MIN_ROWS_PER_VALUE > len(part):
        return False
    n_pairs = len(np.unique(np.stack([values, codes]), axis=1).T)
    return n_pairs == n_values and (is_code or n_pairs == len(np.unique(codes)))
