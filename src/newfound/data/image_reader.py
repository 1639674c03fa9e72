"""A folder of images, all of one size: labels from its sub-folders, or from a table of files and labels."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.cells import text
from newfound.data.dataset import Dataset, align
from newfound.data.file_labels import labels_of_array
from newfound.data.formats import is_table
from newfound.data.schema import Schema, pixel_names
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import TableFile, check_column
from newfound.errors import DataError
from newfound.labels import Labels
from newfound.wording import count, quoted_list

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
UNLABELLED_FOLDER = re.compile(r"unlabel+ed", re.IGNORECASE)  # both spellings
LABELS_FILE = "labels.csv"
GREY, COLOUR = ("1", "L"), ("RGB", "RGBA", "P", "PA", "LA", "CMYK", "YCbCr", "HSV", "LAB")


def read_images(folder: str | PathLike, labels: str | PathLike | None = None, schema: Schema | None = None) -> Dataset:
    """A Dataset of bytes, one row for each image; its path inside the folder is its id."""
    folder = Path(folder)
    paths, n_other = find_images(folder)
    names = [path.relative_to(folder).as_posix() for path in paths]
    labels_file = Path(labels) if labels is not None else folder / LABELS_FILE
    if labels is not None or labels_file.is_file():
        found, label_column, source = _labels_from_file(names, labels_file), "label", repr(labels_file.name)
    else:
        found, label_column, source = _labels_from_folders(names), "folder", "the sub-folders"
    own_label = label_column if found.n_labelled else None
    shape = _one_shape(paths, folder, schema)
    mode = "greyscale" if len(shape) == 2 else "RGB"
    dataset = Dataset(
        X=_pixels(paths, shape),
        labels=found,
        feature_names=pixel_names(shape),
        row_ids=np.array(names, dtype=str),
        kind="images",
        image_shape=shape,
        label_column=own_label,
        log=[
            f"Read {count(len(names), 'image')} of {shape[1]} × {shape[0]} pixels (width × height) as {mode}.",
            *preprocessing_log.about_labels(own_label, found, source),
            *([f"Skipped {count(n_other, 'file that is not an image', 'files that are not images')}."] * (n_other > 0)),
        ],
    )
    return dataset if schema is None else align(dataset, schema)


def find_images(folder: Path) -> tuple[list[Path], int]:
    """The images in the folder and below, in the order of their names, and how many other files there are."""
    visible = [p for p in sorted(folder.rglob("*")) if not any(s.startswith(".") for s in p.relative_to(folder).parts)]
    files = [path for path in visible if path.is_file() and path.name != LABELS_FILE]
    images = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES]
    if not images:
        raise DataError(
            f"The folder {folder.name!r} holds no images ({', '.join(IMAGE_SUFFIXES)}). Give a folder with one "
            f"sub-folder for each label and one named 'unlabelled', or with images and a {LABELS_FILE} of files and "
            f"labels."
        )
    return images, len(files) - len(images)


def _labels_from_folders(names: Sequence[str]) -> Labels:
    tops = [name.split("/")[0] if "/" in name else "" for name in names]
    return labels_of_array(["" if UNLABELLED_FOLDER.fullmatch(top) else top for top in tops], len(names), "the folders")


def _labels_from_file(names: Sequence[str], path: Path) -> Labels:
    """Labels of the named images; an image that is not in the file has none."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r} with labels. Give a CSV with the columns file and label.")
    if not is_table(path):
        raise DataError(f"{path.name!r} must be a table (such as a CSV) with the columns file and label.")
    table = TableFile(path)
    for column in ("file", "label"):
        check_column(column, table)
    cells = table.read(ColumnSelection(["file", "label"], text={"file", "label"}))
    files, labels = (text(column).to_pylist() for column in cells.columns)
    pairs = {(file or "").replace("\\", "/"): label for file, label in zip(files, labels, strict=True)}
    if len(pairs) < cells.num_rows:
        raise DataError(f"{path.name!r} names the same file more than once. Give each file one row.")
    absent = sorted(pairs.keys() - set(names))
    if absent:
        raise DataError(
            f"{path.name!r} names {count(len(absent), 'file that is', 'files that are')} not in the folder: "
            f"{quoted_list(absent)}. Write the paths as they are inside the folder (such as {names[0]!r}), "
            f"or remove these rows."
        )
    return labels_of_array([pairs.get(name) for name in names], len(names), "label")


def _one_shape(paths: Sequence[Path], folder: Path, schema: Schema | None) -> tuple[int, ...]:
    """Height and width that all images share, and 3 where any of them has colours."""
    first, has_colour = paths[0], schema is not None and len(schema.image_shape or ()) == 3
    width, height = _size_and_mode(first)[0]
    for path in paths:
        size, mode = _size_and_mode(path)
        if size != (width, height):
            raise DataError(
                f"Images must all be of one size: {first.relative_to(folder).as_posix()!r} is {width} × {height}, "
                f"but {path.relative_to(folder).as_posix()!r} is {size[0]} × {size[1]}. Scale or crop them to one size."
            )
        has_colour = has_colour or mode in COLOUR
    return (height, width, 3) if has_colour else (height, width)


def _size_and_mode(path: Path) -> tuple[tuple[int, int], str]:
    from PIL import Image

    try:
        with Image.open(path) as image:  # reads the header only
            size, mode = image.size, image.mode
    except (OSError, Image.DecompressionBombError) as error:
        _raise_unreadable(path, error)
    if mode not in GREY + COLOUR:
        raise DataError(f"{path.name!r} has more than 8 bits for a pixel (mode {mode}). Save it with 8 bits.")
    return size, mode


def _pixels(paths: Sequence[Path], shape: tuple[int, ...]) -> np.ndarray:
    from PIL import Image

    X = np.empty((len(paths), int(np.prod(shape))), np.uint8)
    mode = "RGB" if len(shape) == 3 else "L"
    for row, path in zip(X, paths, strict=True):
        try:
            with Image.open(path) as image:
                row[:] = np.asarray(image.convert(mode)).ravel()
        except (OSError, SyntaxError, ValueError) as error:
            _raise_unreadable(path, error)
    return X


def _raise_unreadable(path: Path, error: Any) -> NoReturn:
    raise DataError(f"{path.name!r} cannot be read as an image ({error}). Save it again, or remove it.") from None
