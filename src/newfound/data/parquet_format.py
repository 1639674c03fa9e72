"""Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from newfound.data.limits import check_memory
from newfound.data.table_format import ColumnSelection, TableFormat, opened_by_arrow, validated


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

    def batches(self, path: Path, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        from pyarrow.parquet import ParquetFile

        with opened_by_arrow(path, self.name) as file:
            table = ParquetFile(file, page_checksum_verification=True)
            written = selection.as_written(table.schema_arrow.names)
            yield from map(validated, table.iter_batches(batch_size=rows, columns=written))


def _least_bytes(metadata: Any, n_columns: int) -> int:
    """What the rows take that the file announces, were each cell a byte."""
    return max(0, metadata.num_rows) * n_columns
