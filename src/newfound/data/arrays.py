"""Arrays in memory and in NumPy's own files: a matrix of features, or a stack of images. Nothing is ever unpickled."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from newfound.data import decisions
from newfound.data.columns import decide_number, fill_gaps, finite_singles
from newfound.data.dataset import Column, Dataset, Layout, conform, pixel_names
from newfound.data.labelling import labels_of_array
from newfound.data.problems import DataError, count, some

ENDINGS = (".npz", ".npy")


def read_numpy_file(path: str | PathLike, labels: Any = None, layout: Layout | None = None) -> Dataset:
    """A .npy file of X, or an .npz file of X and, if there are any, y, feature_names and row_ids."""
    path = Path(path)
    loaded = _load(path)
    arrays = {"X": loaded} if isinstance(loaded, np.ndarray) else loaded
    if "X" not in arrays:
        raise DataError(
            f"{path.name!r} has no array named 'X': it has {some(arrays)}. "
            f"Write it with np.savez(path, X=X, y=y), where y is -1 for rows without a label."
        )
    y = arrays.get("y") if labels is None else labels_from(labels)
    return read_array(arrays["X"], y, arrays.get("feature_names"), arrays.get("row_ids"), layout, repr(path.name))


def labels_from(labels: Any) -> Any:
    """y itself, or y from the .npy file that `labels` names."""
    if not isinstance(labels, str | PathLike):
        return labels
    loaded = _load(Path(labels))
    if not isinstance(loaded, np.ndarray):
        raise DataError(f"{Path(labels).name!r} must hold one array, got {some(loaded)}. Write it with np.save.")
    return loaded


def _load(path: Path) -> Any:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, EOFError, BadZipFile, KeyError) as error:
        if "pickle" in str(error).lower() and path.stat().st_size:
            raise DataError(
                f"{path.name!r} holds Python objects or is no NumPy file, and newfound unpickles nothing. "
                f"Save plain numbers or strings with np.save or np.savez."
            ) from None
        raise DataError(
            f"{path.name!r} is not a whole NumPy file ({str(error).rstrip('.')}). Copy it again, or write it anew with "
            f"np.save or np.savez."
        ) from None


def read_array(
    X: Any,
    y: Any = None,
    feature_names: Sequence[str] | np.ndarray | None = None,
    row_ids: np.ndarray | None = None,
    layout: Layout | None = None,
    where: str = "the array",
) -> Dataset:
    """A Dataset of kind "matrix", or of kind "images" where each row is a picture of bytes."""
    X = np.asarray(X)
    _check_array(X, where)
    image_shape = X.shape[1:] if X.ndim > 2 else None
    rows = X.reshape(len(X), -1)
    names = pixel_names(image_shape) if image_shape else _feature_names(feature_names, rows.shape[1], where)
    codes = labels_of_array(y, len(X), "y", () if layout is None else layout.class_names)
    dataset = Dataset(
        X=rows,
        y=codes.codes,
        class_names=codes.class_names,
        feature_names=names,
        row_ids=_row_ids(row_ids, len(X), where),
        kind="images" if image_shape else "matrix",
        image_shape=image_shape,
        label=None if y is None else "y",
    )
    about = [
        f"Read {count(len(X), 'row')} of {count(rows.shape[1], 'feature')} from {where}.",
        *decisions.about_labels(dataset.label, codes.codes, codes.class_names, codes.n_minus_one),
    ]
    return with_columns(replace(dataset, decisions=about), layout)


def with_columns(dataset: Dataset, layout: Layout | None = None) -> Dataset:
    """Decide on each column of a matrix, or take the layout's word for it, and fill what is missing."""
    if dataset.kind == "images" or dataset.X.dtype == np.uint8:
        columns = [Column(name, "numeric", (i,)) for i, name in enumerate(dataset.feature_names)]
        whole = replace(dataset, columns=[] if dataset.kind == "images" else columns)
        return whole if layout is None else conform(whole, layout)
    X = finite_singles(dataset.X)
    if layout is not None:
        dataset = conform(replace(dataset, X=X), layout)
        columns = list(layout.columns)
    else:
        columns = _decide(X, dataset.feature_names)
    filled = [column if column.role == "category" else fill_gaps(X, column) for column in columns]
    return replace(dataset, X=X, columns=filled, decisions=[*dataset.decisions, *decisions.about_gaps(filled)])


def _decide(X: np.ndarray, names: Sequence[str]) -> list[Column]:
    columns = [decide_number(name, X[:, i]) for i, name in enumerate(names)]
    empty = [name for name, column in zip(names, columns, strict=True) if column is None]
    if empty:
        raise DataError(f"All values are missing in {some(empty)}. Leave these columns out of the array.")
    return [replace(column, positions=(i,)) for i, column in enumerate(columns) if column is not None]


def _check_array(X: np.ndarray, where: str) -> None:
    if X.dtype.kind not in "buif":
        raise DataError(f"{where} must hold numbers, got {X.dtype}. Encode words as numbers, or give a table instead.")
    if X.ndim < 2 or X.size == 0:
        raise DataError(
            f"{where} must have rows and columns, got the shape {X.shape}. Give a matrix with a row for each."
        )
    is_image = X.dtype == np.uint8 and (X.ndim == 3 or (X.ndim == 4 and X.shape[3] == 3))
    if X.ndim > 2 and not is_image:
        raise DataError(
            f"{where} has the shape {X.shape} and type {X.dtype}; images must be (n, height, width) or "
            f"(n, height, width, 3) in uint8. Flatten each row with X.reshape(len(X), -1), or save images as uint8."
        )


def _feature_names(names: Sequence[str] | np.ndarray | None, width: int, where: str) -> list[str]:
    if names is None:
        return [f"x{i}" for i in range(width)]
    if len(names) != width:
        raise DataError(
            f"{where} has {width:,} columns but {len(names):,} feature_names. Give one name for each column."
        )
    return [str(name) for name in names]


def _row_ids(row_ids: np.ndarray | None, n: int, where: str) -> np.ndarray:
    if row_ids is None:
        return np.arange(n)
    if len(row_ids) != n:
        raise DataError(f"{where} has {n:,} rows but {len(row_ids):,} row_ids. Give one id for each row.")
    return np.asarray(row_ids)
