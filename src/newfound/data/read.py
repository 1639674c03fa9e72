"""One way in: whatever a person has, by path, by name or in memory, becomes a Dataset."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from newfound.data import arrays, formats
from newfound.data.arrays import read_array, read_numpy_file
from newfound.data.catalogue import NAMED
from newfound.data.dataset import Dataset, Layout, conform
from newfound.data.idx import is_idx, read_idx_images
from newfound.data.images import read_images
from newfound.data.named import load_named
from newfound.data.problems import DataError, some
from newfound.data.tables import read_table, read_table_like

PARTS = ("train", "test")


def read_dataset(
    source: Any,
    label: str | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    labels: Any = None,
    layout: Layout | None = None,
    categorical: Sequence[str] = (),
) -> Dataset:
    """Read a table file, a NumPy file, a folder of images, an IDX file, a set by name, a data frame or an array.

    `label`, `id`, `ignore` and `categorical` name columns of a table. `labels` goes with images (a table of files and
    labels) and arrays (y, or a file of it). With a `layout`, all is read as the data it came from; the label may be
    absent. A set by name is its train part, unless it says "mnist:test".
    """
    ignore, categorical = _as_names(ignore), _as_names(categorical)
    if _is_table(source):
        _refuse(labels is not None, "labels", "a table has its labels in a column", "name that column as `label`")
        if layout is not None:
            return read_table_like(source, layout, label, id)
        return read_table(source, label, id, ignore, categorical)
    of_columns = label is not None or id is not None or len(ignore) > 0 or len(categorical) > 0
    _refuse(
        of_columns,
        "label, id, ignore and categorical",
        "only tables have named columns",
        "use `labels` or leave it out",
    )
    if not isinstance(source, str | PathLike):
        return read_array(source, arrays.labels_from(labels), layout=layout)
    return _read_path(source, labels, layout)


def _read_path(source: str | PathLike, labels: Any, layout: Layout | None) -> Dataset:
    path = Path(source)
    if path.is_dir():
        return read_images(path, labels, layout)
    if path.is_file() and formats.ending_of(path) in arrays.ENDINGS:
        return read_numpy_file(path, labels, layout)
    dataset = read_idx_images(path, labels) if path.is_file() and is_idx(path) else _read_named(str(source))
    return dataset if layout is None else conform(dataset, layout)


def _read_named(source: str) -> Dataset:
    name, _, part = source.partition(":")
    if name not in NAMED or part not in ("", *PARTS):
        _refuse_unknown(source)
    return getattr(load_named(name), part or "train")


def _is_table(source: Any) -> bool:
    """By its ending, if it is there; or because it is a data frame, which arrays are not."""
    if not isinstance(source, str | PathLike):
        return hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")
    path = Path(source)
    is_table = formats.ending_of(path) in formats.FORMATS and not path.is_dir()
    if is_table and not path.is_file():
        _refuse_unknown(str(source))
    return is_table


def _refuse_unknown(source: str) -> None:
    endings = ", ".join([*formats.FORMATS, *arrays.ENDINGS])
    if Path(source).is_file():
        raise DataError(
            f"{Path(source).name!r} ends in nothing newfound reads. It reads {endings}, IDX files and folders of "
            f"images: save the file as one of these (spreadsheets save CSV)."
        )
    raise DataError(
        f"There is no file, folder or set named {source!r}. Check the path; the sets are {some(NAMED)}, each with "
        f":train and :test."
    )


def _as_names(names: Sequence[str]) -> Sequence[str]:
    """One name may come without a list around it."""
    return [names] if isinstance(names, str) else names


def _refuse(is_given: bool, what: str, because: str, instead: str) -> None:
    if is_given:
        raise DataError(f"Given {what}, but {because}. Please {instead}.")
