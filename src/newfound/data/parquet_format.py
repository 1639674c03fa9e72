"""Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from newfound.data.table_format import ColumnSelection, TableFormat, opened_by_arrow


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
            table = ParquetFile(file)
            return table.read(selection.as_written(table.schema_arrow.names))

    def batches(self, path: Path, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        from pyarrow.parquet import ParquetFile

        with opened_by_arrow(path, self.name) as file:
            table = ParquetFile(file)
            yield from table.iter_batches(batch_size=rows, columns=selection.as_written(table.schema_arrow.names))
