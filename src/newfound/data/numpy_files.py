"""NumPy's own files, .npy and .npz: read only as far as header, size and content agree, and nothing is unpickled.

NumPy reserves what a header names before it looks at the content. So headers are read first, and compared with the size
of what follows.
"""

import math
import tokenize
import zlib
from lzma import LZMAError
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from newfound.data.limits import check_inflated, check_memory
from newfound.errors import DataError

ZIP = b"PK"
ENCRYPTED = 0x1  # of a zip member's flags
# What NumPy and zipfile raise for damaged files: a header is parsed as Python, a zip member may be packed in any way
DAMAGED = (
    *(ValueError, OSError, EOFError, BadZipFile, KeyError, TypeError, SyntaxError, tokenize.TokenError, RecursionError),
    *(zlib.error, LZMAError, NotImplementedError, RuntimeError, OverflowError, IndexError),
)


class RowsOnDisk(NamedTuple):
    """The matrix of a .npy file, whose rows are read when they are asked for.

    Not mapped to memory: the system ends a process under which a mapped file is cut short.
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
            raise DataError(f"{self.path.name!r} was cut short while it was read. Try again when it is whole.")
        return values.reshape(n, width)


def load_numpy(path: Path, *, is_lazy: bool = False, is_mapped: bool = False) -> Any:
    """The array of a .npy file, or those of an .npz file by name.

    If asked, a .npy file is a matrix whose rows are read later, or mapped to memory, which need not hold it.
    """
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}. Check the path.")
    try:
        with path.open("rb") as file:
            if file.read(2) == ZIP:
                return _load_archive(path)
            file.seek(0)
            shape, dtype, is_fortran = _check_header(file, path.stat().st_size, repr(path.name), is_held=not is_mapped)
            if is_lazy and len(shape) == 2 and not is_fortran and dtype.kind in "biuf":
                return RowsOnDisk(path, file.tell(), dtype, shape)
        return np.load(path, mmap_mode="r" if is_mapped else None, allow_pickle=False)
    except DataError:
        raise
    except DAMAGED as error:
        raise _not_numpy(path, error) from None


def _load_archive(path: Path) -> dict[str, np.ndarray]:
    with ZipFile(path) as archive:
        members = archive.infolist()
        check_memory(sum(member.file_size for member in members), repr(path.name))
        return {member.filename.removesuffix(".npy"): _read_member(archive, member, path) for member in members}


def _read_member(archive: ZipFile, member: ZipInfo, path: Path) -> np.ndarray:
    where = f"The array {member.filename.removesuffix('.npy')!r} of {path.name!r}"
    check_packed(archive, member, where)
    with archive.open(member) as file:
        _check_header(file, member.file_size, where)  # type: ignore[arg-type]
    with archive.open(member) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # also, only at its end the checksum is compared
            raise ValueError("more bytes follow than the header announces")
        return array


def check_packed(archive: ZipFile, member: ZipInfo, where: str) -> None:
    """Refuse what needs a password, or cannot be as large as it says."""
    if member.flag_bits & ENCRYPTED:
        raise DataError(f"{where} is encrypted. Unpack it with its password, and save it again without.")
    assert archive.fp is not None
    check_inflated(member.file_size, min(member.compress_size, archive.fp.seek(0, 2)), where)


def _check_header(
    file: BinaryIO, size: int, where: str, *, is_held: bool = True
) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, type and order of the array; refuse a header that announces other content than follows."""
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
    reason = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
    if path.stat().st_size and ("pickle" in reason.lower() or "magic string" in reason.lower()):
        return DataError(
            f"{path.name!r} holds Python objects or is not a NumPy file, and newfound does not unpickle. "
            f"Save plain numbers or strings with np.save or np.savez."
        )
    return DataError(
        f"{path.name!r} is not a complete NumPy file ({reason}). Copy it again, or write it again with np.save or "
        f"np.savez."
    )
