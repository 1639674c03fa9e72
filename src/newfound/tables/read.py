"""One function reads whatever a person has, by path, by name or in memory: `read_dataset`."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from newfound._internal.words import DataError, count, quoted_list
from newfound.tables import log as preprocessing_log
from newfound.tables.arrays import NUMPY_SUFFIXES, Sampling, load_labels, read_array, read_numpy_file
from newfound.tables.cells import text
from newfound.tables.dataset import Column, Dataset, Dropped, Population, Schema, align
from newfound.tables.decide import (
    Choice,
    about_relations,
    check_choice,
    column_of_row_names,
    decided,
    label_in_other_words,
    labels_of,
    without,
)
from newfound.tables.encode import encode
from newfound.tables.folders import (
    ArrowDataset,
    Joined,
    OpenedTable,
    TableFolder,
    is_arrow_dataset,
    is_table_folder,
    joined_by_row,
    open_source,
)
from newfound.tables.formats import FORMATS, ColumnSelection, file_suffix, is_table, with_types
from newfound.tables.images import is_idx, read_digits, read_idx_images, read_images
from newfound.tables.limits import is_text, memory_told
from newfound.tables.sampling import LARGE, Drawing, Sample, rows_at_a_time, usual_size
from newfound.tables.sources import check_column

# ---- A table that is too large to be held: in its place stands a sample of its rows, drawn in one pass ----


class SampledTable:
    """A sample of a table's rows, in their order; in all else like the table itself."""

    def __init__(self, table: OpenedTable | Joined, sample: Sample):
        self.table, self.drawn = table, sample
        self.names, self.where, self.has_types, self.n_bytes = table.names, table.where, table.has_types, table.n_bytes

    def read(self, selection: ColumnSelection) -> Any:
        """One Arrow table, of the sample."""
        rows = self.drawn.rows
        return rows.select(list(selection.names)) if self.has_types else with_types(rows, selection)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """Of the whole table."""
        return self.table.blocks(selection, rows)

    def row_ids(self) -> np.ndarray | None:
        """The numbers of the rows in the table."""
        return self.drawn.numbers


def sampled_if_large(
    table: OpenedTable | Joined, label: str | None, sample_rows: int | None, seed: int
) -> OpenedTable | Joined | SampledTable:
    """The table itself, where it is small and nobody asked for a sample, or where a sample would hold every row."""
    if sample_rows is None and table.n_bytes <= LARGE:
        return table
    sample = draw(table, label, sample_rows, seed)
    return table if sample.is_whole and table.n_bytes <= LARGE else SampledTable(table, sample)


def draw(table: OpenedTable | Joined, label: str | None, sample_rows: int | None, seed: int) -> Sample:
    """In one pass over all columns; cells of CSV stay text until it is known what all of them are."""
    names = set(table.names)
    selection = ColumnSelection(table.names, text=names, marked=names)
    drawing: Drawing | None = None
    for block in table.blocks(selection, rows_at_a_time(len(names))):
        drawing = drawing or Drawing(sample_rows or usual_size(block.nbytes, block.num_rows), (seed,))
        drawing.add(block, labels_of(block, label))
    sample = None if drawing is None else drawing.sample()
    if sample is None:
        raise DataError(f"{table.where} has no rows. Give at least one row of data.")
    check_labelled(sample.label_counts, label, table.where)
    return sample


def check_labelled(label_counts: dict[str, int], label: str | None, where: str) -> None:
    """Refuse a table in parts of which none holds a label, where a column of labels was named."""
    if label is not None and not label_counts:
        raise DataError(
            f"No row of {where} has a label in column {label!r}. Name the column that holds them, or leave `label` out "
            f"to find groups without labels."
        )


# ---- Tables: a file or a data frame becomes a Dataset, whole or a block at a time ----

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


PARTS = ("train", "test")
IN_A_SPREADSHEET = "Open it in the spreadsheet and save the sheet as CSV."
NEAR_FORMATS = {  # what to do with files that hold tables, too
    ".txt": "If it is a table, rename it to .csv (commas, semicolons, bars) or to .tsv (tabs).",
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), IN_A_SPREADSHEET),
    ".json": "Save it as a table, for example with pandas: read_json(path).to_parquet('t.parquet').",
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "newfound does not unpickle: save it as Parquet or with np.savez."),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz", ".zst", ".bz2", ".xz"), "Unpack it first."),
    ".h5ad": "Read it with anndata, and fit it with newfound.anndata.fit.",
}


def read_dataset(
    source: Any,
    label: str | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    labels: Any = None,
    schema: Schema | None = None,
    categorical: Sequence[str] = (),
    group: str | None = None,
    numeric: Sequence[str] = (),
    features: Any = None,
    image_size: int | None = None,
    sample_rows: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Read a table, NumPy or IDX file, a folder of images, a data frame, an array, or a published data set by name.

    Parameters
    ----------
    source : path, str, data frame or array
        A published data set is its train part, unless it says "mnist:test".
    label, id : str or None
        Tables only: the columns that hold the labels and the ids of the rows.
    ignore : sequence of str
        Tables only: columns to drop.
    labels : path, array or None
        For images a table with the columns file and label; for arrays y, or a file that holds it.
    schema : Schema or None
        Read the data as the data set this schema comes from; the label may be absent.
    categorical : sequence of str
        Tables only: columns to read as categories even where they hold numbers.
    group : str or None
        The column that says which person, site or machine a row comes from; no feature. (har has the column subject.)
    numeric : sequence of str
        Tables only: columns to read as numbers even where they look like ids, or hold text among the numbers.
    features : path, array or None
        Tables only: a matrix with a row for each row of the table, such as embeddings; one block of numbers more.
    image_size : int or None
        Folders of images only: larger ones are scaled down to so many pixels on the longer side; None is 128.
    sample_rows : int or None
        Tables and matrices that are not to be held whole: read a sample of so many rows, and labelled ones beside it.
        None is about 200,000 where the cells would take more than a gigabyte, and all rows of anything smaller.
    seed : int
        Makes the sample repeatable.
    """
    sampling = Sampling(sample_rows, seed)
    with memory_told(_named(source)):
        return _read(
            source, label, id, ignore, labels, schema, categorical, group, numeric, features, image_size, sampling
        )


def _read(
    source: Any,
    label: str | None,
    id: str | None,
    ignore: Sequence[str],
    labels: Any,
    schema: Schema | None,
    categorical: Sequence[str],
    group: str | None,
    numeric: Sequence[str],
    features: Any,
    image_size: int | None,
    sampling: Sampling,
) -> Dataset:
    ignore, categorical, numeric = _as_names(ignore), _as_names(categorical), _as_names(numeric)
    if _is_table(source):
        if labels is not None:
            raise DataError("Got `labels`, but a table has its labels in a column. Name that column in `label`.")
        if schema is not None:
            return read_table_like(source, schema, label, id, features)
        return read_table(source, Choice(label, id, ignore, categorical, numeric, group), features, *sampling)
    _check_no_columns(label, id, ignore, categorical, numeric, None if features is None else [features])
    if not isinstance(source, str | PathLike):
        dataset = read_array(source, load_labels(labels), schema=schema, sampling=sampling)
    else:
        dataset = _read_path(source, labels, schema, image_size, sampling)
    _check_group(dataset, group)
    return dataset


def _named(source: Any) -> str:
    """What messages call it; a name that is no text could be written nowhere."""
    if not isinstance(source, str | PathLike):
        return "The data"
    name = Path(source).name
    if not is_text(os.fspath(source)):
        raise DataError(f"The path {os.fspath(source)!a} is not UTF-8 text. Give the file or folder another name.")
    return repr(name)


def _check_no_columns(label: str | None, id: str | None, *others: Any) -> None:
    if label is not None or id is not None or any(other is not None and len(other) > 0 for other in others):
        raise DataError(
            "Got `label`, `id`, `ignore`, `categorical`, `numeric` or `features`, but only tables have named columns. "
            "Use `labels`, or leave these out."
        )


def _read_path(
    source: str | PathLike, labels: Any, schema: Schema | None, image_size: int | None, sampling: Sampling
) -> Dataset:
    path = Path(source)
    if path.is_dir():
        return read_images(path, labels, schema, image_size)
    if path.is_file() and file_suffix(path) in NUMPY_SUFFIXES:
        return read_numpy_file(path, labels, schema, sampling)
    dataset = read_idx_images(path, labels) if path.is_file() and is_idx(path) else _read_named(str(source))
    return dataset if schema is None else align(dataset, schema)


def _check_group(dataset: Dataset, group: str | None) -> None:
    if group is not None and group != dataset.group_column:
        has = "no groups" if dataset.group_column is None else f"groups named {dataset.group_column!r}"
        raise DataError(f"There is no group column {group!r}: these data have {has}. Name that, or leave it out.")


def _read_named(source: str) -> Dataset:
    name, _, part = source.partition(":")
    if name != "digits" or part not in ("", *PARTS):
        _raise_unknown(source)
    return getattr(read_digits(), part or "train")


def _is_table(source: Any) -> bool:
    """By its suffix, if the file exists; or a folder of such; or because it is a data frame, which arrays are not."""
    if not isinstance(source, str | PathLike):
        is_frame = hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")
        return is_frame or is_arrow_dataset(source)
    if is_table_folder(source):
        return True
    if is_table(source) and not Path(source).is_file():
        _raise_unknown(str(source))
    return is_table(source)


def _raise_unknown(source: str) -> NoReturn:
    suffixes = ", ".join([*FORMATS, *NUMPY_SUFFIXES])
    if Path(source).is_file():
        remedy = NEAR_FORMATS.get(Path(source).suffix.lower(), "Save the file as one of these.")
        raise DataError(
            f"{Path(source).name!r} is of no format that newfound reads. It reads {suffixes}, IDX files and folders of "
            f"images. {remedy}"
        )
    raise DataError(
        f'There is no file or folder named {source!r}. Check the path. ("digits" is the one data set that newfound '
        "carries, with :train and :test.)"
    )


def _as_names(names: Sequence[str]) -> Sequence[str]:
    """One name may come without a list around it."""
    return [names] if isinstance(names, str) else names
