"""NumPy's own files, .npy and .npz: read only as far as header, size and content agree, and nothing is unpickled.

NumPy reserves what a header names before it looks at the content. So headers are read first, and compared with the size
of what follows.
"""

import math
import tokenize
import zlib
from lzma import LZMAError
from pathlib import Path
from typing import Any, BinaryIO
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


def load_numpy(path: Path, *, is_mapped: bool = False) -> Any:
    """The array of a .npy file (mapped to memory, if asked), or the arrays of an .npz file by name."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}. Check the path.")
    try:
        with path.open("rb") as file:
            if file.read(2) == ZIP:
                return _load_archive(path)
            file.seek(0)
            _check_header(file, path.stat().st_size, repr(path.name))
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


def _check_header(file: BinaryIO, size: int, where: str) -> None:
    """Refuse a header that announces other content than follows."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it is a pickle")
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise ValueError(f"its header announces the shape {shape}")
    expected, follow = math.prod(shape) * dtype.itemsize, size - file.tell()
    if expected > follow:
        raise ValueError(f"its header announces {expected:,} bytes, but {max(0, follow):,} follow")
    check_memory(expected, where)


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
