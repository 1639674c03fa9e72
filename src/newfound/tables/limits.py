"""How much may be read: a file that announces more than the computer has is refused before memory is taken."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from newfound._internal.words import DataError

MOST_OF_MEMORY = 0.75  # that one file may fill
DEFLATE = 1032  # most bytes that one byte of a gzip or zip file can become
USUAL_MEMORY = 1 << 34  # where the system does not tell


def check_memory(n_bytes: int, where: str) -> None:
    """Refuse what could not be held."""
    memory = total_memory()
    if n_bytes > MOST_OF_MEMORY * memory:
        raise DataError(
            f"{where} announces {_in_words(n_bytes)}, and this computer has {_in_words(memory)} of memory. If the file "
            f"is what it should be, give fewer rows or columns; else copy or download it again."
        )


def check_inflated(n_bytes: int, n_packed: int, where: str) -> None:
    """Refuse what so few packed bytes cannot become."""
    if n_bytes > DEFLATE * (n_packed + 1):
        raise DataError(
            f"{where} announces {_in_words(n_bytes)}, but {_in_words(n_packed)} cannot hold that. "
            f"Copy or download it again."
        )


@contextmanager
def memory_told(where: str) -> Iterator[None]:
    """What needs more memory than there is becomes a sentence."""
    try:
        yield
    except MemoryError:
        raise DataError(
            f"{where} needs more memory than there is. If the file is what it should be, give fewer rows or columns; "
            f"else copy or download it again."
        ) from None


def total_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return USUAL_MEMORY


def is_text(name: object) -> bool:
    """Whether a name of the file system can be written as UTF-8."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in str(name)


def _in_words(n_bytes: int) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:,.0f} {unit}"
        n_bytes /= 1000  # type: ignore[assignment]
    return f"{n_bytes:,.0f} TB"
