"""A user's own columns, unchanged: what an answer is written beside."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from newfound.data.csv_format import CSVFormat
from newfound.data.csv_records import CSVRecords
from newfound.data.formats import is_table
from newfound.data.joined_features import Joined
from newfound.data.table_folder import Opened, is_table_folder, open_source
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import TableFile, check_column

RECORD = "record"  # the one column of a table that holds the records of a CSV file as they are written
HEADER, DELIMITER, NAMES = b"header", b"delimiter", b"names"  # what is known about these, in the table's metadata


def open_own(source: str) -> Opened | None:
    """The table file at a path, or the folder of them; None where it is none."""
    is_own = (is_table(source) and Path(source).is_file()) or is_table_folder(source)
    return open_source(source) if is_own else None


def is_csv(file: Any) -> bool:
    return isinstance(file, TableFile) and isinstance(file.format, CSVFormat)


def own_blocks(file: Opened, names: Sequence[str], rows: int) -> Iterator[Any]:
    """Arrow tables of `rows` rows each, with the named columns; of CSV, where cells have no types, as text."""
    for name in names:
        check_column(name, file)
    return file.blocks(ColumnSelection(list(names), text=set(names)), rows)


def own_records(file: TableFile) -> tuple[CSVRecords, str]:
    """The records of a CSV file, and what separates their cells."""
    assert isinstance(file.format, CSVFormat)
    return CSVRecords(file.path), file.format.delimiter_of(file.path)


def own_table(source: Any, n_rows: int) -> Any:
    """All rows as one Arrow table: with the user's columns, or of CSV with one column of records.

    The source is a table as it was opened (TableFile, Frame, Joined), or such an Arrow table already.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    file = source.table if isinstance(source, Joined) else source
    if isinstance(file, TableFile) and is_csv(file):
        records, delimiter = own_records(file)
        table = pa.table({RECORD: records.take(n_rows + 1)})
        if table.num_rows == n_rows:
            about = {HEADER: records.header, DELIMITER: delimiter, NAMES: "\n".join(file.names)}
            return table.replace_schema_metadata(about)
    return file.read(ColumnSelection(file.names, text=set(file.names)))
