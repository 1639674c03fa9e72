"""The one door to a user's disk: every change that newfound makes there is one of these calls."""

import os
from pathlib import Path


class Disk:
    """What is asked of the file system, one call each: a test can put in its place one that fails at any of them."""

    def make_folder(self, path: Path) -> None:
        os.mkdir(path)

    def create(self, path: Path, *, is_new: bool = True) -> int:
        """A new file, or one that may be there, readable by whom the user's umask lets read."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL * is_new | getattr(os, "O_BINARY", 0), 0o666)

    def write(self, handle: int, content: bytes | memoryview) -> int:
        return os.write(handle, content)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def replace(self, old: Path, new: Path) -> None:
        """A file takes the place of another, or a free one."""
        os.replace(old, new)

    def rename(self, old: Path, new: Path) -> None:
        """A folder takes a free place."""
        os.rename(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def remove_folder(self, path: Path) -> None:
        """Where it is empty."""
        os.rmdir(path)


disk = Disk()
