"""Feather, which is Arrow's own file format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from newfound.data.table_format import ColumnSelection, TableFormat, opened_by_arrow, validated


class FeatherFormat(TableFormat):
    """Typed columns in record batches, as Arrow holds them in memory."""

    name = "Feather"
    streams = True

    def column_names(self, path: Path) -> list[str]:
        from pyarrow import ipc

        with opened_by_arrow(path, self.name) as file:
            return ipc.open_file(file).schema.names

    def read(self, path: Path, selection: ColumnSelection) -> Any:
        from pyarrow import ipc

        with opened_by_arrow(path, self.name) as file:
            table = validated(ipc.open_file(file).read_all())
            return table.select(selection.as_written(table.schema.names))

    def batches(self, path: Path, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        from pyarrow import ipc

        with opened_by_arrow(path, self.name) as file:
            reader = ipc.open_file(file)
            written = selection.as_written(reader.schema.names)
            yield from (validated(reader.get_batch(i)).select(written) for i in range(reader.num_record_batches))
