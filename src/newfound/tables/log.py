"""The preprocessing log: how a source was read, in sentences a person can check."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from newfound._internal.words import and_list, count, quoted_list, short_list
from newfound.labels import Labels
from newfound.tables.cells import NumberFormat
from newfound.tables.dataset import MISSING_CATEGORY, Column, Dropped

WHY_DROPPED = {  # as what, and how to use it all the same
    "requested": ("requested", ""),
    "id": ("ids", "`numeric` brings a column back as numbers."),
    "counts": ("numbers that only count the rows", "`numeric` brings a column back."),
    "unrelated": (
        "whole numbers that are all different and have to do with no other column, as ids do",
        "`numeric` brings a column back.",
    ),
    "all different": ("text that is different in nearly every row", "`id` takes a column as the names of the rows."),
    "many categories": ("text with too many different values", "`categorical` uses a column all the same."),
    "numbers and text": ("numbers mixed with text", "`numeric` reads the numbers and takes the text as missing."),
    "several units": ("numbers in different units", "Write them in one unit to use them."),
    "day or month": ("dates with the day or the month first, which cannot be told", "Write them as 2024-12-31."),
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
PARTS = {"days": "days since {start}", "weekday": "day of week", "hour": "hour"}


def about_columns(columns: Sequence[Column]) -> list[str]:
    """The feature type of each column, then what was missing."""
    by_type = {name: _of_type(columns, name) for name in ("numeric", "binary", "categorical", "date", "block")}
    n_features = sum(len(column.feature_names) for column in columns)
    sentences = [
        _listed(by_type["numeric"], "numeric column", "", lambda c: repr(c.name)),
        _listed(by_type["binary"], "binary column", " (only 0 and 1)", lambda c: repr(c.name)),
        _listed(
            by_type["categorical"],
            "categorical column",
            ", one feature for each category",
            lambda c: f"{c.name!r} ({len(c.categories):,})",
        ),
        _listed(by_type["date"], "column of dates or times", ", read as numbers", _date_in_words),
        _listed(
            by_type["block"], "block of numbers", " on one scale", lambda c: f"{c.name!r} ({len(c.feature_names):,})"
        ),
        _about_formats(by_type["numeric"]),
    ]
    said = [sentence for sentence in sentences if sentence]
    return [*said, *about_missing(columns), f"In all, {count(n_features, 'feature')}."]


def _listed(columns: Sequence[Column], thing: str, what: str, in_words: Callable[[Column], str]) -> str:
    things = thing.replace("column", "columns").replace("block", "blocks")
    return f"{count(len(columns), thing, things)}{what}: {short_list(map(in_words, columns), 5)}." if columns else ""


def _date_in_words(column: Column) -> str:
    order = "" if column.date_order in ("year first", "time only") else f"{column.date_order}; "
    return f"{column.name!r} ({order}{and_list(PARTS[part].format(start=column.start) for part in column.parts)})"


def _about_formats(columns: Sequence[Column]) -> str:
    """How numbers that are not plain were read."""
    formatted = [f"{c.name!r} ({_format_in_words(c)})" for c in columns if c.number_format]
    return f"Read as numbers: {short_list(formatted, 10)}." if formatted else ""


def _format_in_words(column: Column) -> str:
    unit, thousands, decimal = NumberFormat(*column.number_format)
    words = [
        f"in {unit}" if unit else "",
        "decimal comma" if decimal == "," else "",
        f"thousands separated by {thousands!r}" if thousands else "",
    ]
    return ", ".join(filter(None, words))


def about_missing(columns: Iterable[Column]) -> list[str]:
    """Missing and unknown cells: how many, where, and what became of them."""
    columns = list(columns)
    numeric, binary, categorical, dates, blocks = (
        _of_type(columns, name) for name in ("numeric", "binary", "categorical", "date", "block")
    )
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
    """Sum what was missing and unknown over blocks of one file; `totals` is empty before the first."""
    if not totals:
        return list(columns)
    return [
        total.replace(n_missing=total.n_missing + block.n_missing, n_unknown=total.n_unknown + block.n_unknown)
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


def about_sample(n_rows: int, size: int, n_labelled: int, n_all_labelled: int) -> str:
    """How many rows stand for those that are too many to be held."""
    all_labelled = count(n_all_labelled, "labelled row")
    every = f", with all {all_labelled}" if n_all_labelled else ""
    some = f", with {n_labelled:,} of {all_labelled}, of each class as many as there is room for"
    labelled = every if n_labelled == n_all_labelled else some
    return (
        f"The model is fitted on a sample of {count(n_rows, 'row')}: {min(size, n_rows):,} at random{labelled}. What "
        f"follows is said of the sample; every row is answered."
    )


def about_dropped(dropped: Sequence[Dropped]) -> list[str]:
    """Columns that are not in X, why, and what to do to use them."""
    by_reason = {why: [d for d in dropped if d.why == why] for why in WHY_DROPPED}
    return [_about_reason(why, columns) for why, columns in by_reason.items() if columns]


def _about_reason(why: str, columns: Sequence[Dropped]) -> str:
    what, remedy = WHY_DROPPED[why]
    names = short_list([f"{d.name!r}" + (f" ({d.detail})" if d.detail else "") for d in columns], 5)
    first = columns[0].name
    remedy = remedy.replace("{name}", repr(first)).replace("{file}", repr(f"{first}.npy"))
    return f"Dropped {'because' if why in ('empty', 'index') else 'as'} {what}: {names}.{' ' * bool(remedy)}{remedy}"


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
