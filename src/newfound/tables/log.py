"""The preprocessing log: how a source was read, in sentences that a person can check."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from newfound._internal.words import and_list, count, quoted_list, short_list
from newfound.labels import Labels
from newfound.tables.cells import NumberFormat
from newfound.tables.dataset import MISSING_CATEGORY, Column, Dropped

WHY_DROPPED = {  # the reason, and how to use the column anyway
    "requested": ("requested", ""),
    "id": ("ids", "To use one as a number, name it in `numeric`."),
    "counts": ("numbers that only count the rows", "To use one, name it in `numeric`."),
    "unrelated": (
        "whole numbers that are all different and unrelated to all other columns, as ids are",
        "To use one, name it in `numeric`.",
    ),
    "all different": (
        "text that differs in at least 90 % of the rows",
        "To use one as the names of the rows, name it in `id`.",
    ),
    "many categories": ("text with too many different values", "To use one, name it in `categorical`."),
    "numbers and text": (
        "numbers mixed with text",
        "To use one, name it in `numeric` (text counts as missing).",
    ),
    "several units": ("numbers in different units", "Write them in one unit to use them."),
    "day or month": ("dates with an ambiguous order of day and month", "Write them as 2024-12-31."),
    "lists of different lengths": ("lists of different lengths", ""),
    "lists as text": (
        "lists of numbers written as text",
        "To use them, save the table as Parquet, where lists are lists, or join an array by row with `features`.",
    ),
    "lists of other things": ("lists that do not hold numbers", ""),
    "other types": ("values that are neither numbers, text, dates nor lists", ""),
    "free text": (
        "free text",
        "To use it, make embeddings and join them by row with `features`: "
        "vectors = SentenceTransformer('all-MiniLM-L6-v2').encode(list(table[{name}])); np.save({file}, vectors).",
    ),
    "empty": ("all cells are missing", ""),
    "index": ("they are the index that pandas stored", ""),
}
PARTS_IN_WORDS = {"days": "days since {start}", "weekday": "day of week", "hour": "hour"}


def about_columns(columns: Sequence[Column]) -> list[str]:
    """The feature type of each column, then the missing cells."""
    numeric, binary, categorical, dates, blocks = _by_type(columns)
    n_features = sum(len(column.feature_names) for column in columns)
    formatted = [f"{c.name!r} ({_format_in_words(c)})" for c in numeric if c.number_format]
    in_types = [
        ("numeric column", "", [repr(c.name) for c in numeric]),
        ("binary column", " (only 0 and 1)", [repr(c.name) for c in binary]),
        (
            "categorical column",
            ", one feature for each category",
            [f"{c.name!r} ({len(c.categories):,})" for c in categorical],
        ),
        ("column of dates or times", ", read as numbers", [_date_in_words(c) for c in dates]),
        ("block of numbers", " on one scale", [f"{c.name!r} ({len(c.feature_names):,})" for c in blocks]),
    ]
    return [
        *(
            f"{count(len(names), thing, thing.replace('column', 'columns').replace('block', 'blocks'))}{what}: "
            f"{short_list(names, 5)}."
            for thing, what, names in in_types
            if names
        ),
        *([f"Read as numbers: {short_list(formatted, 10)}."] if formatted else []),
        *about_missing(columns),
        f"In all, {count(n_features, 'feature')}.",
    ]


def _by_type(columns: Iterable[Column]) -> list[list[Column]]:
    """Numeric, binary, categorical columns, dates and blocks."""
    columns = list(columns)
    types = ("numeric", "binary", "categorical", "date", "block")
    return [[column for column in columns if column.feature_type == name] for name in types]


def _date_in_words(column: Column) -> str:
    order = "" if column.date_order in ("year first", "time only") else f"{column.date_order}; "
    parts = and_list(PARTS_IN_WORDS[part].format(start=column.start) for part in column.parts)
    return f"{column.name!r} ({order}{parts})"


def _format_in_words(column: Column) -> str:
    unit, thousands, decimal = NumberFormat(*column.number_format)
    words = [
        f"in {unit}" if unit else "",
        "decimal comma" if decimal == "," else "",
        f"thousands separated by {thousands!r}" if thousands else "",
    ]
    return ", ".join(filter(None, words))


def about_missing(columns: Iterable[Column]) -> list[str]:
    """Missing and unknown cells: their number, their columns, and how they were filled."""
    numeric, binary, categorical, dates, blocks = _by_type(columns)
    with_own = [c for c in categorical if MISSING_CATEGORY in c.categories]
    without = [c for c in categorical if MISSING_CATEGORY not in c.categories]
    median, most_frequent, none = (
        "filled with the column's median",
        "filled with the column's most frequent value",
        "given none of the column's categories",
    )
    sentences = [
        _about_cells([*numeric, *dates, *blocks], "n_missing", "missing", median),
        _about_cells([*numeric, *dates], "n_unknown", "text that could not be read", median),
        _about_cells(binary, "n_missing", "missing", most_frequent),
        _about_cells(binary, "n_unknown", "neither 0 nor 1", most_frequent),
        _about_cells(with_own, "n_missing", "missing", f"read as the category {MISSING_CATEGORY!r}"),
        _about_cells(without, "n_missing", "missing", none),
        _about_cells(categorical, "n_unknown", "of an unknown category", none),
    ]
    return [sentence for sentence in sentences if sentence]


def add_counts(totals: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """Sum the missing and unknown cells over blocks of one file; `totals` is empty before the first."""
    if not totals:
        return list(columns)
    return [
        total.replace(n_missing=total.n_missing + block.n_missing, n_unknown=total.n_unknown + block.n_unknown)
        for total, block in zip(totals, columns, strict=True)
    ]


def about_labels(label_column: str | None, labels: Labels, source: str | None = None) -> list[str]:
    """The classes and the number of labelled rows; `source` is the origin of labels that are not a column."""
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
    about_marks = [
        f"{count(n, 'label is', 'labels are')} {mark}, which means unlabelled; if {mark} is a class in your data, "
        f"give it another name."
        for mark, n in marks.items()
    ]
    return [sentence, *about_marks]


def about_sample(n_rows: int, size: int, n_labelled: int, n_all_labelled: int) -> str:
    """The number of rows in a sample of a source that is too large to be held."""
    all_labelled = count(n_all_labelled, "labelled row")
    labelled = f", and {n_labelled:,} of {all_labelled}, with small classes complete"
    if n_labelled == n_all_labelled:
        labelled = f", and all {all_labelled}" if n_all_labelled else ""
    return (
        f"The model is fitted on a sample of {count(n_rows, 'row')}: {min(size, n_rows):,} at random{labelled}. The "
        f"following lines describe the sample; all rows are predicted."
    )


def about_dropped(dropped: Sequence[Dropped]) -> list[str]:
    """The columns that are not in X, with the reason and how to use them."""
    sentences = []
    for why, (reason, remedy) in WHY_DROPPED.items():
        columns = [d for d in dropped if d.why == why]
        if columns:
            first = columns[0].name
            remedy = remedy.replace("{name}", repr(first)).replace("{file}", repr(f"{first}.npy"))
            names = short_list([f"{d.name!r}" + (f" ({d.detail})" if d.detail else "") for d in columns], 5)
            because = "because" if why in ("empty", "index") else "as"
            sentences.append(f"Dropped {because} {reason}: {names}. {remedy}".rstrip())
    return sentences


def _about_cells(columns: Sequence[Column], counter: str, what: str, result: str) -> str:
    counts = [(column.name, getattr(column, counter)) for column in columns if getattr(column, counter)]
    if not counts:
        return ""
    total = sum(n for _, n in counts)
    where = short_list([f"{name!r} ({n:,})" for name, n in sorted(counts, key=lambda pair: -pair[1])], 5)
    return f"{count(total, 'cell was', 'cells were')} {what} and {result}: {where}."
