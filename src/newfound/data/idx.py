"""IDX, the format of MNIST and Fashion-MNIST: four bytes of magic, the dimensions, then the values."""

import gzip
import math
import zlib
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from newfound.data import decisions
from newfound.data.dataset import Dataset, pixel_names
from newfound.data.labelling import labels_of_array
from newfound.data.problems import DataError, count

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
AT_A_TIME = 1 << 24
AGAIN = "Download or copy it again."


def is_idx(path: Path) -> bool:
    """By its name: "train-images-idx3-ubyte.gz", "digits.idx"."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(".idx") or ("-idx" in name and name.endswith("ubyte"))


def read_idx(path: str | PathLike) -> np.ndarray:
    """The array in an IDX file, gzipped or not. Its header is believed only as far as the file bears it out."""
    path = Path(path)
    try:
        with open_plain(path) as file:
            dtype, shape = _read_header(file, path)
            expected = math.prod(shape) * dtype.itemsize
            content = _read_at_most(file, expected + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path.name!r} is cut short or damaged ({error}). {AGAIN}") from None
    if len(content) != expected:
        got = f"{len(content):,}" if len(content) < expected else "more"
        raise DataError(
            f"The header of {path.name!r} announces {' × '.join(f'{n:,}' for n in shape)} values, {expected:,} bytes, "
            f"but {got} follow. {AGAIN}"
        )
    return np.frombuffer(content, dtype).reshape(shape)


def open_plain(path: Path) -> BinaryIO:
    """The file's content, unzipped where it is gzipped, whatever its name says."""
    with open(path, "rb") as file:
        is_gzipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzipped else open(path, "rb")  # type: ignore[return-value]


def _read_header(file: BinaryIO, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not 1 <= magic[3] <= 4:
        raise DataError(
            f"{path.name!r} is not an IDX file: it starts with the bytes {magic.hex(' ') or 'of nothing'}, and should "
            f"with 00 00, a type and a number of dimensions. {AGAIN}"
        )
    dimensions = file.read(4 * magic[3])
    if len(dimensions) < 4 * magic[3]:
        raise DataError(f"{path.name!r} ends inside its header. {AGAIN}")
    return np.dtype(TYPES[magic[2]]), tuple(int(n) for n in np.frombuffer(dimensions, ">u4"))


def _read_at_most(file: BinaryIO, n: int) -> bytes:
    """In pieces: asked for at once, a header that lies would reserve all the memory it names."""
    pieces: list[bytes] = []
    while n > 0 and (piece := file.read(min(n, AT_A_TIME))):
        pieces.append(piece)
        n -= len(piece)
    return b"".join(pieces)


def read_idx_images(
    images: str | PathLike, labels: str | PathLike | None = None, class_names: list[str] | None = None
) -> Dataset:
    """A Dataset from a file of images and, if there is one, of labels; class_names are what 0, 1, 2, … mean"""
    pixels = read_idx(images)
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or pixels.size == 0:
        raise DataError(
            f"{Path(images).name!r} must hold images of bytes, (n, height, width); got the shape {pixels.shape} of "
            f"{pixels.dtype}. Give the file of images, and the file of labels as `labels`."
        )
    words = None if labels is None else _words(read_idx(labels), class_names, Path(labels).name)
    codes = labels_of_array(words, len(pixels), "labels", class_names or ())
    label = None if labels is None else "label"
    return Dataset(
        X=pixels.reshape(len(pixels), -1),
        y=codes.codes,
        class_names=codes.class_names,
        feature_names=pixel_names(pixels.shape[1:]),
        row_ids=np.arange(len(pixels)),
        kind="images",
        image_shape=tuple(pixels.shape[1:]),
        label=label,
        decisions=[
            f"Read {count(len(pixels), 'image')} of {pixels.shape[2]} × {pixels.shape[1]} pixels (width × height).",
            *decisions.about_labels(label, codes.codes, codes.class_names),
        ],
    )


def _words(codes: np.ndarray, names: list[str] | None, where: str) -> np.ndarray:
    if names is None:
        return codes
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < len(names):
        raise DataError(f"{where!r} holds the label {int(codes.max())}, but there are {len(names)} classes. {AGAIN}")
    return np.array(names, dtype=object)[codes]
