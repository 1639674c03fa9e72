"""What was decided about a file, in sentences a person can check."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from newfound.data.dataset import MISSING_CATEGORY, UNLABELLED, Column
from newfound.data.problems import count, some


def about_columns(columns: Sequence[Column]) -> list[str]:
    """The role of each column, then what was missing."""
    numeric, binary, category = (
        [column.name for column in columns if column.role == role] for role in ("numeric", "binary", "category")
    )
    n_features = sum(len(column.feature_names) for column in columns)
    sentences = [f"{count(len(numeric), 'column holds', 'columns hold')} numbers: {some(numeric)}."] if numeric else []
    if binary:
        sentences.append(f"{count(len(binary), 'column holds', 'columns hold')} only 0 and 1: {some(binary)}.")
    if category:
        sizes = [f"{column.name} ({len(column.categories)})" for column in columns if column.role == "category"]
        sentences.append(
            f"{count(len(category), 'column holds', 'columns hold')} categories, one feature for each: {some(sizes)}."
        )
    return [*sentences, *about_gaps(columns), f"That makes {count(n_features, 'feature')}."]


def about_gaps(columns: Iterable[Column]) -> list[str]:
    """Missing and unknown cells: how many, where, and what became of them."""
    columns = list(columns)
    numeric = [c for c in columns if c.role == "numeric"]
    binary = [c for c in columns if c.role == "binary"]
    category = [c for c in columns if c.role == "category"]
    own = [c for c in category if MISSING_CATEGORY in c.categories]
    none = [c for c in category if MISSING_CATEGORY not in c.categories]
    sentences = [
        _cells(numeric, "n_missing", "missing", "filled with the column's median"),
        _cells(binary, "n_missing", "missing", "filled with the column's commonest value"),
        _cells(binary, "n_unknown", "neither 0 nor 1", "filled with the column's commonest value"),
        _cells(own, "n_missing", "missing", f"read as the category {MISSING_CATEGORY!r}"),
        _cells(none, "n_missing", "missing", "taken as none of the column's categories"),
        _cells(category, "n_unknown", "of a category not seen before", "taken as none of the column's categories"),
    ]
    return [sentence for sentence in sentences if sentence]


def _cells(columns: Sequence[Column], counter: str, what: str, fate: str) -> str:
    counts = [(column.name, getattr(column, counter)) for column in columns if getattr(column, counter)]
    if not counts:
        return ""
    total = sum(n for _, n in counts)
    where = some(f"{name} ({n:,})" for name, n in sorted(counts, key=lambda pair: -pair[1]))
    return f"{count(total, 'cell was', 'cells were')} {what} and {fate}: {where}."


def add_counts(totals: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """Sum what was missing and unknown over blocks of one file; `totals` is empty before the first."""
    if not totals:
        return list(columns)
    return [
        replace(total, n_missing=total.n_missing + block.n_missing, n_unknown=total.n_unknown + block.n_unknown)
        for total, block in zip(totals, columns, strict=True)
    ]


def about_labels(
    label: str | None, y: np.ndarray, class_names: Sequence[str], n_minus_one: int = 0, says: str | None = None
) -> list[str]:
    """Which classes there are, and how many rows carry a label; what `says` so is the label column, unless told."""
    if label is None:
        return ["No labels were given: every row is unlabelled."]
    n_labelled = int((y != UNLABELLED).sum())
    present = [class_names[code] for code in np.unique(y[y != UNLABELLED])]
    classes = count(len(present), "class", "classes")
    names = f": {some(present, 10)}" if present else ""
    rest = count(len(y) - n_labelled, "row is", "rows are") if n_labelled < len(y) else "none is"
    says = says or f"{label!r} labels"
    sentences = [f"{says} {count(n_labelled, 'row')} with {classes}{names}; {rest} unlabelled."]
    if n_minus_one:
        sentences.append(
            f"{count(n_minus_one, 'label is', 'labels are')} -1, which means unlabelled; "
            f"if -1 is a class of yours, give it another name."
        )
    return sentences


def about_left_out(asked: Sequence[str], empty: Sequence[str], index: Sequence[str]) -> list[str]:
    """Columns that are not in X, and why."""
    reasons = ((asked, "as asked"), (empty, "because all cells are missing"), (index, "as the index pandas stored"))
    return [f"Left out {reason}: {some(names)}." for names, reason in reasons if names]
