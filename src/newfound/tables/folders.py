"""Tables in parts: a folder of files, a PyArrow dataset, a matrix beside a table. All are read a block at a time."""

import os
from collections.abc import Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from newfound._internal.words import DataError, count, quoted_list
from newfound.tables.arrays import RowsOnDisk, load_features
from newfound.tables.cells import cell_type
from newfound.tables.dataset import Schema
from newfound.tables.formats import ColumnSelection, column_names, is_table, validated, with_types
from newfound.tables.images import IMAGE_SUFFIXES
from newfound.tables.sources import Frame, TableFile, check_names, regroup

# ---- Tables in parts: a folder of table files, and what PyArrow calls a dataset. Both are read a block at a time ----

MOST_LOOKED_AT = 1_000  # files, to see whether a folder holds tables or images
IN_WORDS = {"number": "numbers", "boolean": "booleans", "text": "text", "time": "dates or times", "list": "lists"}


class TableFolder:
    """Table files that are parts of one table, in the order of their names, with the same columns each."""

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
        """One Arrow table; of CSV, types are those that all files together have."""
        if self.has_types:
            return _one_table(list(self.blocks(selection, 1 << 20)), self.where)
        as_text = ColumnSelection(selection.names, text=set(selection.names), marked=set(selection.names))
        return with_types(_one_table(list(self.blocks(as_text, 1 << 20)), self.where), selection)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """Arrow tables of at most `rows` rows, each from one file, with only a few in memory at any time."""
        types: dict[str, tuple[str, str]] = {}  # of each column, and the file where that was seen first
        for file in self.files:
            for block in file.blocks(selection, rows):
                _check_same_types(block, file, types)
                yield block

    def row_ids(self) -> np.ndarray | None:
        return None


class ArrowDataset:
    """A `pyarrow.dataset.Dataset`: files anywhere, in partitions, with a filter, or whatever PyArrow scans."""

    has_types = True
    where = "the dataset"

    def __init__(self, dataset: Any):
        self.dataset = dataset
        self.names = column_names(dataset.schema.names)
        check_names(self.names, self.where)

    @property
    def n_bytes(self) -> int:
        return 8 * len(self.names) * self.dataset.count_rows()

    def read(self, selection: ColumnSelection) -> Any:
        return _one_table(list(self.blocks(selection, 1 << 20)), self.where)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        import pyarrow as pa

        written = selection.as_written(self.dataset.schema.names)
        options = {"batch_size": rows, "batch_readahead": 1, "fragment_readahead": 1}  # by default, gigabytes
        try:
            batches = self.dataset.scanner(columns=written, **options).to_batches()
            yield from regroup((validated(batch).rename_columns(list(selection.names)) for batch in batches), rows)
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split()).rstrip(".")[:300] or type(error).__name__
            raise DataError(f"The dataset cannot be read ({reason}). Copy that file again, or leave it out.") from None

    def row_ids(self) -> np.ndarray | None:
        return None


OpenedTable = TableFile | TableFolder | ArrowDataset | Frame


def open_source(source: Any) -> OpenedTable:
    """A table as it is read: itself, where it was opened before."""
    if isinstance(source, OpenedTable):
        return source
    if is_arrow_dataset(source):
        return ArrowDataset(source)
    if not isinstance(source, str | os.PathLike):
        return Frame(source)
    path = Path(source)
    return TableFolder(path) if path.is_dir() else TableFile(path)


def is_arrow_dataset(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow.") and hasattr(source, "get_fragments")


def is_table_folder(path: str | os.PathLike) -> bool:
    """Whether a folder holds tables, and no images, which may come with a table of labels."""
    if not Path(path).is_dir():
        return False
    looked_at = list(islice(_visible(Path(path)), MOST_LOOKED_AT))
    has_images = any(file.suffix.lower() in IMAGE_SUFFIXES for file in looked_at)
    return not has_images and any(is_table(file) for file in looked_at)


def table_files(folder: Path) -> list[Path]:
    """In the order of their names, also in folders below."""
    return sorted(path for path in _visible(folder) if is_table(path))


def _visible(folder: Path) -> Iterator[Path]:
    """Not what begins with a dot or, as notes that Spark and Dask leave, with an underscore."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        yield from (Path(place) / name for name in sorted(names) if name[0] not in "._")


def _check_same_columns(first: TableFile, other: TableFile) -> None:
    lacking = [name for name in first.names if name not in other.names]
    more = [name for name in other.names if name not in first.names]
    if not lacking and not more:
        return
    said = [f"lacks {quoted_list(lacking)}"] * bool(lacking) + [f"has {quoted_list(more)} more"] * bool(more)
    raise DataError(
        f"{other.where} {' and '.join(said)}, compared with {first.where} in the same folder. Files of one table must "
        f"have the same columns: write that file again, or move it away."
    )


def _check_same_types(block: Any, file: TableFile, types: dict[str, tuple[str, str]]) -> None:
    """Numbers of any kind go together, and so do all texts."""
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


class Joined:
    """A table with the rows of a matrix as one more column, of lists."""

    def __init__(self, table: OpenedTable, name: str, matrix: np.ndarray | RowsOnDisk):
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


def joined_by_row(table: OpenedTable, features: Any, schema: Schema | None = None) -> OpenedTable | Joined:
    """The table itself where there are no features beside it."""
    if features is None:
        return table
    return Joined(table, _name(table, features, schema), load_features(features))


def _name(table: OpenedTable, features: Any, schema: Schema | None) -> str:
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
