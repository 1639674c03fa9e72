"""Every change on a user's disk: whole or not at all, by one process at a time, and never half done after Ctrl-C."""

import hashlib
import io
import os
import platform
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from uuid import uuid4

from newfound._internal.records import Record, encoded, read_json
from newfound._internal.words import DataError

# ---- Ctrl-C and SIGTERM: where they interrupt, and where they wait ----

STOPS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 128 + signal.SIGINT  # exit codes, as shells count them
TERMINATED = 128 + signal.SIGTERM


class Terminated(SystemExit):
    """Raised on SIGTERM. Handlers should save their state and re-raise."""

    def __init__(self) -> None:
        super().__init__(TERMINATED)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM within this block, so that files are cleaned up; only for commands."""
    if not _in_main_thread() or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


class DeferredSignals:
    """The signals that arrived while they were deferred."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.before: dict[int, Any] = {}

    def hold(self) -> None:
        for number in STOPS:
            if signal.getsignal(number) not in (None, signal.SIG_IGN):  # else it is not Python's, or not wanted (nohup)
                self.before[number] = signal.signal(number, lambda number, frame: self.waiting.append(number))

    def release(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    @contextmanager
    def allow_signals(self) -> Iterator[None]:
        """Deliver signals at once within this block."""
        held = bool(self.before)
        self.release()
        try:
            yield
        finally:
            if held:
                self.hold()


@contextmanager
def defer_signals() -> Iterator[DeferredSignals]:
    """Deliver Ctrl-C and SIGTERM at the end of this block."""
    signals = DeferredSignals()
    if not _in_main_thread():
        yield signals
        return
    signals.hold()
    try:
        yield signals
    finally:
        signals.release()
        for number in signals.waiting[:1]:
            signal.raise_signal(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# ---- The file system: every change that newfound makes is one of these calls ----


class Disk:
    """The calls that change files. A test can replace it by one that fails at any call."""

    def make_folder(self, path: Path) -> None:
        os.mkdir(path)

    def create(self, path: Path, *, is_new: bool = True) -> int:
        """Open a new file, or also an existing one, with the permissions of the user's umask."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL * is_new | getattr(os, "O_BINARY", 0), 0o666)

    def write(self, handle: int, content: bytes | memoryview) -> int:
        return os.write(handle, content)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def replace(self, old: Path, new: Path) -> None:
        """Move a file, over another one if there is one."""
        os.replace(old, new)

    def rename(self, old: Path, new: Path) -> None:
        """Move a folder to a free place."""
        os.rename(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        os.rmdir(path)


disk = Disk()


# ---- One process at a time ----
# The lock is a file beside a run; it names the process that holds it, its host and the time. The operating system
# releases the lock when that process ends, so a lock file that is not locked is a dead process's, and is taken over.
# (Process numbers are not enough: they repeat in containers.) The host name is in the file only while it is locked.

POLL_SECONDS = 0.05
BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same in every container of one machine


class LockedError(DataError):
    """Another process holds the lock; the message names it."""


class Holder(Record, frozen=True):
    """The process that holds a lock."""

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
            return read_json(path, cls, "")
        except (OSError, ValueError):
            return None

    @property
    def is_near(self) -> bool:
        """Whether its lock would be visible on this machine."""
        here = Holder.this()
        return self.host == here.host or bool(self.machine and self.machine == here.machine)

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


@contextmanager
def held(path: Path, what: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path` of `what`; after `patience` seconds, refuse if another process holds it."""
    handle = _acquired(path, what, time.monotonic() + patience)
    try:
        _sign(handle)
        yield
    finally:
        _release(handle, path)


def holder_of(path: Path) -> Holder | None:
    """Return the process that holds a lock file now; None if no process does."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if take_lock(handle) else Holder.read(path)
    finally:
        os.close(handle)


def take_lock(handle: int) -> bool:
    """Lock an open file; False if another process holds it. Closing the file or the process releases it."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:  # a file system without locks: only the name in the file protects
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
                f"Another newfound is working on {what}" + (f": {who}." if who else ".") + " Try again when it is done."
            )
        time.sleep(POLL_SECONDS)


def _refuse_far(handle: int, path: Path, what: str) -> None:
    """Refuse a lock of another host, which may be invisible here: only a person knows whether that process runs."""
    who = Holder.read(path)
    if who is not None and not who.is_near:
        os.close(handle)
        raise LockedError(
            f"Another newfound may be working on {what}: {who}. If it has ended, remove {str(path)!r} and try again."
        )


def _is_at(handle: int, path: Path) -> bool:
    """Return whether the opened file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _sign(handle: int) -> None:
    os.ftruncate(handle, 0)
    disk.write(handle, encoded(Holder.this()))


def _release(handle: int, path: Path) -> None:
    try:
        with suppress(OSError):
            if _is_at(handle, path):
                disk.remove(path)
    finally:
        os.close(handle)


# ---- Files that are whole or not there ----
# A file is written under a temporary name, synced, and moved into its place. The writer locks the temporary file, so
# that a later process can recognise the files of dead processes.

TEMPORARY = re.compile(r"\.newfound-[0-9a-f]{12}\.tmp")


class Sum(NamedTuple):
    """Size and checksum of a file."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> "Sum":
        return cls(len(content), hashlib.sha256(content).hexdigest())

    @classmethod
    def of_file(cls, path: Path) -> "Sum":
        """Read it in pieces: a file may be larger than memory."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(file.tell(), digest)


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one move: no reader and no crash sees half a file."""
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` at the end; after a failure, `path` is unchanged."""
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
    """Write a whole file under a temporary name, to be moved into place with others."""
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
    """Make a folder and its missing parents; return the folders made, in order."""
    made: list[Path] = []
    for folder in [*reversed(path.parents), path]:
        if not folder.exists():
            disk.make_folder(folder)
            made.append(folder)
    return made


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder, on systems that can; the files themselves are whole without it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove the temporary files of dead processes."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with suppress(OSError), open(path, "rb") as file:
                if take_lock(file.fileno()):
                    disk.remove(path)


def _temporary_beside(path: Path) -> tuple[Path, int]:
    """Return a temporary path that no other process uses, and its locked file."""
    while True:
        temporary = path.parent / f".newfound-{uuid4().hex[:12]}.tmp"
        handle = disk.create(temporary)
        take_lock(handle)
        if temporary.exists():  # else somebody swept it before it was locked
            return temporary, handle
        os.close(handle)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Report errors with the name that the user knows, not a temporary one."""
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
    """A file descriptor, written to through `disk`; its opener closes it."""

    def __init__(self, handle: int):
        self.handle = handle

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]
        return disk.write(self.handle, content)
