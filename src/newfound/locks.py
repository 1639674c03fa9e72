"""One process at a time: a file beside what is being worked on, which names who is at work, on which host, since when.

The operating system keeps the lock and lets go of it when the process ends, however it ends: a lock file that is not
locked is a dead process's, and is taken over. (Process numbers alone do not tell: in a container they repeat.) A host
name is in the file only as long as the lock is held.
"""

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from newfound.disk import disk
from newfound.errors import DataError

POLL_SECONDS = 0.05
BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same in every container of one machine


class LockedError(DataError):
    """Another process is at work here; the message says which."""


class Holder(NamedTuple):
    """Who is at work."""

    process: int
    host: str
    since: str
    machine: str = ""

    @classmethod
    def this(cls) -> "Holder":
        machine = BOOT.read_text().strip() if BOOT.is_file() else ""
        return cls(os.getpid(), platform.node(), datetime.now(UTC).isoformat(timespec="seconds"), machine)

    @classmethod
    def read(cls, path: Path) -> "Holder | None":
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def is_near(self) -> bool:
        """Whether a lock of its process could be seen from here."""
        here = Holder.this()
        return self.host == here.host or bool(self.machine and self.machine == here.machine)

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


@contextmanager
def held(path: Path, what: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path` while at work on `what`; refuse, after some seconds of patience, where another does."""
    handle = _acquired(path, what, time.monotonic() + patience)
    try:
        _sign(handle)
        yield
    finally:
        _release(handle, path)


def holder_of(path: Path) -> Holder | None:
    """Who holds a lock file now; None where nobody does."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if take_lock(handle) else Holder.read(path)
    finally:
        os.close(handle)


def take_lock(handle: int) -> bool:
    """Whether nobody else had it; it is let go when the file is closed, or the process ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _take_region(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the name in the file has to do
        return True
    return True


def _take_region(handle: int) -> bool:
    import msvcrt

    os.lseek(handle, 1 << 30, os.SEEK_SET)  # beyond the content, which others may read
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return True


def _acquired(path: Path, what: str, until: float) -> int:
    while True:
        handle = disk.create(path, is_new=False)
        if take_lock(handle) and _is_at(handle, path):
            _refuse_far(handle, path, what)
            return handle
        os.close(handle)
        if time.monotonic() >= until and path.exists():
            who = Holder.read(path)
            raise LockedError(
                f"Another newfound is at work on {what}" + (f": {who}." if who else ".") + " Try again when it is done."
            )
        time.sleep(POLL_SECONDS)


def _refuse_far(handle: int, path: Path, what: str) -> None:
    """A lock of another host may not be seen from here: only a person can tell whether that process still runs."""
    who = Holder.read(path)
    if who is not None and not who.is_near:
        os.close(handle)
        raise LockedError(
            f"Another newfound may be at work on {what}: {who}. If it has ended, remove {str(path)!r} and try again."
        )


def _is_at(handle: int, path: Path) -> bool:
    """Whether the file that was opened is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _sign(handle: int) -> None:
    os.ftruncate(handle, 0)
    disk.write(handle, json.dumps(Holder.this()._asdict()).encode())


def _release(handle: int, path: Path) -> None:
    try:
        with suppress(OSError):
            if _is_at(handle, path):
                disk.remove(path)
    finally:
        os.close(handle)
