"""Tables: a file or a data frame becomes a Dataset, whole or a block at a time."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.data import decisions
from newfound.data.cells import text
from newfound.data.columns import decide_columns, encode
from newfound.data.dataset import Column, Dataset, Layout
from newfound.data.formats import Frame, TableFile, Wanted, open_source
from newfound.data.labelling import read_labels, unlabelled
from newfound.data.problems import DataError, check_one_of, count, some

PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class Plan(NamedTuple):
    """What to read of a table, and which of it is the label and the id."""

    wanted: Wanted
    label: str | None
    id: str | None


def read_table(
    source: Any,
    label: str | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
) -> Dataset:
    """A Dataset from a table file or a data frame; the roles of the columns are decided here, and told."""
    opened = open_source(source)
    _check_choice(opened, label, id, ignore, categorical)
    index = [name for name in opened.names if PANDAS_INDEX.fullmatch(name)]
    kept = _without(opened.names, [*ignore, *index])
    table = opened.read(Wanted(kept, text={*filter(None, (label, id)), *categorical}))
    _check_has_rows(table, opened.where)
    features = _without(kept, [label, id])
    columns = decide_columns(table, features, categorical)
    if not columns:
        raise DataError(f"{opened.where} has no column to learn from beside the label, the id and what is left out.")
    dataset = _assemble(table, columns, label, id)
    empty = _without(features, [column.name for column in columns])
    about = [
        f"Read {count(len(dataset), 'row')} and {count(len(opened.names), 'column')} from {opened.where}.",
        *dataset.decisions,
        *decisions.about_columns(dataset.columns),
        *decisions.about_left_out(list(ignore), empty, index),
        *_about_counters(table, columns),
        *_about_ids(dataset),
    ]
    return _with_own_ids(replace(dataset, decisions=about, left_out=[*ignore, *empty, *index]), opened)


def read_table_like(source: Any, layout: Layout, label: str | None = None, id: str | None = None) -> Dataset:
    """A Dataset by the decisions made about another table; the label may be missing, a feature may not."""
    opened = open_source(source)
    plan = _plan(opened, layout, label, id)
    table = opened.read(plan.wanted)
    _check_has_rows(table, opened.where)
    dataset = _assemble(table, layout.columns, plan.label, plan.id, layout.class_names)
    extra = _without(opened.names, [*plan.wanted.names, *layout.left_out])
    about = [
        f"Read {count(len(dataset), 'row')} from {opened.where}, by the decisions made when the model was fitted.",
        *dataset.decisions,
        *decisions.about_gaps(dataset.columns),
        *([f"Not used, because the model was fitted without: {some(extra)}."] if extra else []),
    ]
    return _with_own_ids(replace(dataset, decisions=about, left_out=list(layout.left_out)), opened)


def read_batches(
    path: str | PathLike, layout: Layout, rows: int = 65536, label: str | None = None, id: str | None = None
) -> Iterator[Dataset]:
    """Datasets of `rows` rows each, by a stored layout, in the memory of a few of them whatever the file's size.

    Classes that the layout does not know join class_names as they turn up, so a code means the same in all blocks.
    `decisions.add_counts` sums what was missing over the blocks.
    """
    file = TableFile(Path(path))
    plan = _plan(file, layout, label, id)
    class_names: Sequence[str] = layout.class_names
    first_row = 0
    for table in file.blocks(plan.wanted, rows):
        block = _assemble(table, layout.columns, plan.label, plan.id, class_names, first_row)
        class_names = block.class_names
        first_row += len(block)
        yield replace(block, decisions=[*block.decisions, *decisions.about_gaps(block.columns)])


def _plan(opened: TableFile | Frame, layout: Layout, label: str | None, id: str | None) -> Plan:
    """The layout's own label and id are read where the file has them; those asked for now must be there."""
    needed = [column.name for column in layout.columns]
    lacking = _without(needed, opened.names)
    if layout.kind == "images":
        raise DataError(f"The model was fitted on images, and {opened.where} is a table. Give it images.")
    if lacking:
        raise DataError(
            f"{opened.where} lacks {len(lacking)} of the {count(len(needed), 'column')} the model was fitted on: "
            f"{some(lacking)}. It has {some(opened.names, 10)}. Give the same columns, or fit a model on this file."
        )
    for what, name in (("label column", label), ("id column", id)):
        if name is not None:
            check_one_of(name, opened.names, what, opened.where)
    label = label or (layout.label if layout.label in opened.names else None)
    id = id or (layout.id if layout.id in opened.names else None)
    numbers = {column.name for column in layout.columns if column.role == "numeric"} - {label, id}
    names = list(dict.fromkeys([*needed, *filter(None, (label, id))]))
    return Plan(Wanted(names, text=set(names) - numbers, numbers=numbers), label, id)


def _assemble(
    table: Any,
    columns: Sequence[Column],
    label: str | None,
    id: str | None,
    known: Sequence[str] = (),
    first_row: int = 0,
) -> Dataset:
    n = table.num_rows
    X, counted = encode(table, columns, first_row)
    codes = unlabelled(n, known) if label is None else read_labels(table.column(label), label, known)
    ids = None if id is None else np.array(text(table.column(id)).fill_null("").to_pylist(), dtype=str)
    return Dataset(
        X=X,
        y=codes.codes,
        class_names=codes.class_names,
        feature_names=[name for column in columns for name in column.feature_names],
        row_ids=np.arange(first_row, first_row + n) if ids is None else ids,
        kind="table",
        columns=counted,
        decisions=decisions.about_labels(label, codes.codes, codes.class_names, codes.n_minus_one),
        label=label,
        id=id,
    )


def _without(names: Sequence[str], others: Sequence[str | None]) -> list[str]:
    unwanted = set(others)
    return [name for name in names if name not in unwanted]


def _with_own_ids(dataset: Dataset, opened: TableFile | Frame) -> Dataset:
    ids = opened.row_ids()
    return dataset if ids is None or dataset.id is not None else replace(dataset, row_ids=ids)


def _check_choice(
    opened: TableFile | Frame, label: str | None, id: str | None, ignore: Sequence[str], categorical: Sequence[str]
) -> None:
    if len(opened.names) < 2:
        raise DataError(
            f"{opened.where} has one column only, {opened.names[0]!r}. A table needs two or more, parted by commas, "
            f"tabs, semicolons or bars: if the cells are parted by something else, save it again with commas."
        )
    chosen = [("label column", label), ("id column", id)]
    chosen += [("column to ignore", name) for name in ignore] + [("categorical column", name) for name in categorical]
    for what, name in chosen:
        if name is not None:
            check_one_of(name, opened.names, what, opened.where)
    single = [name for name in (label, id, *ignore) if name is not None]
    twice = {name for name in single if single.count(name) > 1}
    if twice:
        raise DataError(
            f"Column {twice.pop()!r} is asked for in two ways. Name it once: as label, id or to be ignored."
        )


def _check_has_rows(table: Any, where: str) -> None:
    if table.num_rows == 0:
        raise DataError(f"{where} has a header but no rows. Give at least one row of data.")


def _about_counters(table: Any, columns: Sequence[Column]) -> list[str]:
    """A column that counts the rows is seldom meant as a feature."""
    counters = [column.name for column in columns if column.role == "numeric" and _counts_up(table.column(column.name))]
    return [f"{name!r} only counts the rows: name it as `id` or in `ignore` unless it is meant." for name in counters]


def _about_ids(dataset: Dataset) -> list[str]:
    n_repeats = 0 if dataset.id is None else len(dataset) - len(np.unique(dataset.row_ids))
    return [f"{dataset.id!r} names {count(n_repeats, 'row')} by an id used before."] if n_repeats else []


def _counts_up(cells: Any) -> bool:
    import pyarrow as pa

    if not pa.types.is_integer(cells.type) or cells.null_count or len(cells) < 3:
        return False
    return bool((np.diff(cells.to_numpy()) == 1).all())
