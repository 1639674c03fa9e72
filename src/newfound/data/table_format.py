"""What a table format is: a name, whether it streams, and how column names, whole tables and batches are read.

A new format is one class in one file of its own and one line in `formats.FORMATS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from newfound.errors import DataError
from newfound.wording import shortened


class ColumnSelection(NamedTuple):
    """The columns to read. CSV has no types: some are to be read as text, some as numbers, the rest as they look."""

    names: Sequence[str]  # trimmed
    text: Collection[str] = ()
    numbers: Collection[str] = ()
    marked: Collection[str] = ()  # text in which "NA" and the like stay as they are written, to be told

    def as_written(self, written: Sequence[str]) -> list[str]:
        """The selected names as they are written in the file, where they may have spaces around them."""
        by_name = dict(zip(column_names(written), written, strict=True))
        chosen = [by_name[name] for name in self.names]
        twice = next((name for name in chosen if written.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"More than one column is named {shortened(twice)!r}. Give each a name of its own.")
        return chosen


def column_names(written: Sequence[str]) -> list[str]:
    """Trimmed; a column without a name, as pandas and R write the index, is called by its place."""
    return [name.strip() or f"column {i}" for i, name in enumerate(written, 1)]


class TableFormat(ABC):
    """Reads files of one format. What is read may carry the names as they are written; `TableFile` trims them."""

    name: ClassVar[str]
    streams: ClassVar[bool]  # whether `batches` needs the memory of a few batches only, whatever the file's size
    has_types: ClassVar[bool] = True  # whether the file says which columns are numbers

    @abstractmethod
    def column_names(self, path: Path) -> list[str]:
        """The column names, as they are written."""

    @abstractmethod
    def read(self, path: Path, selection: ColumnSelection) -> Any:
        """The selected columns as one Arrow table."""

    @abstractmethod
    def batches(self, path: Path, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """The selected columns as Arrow record batches of any size, best of about `rows` rows."""

    def n_bytes(self, path: Path) -> int:
        """About what its cells take in memory."""
        return path.stat().st_size


def validated(table: Any) -> Any:
    """A table or batch whose every offset and index was looked at: what a file says of its buffers may be wrong."""
    table.validate(full=True)
    return without_views(table)


def without_views(table: Any) -> Any:
    """Text as Arrow has long had it: for views of text, which polars makes, it lacks functions."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if not any(field.type in plain for field in table.schema):
        return table
    return table.cast(pa.schema([field.with_type(plain.get(field.type, field.type)) for field in table.schema]))


@contextmanager
def opened_by_arrow(path: Path, format_name: str) -> Iterator[Any]:
    """A binary file; whatever Arrow finds wrong with it becomes a DataError."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
        raise DataError(
            f"{path.name!r} is not a complete {format_name} file: it is cut short, damaged or of another format "
            f"({reason}). Copy or download it again, or save it again."
        ) from None
