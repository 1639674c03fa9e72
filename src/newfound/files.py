"""Files that are whole or not there.

A file is written under a temporary name, brought to the disk, and moved into its place. The writer keeps a lock on the
temporary file, so that whoever meets one later can tell what a dead process left from what is still being written.
"""

import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import uuid4

from newfound.disk import disk
from newfound.locks import take_lock

TEMPORARY = re.compile(r"\.newfound-[0-9a-f]{12}\.tmp")


class Sum(NamedTuple):
    """By which a file's content is known."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> "Sum":
        return cls(len(content), hashlib.sha256(content).hexdigest())

    @classmethod
    def of_file(cls, path: Path) -> "Sum":
        """Read piece by piece: a file may be larger than the memory."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(file.tell(), digest)


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one move: a reader, or a crash, never meets half a file."""
    with written_whole(path) as file:
        file.write(content)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` at the end; if anything fails, `path` stays as it was."""
    path = Path(os.path.realpath(path))  # a link stays a link
    with _named(path):
        temporary, handle = _temporary_beside(path)
    try:
        with _named(path), _closing(handle):
            with _buffered(handle) as file:
                yield file
            disk.sync(handle)
            disk.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            disk.remove(temporary)
        raise
    sync_folder(path.parent)


def staged(folder: Path, content: bytes) -> Path:
    """A whole file under a temporary name, to be moved into place with others."""
    temporary, handle = _temporary_beside(folder / "any")
    try:
        with _named(folder), _closing(handle):
            with _buffered(handle) as file:
                file.write(content)
            disk.sync(handle)
    except BaseException:
        with suppress(OSError):
            disk.remove(temporary)
        raise
    return temporary


def make_folders(path: Path) -> list[Path]:
    """A folder and those above it that are missing; which were made, the first one first."""
    made: list[Path] = []
    for folder in [*reversed(path.parents), path]:
        if not folder.exists():
            disk.make_folder(folder)
            made.append(folder)
    return made


def sync_folder(folder: Path) -> None:
    """Bring to the disk which names a folder holds, where the system can; whole is what it holds in either case."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what dead processes left under temporary names."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with suppress(OSError), open(path, "rb") as file:
                if take_lock(file.fileno()):
                    disk.remove(path)


def _temporary_beside(path: Path) -> tuple[Path, int]:
    """A name that no other process has, in a container with the same process number either, and its locked file."""
    while True:
        temporary = path.parent / f".newfound-{uuid4().hex[:12]}.tmp"
        handle = disk.create(temporary)
        take_lock(handle)
        if temporary.exists():  # else somebody swept it before it was locked
            return temporary, handle
        os.close(handle)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """What goes wrong is told by the name that the user knows, not by a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


@contextmanager
def _closing(handle: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def _buffered(handle: int) -> Iterator[BinaryIO]:
    with io.BufferedWriter(_Raw(handle), buffer_size=1 << 20) as file:  # type: ignore[type-var]
        yield file


class _Raw(io.RawIOBase):
    """A file descriptor, written to through `disk`; closed by whoever opened it."""

    def __init__(self, handle: int):
        self.handle = handle

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]
        return disk.write(self.handle, content)
