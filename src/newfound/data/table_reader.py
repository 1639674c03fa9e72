"""Tables: a file or a data frame becomes a Dataset, whole or a block at a time."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.cells import text
from newfound.data.column_relations import about_relations, label_in_other_words
from newfound.data.dataset import Dataset, Population
from newfound.data.decisions import Choice, check_choice, column_of_row_names, decided, labels_of, without
from newfound.data.encoding import encode
from newfound.data.joined_features import Joined, joined_by_row
from newfound.data.sampled_table import SampledTable, check_labelled, sampled_if_large
from newfound.data.sampling import rows_at_a_time
from newfound.data.schema import Column, Dropped, Schema
from newfound.data.table_folder import ArrowDataset, TableFolder, open_source
from newfound.data.table_folder import Opened as OpenedTable
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import check_column
from newfound.errors import DataError
from newfound.wording import count, quoted_list

PANDAS_INDEX = re.compile(r"__index_level_\d+__")


Opened = OpenedTable | Joined | SampledTable


class ReadPlan(NamedTuple):
    """The columns to read of a table, and which of them are the label and the id."""

    selection: ColumnSelection
    label: str | None
    id: str | None


def read_table(
    source: Any, choice: Choice, features: Any = None, sample_rows: int | None = None, seed: int = 0
) -> Dataset:
    """A Dataset from a table file or a data frame; what becomes of each column is decided here, and logged.

    Of a table that is too large to be held, or where `sample_rows` are asked for, it is a sample.
    """
    whole = joined_by_row(open_source(source), features)
    check_choice(whole, choice)
    opened = sampled_if_large(whole, choice.label, sample_rows, seed)
    index = [name for name in opened.names if PANDAS_INDEX.fullmatch(name)]
    kept = without(opened.names, [*choice.ignore, *index])
    as_text = {*filter(None, (choice.label, choice.id, choice.group)), *choice.categorical}
    table = opened.read(ColumnSelection(kept, text=as_text, marked={*filter(None, [choice.label])}))
    _check_has_rows(table, opened.where)
    candidates = without(kept, [choice.label, choice.id, choice.group])
    id = choice.id or column_of_row_names(table, candidates, choice)
    columns, dropped = decided(table, without(candidates, [id]), choice)
    dropped += [*(Dropped(name, "requested") for name in choice.ignore), *(Dropped(name, "index") for name in index)]
    if not columns:
        raise DataError(_nothing_left(opened.where, dropped))
    dataset = _with_groups(_assemble(table, columns, choice.label, id), table, choice.group)
    log = [
        f"Read {count(_n_rows(opened, dataset), 'row')} and {count(len(opened.names), 'column')} from {opened.where}.",
        *_about_sample(opened),
        *dataset.log,
        *([f"{id!r} names the rows; it is no feature."] if id and not choice.id else []),
        *preprocessing_log.about_columns(dataset.columns),
        *preprocessing_log.about_dropped(dropped),
        *about_relations(dataset.columns, dataset.X),
        *_about_ids(dataset),
    ]
    if isinstance(opened, TableFolder | ArrowDataset):
        check_labelled(dict.fromkeys(dataset.labels.observed().classes, 1), choice.label, opened.where)
    names = [*(d.name for d in dropped), *([choice.group] if choice.group else [])]
    flags = label_in_other_words(dataset.columns, dataset.X, dataset.labels)
    dataset = _with_own_ids(replace(dataset, log=log, flags=flags, dropped=names, source=opened), opened)
    return dataset if not isinstance(opened, SampledTable) else replace(dataset, population=_population(opened))


def _n_rows(opened: Opened, dataset: Dataset) -> int:
    return opened.drawn.n_rows if isinstance(opened, SampledTable) else len(dataset)


def _about_sample(opened: Opened) -> list[str]:
    if not isinstance(opened, SampledTable):
        return []
    sample = opened.drawn
    n_labelled, n_all = int((sample.labels != "").sum()), sum(sample.label_counts.values())
    return [preprocessing_log.about_sample(len(sample.keys), sample.size, n_labelled, n_all)]


def _population(opened: SampledTable) -> Population:
    sample = opened.drawn
    return Population(sample.n_rows, sample.label_counts, lambda schema: _batches(opened.table, schema, None, None))


def _nothing_left(where: str, dropped: Sequence[Dropped]) -> str:
    reasons = " ".join(preprocessing_log.about_dropped(dropped))
    return f"{where} has no features: no column is left beside the label and the id. {reasons}".rstrip()


def read_table_like(
    source: Any, schema: Schema, label: str | None = None, id: str | None = None, features: Any = None
) -> Dataset:
    """A Dataset by the schema of another table; the label may be missing, a feature may not."""
    opened = joined_by_row(open_source(source), features, schema)
    plan = _plan(opened, schema, label, id)
    table = opened.read(plan.selection)
    _check_has_rows(table, opened.where)
    dataset = _assemble(table, schema.columns, plan.label, plan.id, schema.class_names)
    extra = without(opened.names, [*plan.selection.names, *schema.dropped])
    log = [
        f"Read {count(len(dataset), 'row')} from {opened.where} by the schema of the fitted model.",
        *dataset.log,
        *preprocessing_log.about_missing(dataset.columns),
        *([f"Not used, because the model was fitted without: {quoted_list(extra)}."] if extra else []),
    ]
    return _with_own_ids(replace(dataset, log=log, dropped=list(schema.dropped)), opened)


def read_batches(
    source: Any,
    schema: Schema,
    rows: int | None = None,
    label: str | None = None,
    id: str | None = None,
    features: Any = None,
) -> Iterator[Dataset]:
    """Datasets of at most `rows` rows, by a stored schema, in the memory of a few of them where the format streams.

    Classes that the schema does not know are added as they turn up, so a code means the same in all blocks.
    `add_counts` sums what was missing over the blocks.
    """
    return _batches(joined_by_row(open_source(source), features, schema), schema, label, id, rows)


def _batches(
    opened: OpenedTable | Joined, schema: Schema, label: str | None, id: str | None, rows: int | None = None
) -> Iterator[Dataset]:
    plan = _plan(opened, schema, label, id)
    class_names = schema.class_names
    first_row = 0
    for table in opened.blocks(plan.selection, rows or rows_at_a_time(len(plan.selection.names))):
        block = _assemble(table, schema.columns, plan.label, plan.id, class_names, first_row)
        class_names = block.schema.class_names
        first_row += len(block)
        yield replace(block, log=[*block.log, *preprocessing_log.about_missing(block.columns)])


def _plan(opened: Opened, schema: Schema, label: str | None, id: str | None) -> ReadPlan:
    """The schema's own label and id are read where the file has them; those asked for now must be there."""
    needed = [name for column in schema.columns for name in column.read_from]
    _check_has_features(opened, schema, needed)
    for what, name in (("label column", label), ("id column", id)):
        if name is not None:
            check_column(name, opened, what)
    label = label or (schema.label_column if schema.label_column in opened.names else None)
    id = id or (schema.id_column if schema.id_column in opened.names else None)
    numbers = {name for column in schema.columns if _is_plain(column) for name in column.read_from} - {label, id}
    names = list(dict.fromkeys([*needed, *filter(None, (label, id))]))
    return ReadPlan(ColumnSelection(names, text=set(names) - numbers, numbers=numbers), label, id)


def _is_plain(column: Column) -> bool:
    """Whether its cells are numbers as computers write them."""
    is_number = column.feature_type == "numeric" or bool(column.sources)
    return is_number and not column.number_format and not column.allows_text


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
    labels = labels_of(table, label, declared)
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


def _with_groups(dataset: Dataset, table: Any, group: str | None) -> Dataset:
    if group is None:
        return dataset
    groups = np.array(text(table.column(group)).fill_null("").to_pylist(), dtype=str)
    log = [*dataset.log, f"{group!r} has {count(len(np.unique(groups)), 'group')} of rows; it is no feature."]
    return replace(dataset, groups=groups, group_column=group, log=log)


def _with_own_ids(dataset: Dataset, opened: Opened) -> Dataset:
    ids = opened.row_ids()
    return dataset if ids is None or dataset.id_column is not None else replace(dataset, row_ids=ids)


def _check_has_rows(table: Any, where: str) -> None:
    if table.num_rows == 0:
        raise DataError(f"{where} has a header but no rows. Give at least one row of data.")


def _check_has_features(opened: Opened, schema: Schema, needed: Sequence[str]) -> None:
    if schema.kind == "images":
        raise DataError(f"The model was fitted on images, but {opened.where} is a table. Give it images.")
    lacking = without(needed, opened.names)
    if lacking:
        raise DataError(
            f"{opened.where} lacks {len(lacking)} of the {count(len(needed), 'column')} the model was fitted on: "
            f"{quoted_list(lacking)}. It has {quoted_list(opened.names, 10)}. "
            f"Give the same columns, or fit a model on this file."
        )


def _about_ids(dataset: Dataset) -> list[str]:
    n_repeated = 0 if dataset.id_column is None else len(dataset) - len(np.unique(dataset.row_ids))
    return [f"{count(n_repeated, 'id')} in {dataset.id_column!r} repeated an earlier one."] if n_repeated else []
