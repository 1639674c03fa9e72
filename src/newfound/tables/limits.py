"""How much is read at once: what exceeds the memory is refused, and a large source is sampled and read in blocks."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from newfound._internal.words import DataError

LARGE = 2**30  # bytes of cells: a larger source is not held whole
CELL_BYTES = 8  # of a number
ROWS_AT_A_TIME = 32_768  # in a block,
CELLS_AT_A_TIME = 2**22  # and fewer rows if there are many columns
MAX_MEMORY_SHARE = 0.75  # that one file may fill
DEFLATE = 1032  # maximum number of bytes that one byte of a gzip or zip file can become
USUAL_MEMORY = 1 << 34  # where the system does not report it


class Sampling(NamedTuple):
    """Whether a sample is read instead of all rows: if a number of rows is given, or if all rows are too large."""

    rows: int | None = None
    seed: int = 0

    def applies(self, n_bytes: int) -> bool:
        return self.rows is not None or n_bytes > LARGE


READ_ALL = Sampling()


def rows_at_a_time(n_columns: int) -> int:
    return max(1, min(ROWS_AT_A_TIME, CELLS_AT_A_TIME // max(1, n_columns)))


def check_memory(n_bytes: int, where: str) -> None:
    """Refuse a size that exceeds the memory."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        memory = USUAL_MEMORY
    if n_bytes > MAX_MEMORY_SHARE * memory:
        raise DataError(
            f"{where} announces {_in_words(n_bytes)}, and this computer has {_in_words(memory)} of memory. If the file "
            f"is intact, give fewer rows or columns; otherwise copy or download it again."
        )


def check_inflated(n_bytes: int, n_packed: int, where: str) -> None:
    """Refuse a size that the packed bytes cannot become."""
    if n_bytes > DEFLATE * (n_packed + 1):
        raise DataError(
            f"{where} announces {_in_words(n_bytes)}, but {_in_words(n_packed)} cannot hold that. "
            f"Copy or download it again."
        )


@contextmanager
def explain_memory_error(where: str) -> Iterator[None]:
    """Turn a MemoryError into a sentence."""
    try:
        yield
    except MemoryError:
        raise DataError(
            f"{where} needs more memory than there is. If the file is intact, give fewer rows or columns; otherwise "
            f"copy or download it again."
        ) from None


def is_text(name: object) -> bool:
    """Whether a name of the file system can be written as UTF-8."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in str(name)


def _in_words(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:,.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.0f} TB"
