"""One function reads whatever a person has, by path, by name or in memory: `read_dataset`."""

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from newfound.data.array_reader import NUMPY_SUFFIXES, Sampling, load_labels, read_array, read_numpy_file
from newfound.data.catalogue import NAMED
from newfound.data.dataset import Dataset, align
from newfound.data.decisions import Choice
from newfound.data.formats import FORMATS, file_suffix, is_table
from newfound.data.idx_reader import is_idx, read_idx_images
from newfound.data.image_reader import read_images
from newfound.data.limits import is_text, memory_told
from newfound.data.named import load_named
from newfound.data.schema import Schema
from newfound.data.table_folder import is_arrow_dataset, is_table_folder
from newfound.data.table_reader import read_table, read_table_like
from newfound.errors import DataError
from newfound.wording import quoted_list

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
    if name not in NAMED or part not in ("", *PARTS):
        _raise_unknown(source)
    return getattr(load_named(name), part or "train")


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
        f"There is no file, folder or data set named {source!r}. Check the path; the data sets are "
        f"{quoted_list(NAMED)}, each with :train and :test."
    )


def _as_names(names: Sequence[str]) -> Sequence[str]:
    """One name may come without a list around it."""
    return [names] if isinstance(names, str) else names
