"""The records of a CSV file as they are written, byte for byte, a few at a time."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

BYTES = 1 << 22  # read at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
QUOTE, NEWLINE = ord('"'), ord("\n")


class CSVRecords:
    """The header of a CSV file, and its records one after the other. A line break within quotes ends none."""

    def __init__(self, path: Path):
        self._chunks = _chunks(path)
        self._waiting = next(self._chunks, None)
        first = self._take(1)
        self.header: bytes = first[0].as_buffer().to_pybytes() if len(first) else b""

    def take(self, n: int) -> Any:
        """The next n records as Arrow text without their line breaks; fewer at the end of the file."""
        return self._take(n)

    def _take(self, n: int) -> Any:
        import pyarrow as pa

        taken: list[Any] = []
        while n > 0 and self._waiting is not None:
            taken.append(self._waiting[:n])
            n -= len(taken[-1])
            rest = self._waiting[len(taken[-1]) :]
            self._waiting = rest if len(rest) else next(self._chunks, None)
        return pa.chunked_array(taken, pa.large_string())


def _chunks(path: Path) -> Iterator[Any]:
    """Arrow text of the records, blank lines left out."""
    with _open(path) as file:
        rest = file.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        while part := file.read(BYTES):
            content = rest + part
            ends = _ends(content)
            complete = int(ends[-1]) if len(ends) else 0
            rest = content[complete:]
            if len(ends):
                yield _records(content[:complete], ends)
        if rest:
            yield _records(rest, np.array([len(rest)]))


def _ends(content: bytes) -> np.ndarray:
    """Where each record ends, its line break included: at line breaks that follow an even number of quotes."""
    codes = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(codes == NEWLINE)
    quotes = np.flatnonzero(codes == QUOTE)
    if len(quotes):
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return ends + 1


def _records(content: bytes, ends: np.ndarray) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets = np.concatenate([[0], ends]).astype(np.int64)
    records = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(content))
    trimmed = pc.ascii_rtrim(records, characters="\r\n")
    return trimmed.filter(pc.greater(pc.binary_length(trimmed), 0))


def _open(path: Path) -> BinaryIO:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb")  # type: ignore[return-value]
