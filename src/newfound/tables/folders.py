"""Tables in parts: a folder of files, a PyArrow dataset, a matrix beside a table. All are read in blocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from newfound._internal.words import DataError, count, quoted_list, reason_of
from newfound.tables.arrays import RowsOnDisk, load_features
from newfound.tables.cells import cell_type
from newfound.tables.dataset import Schema
from newfound.tables.formats import ColumnSelection, column_names, validated, with_types
from newfound.tables.limits import CELL_BYTES
from newfound.tables.sources import OpenedTable, TableFile, check_names, regroup, table_files

# ---- A folder of table files, and a dataset of PyArrow ----

IN_WORDS = {"number": "numbers", "boolean": "booleans", "text": "text", "time": "dates or times", "list": "lists"}


class TableFolder(OpenedTable):
    """Table files that are parts of one table, in the order of their names, each with the same columns."""

    is_in_parts = True

    def __init__(self, folder: Path):
        self.path = folder
        self.where = f"the folder {folder.name!r}"
        self.files = [TableFile(path) for path in table_files(folder)]
        self.names = self.files[0].names
        self.has_types = all(file.has_types for file in self.files)
        for file in self.files[1:]:
            _check_same_columns(self.files[0], file)

    @property
    def n_bytes(self) -> int:
        return sum(file.n_bytes for file in self.files)

    def read(self, selection: ColumnSelection) -> Any:
        """One Arrow table; the types of CSV columns are those of all files together."""
        if self.has_types:
            return _one_table(list(self.blocks(selection, 1 << 20)), self.where)
        as_text = ColumnSelection(selection.names, text=set(selection.names), marked=set(selection.names))
        return with_types(_one_table(list(self.blocks(as_text, 1 << 20)), self.where), selection)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        types: dict[str, tuple[str, str]] = {}  # of each column, and the first file that has it
        for file in self.files:
            for block in file.blocks(selection, rows):
                _check_same_types(block, file, types)
                yield block


class ArrowDataset(OpenedTable):
    """A `pyarrow.dataset.Dataset`: files anywhere, in partitions, with a filter."""

    where = "the dataset"
    is_in_parts = True

    def __init__(self, dataset: Any):
        self.dataset = dataset
        self.names = column_names(dataset.schema.names)
        check_names(self.names, self.where)

    @property
    def n_bytes(self) -> int:
        with _arrow_errors_explained():
            return CELL_BYTES * len(self.names) * self.dataset.count_rows()

    def read(self, selection: ColumnSelection) -> Any:
        return _one_table(list(self.blocks(selection, 1 << 20)), self.where)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        written = selection.as_written(self.dataset.schema.names)
        options = {"batch_size": rows, "batch_readahead": 1, "fragment_readahead": 1}  # the defaults take gigabytes
        with _arrow_errors_explained():
            batches = self.dataset.scanner(columns=written, **options).to_batches()
            yield from regroup((validated(batch).rename_columns(list(selection.names)) for batch in batches), rows)


@contextmanager
def _arrow_errors_explained() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"The dataset cannot be read ({reason_of(error, 300)}). Copy that file again, or leave it out."
        ) from None


def _check_same_columns(first: TableFile, other: TableFile) -> None:
    lacking = [name for name in first.names if name not in other.names]
    more = [name for name in other.names if name not in first.names]
    found = [f"lacks {quoted_list(lacking)}"] * bool(lacking) + [f"also has {quoted_list(more)}"] * bool(more)
    if found:
        raise DataError(
            f"{other.where} {' and '.join(found)}, compared with {first.where} in the same folder. Files of one table "
            f"must have the same columns: write that file again, or move it away."
        )


def _check_same_types(block: Any, file: TableFile, types: dict[str, tuple[str, str]]) -> None:
    """All kinds of numbers are one type here, and so are all kinds of text."""
    for field in block.schema:
        found = cell_type(field.type)
        found = {"categorical": "text", "boolean": "number"}.get(found, found)
        if found == "null":
            continue
        before, where = types.setdefault(field.name, (found, file.where))
        if found != before:
            raise DataError(
                f"Column {field.name!r} holds {IN_WORDS.get(found, found)} in {file.where}, but "
                f"{IN_WORDS.get(before, before)} in {where}. Write that file again, or move it away."
            )


def _one_table(parts: list[Any], where: str) -> Any:
    import pyarrow as pa

    if not parts:
        raise DataError(f"{where} has no rows. Give at least one row of data.")
    return pa.concat_tables(parts, promote_options="permissive")


# ---- A matrix beside a table, such as embeddings of its texts: row i of one belongs to row i of the other ----

USUAL_NAME = "features"  # of a matrix that comes from no file


class Joined(OpenedTable):
    """A table with the rows of a matrix as one more column, of lists."""

    def __init__(self, table: OpenedTable, name: str, matrix: np.ndarray | RowsOnDisk):
        self.table, self.name, self.matrix = table, name, matrix
        self.where, self.has_types = table.where, table.has_types
        self.names = [*table.names, name]
        check_names(self.names, self.where)

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
        import pyarrow as pa

        n, matrix = table.num_rows, self.matrix
        self._check_length(first_row + n, at_least=True)
        part = matrix.rows(first_row, n) if isinstance(matrix, RowsOnDisk) else matrix[first_row : first_row + n]
        flat = pa.array(np.ascontiguousarray(part, dtype=np.float32).ravel())
        lists = pa.FixedSizeListArray.from_arrays(flat, part.shape[1])
        return table.append_column(self.name, lists).select(list(selection.names))

    def _check_length(self, n_rows: int, at_least: bool) -> None:
        n = self.matrix.shape[0]
        if n < n_rows or (n > n_rows and not at_least):
            rows = f"at least {n_rows:,}" if at_least else f"{n_rows:,}"
            raise DataError(
                f"`features` holds {count(n, 'row')}, but {self.where} has {rows}. "
                f"Give one row of numbers for each row of the table, in the same order."
            )


def joined_by_row(table: OpenedTable, features: Any, schema: Schema | None = None) -> Joined:
    """The table with `features`; their name is that of the fitted block that the table lacks, or that of the file."""
    blocks = [] if schema is None else [column.name for column in schema.columns if column.width]
    own = Path(features).stem if isinstance(features, str | PathLike) else USUAL_NAME
    name = next((name for name in blocks if name not in table.names), own)
    return Joined(table, name, load_features(features))
