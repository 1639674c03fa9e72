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
from newfound.tables.sources import IMAGE_SUFFIXES, TableFile, check_column

# ---- IDX: four bytes of magic, the dimensions, then the values ----

IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CHUNK_BYTES = 1 << 24
IDX_REMEDY = "Download or copy it again."


def is_idx(path: Path) -> bool:
    """Whether the name is that of an IDX file: "train-images-idx3-ubyte.gz", "digits.idx"."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(".idx") or ("-idx" in name and name.endswith("ubyte"))


def read_idx(path: str | PathLike) -> np.ndarray:
    """The array in an IDX file, gzipped or not; refuse a header that does not match the content."""
    path = Path(path)
    try:
        with open_unzipped(path) as file:
            dtype, shape = _read_header(file, path)
            expected = math.prod(shape) * dtype.itemsize
            check_memory(min(expected, DEFLATE * path.stat().st_size), repr(path.name))
            chunks: list[bytes] = []  # read at once, a wrong header would reserve all the memory it announces
            missing = expected + 1
            while missing > 0 and (chunk := file.read(min(missing, CHUNK_BYTES))):
                chunks.append(chunk)
                missing -= len(chunk)
            content = b"".join(chunks)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path.name!r} is cut short or damaged ({error}). {IDX_REMEDY}") from None
    if len(content) != expected:
        got = f"{len(content):,}" if len(content) < expected else "more"
        raise DataError(
            f"The header of {path.name!r} announces {' × '.join(f'{n:,}' for n in shape)} values, {expected:,} bytes, "
            f"but {got} follow. {IDX_REMEDY}"
        )
    return np.frombuffer(content, dtype).reshape(shape)


def open_unzipped(path: Path) -> BinaryIO:
    """The file's content, unzipped if it is gzipped; its name does not matter."""
    with open(path, "rb") as file:
        is_gzipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzipped else open(path, "rb")  # type: ignore[return-value]


def _read_header(file: BinaryIO, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in IDX_TYPES or not 1 <= magic[3] <= 4:
        raise DataError(
            f"{path.name!r} is not an IDX file: it starts with {magic.hex(' ') or 'nothing'}, expected the bytes "
            f"00 00, a type and a number of dimensions. {IDX_REMEDY}"
        )
    dimensions = file.read(4 * magic[3])
    if len(dimensions) < 4 * magic[3]:
        raise DataError(f"{path.name!r} ends inside its header. {IDX_REMEDY}")
    return np.dtype(IDX_TYPES[magic[2]]), tuple(int(n) for n in np.frombuffer(dimensions, ">u4"))


def read_idx_images(
    images: str | PathLike, labels: str | PathLike | None = None, class_names: Sequence[str] | None = None
) -> Dataset:
    """A Dataset from a file of images and, if given, one of labels; class_names are the names of 0, 1, 2, …"""
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
            f"{Path(path).name!r} holds the label {wrong[0]}, but there are {len(class_names)} classes. {IDX_REMEDY}"
        )
    return Labels.of_distinct(class_names, codes.astype(np.int64), class_names)


# ---- A folder of images, all of one size: labels from its sub-folders, or from a table of files and labels ----
# Images larger than `image_size` are scaled down, and the log reports it: each pixel becomes a column.

UNLABELLED_FOLDER = re.compile(r"unlabel+ed", re.IGNORECASE)  # both spellings
LABELS_FILE = "labels.csv"
GREY, COLOUR = ("1", "L"), ("RGB", "RGBA", "P", "PA", "LA", "CMYK", "YCbCr", "HSV", "LAB")


SCALED = "Larger images were scaled down to {size} pixels on the longer side; `image_size` sets another number."
IMAGE_SIZE = 128  # the default maximum of pixels on the longer side
MAX_PIXELS = 1 << 26  # of a file: a few bytes can announce any number
MAX_DEPTH = 64  # of nested folders


class Shape(NamedTuple):
    """The shape that all images of a folder get."""

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
    """A Dataset of bytes, one row for each image; the path inside the folder is the row's id."""
    folder = Path(folder)
    paths, n_other = find_images(folder)
    names = [path.relative_to(folder).as_posix() for path in paths]
    labels_file = Path(labels) if labels is not None else folder / LABELS_FILE
    if labels is not None or labels_file.is_file():
        found, label_column, source = _labels_from_file(names, labels_file), "label", repr(labels_file.name)
    else:
        tops = [name.split("/")[0] if "/" in name else "" for name in names]
        tops = ["" if UNLABELLED_FOLDER.fullmatch(top) else top for top in tops]
        found, label_column, source = labels_of_array(tops, len(names), "the folders"), "folder", "the sub-folders"
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
    """The images in the folder and below, in the order of their names, and the number of other files."""
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
    """Files in the folder and below. Links to folders are followed, except those to a folder that contains them."""
    for place, folders, names in os.walk(folder, followlinks=True):
        depth = len(Path(place).relative_to(folder).parts)
        visible = [Path(place) / name for name in folders if not name.startswith(".") and depth < MAX_DEPTH]
        above = (Path(place).resolve(), *Path(place).resolve().parents)
        folders[:] = [folder.name for folder in visible if not (folder.is_symlink() and folder.resolve() in above)]
        paths = (Path(place) / name for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


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
    """The height and width of all images after scaling; in colour if any image is."""
    rule = Number(1, 4096, whole=True)
    if schema is None and image_size is not None and not rule.accepts(image_size):
        raise DataError(f"`image_size` must be {rule}: pixels of the longer side; got {image_size!r}.")
    if schema is not None:
        at_most = schema.image_size or MAX_PIXELS
    else:
        at_most = IMAGE_SIZE if image_size is None else int(image_size)
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


def _scaled(size: tuple[int, int], at_most: int) -> tuple[int, int]:
    """Width and height in the same proportion, the longer with at most `at_most` pixels."""
    longer = max(size)
    if longer <= at_most:
        return size
    return max(1, round(size[0] * at_most / longer)), max(1, round(size[1] * at_most / longer))


def _size_and_mode(path: Path) -> tuple[tuple[int, int], str]:
    try:
        with _opened(path) as image:  # reads the header only
            size, mode = image.size, image.mode
    except Exception as error:  # Pillow's decoders raise many kinds
        _raise_unreadable(path, error)
    if size[0] * size[1] > MAX_PIXELS or min(size) < 1:
        raise DataError(
            f"{path.name!r} announces {size[0]:,} × {size[1]:,} pixels; expected at most {MAX_PIXELS:,} in all. "
            f"Save it again in a smaller size, or remove it."
        )
    if mode not in GREY + COLOUR:
        raise DataError(f"{path.name!r} has more than 8 bits for a pixel (mode {mode}). Save it with 8 bits.")
    return size, mode


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's own: sizes are checked here, and damaged files are refused
        with Image.open(path) as image:
            yield image


def _pixels(paths: Sequence[Path], shape: Shape) -> np.ndarray:
    X = np.empty((len(paths), math.prod(shape.of_array)), np.uint8)
    mode, size = "RGB" if shape.has_colour else "L", (shape.width, shape.height)
    for row, path in zip(X, paths, strict=True):
        try:
            with _opened(path) as image:
                if image.size == size:
                    row[:] = np.asarray(image.convert(mode)).ravel()
                else:
                    image.draft(mode, (2 * size[0], 2 * size[1]))  # JPEG is decoded at a fraction of its size
                    row[:] = np.asarray(image.convert(mode).resize(size, reducing_gap=2.0)).ravel()
        except Exception as error:  # as above
            _raise_unreadable(path, error)
    return X


def _raise_unreadable(path: Path, error: Any) -> NoReturn:
    reason = " ".join(str(error).replace(str(path.parent), "").split())[:200] or type(error).__name__
    raise DataError(f"{path.name!r} cannot be read as an image ({reason}). Save it again, or remove it.") from None


# ---- The handwritten digits that come with scikit-learn ----

DIGITS = [str(digit) for digit in range(10)]


def read_digits() -> TrainTest:
    """The test part is a fixed, stratified quarter, because scikit-learn defines no split."""
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
    train, test = (whole.take(np.sort(rows)) for rows in parts)
    return TrainTest(_with_log(train), _with_log(test))


def _with_log(part: Dataset) -> Dataset:
    lines = [
        f"Read {count(len(part), 'image')} of 8 × 8 pixels; their values 0 to 16 were scaled to 0 to 255.",
        *log.about_labels("label", part.labels, "scikit-learn"),
    ]
    return replace(part, log=lines)
