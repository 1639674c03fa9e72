"""What a table format is: a name, whether it streams, and how column names, whole tables and batches are read.

A new format is one class in one file of its own and one line in `formats.FORMATS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

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
    for field in table.schema:
        _check_time_zone(field.type)
    return without_views(table)


def _check_time_zone(arrow_type: Any) -> None:
    """Arrow looks a time zone up when it is first needed, which may be far from here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        pc.local_timestamp(pa.scalar(0, pa.int64()).cast(arrow_type))


def without_views(table: Any) -> Any:
    """Text as Arrow has long had it: for views of text, which polars makes, it lacks functions."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for i, field in enumerate(table.schema):
        if field.type in plain:
            table = table.set_column(i, field.name, _rewritten(table.column(i), plain[field.type]))
    return table


def _rewritten(cells: Any, plain_type: Any) -> Any:
    """The cells in another type. A missing view may point anywhere, nobody looked at it, and a cast would follow."""
    import pyarrow as pa

    is_present = np.asarray(cells.is_valid())
    position = pa.array(np.cumsum(is_present) - 1, mask=~is_present)
    return cells.drop_null().cast(plain_type).take(position)


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
