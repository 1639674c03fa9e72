"""`read_dataset` reads any data that a user has, by path, by name or in memory."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from newfound._internal.words import DataError, count, quoted_list
from newfound.tables import log as preprocessing_log
from newfound.tables.cells import text
from newfound.tables.dataset import Column, Dataset, Dropped, Population, Schema, align
from newfound.tables.encode import encode, labels_of
from newfound.tables.formats import FORMATS, ColumnSelection, file_suffix, is_table
from newfound.tables.limits import LARGE, READ_ALL, Sampling, explain_memory_error, is_text, rows_at_a_time
from newfound.tables.sources import Frame, OpenedTable, TableFile, check_column, is_table_folder

if TYPE_CHECKING:
    from newfound.tables.decide import Choice

# ---- Tables: a file or a data frame becomes a Dataset, whole or a block at a time ----

PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class ReadPlan(NamedTuple):
    """The cells to read of a table, and the columns of X, label and id that they become."""

    selection: ColumnSelection
    columns: Sequence[Column]
    label: str | None
    id: str | None
    class_names: Sequence[str] = ()


def open_source(source: Any, features: Any = None, schema: Schema | None = None) -> OpenedTable:
    """A table by path or in memory, joined with `features` if there are any; an opened table is returned as it is."""
    if isinstance(source, OpenedTable):
        table = source
    elif is_arrow_dataset(source) or (isinstance(source, str | PathLike) and Path(source).is_dir()):
        from newfound.tables.folders import ArrowDataset, TableFolder

        table = ArrowDataset(source) if is_arrow_dataset(source) else TableFolder(Path(source))
    else:
        table = TableFile(Path(source)) if isinstance(source, str | PathLike) else Frame(source)
    if features is None:
        return table
    from newfound.tables.folders import joined_by_row

    return joined_by_row(table, features, schema)


def is_arrow_dataset(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow.") and hasattr(source, "get_fragments")


def read_table(source: Any, choice: "Choice", features: Any = None, sampling: Sampling = READ_ALL) -> Dataset:
    """A Dataset from a table; the use of each column is decided here and logged. A large table is sampled."""
    from newfound.tables.decide import about_relations, check_choice, column_of_row_names, columns_like_label, decided
    from newfound.tables.sampling import SampledTable, check_has_labels

    whole = open_source(source, features)
    check_choice(whole, choice)
    opened = _sampled_if_large(whole, choice.label, sampling)
    label, group = choice.label, choice.group
    index = [name for name in opened.names if PANDAS_INDEX.fullmatch(name)]
    unread = {*choice.ignore, *index}
    kept = [name for name in opened.names if name not in unread]
    as_text = {*filter(None, (label, choice.id, group)), *choice.categorical}
    selection = ColumnSelection(kept, text=as_text, marked={*filter(None, [label])})
    table = opened.read(selection)
    _check_has_rows(table, opened.where)
    candidates = [name for name in kept if name not in (label, choice.id, group)]
    id = choice.id or column_of_row_names(table, candidates, choice)
    columns, dropped = decided(table, [name for name in candidates if name != id], choice)
    dropped += [*(Dropped(name, "requested") for name in choice.ignore), *(Dropped(name, "index") for name in index)]
    about_dropped = preprocessing_log.about_dropped(dropped)
    if not columns:
        message = f"{opened.where} has no features: no column is left beside the label and the id."
        raise DataError(" ".join([message, *about_dropped]))
    dataset = _assemble(table, ReadPlan(selection, columns, label, id), own_ids=opened.row_ids())
    log, n_rows = dataset.log, len(dataset)
    if group is not None:
        groups = _names(table, group)
        dataset = replace(dataset, groups=groups, group_column=group)
        n_groups = count(len(np.unique(groups)), "group")
        log = [*log, f"{group!r} gives {n_groups} of rows and is not a feature."]
    if isinstance(opened, SampledTable):
        drawn, n_rows = opened.drawn, opened.drawn.n_rows
        n_labelled, n_all_labelled = int((drawn.labels != "").sum()), sum(drawn.label_counts.values())
        log = [preprocessing_log.about_sample(len(drawn.keys), drawn.size, n_labelled, n_all_labelled), *log]
        batches = partial(_batches, whole, label=None, id=None)
        dataset = replace(dataset, population=Population(n_rows, drawn.label_counts, batches))
    if opened.is_in_parts:
        check_has_labels(len(dataset.labels.observed().classes), label, opened.where)
    n_repeated = 0 if id is None else len(dataset) - len(np.unique(dataset.row_ids))
    log = [
        f"Read {count(n_rows, 'row')} and {count(len(opened.names), 'column')} from {opened.where}.",
        *log,
        *([f"{id!r} names the rows and is not a feature."] if id and not choice.id else []),
        *preprocessing_log.about_columns(dataset.columns),
        *about_dropped,
        *about_relations(dataset.columns, dataset.X),
        *([f"{count(n_repeated, 'id')} in {id!r} repeated an earlier one."] if n_repeated else []),
    ]
    flags = columns_like_label(dataset.columns, dataset.X, dataset.labels)
    names = [*(d.name for d in dropped), *([group] if group else [])]
    return replace(dataset, log=log, flags=flags, dropped=names, source=opened)


def _sampled_if_large(table: OpenedTable, label: str | None, sampling: Sampling) -> OpenedTable:
    """The table itself if it is small, or if a sample would contain every row."""
    if sampling.rows is None and table.n_bytes <= LARGE:
        return table
    from newfound.tables.sampling import SampledTable, draw

    sample = draw(table, label, *sampling)
    return table if sample.is_whole and table.n_bytes <= LARGE else SampledTable(table, sample)


def read_table_like(
    source: Any, schema: Schema, label: str | None = None, id: str | None = None, features: Any = None
) -> Dataset:
    """A Dataset by the schema of another table; the label may be missing, a feature may not."""
    opened = open_source(source, features, schema)
    plan = _plan(opened, schema, label, id)
    table = opened.read(plan.selection)
    _check_has_rows(table, opened.where)
    dataset = _assemble(table, plan, own_ids=opened.row_ids())
    expected = {*plan.selection.names, *schema.dropped}
    extra = [name for name in opened.names if name not in expected]
    log = [
        f"Read {count(len(dataset), 'row')} from {opened.where} by the schema of the fitted model.",
        *dataset.log,
        *preprocessing_log.about_missing(dataset.columns),
        *([f"Not used, because the model was fitted without: {quoted_list(extra)}."] if extra else []),
    ]
    return replace(dataset, log=log, dropped=list(schema.dropped))


def read_batches(
    source: Any,
    schema: Schema,
    rows: int | None = None,
    label: str | None = None,
    id: str | None = None,
    features: Any = None,
) -> Iterator[Dataset]:
    """Datasets of at most `rows` rows by a stored schema; if the format streams, few of them are in memory at once.

    Classes that the schema lacks are appended when they first appear, so a code means the same in all blocks.
    `add_counts` sums the missing cells over the blocks.
    """
    return _batches(open_source(source, features, schema), schema, label, id, rows)


def _batches(
    opened: OpenedTable, schema: Schema, label: str | None, id: str | None, rows: int | None = None
) -> Iterator[Dataset]:
    plan = _plan(opened, schema, label, id)
    first_row = 0
    for table in opened.blocks(plan.selection, rows or rows_at_a_time(len(plan.selection.names))):
        block = _assemble(table, plan, first_row)
        plan = plan._replace(class_names=block.schema.class_names)
        first_row += len(block)
        yield replace(block, log=[*block.log, *preprocessing_log.about_missing(block.columns)])


def _plan(opened: OpenedTable, schema: Schema, label: str | None, id: str | None) -> ReadPlan:
    """The schema's own label and id are read if the table has them; a given label or id must exist."""
    needed = [name for column in schema.columns for name in column.read_from]
    if schema.kind == "images":
        raise DataError(f"The model was fitted on images, but {opened.where} is a table. Give it images.")
    there = set(opened.names)
    lacking = [name for name in needed if name not in there]
    if lacking:
        raise DataError(
            f"{opened.where} lacks {len(lacking)} of the {count(len(needed), 'column')} the model was fitted on: "
            f"{quoted_list(lacking)}. It has {quoted_list(opened.names, 10)}. "
            f"Give the same columns, or fit a model on this file."
        )
    for what, name in (("label column", label), ("id column", id)):
        if name is not None:
            check_column(name, opened, what)
    label = label or (schema.label_column if schema.label_column in opened.names else None)
    id = id or (schema.id_column if schema.id_column in opened.names else None)
    plain = [c for c in schema.columns if c.sources or c.feature_type == "numeric"]
    plain = [c for c in plain if not c.number_format and not c.allows_text]
    numbers = {name for column in plain for name in column.read_from} - {label, id}
    names = list(dict.fromkeys([*needed, *filter(None, (label, id))]))
    selection = ColumnSelection(names, text=set(names) - numbers, numbers=numbers)
    return ReadPlan(selection, schema.columns, label, id, schema.class_names)


def _assemble(table: Any, plan: ReadPlan, first_row: int = 0, own_ids: np.ndarray | None = None) -> Dataset:
    X, counted = encode(table, plan.columns, first_row)
    labels = labels_of(table, plan.label, plan.class_names)
    row_numbers = np.arange(first_row, first_row + table.num_rows) if own_ids is None else own_ids
    return Dataset(
        X=X,
        labels=labels,
        feature_names=[name for column in plan.columns for name in column.feature_names],
        row_ids=row_numbers if plan.id is None else _names(table, plan.id),
        kind="table",
        columns=counted,
        log=preprocessing_log.about_labels(plan.label, labels),
        label_column=plan.label,
        id_column=plan.id,
    )


def _names(table: Any, column: str) -> np.ndarray:
    return np.array(text(table.column(column)).fill_null("").to_pylist(), dtype=str)


def _check_has_rows(table: Any, where: str) -> None:
    if table.num_rows == 0:
        raise DataError(f"{where} has a header but no rows. Give at least one row of data.")


# ---- Every kind of data ----

NUMPY_SUFFIXES = (".npz", ".npy")
IN_A_SPREADSHEET = "Open it in the spreadsheet and save the sheet as CSV."
NEAR_FORMATS = {  # what to do with other files that may hold tables
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
    """Read a table, NumPy or IDX file, a folder of images, a data frame, an array, or the data set "digits".

    Parameters
    ----------
    source : path, str, data frame or array
        "digits" and "digits:train" are the train part of scikit-learn's digits, "digits:test" is the test part.
    label, id : str or None
        Tables only: the columns with the labels and the ids of the rows.
    ignore : sequence of str
        Tables only: columns to drop.
    labels : path, array or None
        For images a table with the columns file and label; for arrays y, or a file that holds it.
    schema : Schema or None
        Read the data like the data set of this schema; the label may be absent.
    categorical : sequence of str
        Tables only: columns to read as categories even if they hold numbers.
    group : str or None
        Tables only: the column with the person, site or machine of each row; it is not a feature.
    numeric : sequence of str
        Tables only: columns to read as numbers even if they look like ids, or hold text among the numbers.
    features : path, array or None
        Tables only: a matrix with a row for each row of the table, such as embeddings; it becomes a block of numbers.
    image_size : int or None
        Folders of images only: the maximum number of pixels on the longer side; larger images are scaled down. None is
        128.
    sample_rows : int or None
        Tables and matrices only: read a random sample of this many rows, and labelled rows in addition. None is about
        200,000 if the cells would take more than a gigabyte, and all rows otherwise.
    seed : int
        Makes the sample repeatable.
    """
    sampling = Sampling(sample_rows, seed)
    ignore, categorical, numeric = (
        [names] if isinstance(names, str) else names for names in (ignore, categorical, numeric)
    )
    with explain_memory_error(_name_in_messages(source)):
        if _is_table(source):
            if labels is not None:
                raise DataError("Got `labels`, but a table has its labels in a column. Name that column in `label`.")
            if schema is not None:
                return read_table_like(source, schema, label, id, features)
            from newfound.tables.decide import Choice

            return read_table(source, Choice(label, id, ignore, categorical, numeric, group), features, sampling)
        given = (label, id, features, *ignore, *categorical, *numeric)
        if any(each is not None for each in given):
            raise DataError(
                "Got `label`, `id`, `ignore`, `categorical`, `numeric` or `features`, but only tables have named "
                "columns. Use `labels`, or leave these out."
            )
        if group is not None:
            raise DataError(f"There is no group column {group!r}: these data have no groups. Leave it out.")
        if isinstance(source, str | PathLike):
            return _read_path(source, labels, schema, image_size, sampling)
        from newfound.tables.arrays import load_labels, read_array

        return read_array(source, load_labels(labels), schema=schema, sampling=sampling)


def _name_in_messages(source: Any) -> str:
    """Its name in messages; a name that is not text is refused, because no file could contain it."""
    if not isinstance(source, str | PathLike):
        return "The data"
    if not is_text(os.fspath(source)):
        raise DataError(f"The path {os.fspath(source)!a} is not UTF-8 text. Give the file or folder another name.")
    return repr(Path(source).name)


def _is_table(source: Any) -> bool:
    """An existing file with the suffix of a table, a folder of such files, or a data frame."""
    if not isinstance(source, str | PathLike):
        is_frame = hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")
        return is_frame or is_arrow_dataset(source)
    if is_table_folder(source):
        return True
    if is_table(source) and not Path(source).is_file():
        _raise_unknown(str(source))
    return is_table(source)


def _read_path(
    source: str | PathLike, labels: Any, schema: Schema | None, image_size: int | None, sampling: Sampling
) -> Dataset:
    """An image folder, a NumPy file, an IDX file, or the digits of scikit-learn."""
    path = Path(source)
    if path.is_file() and file_suffix(path) in NUMPY_SUFFIXES:
        from newfound.tables.arrays import read_numpy_file

        return read_numpy_file(path, labels, schema, sampling)
    from newfound.tables import images

    if path.is_dir():
        return images.read_images(path, labels, schema, image_size)
    if path.is_file() and images.is_idx(path):
        dataset = images.read_idx_images(path, labels)
    else:
        name, _, part = str(source).partition(":")
        if name != "digits" or part not in ("", "train", "test"):
            _raise_unknown(str(source))
        dataset = getattr(images.read_digits(), part or "train")
    return dataset if schema is None else align(dataset, schema)


def _raise_unknown(source: str) -> NoReturn:
    suffixes = ", ".join([*FORMATS, *NUMPY_SUFFIXES])
    if Path(source).is_file():
        remedy = NEAR_FORMATS.get(Path(source).suffix.lower(), "Save the file as one of these.")
        raise DataError(
            f"{Path(source).name!r} has no format that newfound reads. It reads {suffixes}, IDX files and folders of "
            f"images. {remedy}"
        )
    raise DataError(
        f'There is no file or folder named {source!r}. Check the path. ("digits" is the one data set that newfound '
        "includes, with :train and :test.)"
    )
