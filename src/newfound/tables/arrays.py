"""Arrays in memory and in NumPy's own files: a matrix of features, or a stack of images. Nothing is ever unpickled."""

import math
import tokenize
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from lzma import LZMAError
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from newfound._internal.words import DataError, count, quoted_list, reason_of
from newfound.tables import log as preprocessing_log
from newfound.tables.cells import finite
from newfound.tables.columns import infer_number
from newfound.tables.dataset import Column, Dataset, Population, Schema, align, pixel_names
from newfound.tables.encode import fill_missing, labels_of_array, precision
from newfound.tables.limits import READ_ALL, Sampling, check_inflated, check_memory, rows_at_a_time
from newfound.tables.sampling import chosen_rows, label_counts, usual_size

# ---- NumPy's own files, .npy and .npz ----
# NumPy reserves the memory that a header announces before it reads the content. So headers are read first and compared
# with the size of the content. Nothing is unpickled.

ZIP = b"PK"
ENCRYPTED = 0x1  # of a zip member's flags
# What NumPy and zipfile raise for damaged files: headers are parsed as Python, and zip has many ways of packing
DAMAGED = (
    *(ValueError, OSError, EOFError, BadZipFile, KeyError, TypeError, SyntaxError, tokenize.TokenError, RecursionError),
    *(zlib.error, LZMAError, NotImplementedError, RuntimeError, OverflowError, IndexError),
)


class RowsOnDisk(NamedTuple):
    """The matrix of a .npy file; its rows are read when they are needed.

    It is not mapped to memory: the system ends a process if a mapped file is cut short.
    """

    path: Path
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def rows(self, first: int, n: int) -> np.ndarray:
        width = self.shape[1]
        at = self.offset + first * width * self.dtype.itemsize
        try:
            values = np.fromfile(self.path, self.dtype, n * width, offset=at)
        except OSError as error:
            raise _not_numpy(self.path, error) from None
        if len(values) != n * width:
            raise DataError(f"{self.path.name!r} was cut short while it was read. Try again when it is complete.")
        return values.reshape(n, width)


def load_numpy(path: Path, *, is_lazy: bool = False, is_mapped: bool = False) -> Any:
    """The array of a .npy file, or those of an .npz file by name.

    A .npy file may also be returned as a matrix with rows that are read later, or mapped to memory.
    """
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}. Check the path.")
    try:
        with path.open("rb") as file:
            if file.read(2) == ZIP:
                with ZipFile(path) as archive:
                    members = archive.infolist()
                    check_memory(sum(member.file_size for member in members), repr(path.name))
                    names = [member.filename.removesuffix(".npy") for member in members]
                    return {
                        name: _read_member(archive, member, f"The array {name!r} of {path.name!r}")
                        for name, member in zip(names, members, strict=True)
                    }
            file.seek(0)
            shape, dtype, is_fortran = _check_header(file, path.stat().st_size, repr(path.name), is_held=not is_mapped)
            if is_lazy and len(shape) == 2 and not is_fortran and dtype.kind in "biuf":
                return RowsOnDisk(path, file.tell(), dtype, shape)
        return np.load(path, mmap_mode="r" if is_mapped else None, allow_pickle=False)
    except DataError:
        raise
    except DAMAGED as error:
        raise _not_numpy(path, error) from None


def _read_member(archive: ZipFile, member: ZipInfo, where: str) -> np.ndarray:
    check_packed(archive, member, where)
    with archive.open(member) as file:
        _check_header(file, member.file_size, where)  # type: ignore[arg-type]
    with archive.open(member) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # zipfile compares the checksum only at the end
            raise ValueError("more bytes follow than the header announces")
        return array


def check_packed(archive: ZipFile, member: ZipInfo, where: str) -> None:
    """Refuse an encrypted member, and one that cannot be as large as it announces."""
    if member.flag_bits & ENCRYPTED:
        raise DataError(f"{where} is encrypted. Unpack it with its password, and save it again without.")
    assert archive.fp is not None
    check_inflated(member.file_size, min(member.compress_size, archive.fp.seek(0, 2)), where)


def _check_header(
    file: BinaryIO, size: int, where: str, *, is_held: bool = True
) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, type and order of the array; refuse a header that does not match the content."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it is a pickle")
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise ValueError(f"its header announces the shape {shape}")
    expected, follow = math.prod(shape) * dtype.itemsize, size - file.tell()
    if expected > follow:
        raise ValueError(f"its header announces {expected:,} bytes, but {max(0, follow):,} follow")
    if is_held:
        check_memory(expected, where)
    return shape, dtype, is_fortran


def _not_numpy(path: Path, error: Exception) -> DataError:
    reason = reason_of(error)
    if path.stat().st_size and ("pickle" in reason.lower() or "magic string" in reason.lower()):
        return DataError(
            f"{path.name!r} holds Python objects or is not a NumPy file, and newfound does not unpickle. "
            f"Save plain numbers or strings with np.save or np.savez."
        )
    return DataError(
        f"{path.name!r} is not a complete NumPy file ({reason}). Copy it again, or write it again with np.save or "
        f"np.savez."
    )


def read_numpy_file(
    path: str | PathLike, labels: Any = None, schema: Schema | None = None, sampling: Sampling = READ_ALL
) -> Dataset:
    """A .npy file of X, or an .npz file of X and, if there are any, y, feature_names and row_ids."""
    path = Path(path)
    loaded = load_numpy(path, is_mapped=schema is None and sampling.applies(path.stat().st_size))
    arrays = {"X": loaded} if isinstance(loaded, np.ndarray) else loaded
    if "X" not in arrays:
        raise DataError(
            f"{path.name!r} has no array named 'X'. It has {quoted_list(arrays)}. "
            f"Write it with np.savez(path, X=X, y=y), where y is -1 for rows without a label."
        )
    y = arrays.get("y") if labels is None else load_labels(labels)
    names, ids = arrays.get("feature_names"), arrays.get("row_ids")
    return read_array(arrays["X"], y, names, ids, schema, repr(path.name), sampling)


def load_labels(labels: Any) -> Any:
    """y itself, or y from the .npy file at the path `labels`."""
    if not isinstance(labels, str | PathLike):
        return labels
    loaded = load_numpy(Path(labels))
    if not isinstance(loaded, np.ndarray):
        raise DataError(f"{Path(labels).name!r} must hold one array, got {quoted_list(loaded)}. Write it with np.save.")
    return loaded


def load_features(features: Any) -> np.ndarray | RowsOnDisk:
    """A matrix with a row of numbers for each row of a table: itself, or from a .npy or .npz file."""
    matrix = features
    if isinstance(features, str | PathLike):
        matrix = load_numpy(Path(features), is_lazy=True)
        if isinstance(matrix, dict):
            if len(matrix) != 1 and "X" not in matrix:
                name = Path(features).name
                raise DataError(f"{name!r} must hold one array, or one named 'X', got {quoted_list(matrix)}.")
            matrix = matrix.get("X", next(iter(matrix.values())))
    matrix = matrix if isinstance(matrix, RowsOnDisk) else np.asanyarray(matrix)
    if matrix.dtype.kind not in "biuf" or len(matrix.shape) != 2 or 0 in matrix.shape:
        raise DataError(
            f"`features` must be a matrix with a row of numbers for each row of the table, got {matrix.dtype} of the "
            f"shape {matrix.shape}. Write it with np.save(path, matrix)."
        )
    return matrix


def read_array(
    X: Any,
    y: Any = None,
    feature_names: Sequence[str] | np.ndarray | None = None,
    row_ids: np.ndarray | None = None,
    schema: Schema | None = None,
    where: str = "the array",
    sampling: Sampling = READ_ALL,
) -> Dataset:
    """A Dataset of kind "matrix", or "images" if each row is an image of bytes. A large array is sampled."""
    X = np.asarray(X)
    _check_array(X, where)
    if schema is None and sampling.applies(X.nbytes):
        return _read_sample(X, y, feature_names, row_ids, where, sampling)
    image_shape = X.shape[1:] if X.ndim > 2 else None
    rows = X.reshape(len(X), -1)
    names = [f"x{i}" for i in range(rows.shape[1])] if feature_names is None else [str(name) for name in feature_names]
    if image_shape:
        names = pixel_names(image_shape)
    elif len(names) != rows.shape[1]:
        raise DataError(
            f"{where} has {rows.shape[1]:,} columns but {len(names):,} feature_names. Give one name for each column."
        )
    labels = labels_of_array(y, len(X), "y", () if schema is None else schema.class_names)
    label_column = None if y is None else "y"
    dataset = Dataset(
        X=rows,
        labels=labels,
        feature_names=names,
        row_ids=_row_ids(row_ids, len(X), where),
        kind="images" if image_shape else "matrix",
        image_shape=image_shape,
        label_column=label_column,
        log=[
            f"Read {count(len(X), 'row')} of {count(rows.shape[1], 'feature')} from {where}.",
            *preprocessing_log.about_labels(label_column, labels, "y"),
        ],
    )
    return with_columns(dataset, schema)


def _read_sample(
    X: np.ndarray,
    y: Any,
    feature_names: Sequence[str] | np.ndarray | None,
    row_ids: np.ndarray | None,
    where: str,
    sampling: Sampling,
) -> Dataset:
    """A Dataset of some rows of an array that may be on disk; the labels of all rows are in memory."""
    labels = labels_of_array(y, len(X))
    size = sampling.rows or usual_size(X.nbytes, len(X))
    chosen = chosen_rows(labels, size, sampling.seed)
    ids = _row_ids(row_ids, len(X), where)
    if len(chosen) == len(X):
        return read_array(X, y, feature_names, ids, where=where)
    sample = read_array(X[chosen], labels.take(chosen).values, feature_names, ids[chosen], where=where)
    log = [
        f"Read {count(len(X), 'row')} of {count(len(sample.feature_names), 'feature')} from {where}.",
        preprocessing_log.about_sample(len(chosen), size, sample.labels.n_labelled, labels.n_labelled),
        *sample.log[1:],
    ]

    def batches(schema: Schema) -> Iterator[Dataset]:
        step = rows_at_a_time(len(schema.feature_names))
        for i in range(0, len(X), step):
            rows = slice(i, i + step)
            yield read_array(X[rows], labels.values[rows], feature_names, ids[rows], schema, where)

    return replace(sample, log=log, population=Population(len(X), label_counts(labels), batches))


def with_columns(dataset: Dataset, schema: Schema | None = None) -> Dataset:
    """Infer the feature type of each column of a matrix, or take it from the schema, and fill missing values."""
    if dataset.kind == "images" or dataset.X.dtype == np.uint8:
        columns = [Column(name, "numeric", (i,)) for i, name in enumerate(dataset.feature_names)]
        complete = replace(dataset, columns=[] if dataset.kind == "images" else columns)
        return complete if schema is None else align(complete, schema)
    if schema is not None:
        columns = list(schema.columns)
    else:
        found = [infer_number(name, dataset.X[:, i]) for i, name in enumerate(dataset.feature_names)]
        empty = [name for name, column in zip(dataset.feature_names, found, strict=True) if column is None]
        if empty:
            raise DataError(f"All values are missing in {quoted_list(empty)}. Drop these columns from the array.")
        columns = [column.replace(positions=(i,)) for i, column in enumerate(found) if column is not None]
    X = finite(dataset.X, precision(columns))
    if schema is not None:
        dataset = align(replace(dataset, X=X), schema)
    filled = [
        column if column.feature_type == "categorical" else fill_missing(X[:, column.positions[0]], column)
        for column in columns
    ]
    return replace(dataset, X=X, columns=filled, log=[*dataset.log, *preprocessing_log.about_missing(filled)])


def _check_array(X: np.ndarray, where: str) -> None:
    if X.dtype.kind not in "buif":
        raise DataError(f"{where} must hold numbers, got {X.dtype}. Encode text as numbers, or give a table instead.")
    if X.ndim < 2 or X.size == 0:
        raise DataError(
            f"{where} must have rows and columns, got the shape {X.shape}. Give a matrix with one row for each sample."
        )
    is_image = X.dtype == np.uint8 and (X.ndim == 3 or (X.ndim == 4 and X.shape[3] == 3))
    if X.ndim > 2 and not is_image:
        raise DataError(
            f"{where} has the shape {X.shape} and type {X.dtype}; images must be (n, height, width) or "
            f"(n, height, width, 3) in uint8. Flatten each row with X.reshape(len(X), -1), or save images as uint8."
        )


def _row_ids(row_ids: np.ndarray | None, n: int, where: str) -> np.ndarray:
    if row_ids is None:
        return np.arange(n)
    if len(row_ids) != n:
        raise DataError(f"{where} has {n:,} rows but {len(row_ids):,} row_ids. Give one id for each row.")
    return np.asarray(row_ids)
