"""A user's own columns, unchanged, and for CSV byte for byte: answers are written beside them."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newfound.tables.formats import ColumnSelection, CSVFormat, is_table
from newfound.tables.read import open_source
from newfound.tables.sources import OpenedTable, TableFile, check_column, is_table_folder

# ---- The records of a CSV file as they are written, byte for byte, a few at a time ----

CHUNK_BYTES = 1 << 22  # read at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
QUOTE, NEWLINE = ord('"'), ord("\n")


class CSVRecords:
    """The header and the records of a CSV file, in order. A line break within quotes does not end a record."""

    def __init__(self, path: Path):
        self._chunks = _chunks(path)
        self._waiting = next(self._chunks, None)
        first = self.take(1)
        self.header: bytes = first[0].as_buffer().to_pybytes() if len(first) else b""

    def take(self, n: int) -> Any:
        """The next n records as Arrow text without their line breaks; fewer at the end of the file."""
        import pyarrow as pa

        taken: list[Any] = []
        while n > 0 and self._waiting is not None:
            taken.append(self._waiting[:n])
            n -= len(taken[-1])
            rest = self._waiting[len(taken[-1]) :]
            self._waiting = rest if len(rest) else next(self._chunks, None)
        return pa.chunked_array(taken, pa.large_string())


def _chunks(path: Path) -> Iterator[Any]:
    """Arrow text of the records, without blank lines."""
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb") as file:
        rest = file.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        while part := file.read(CHUNK_BYTES):
            content = rest + part
            codes = np.frombuffer(content, np.uint8)
            ends = np.flatnonzero(codes == NEWLINE)
            quotes = np.flatnonzero(codes == QUOTE)
            if len(quotes):  # a record ends at a line break after an even number of quotes
                ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
            complete = int(ends[-1]) + 1 if len(ends) else 0
            rest = content[complete:]
            if len(ends):
                yield _records(content[:complete], ends + 1)
        if rest:
            yield _records(rest, np.array([len(rest)]))


def _records(content: bytes, ends: np.ndarray) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets = np.concatenate([[0], ends]).astype(np.int64)
    records = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(content))
    trimmed = pc.ascii_rtrim(records, characters="\r\n")
    return trimmed.filter(pc.greater(pc.binary_length(trimmed), 0))


# ---- A user's own columns ----

RECORD = "record"  # the only column of a table with the records of a CSV file
HEADER, DELIMITER, NAMES = b"header", b"delimiter", b"names"  # about these records, in the table's metadata


def open_own(source: str) -> OpenedTable | None:
    """The table file, or the folder of table files, at a path; None if it is something else."""
    is_own = (is_table(source) and Path(source).is_file()) or is_table_folder(source)
    return open_source(source) if is_own else None


def is_csv(file: Any) -> bool:
    return isinstance(file, TableFile) and isinstance(file.format, CSVFormat)


def own_blocks(file: OpenedTable, names: Sequence[str], rows: int) -> Iterator[Any]:
    """Arrow tables of `rows` rows each, with the named columns; those of CSV, which declares no types, are text."""
    for name in names:
        check_column(name, file)
    return file.blocks(ColumnSelection(list(names), text=set(names)), rows)


def own_records(file: TableFile) -> tuple[CSVRecords, str]:
    """The records of a CSV file, and the separator of their cells."""
    assert isinstance(file.format, CSVFormat)
    return CSVRecords(file.path), file.format.delimiter_of(file.path)


def own_table(source: Any, n_rows: int) -> Any:
    """All rows as one Arrow table: of the user's columns or, for CSV, of one column of records.

    The source is an opened table, or already such an Arrow table.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    from newfound.tables.folders import Joined

    file = source.table if isinstance(source, Joined) else source
    if isinstance(file, TableFile) and is_csv(file):
        records, delimiter = own_records(file)
        table = pa.table({RECORD: records.take(n_rows + 1)})
        if table.num_rows == n_rows:
            about = {HEADER: records.header, DELIMITER: delimiter, NAMES: "\n".join(file.names)}
            return table.replace_schema_metadata(about)
    return file.read(ColumnSelection(file.names, text=set(file.names)))
