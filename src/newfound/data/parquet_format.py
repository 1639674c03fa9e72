"""Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from newfound.data.limits import check_memory
from newfound.data.table_format import ColumnSelection, TableFormat, opened_by_arrow, validated

CELL = 8  # bytes of a number
PAGES_AT_A_TIME = 2**16  # bytes of each column; without a number, Arrow holds whole row groups, which may be the file


class ParquetFormat(TableFormat):
    """Typed columns in row groups, read by Arrow."""

    name = "Parquet"
    streams = True

    def column_names(self, path: Path) -> list[str]:
        from pyarrow.parquet import ParquetFile

        with opened_by_arrow(path, self.name) as file:
            return ParquetFile(file).schema_arrow.names

    def read(self, path: Path, selection: ColumnSelection) -> Any:
        from pyarrow.parquet import ParquetFile

        with opened_by_arrow(path, self.name) as file:
            table = ParquetFile(file, page_checksum_verification=True)
            written = selection.as_written(table.schema_arrow.names)
            check_memory(_least_bytes(table.metadata, len(written)), repr(path.name))
            return validated(table.read(written))

    def batches(self, path: Path, selection: ColumnSelection, rows: int, row_group: int | None = None) -> Iterator[Any]:
        """Of the whole file, or of one of its row groups."""
        from pyarrow.parquet import ParquetFile

        with opened_by_arrow(path, self.name) as file:
            options = {"page_checksum_verification": True, "buffer_size": PAGES_AT_A_TIME, "pre_buffer": False}
            table = ParquetFile(file, **options)
            written = selection.as_written(table.schema_arrow.names)
            groups = None if row_group is None else [row_group]
            yield from map(validated, table.iter_batches(batch_size=rows, row_groups=groups, columns=written))

    def n_bytes(self, path: Path) -> int:
        from pyarrow.parquet import ParquetFile

        with opened_by_arrow(path, self.name) as file:
            about = ParquetFile(file).metadata
            return about.num_rows * about.num_columns * CELL


def _least_bytes(metadata: Any, n_columns: int) -> int:
    """What the rows take that the file announces, were each cell a byte."""
    return max(0, metadata.num_rows) * n_columns
