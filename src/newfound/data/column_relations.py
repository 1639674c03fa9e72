"""What columns say about each other and about the labels: constant, nearly the same, or the label in other words."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from newfound.data.schema import Column
from newfound.labels import UNLABELLED, Labels
from newfound.wording import quoted_list

NEARLY_SAME = 0.999  # correlation
MAX_COLUMNS = 300  # that are compared in pairs
MAX_ROWS = 5000  # by which they are compared
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
    return X[np.unique(np.linspace(0, len(X) - 1, min(len(X), MAX_ROWS)).astype(int))]


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
