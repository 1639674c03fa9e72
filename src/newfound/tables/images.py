"""Images: a folder of them, all of one size, or IDX files, the format of MNIST and Fashion-MNIST."""

import gzip
import math
import os
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from newfound._internal.words import DataError, count, quoted_list
from newfound.config import Number
from newfound.labels import Labels
from newfound.tables import log
from newfound.tables.cells import text
from newfound.tables.dataset import Dataset, Schema, TrainTest, align, pixel_names
from newfound.tables.encode import check_one_for_each_row, labels_of_array
from newfound.tables.formats import ColumnSelection, is_table
from newfound.tables.limits import DEFLATE, check_memory, is_text
from newfound.tables.sources import TableFile, check_column

# ---- IDX, the format of MNIST and Fashion-MNIST: four bytes of magic, the dimensions, then the values ----

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CHUNK = 1 << 24  # bytes
REMEDY = "Download or copy it again."


def is_idx(path: Path) -> bool:
    """By its name: "train-images-idx3-ubyte.gz", "digits.idx"."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(".idx") or ("-idx" in name and name.endswith("ubyte"))


def read_idx(path: str | PathLike) -> np.ndarray:
    """The array in an IDX file, gzipped or not. Its header is trusted only as far as the content agrees."""
    path = Path(path)
    try:
        with open_unzipped(path) as file:
            dtype, shape = _read_header(file, path)
            expected = math.prod(shape) * dtype.itemsize
            check_memory(min(expected, DEFLATE * path.stat().st_size), repr(path.name))
            content = _read_at_most(file, expected + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path.name!r} is cut short or damaged ({error}). {REMEDY}") from None
    if len(content) != expected:
        got = f"{len(content):,}" if len(content) < expected else "more"
        raise DataError(
            f"The header of {path.name!r} announces {' × '.join(f'{n:,}' for n in shape)} values, {expected:,} bytes, "
            f"but {got} follow. {REMEDY}"
        )
    return np.frombuffer(content, dtype).reshape(shape)


def open_unzipped(path: Path) -> BinaryIO:
    """The file's content, unzipped where it is gzipped, whatever its name says."""
    with open(path, "rb") as file:
        is_gzipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzipped else open(path, "rb")  # type: ignore[return-value]


def _read_header(file: BinaryIO, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not 1 <= magic[3] <= 4:
        raise DataError(
            f"{path.name!r} is not an IDX file: it starts with {magic.hex(' ') or 'nothing'}, expected the bytes "
            f"00 00, a type and a number of dimensions. {REMEDY}"
        )
    dimensions = file.read(4 * magic[3])
    if len(dimensions) < 4 * magic[3]:
        raise DataError(f"{path.name!r} ends inside its header. {REMEDY}")
    return np.dtype(TYPES[magic[2]]), tuple(int(n) for n in np.frombuffer(dimensions, ">u4"))


def _read_at_most(file: BinaryIO, n: int) -> bytes:
    """In chunks: read at once, a wrong header would reserve all the memory it names."""
    chunks: list[bytes] = []
    while n > 0 and (chunk := file.read(min(n, CHUNK))):
        chunks.append(chunk)
        n -= len(chunk)
    return b"".join(chunks)


def read_idx_images(
    images: str | PathLike, labels: str | PathLike | None = None, class_names: Sequence[str] | None = None
) -> Dataset:
    """A Dataset from a file of images and, if there is one, of labels; class_names are what 0, 1, 2, … mean"""
    pixels = read_idx(images)
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or pixels.size == 0:
        raise DataError(
            f"{Path(images).name!r} must hold images of bytes, (n, height, width); got the shape {pixels.shape} of "
            f"{pixels.dtype}. Give the file of images, and the file of labels as `labels`."
        )
    found = _read_labels(labels, len(pixels), class_names)
    label_column = None if labels is None else "label"
    return Dataset(
        X=pixels.reshape(len(pixels), -1),
        labels=found,
        feature_names=pixel_names(pixels.shape[1:]),
        row_ids=np.arange(len(pixels)),
        kind="images",
        image_shape=tuple(pixels.shape[1:]),
        label_column=label_column,
        log=[
            f"Read {count(len(pixels), 'image')} of {pixels.shape[2]} × {pixels.shape[1]} pixels (width × height).",
            *log.about_labels(label_column, found, "the file of labels"),
        ],
    )


def _read_labels(path: str | PathLike | None, n_rows: int, class_names: Sequence[str] | None) -> Labels:
    if path is None or class_names is None:
        return labels_of_array(None if path is None else read_idx(path), n_rows, "labels", class_names or ())
    codes = read_idx(path)
    check_one_for_each_row(codes, n_rows, "labels")
    wrong = codes[(codes < 0) | (codes >= len(class_names))]
    if len(wrong):
        raise DataError(
            f"{Path(path).name!r} holds the label {wrong[0]}, but there are {len(class_names)} classes. {REMEDY}"
        )
    return Labels.of_distinct(class_names, codes.astype(np.int64), class_names)


# ---- A folder of images, all of one size: labels from its sub-folders, or from a table of files and labels ----
# Images larger than `image_size` are scaled down, and the log says so: each pixel becomes a column.

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
            *log.about_labels(own_label, found, source),
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


# ---- The handwritten digits that come with scikit-learn ----

DIGITS = [str(digit) for digit in range(10)]


def read_digits() -> TrainTest:
    """Comes with scikit-learn, without a split: a fixed, stratified quarter of it is the test part."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    whole = Dataset(
        X=np.rint(bunch.data * (255 / 16)).astype(np.uint8),
        labels=Labels.of_distinct(DIGITS, bunch.target, declared=DIGITS),
        feature_names=pixel_names((8, 8)),
        row_ids=np.arange(len(bunch.data)),
        kind="images",
        image_shape=(8, 8),
        label_column="label",
    )
    parts = train_test_split(whole.row_ids, test_size=0.25, stratify=whole.labels.codes, random_state=0)
    return TrainTest(*(_digits_part(whole.take(np.sort(rows))) for rows in parts))


def _digits_part(part: Dataset) -> Dataset:
    lines = [
        f"Read {count(len(part), 'image')} of 8 × 8 pixels; their values 0 to 16 were scaled to 0 to 255.",
        *log.about_labels("label", part.labels, "scikit-learn"),
    ]
    return replace(part, log=lines)
