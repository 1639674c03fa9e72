"""Every change on a user's disk: whole or not at all, one process at a time, and never cut in half by Ctrl-C."""

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

# ---- Ctrl-C and SIGTERM: when they may cut something short, and when they have to wait ----

STOPS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 128 + signal.SIGINT  # exit codes, as shells count them
TERMINATED = 128 + signal.SIGTERM


class Terminated(SystemExit):
    """The process was asked to end (SIGTERM): whoever holds something worth keeping saves it, and lets this go on."""

    def __init__(self) -> None:
        super().__init__(TERMINATED)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM is an exception here, so that what was begun is put in order; for commands, not for a library."""
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


class HeldBack:
    """Signals that came while they had to wait."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.before: dict[int, Any] = {}

    def hold(self) -> None:
        for number in STOPS:
            if signal.getsignal(number) not in (None, signal.SIG_IGN):  # else it is not Python's, or not wanted (nohup)
                self.before[number] = signal.signal(number, lambda number, frame: self.waiting.append(number))

    def let_go(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """A part that may be cut short after all."""
        held = bool(self.before)
        self.let_go()
        try:
            yield
        finally:
            if held:
                self.hold()


@contextmanager
def held_back() -> Iterator[HeldBack]:
    """Ctrl-C and SIGTERM wait until the end of this block, and are then what they are elsewhere."""
    signals = HeldBack()
    if not _in_main_thread():
        yield signals
        return
    signals.hold()
    try:
        yield signals
    finally:
        signals.let_go()
        for number in signals.waiting[:1]:
            signal.raise_signal(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# ---- The one door to a user's disk: every change that newfound makes there is one of these calls ----


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


# ---- One process at a time ----
# A file beside what is being worked on, which names who is at work, on which host, since when. The operating system
# keeps the lock and lets go of it when the process ends, however it ends: a lock file that is not locked is a dead
# process's, and is taken over. (Process numbers alone do not tell: in a container they repeat.) A host name is in the
# file only as long as the lock is held.

POLL_SECONDS = 0.05
BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same in every container of one machine


class LockedError(DataError):
    """Another process is at work here; the message says which."""


class Holder(Record, frozen=True):
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
            return read_json(path, cls, "")
        except (OSError, ValueError):
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
    """Whether no other process held it. It is released when the file is closed, or the process ends."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:  # a file system without locks: the name in the file has to do
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
    disk.write(handle, encoded(Holder.this()))


def _release(handle: int, path: Path) -> None:
    try:
        with suppress(OSError):
            if _is_at(handle, path):
                disk.remove(path)
    finally:
        os.close(handle)


# ---- Files that are whole or not there ----
# A file is written under a temporary name, brought to the disk, and moved into its place. The writer keeps a lock on
# the temporary file, so that whoever meets one later can tell what a dead process left from what is still being
# written.

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
