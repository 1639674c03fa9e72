"""The preprocessing log: how a source was read, in sentences a person can check."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from newfound.data.schema import MISSING_CATEGORY, Column
from newfound.labels import Labels
from newfound.wording import count, quoted_list, short_list


def about_columns(columns: Sequence[Column]) -> list[str]:
    """The feature type of each column, then what was missing."""
    numeric, binary, categorical = (_of_type(columns, name) for name in ("numeric", "binary", "categorical"))
    n_features = sum(len(column.feature_names) for column in columns)
    sentences = []
    if numeric:
        sentences.append(f"{count(len(numeric), 'numeric column')}: {quoted_list(c.name for c in numeric)}.")
    if binary:
        names = quoted_list(c.name for c in binary)
        sentences.append(f"{count(len(binary), 'binary column')} (only 0 and 1): {names}.")
    if categorical:
        sizes = _with_counts((c.name, len(c.categories)) for c in categorical)
        sentences.append(f"{count(len(categorical), 'categorical column')}, one feature for each category: {sizes}.")
    return [*sentences, *about_missing(columns), f"In all, {count(n_features, 'feature')}."]


def about_missing(columns: Iterable[Column]) -> list[str]:
    """Missing and unknown cells: how many, where, and what became of them."""
    columns = list(columns)
    numeric, binary, categorical = (_of_type(columns, name) for name in ("numeric", "binary", "categorical"))
    with_own = [c for c in categorical if MISSING_CATEGORY in c.categories]
    without = [c for c in categorical if MISSING_CATEGORY not in c.categories]
    sentences = [
        _about_cells(numeric, "n_missing", "missing", "filled with the column's median"),
        _about_cells(binary, "n_missing", "missing", "filled with the column's most frequent value"),
        _about_cells(binary, "n_unknown", "neither 0 nor 1", "filled with the column's most frequent value"),
        _about_cells(with_own, "n_missing", "missing", f"read as the category {MISSING_CATEGORY!r}"),
        _about_cells(without, "n_missing", "missing", "given none of the column's categories"),
        _about_cells(categorical, "n_unknown", "of an unknown category", "given none of the column's categories"),
    ]
    return [sentence for sentence in sentences if sentence]


def add_counts(totals: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """Sum what was missing and unknown over blocks of one file; `totals` is empty before the first."""
    if not totals:
        return list(columns)
    return [
        replace(total, n_missing=total.n_missing + block.n_missing, n_unknown=total.n_unknown + block.n_unknown)
        for total, block in zip(totals, columns, strict=True)
    ]


def about_labels(label_column: str | None, labels: Labels, source: str | None = None) -> list[str]:
    """Which classes there are, and how many rows have a label; `source` is where they come from, if not a column."""
    if label_column is None:
        return ["No labels were given: all rows are unlabelled."]
    present = labels.classes[np.flatnonzero(labels.counts)]
    classes = count(len(present), "class", "classes") + (f" ({quoted_list(present, 10)})" if len(present) else "")
    labelled = count(labels.n_labelled, "labelled row")
    source = source or f"column {label_column!r}"
    sentence = f"{labelled} with {classes} from {source}; {count(labels.n_unlabelled, 'unlabelled row')}."
    marks: Counter[str] = Counter()
    for mark, n in labels.marks:  # "-1" and " -1" are one
        marks[mark] += n
    return [sentence, *(_about_mark(mark, n) for mark, n in marks.items())]


def about_dropped(requested: Sequence[str], empty: Sequence[str], index: Sequence[str]) -> list[str]:
    """Columns that are not in X, and why."""
    reasons = (
        (requested, "as requested"),
        (empty, "because all cells are missing"),
        (index, "because they are the index that pandas stored"),
    )
    return [f"Dropped {reason}: {quoted_list(names)}." for names, reason in reasons if names]


def _about_mark(mark: str, n: int) -> str:
    return (
        f"{count(n, 'label is', 'labels are')} {mark}, which means unlabelled; "
        f"if {mark} is a class in your data, give it another name."
    )


def _about_cells(columns: Sequence[Column], counter: str, what: str, result: str) -> str:
    counts = [(column.name, getattr(column, counter)) for column in columns if getattr(column, counter)]
    if not counts:
        return ""
    total = sum(n for _, n in counts)
    where = _with_counts(sorted(counts, key=lambda pair: -pair[1]))
    return f"{count(total, 'cell was', 'cells were')} {what} and {result}: {where}."


def _of_type(columns: Iterable[Column], feature_type: str) -> list[Column]:
    return [column for column in columns if column.feature_type == feature_type]


def _with_counts(pairs: Iterable[tuple[str, int]]) -> str:
    """\"'a' (3), 'b' (1) and 7 more\"."""
    return short_list([f"{name!r} ({n:,})" for name, n in pairs], 5)
