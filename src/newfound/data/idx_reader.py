"""IDX, the format of MNIST and Fashion-MNIST: four bytes of magic, the dimensions, then the values."""

import gzip
import math
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.dataset import Dataset
from newfound.data.file_labels import check_one_for_each_row, labels_of_array
from newfound.data.limits import DEFLATE, check_memory
from newfound.data.schema import pixel_names
from newfound.errors import DataError
from newfound.labels import Labels
from newfound.wording import count

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
            *preprocessing_log.about_labels(label_column, found, "the file of labels"),
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
