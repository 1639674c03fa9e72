"""Tables: a file or a data frame becomes a Dataset, whole or a block at a time."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.cells import text
from newfound.data.columns import encode, infer_columns
from newfound.data.dataset import Dataset
from newfound.data.file_labels import labels_of_column
from newfound.data.schema import Column, Schema
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import Frame, TableFile, check_column, open_source
from newfound.errors import DataError
from newfound.labels import Labels
from newfound.wording import count, quoted_list

PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class ReadPlan(NamedTuple):
    """The columns to read of a table, and which of them are the label and the id."""

    selection: ColumnSelection
    label: str | None
    id: str | None


def read_table(
    source: Any,
    label: str | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    group: str | None = None,
) -> Dataset:
    """A Dataset from a table file or a data frame; the feature types are inferred here, and logged."""
    opened = open_source(source)
    _check_choice(opened, label, id, ignore, categorical, group)
    index = [name for name in opened.names if PANDAS_INDEX.fullmatch(name)]
    kept = _without(opened.names, [*ignore, *index])
    table = opened.read(ColumnSelection(kept, text={*filter(None, (label, id, group)), *categorical}))
    _check_has_rows(table, opened.where)
    features = _without(kept, [label, id, group])
    columns = infer_columns(table, features, categorical)
    if not columns:
        raise DataError(f"{opened.where} has no features: every column is the label, the id, ignored or empty.")
    dataset = _with_groups(_assemble(table, columns, label, id), table, group)
    empty = _without(features, [column.name for column in columns])
    log = [
        f"Read {count(len(dataset), 'row')} and {count(len(opened.names), 'column')} from {opened.where}.",
        *dataset.log,
        *preprocessing_log.about_columns(dataset.columns),
        *preprocessing_log.about_dropped(list(ignore), empty, index),
        *_about_row_numbers(table, columns),
        *_about_ids(dataset),
    ]
    dropped = [*ignore, *empty, *index, *([group] if group else [])]
    return _with_own_ids(replace(dataset, log=log, dropped=dropped), opened)


def read_table_like(source: Any, schema: Schema, label: str | None = None, id: str | None = None) -> Dataset:
    """A Dataset by the schema of another table; the label may be missing, a feature may not."""
    opened = open_source(source)
    plan = _plan(opened, schema, label, id)
    table = opened.read(plan.selection)
    _check_has_rows(table, opened.where)
    dataset = _assemble(table, schema.columns, plan.label, plan.id, schema.class_names)
    extra = _without(opened.names, [*plan.selection.names, *schema.dropped])
    log = [
        f"Read {count(len(dataset), 'row')} from {opened.where} by the schema of the fitted model.",
        *dataset.log,
        *preprocessing_log.about_missing(dataset.columns),
        *([f"Not used, because the model was fitted without: {quoted_list(extra)}."] if extra else []),
    ]
    return _with_own_ids(replace(dataset, log=log, dropped=list(schema.dropped)), opened)


def read_batches(
    path: str | PathLike, schema: Schema, rows: int = 65536, label: str | None = None, id: str | None = None
) -> Iterator[Dataset]:
    """Datasets of `rows` rows each, by a stored schema, in the memory of a few of them where the format streams.

    Classes that the schema does not know are added as they turn up, so a code means the same in all blocks.
    `add_counts` sums what was missing over the blocks.
    """
    file = TableFile(Path(path))
    plan = _plan(file, schema, label, id)
    class_names = schema.class_names
    first_row = 0
    for table in file.blocks(plan.selection, rows):
        block = _assemble(table, schema.columns, plan.label, plan.id, class_names, first_row)
        class_names = block.schema.class_names
        first_row += len(block)
        yield replace(block, log=[*block.log, *preprocessing_log.about_missing(block.columns)])


def _plan(opened: TableFile | Frame, schema: Schema, label: str | None, id: str | None) -> ReadPlan:
    """The schema's own label and id are read where the file has them; those asked for now must be there."""
    needed = [column.name for column in schema.columns]
    _check_has_features(opened, schema, needed)
    for what, name in (("label column", label), ("id column", id)):
        if name is not None:
            check_column(name, opened, what)
    label = label or (schema.label_column if schema.label_column in opened.names else None)
    id = id or (schema.id_column if schema.id_column in opened.names else None)
    numbers = {column.name for column in schema.columns if column.feature_type == "numeric"} - {label, id}
    names = list(dict.fromkeys([*needed, *filter(None, (label, id))]))
    return ReadPlan(ColumnSelection(names, text=set(names) - numbers, numbers=numbers), label, id)


def _assemble(
    table: Any,
    columns: Sequence[Column],
    label: str | None,
    id: str | None,
    declared: Sequence[str] = (),
    first_row: int = 0,
) -> Dataset:
    n = table.num_rows
    X, counted = encode(table, columns, first_row)
    labels = Labels.none(n, declared) if label is None else labels_of_column(table.column(label), label, declared)
    ids = None if id is None else np.array(text(table.column(id)).fill_null("").to_pylist(), dtype=str)
    return Dataset(
        X=X,
        labels=labels,
        feature_names=[name for column in columns for name in column.feature_names],
        row_ids=np.arange(first_row, first_row + n) if ids is None else ids,
        kind="table",
        columns=counted,
        log=preprocessing_log.about_labels(label, labels),
        label_column=label,
        id_column=id,
    )


def _without(names: Sequence[str], others: Sequence[str | None]) -> list[str]:
    excluded = set(others)
    return [name for name in names if name not in excluded]


def _with_groups(dataset: Dataset, table: Any, group: str | None) -> Dataset:
    if group is None:
        return dataset
    groups = np.array(text(table.column(group)).fill_null("").to_pylist(), dtype=str)
    log = [*dataset.log, f"{group!r} has {count(len(np.unique(groups)), 'group')} of rows; it is no feature."]
    return replace(dataset, groups=groups, group_column=group, log=log)


def _with_own_ids(dataset: Dataset, opened: TableFile | Frame) -> Dataset:
    ids = opened.row_ids()
    return dataset if ids is None or dataset.id_column is not None else replace(dataset, row_ids=ids)


def _check_choice(
    opened: TableFile | Frame,
    label: str | None,
    id: str | None,
    ignore: Sequence[str],
    categorical: Sequence[str],
    group: str | None,
) -> None:
    if len(opened.names) < 2:
        raise DataError(
            f"{opened.where} has only one column, {opened.names[0]!r}. A table needs two or more, separated by commas, "
            f"tabs, semicolons or bars. If your file uses another separator, save it again with commas."
        )
    chosen = [("label column", label), ("id column", id), ("group column", group)]
    chosen += [("column to ignore", name) for name in ignore] + [("categorical column", name) for name in categorical]
    for what, name in chosen:
        if name is not None:
            check_column(name, opened, what)
    single = [name for name in (label, id, group, *ignore) if name is not None]
    repeated = {name for name in single if single.count(name) > 1}
    if repeated:
        raise DataError(
            f"Column {repeated.pop()!r} is named twice. Name it once: in `label`, `id`, `group` or `ignore`."
        )


def _check_has_rows(table: Any, where: str) -> None:
    if table.num_rows == 0:
        raise DataError(f"{where} has a header but no rows. Give at least one row of data.")


def _check_has_features(opened: TableFile | Frame, schema: Schema, needed: Sequence[str]) -> None:
    if schema.kind == "images":
        raise DataError(f"The model was fitted on images, but {opened.where} is a table. Give it images.")
    lacking = _without(needed, opened.names)
    if lacking:
        raise DataError(
            f"{opened.where} lacks {len(lacking)} of the {count(len(needed), 'column')} the model was fitted on: "
            f"{quoted_list(lacking)}. It has {quoted_list(opened.names, 10)}. "
            f"Give the same columns, or fit a model on this file."
        )


def _about_row_numbers(table: Any, columns: Sequence[Column]) -> list[str]:
    """A column that counts the rows is seldom meant as a feature."""
    numeric = [column.name for column in columns if column.feature_type == "numeric"]
    return [
        f"{name!r} only counts the rows: name it as `id` or in `ignore`, unless it is meant as a feature."
        for name in numeric
        if _counts_up(table.column(name))
    ]


def _about_ids(dataset: Dataset) -> list[str]:
    n_repeated = 0 if dataset.id_column is None else len(dataset) - len(np.unique(dataset.row_ids))
    return [f"{count(n_repeated, 'id')} in {dataset.id_column!r} repeated an earlier one."] if n_repeated else []


def _counts_up(cells: Any) -> bool:
    import pyarrow as pa

    if not pa.types.is_integer(cells.type) or cells.null_count or len(cells) < 3:
        return False
    return bool((np.diff(cells.to_numpy()) == 1).all())
