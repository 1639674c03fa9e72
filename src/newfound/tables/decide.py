"""What becomes of every column of a table: by what it holds and by what the user says."""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import DataError, quoted_list
from newfound.labels import UNLABELLED, Labels
from newfound.tables.cells import cell_type, numbers
from newfound.tables.columns import infer_column, join_numbered, placed
from newfound.tables.dataset import Column, Dropped
from newfound.tables.encode import encode, labels_of_column
from newfound.tables.sources import check_column

# ---- What columns say about each other and about the labels ----
# Constant, nearly the same, or the label in other words.

NEARLY_SAME = 0.999  # correlation
MAX_COLUMNS = 300  # that are compared in pairs
MAX_ROWS_COMPARED = 5000  # by which they are compared
MIN_PER_VALUE = 5  # labelled rows, on average, for a value that only one class has not to be a chance
MAX_GROUPS = 5  # that are told


def about_relations(columns: Sequence[Column], X: np.ndarray) -> list[str]:
    """Sentences about columns that are no use, or are used twice."""
    constant = [c.name for c in columns if _is_constant(c, X)]
    pairs = _same_numbers(columns, X) + _same_categories(columns, X)
    sentences = [f"The same value in every row, so of no use: {quoted_list(constant)}."] if constant else []
    if pairs:
        groups = [quoted_list(group) for group in _joined(pairs)]
        more = [f"{len(groups) - MAX_GROUPS:,} more such groups"] if len(groups) > MAX_GROUPS else []
        told = "; ".join([*groups[:MAX_GROUPS], *more])
        sentences.append(f"Nearly the same, and used each unless you name all but one in `ignore`: {told}.")
    return sentences


def _joined(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Groups of names that pairs lead from one to the next."""
    groups: list[list[str]] = []
    for pair in pairs:
        touched = [group for group in groups if not set(pair).isdisjoint(group)]
        groups = [group for group in groups if group not in touched]
        groups.append(list(dict.fromkeys(name for names in (*touched, pair) for name in names)))
    return groups


def label_in_other_words(columns: Sequence[Column], X: np.ndarray, labels: Labels) -> list[str]:
    """A flag for each column that alone tells every label."""
    is_labelled = labels.codes != UNLABELLED
    codes, rows = labels.codes[is_labelled], X[is_labelled]
    if len(np.unique(codes)) < 2:
        return []
    plain = [column for column in columns if column.feature_type in ("numeric", "binary", "categorical")]
    return [
        f"{column.name!r} alone tells every label. If it was filled in after the label was known, or because of it, "
        f"name it in `ignore`: what is new cannot be seen by it."
        for column in plain
        if _tells_labels(rows[:, list(column.positions)], codes)
    ]


def _tells_labels(part: np.ndarray, codes: np.ndarray) -> bool:
    """Whether no value is in two classes; and, of numbers, no two values in a class."""
    is_code = part.shape[1] > 1
    values = part.argmax(axis=1) if is_code else np.unique(part, return_inverse=True)[1].ravel()
    n_values = len(np.unique(values))
    if n_values < 2 or n_values * MIN_PER_VALUE > len(part):
        return False
    n_pairs = len(np.unique(np.stack([values, codes]), axis=1).T)
    return n_pairs == n_values and (is_code or n_pairs == len(np.unique(codes)))


def _is_constant(column: Column, X: np.ndarray) -> bool:
    part = X[:, list(column.positions)]
    return len(X) > 1 and bool((part == part[0]).all())


def _sample(X: np.ndarray) -> np.ndarray:
    return X[np.unique(np.linspace(0, len(X) - 1, min(len(X), MAX_ROWS_COMPARED)).astype(int))]


def _same_numbers(columns: Sequence[Column], X: np.ndarray) -> list[tuple[str, str]]:
    plain = [c for c in columns if c.feature_type in ("numeric", "binary")][:MAX_COLUMNS]
    values = _sample(X)[:, [c.positions[0] for c in plain]].astype(float)
    varies = np.flatnonzero(values.std(axis=0) > 0)
    if len(varies) < 2 or len(values) < 3:
        return []
    correlation = np.abs(np.corrcoef(values[:, varies], rowvar=False))
    first, second = np.nonzero(np.triu(correlation > NEARLY_SAME, 1))
    return [(plain[varies[i]].name, plain[varies[j]].name) for i, j in zip(first, second, strict=True)]


def _same_categories(columns: Sequence[Column], X: np.ndarray) -> list[tuple[str, str]]:
    """Pairs of columns whose categories are the same under other names."""
    categorical = [c for c in columns if c.feature_type == "categorical" and len(c.categories) > 1][:MAX_COLUMNS]
    rows = _sample(X)
    codes = {c.name: rows[:, list(c.positions)].argmax(axis=1) for c in categorical}
    return [
        (a.name, b.name)
        for a, b in combinations(categorical, 2)
        if len(a.categories) == len(b.categories) == len(np.unique(np.stack([codes[a.name], codes[b.name]]), axis=1).T)
    ]


# ---- Columns that tell rows apart and say nothing about them: ids, names, running numbers ----

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
MAX_ROWS_RELATED = 2000  # that a relation is looked for in
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
    rows = np.unique(np.linspace(0, table.num_rows - 1, min(table.num_rows, MAX_ROWS_RELATED)).astype(int))
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


# ---- What becomes of every column of a table, by what it holds and by what the user says about it ----


class Choice(NamedTuple):
    """What a user says about the columns of a table."""

    label: str | None = None
    id: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    group: str | None = None


def column_of_row_names(table: Any, names: Sequence[str], choice: Choice) -> str | None:
    """The first column that says by its name that it names the rows, and does."""
    free = without(names, [*choice.categorical, *choice.numeric])
    return next((name for name in free if names_every_row(name, table.column(name))), None)


def decided(table: Any, names: Sequence[str], choice: Choice) -> tuple[list[Column], list[Dropped]]:
    """What becomes of every column: first of each for itself, then of those that belong together or to nothing."""
    found: list[Column | Dropped] = []
    for name in names:
        why = None if name in (*choice.numeric, *choice.categorical) else why_no_feature(name, table.column(name))
        declared = "categorical" if name in choice.categorical else "numeric" if name in choice.numeric else ""
        found.append(Dropped(name, why) if why else infer_column(name, table.column(name), declared))
    dropped = [each for each in found if isinstance(each, Dropped)]
    columns = placed(join_numbered([each for each in found if isinstance(each, Column)], table))
    return _without_unrelated(table, columns, dropped, choice)


def _without_unrelated(
    table: Any, columns: list[Column], dropped: list[Dropped], choice: Choice
) -> tuple[list[Column], list[Dropped]]:
    doubtful = [column for column in columns if column.name not in choice.numeric]
    unrelated = unrelated_numbers(doubtful, table, columns, labels_of(table, choice.label))
    names = {each.name for each in unrelated}
    return placed([column for column in columns if column.name not in names]), [*dropped, *unrelated]


def labels_of(table: Any, label: str | None, declared: Sequence[str] = ()) -> Labels:
    if label is None:
        return Labels.none(table.num_rows, declared)
    return labels_of_column(table.column(label), label, declared)


def check_choice(opened: Any, choice: Choice) -> None:
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


def without(names: Sequence[str], others: Sequence[str | None]) -> list[str]:
    excluded = set(others)
    return [name for name in names if name not in excluded]
