"""A folder of images, all of one size: labels from its sub-folders, or from a table of files and labels.

Images larger than `image_size` are scaled down, and the log says so: each pixel becomes a column.
"""

import math
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.cells import text
from newfound.data.dataset import Dataset, align
from newfound.data.file_labels import labels_of_array
from newfound.data.formats import is_table
from newfound.data.limits import check_memory, is_text
from newfound.data.schema import Schema, pixel_names
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import TableFile, check_column
from newfound.errors import DataError
from newfound.labels import Labels
from newfound.parameters import Number
from newfound.wording import count, quoted_list

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
UNLABELLED_FOLDER = re.compile(r"unlabel+ed", re.IGNORECASE)  # both spellings
LABELS_FILE = "labels.csv"
GREY, COLOUR = ("1", "L"), ("RGB", "RGBA", "P", "PA", "LA", "CMYK", "YCbCr", "HSV", "LAB")


SCALED = "Larger images were scaled down to {size} pixels on the longer side; `image_size` sets another number."
IMAGE_SIZE = 128  # most pixels of the longer side, where nothing else is asked
MOST_PIXELS = 1 << 26  # of a file that is opened at all: a few bytes can announce any number
MOST_FOLDERS = 64  # one within the other


class Shape(NamedTuple):
    """What all images of a folder become."""

    height: int
    width: int
    has_colour: bool
    is_scaled: bool = False

    @property
    def of_array(self) -> tuple[int, ...]:
        return (self.height, self.width, 3) if self.has_colour else (self.height, self.width)


def read_images(
    folder: str | PathLike,
    labels: str | PathLike | None = None,
    schema: Schema | None = None,
    image_size: int | None = None,
) -> Dataset:
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
    made = _one_shape(paths, folder, schema, image_size)
    shape, mode = made.of_array, "RGB" if made.has_colour else "greyscale"
    dataset = Dataset(
        X=_pixels(paths, made),
        labels=found,
        feature_names=pixel_names(shape),
        row_ids=np.array(names, dtype=str),
        kind="images",
        image_shape=shape,
        image_size=max(shape[:2]) if made.is_scaled else None,
        label_column=own_label,
        log=[
            f"Read {count(len(names), 'image')} of {shape[1]} × {shape[0]} pixels (width × height) as {mode}.",
            *([SCALED.format(size=max(shape[:2]))] if made.is_scaled else []),
            *preprocessing_log.about_labels(own_label, found, source),
            *([f"Skipped {count(n_other, 'file that is not an image', 'files that are not images')}."] * (n_other > 0)),
        ],
    )
    return dataset if schema is None else align(dataset, schema)


def find_images(folder: Path) -> tuple[list[Path], int]:
    """The images in the folder and below, in the order of their names, and how many other files there are."""
    files = [path for path in sorted(_visible_files(folder)) if path.name != LABELS_FILE]
    unwritable = next((path for path in files if not is_text(path.name)), None)
    if unwritable is not None:
        raise DataError(f"The file name {unwritable.name!a} is not UTF-8 text. Give the file another name.")
    images = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES]
    if not images:
        raise DataError(
            f"The folder {folder.name!r} holds no images ({', '.join(IMAGE_SUFFIXES)}). Give a folder with one "
            f"sub-folder for each label and one named 'unlabelled', or with images and a {LABELS_FILE} of files and "
            f"labels."
        )
    return images, len(files) - len(images)


def _visible_files(folder: Path) -> Iterator[Path]:
    """Files in the folder and below, also where a link leads to a folder; not through links that lead in a circle."""
    for place, folders, names in os.walk(folder, followlinks=True):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [name for name in folders if not name.startswith(".") and depth < MOST_FOLDERS]
        folders[:] = [name for name in folders if not _leads_back(Path(place) / name)]
        paths = (Path(place) / name for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def _leads_back(folder: Path) -> bool:
    return folder.is_symlink() and folder.resolve() in (folder.parent.resolve(), *folder.parent.resolve().parents)


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


def _one_shape(paths: Sequence[Path], folder: Path, schema: Schema | None, image_size: int | None) -> Shape:
    """Height and width that all images have once they are scaled, and colours where any of them has some."""
    at_most = _checked_size(image_size) if schema is None else schema.image_size or MOST_PIXELS
    has_colour, is_scaled = schema is not None and len(schema.image_shape or ()) == 3, False
    first, first_size = paths[0], _size_and_mode(paths[0])[0]
    width, height = _scaled(first_size, at_most)
    for path in paths:
        size, mode = _size_and_mode(path)
        if _scaled(size, at_most) != (width, height):
            raise DataError(
                f"Images must all be of one size: {first.relative_to(folder).as_posix()!r} is {first_size[0]} × "
                f"{first_size[1]}, but {path.relative_to(folder).as_posix()!r} is {size[0]} × {size[1]}. Scale or crop "
                f"them to one size."
            )
        has_colour = has_colour or mode in COLOUR
        is_scaled = is_scaled or size != (width, height)
    check_memory(len(paths) * width * height * (3 if has_colour else 1), f"The folder {folder.name!r}")
    return Shape(height, width, has_colour, is_scaled)


def _checked_size(image_size: int | None) -> int:
    rule = Number(1, 4096, whole=True)
    if image_size is not None and not rule.accepts(image_size):
        raise DataError(f"`image_size` must be {rule}: pixels of the longer side; got {image_size!r}.")
    return IMAGE_SIZE if image_size is None else int(image_size)


def _scaled(size: tuple[int, int], at_most: int) -> tuple[int, int]:
    """Width and height, brought down in proportion to at most so many pixels."""
    longer = max(size)
    return (
        size
        if longer <= at_most
        else (max(1, round(size[0] * at_most / longer)), max(1, round(size[1] * at_most / longer)))
    )


def _size_and_mode(path: Path) -> tuple[tuple[int, int], str]:

    try:
        with _opened(path) as image:  # reads the header only
            size, mode = image.size, image.mode
    except Exception as error:  # whatever a decoder of Pillow's raises for a damaged file, and they are many
        _raise_unreadable(path, error)
    if size[0] * size[1] > MOST_PIXELS or min(size) < 1:
        raise DataError(
            f"{path.name!r} announces {size[0]:,} × {size[1]:,} pixels; expected at most {MOST_PIXELS:,} in all. "
            f"Save it again in a smaller size, or remove it."
        )
    if mode not in GREY + COLOUR:
        raise DataError(f"{path.name!r} has more than 8 bits for a pixel (mode {mode}). Save it with 8 bits.")
    return size, mode


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Pillow's: sizes are checked here, and what is damaged is refused
        with Image.open(path) as image:
            yield image


def _pixels(paths: Sequence[Path], shape: Shape) -> np.ndarray:
    X = np.empty((len(paths), math.prod(shape.of_array)), np.uint8)
    for row, path in zip(X, paths, strict=True):
        try:
            row[:] = _array(path, shape).ravel()
        except Exception as error:  # as above
            _raise_unreadable(path, error)
    return X


def _array(path: Path, shape: Shape) -> np.ndarray:
    mode, size = "RGB" if shape.has_colour else "L", (shape.width, shape.height)
    with _opened(path) as image:
        if image.size == size:
            return np.asarray(image.convert(mode))
        image.draft(mode, (2 * size[0], 2 * size[1]))  # JPEG is decoded at a fraction of its size
        return np.asarray(image.convert(mode).resize(size, reducing_gap=2.0))


def _raise_unreadable(path: Path, error: Any) -> NoReturn:
    reason = " ".join(str(error).replace(str(path.parent), "").split())[:200] or type(error).__name__
    raise DataError(f"{path.name!r} cannot be read as an image ({reason}). Save it again, or remove it.") from None
