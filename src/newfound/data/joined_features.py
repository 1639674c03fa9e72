"""A matrix beside a table, such as embeddings of its texts: row i of one belongs to row i of the other."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from newfound.data.array_reader import load_features
from newfound.data.numpy_files import RowsOnDisk
from newfound.data.schema import Schema
from newfound.data.table_folder import Opened
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import check_names
from newfound.errors import DataError
from newfound.wording import count

USUAL_NAME = "features"  # of a matrix that comes from no file


class Joined:
    """A table with the rows of a matrix as one more column, of lists."""

    def __init__(self, table: Opened, name: str, matrix: np.ndarray | RowsOnDisk):
        self.table, self.name, self.matrix = table, name, matrix
        self.where = table.where
        self.names = [*table.names, name]
        check_names(self.names, self.where)

    @property
    def has_types(self) -> bool:
        return self.table.has_types

    @property
    def n_bytes(self) -> int:
        return self.table.n_bytes + self.matrix.nbytes

    def read(self, selection: ColumnSelection) -> Any:
        table = self.table.read(self._own(selection))
        self._check_length(table.num_rows, at_least=False)
        return self._with_matrix(table, selection, 0)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        first_row = 0
        for table in self.table.blocks(self._own(selection), rows):
            yield self._with_matrix(table, selection, first_row)
            first_row += table.num_rows
        self._check_length(first_row, at_least=False)

    def row_ids(self) -> np.ndarray | None:
        return self.table.row_ids()

    def _own(self, selection: ColumnSelection) -> ColumnSelection:
        names = [name for name in selection.names if name != self.name]
        return ColumnSelection(names, {*selection.text} - {self.name}, selection.numbers, selection.marked)

    def _with_matrix(self, table: Any, selection: ColumnSelection, first_row: int) -> Any:
        if self.name not in selection.names:
            return table
        self._check_length(first_row + table.num_rows, at_least=True)
        n, matrix = table.num_rows, self.matrix
        part = matrix.rows(first_row, n) if isinstance(matrix, RowsOnDisk) else matrix[first_row : first_row + n]
        return table.append_column(self.name, _lists_of(part)).select(list(selection.names))

    def _check_length(self, n_rows: int, at_least: bool) -> None:
        n = self.matrix.shape[0]
        if n < n_rows or (n > n_rows and not at_least):
            rows = f"at least {n_rows:,}" if at_least else f"{n_rows:,}"
            raise DataError(
                f"`features` holds {count(n, 'row')}, but {self.where} has {rows}. "
                f"Give one row of numbers for each row of the table, in the same order."
            )


def joined_by_row(table: Opened, features: Any, schema: Schema | None = None) -> Opened | Joined:
    """The table itself where there are no features beside it."""
    if features is None:
        return table
    return Joined(table, _name(table, features, schema), load_features(features))


def _name(table: Opened, features: Any, schema: Schema | None) -> str:
    """That of the block which the model was fitted on and the table lacks; else the file's own."""
    blocks = [] if schema is None else [column.name for column in schema.columns if column.width]
    lacking = [name for name in blocks if name not in table.names]
    if lacking:
        return lacking[0]
    return Path(features).stem if isinstance(features, str | PathLike) else USUAL_NAME


def _lists_of(matrix: np.ndarray) -> Any:
    """An Arrow column of lists from the rows of a matrix."""
    import pyarrow as pa

    flat = np.ascontiguousarray(matrix, dtype=np.float32).ravel()
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), matrix.shape[1])
