"""Where tables come from: files on disk, read whole or in blocks, and data frames in memory."""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from newfound._internal.words import DataError, did_you_mean, quoted_list
from newfound.tables.formats import FORMATS, ColumnSelection, column_names, file_suffix, is_table, without_views


class OpenedTable(ABC):
    """A table with known columns; its rows are read when they are needed, all at once or in blocks."""

    where: str  # its name in messages
    names: list[str]  # of its columns
    has_types: bool = True  # whether it declares which columns are numbers
    is_in_parts = False  # such as the files of a folder

    @property
    def n_bytes(self) -> int:
        """Approximately the memory that reading all cells takes."""
        return 0

    @abstractmethod
    def read(self, selection: ColumnSelection) -> Any:
        """One Arrow table."""

    @abstractmethod
    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """Arrow tables of `rows` rows; a last one, of the table or of a part, is shorter. Few are in memory at once."""

    def row_ids(self) -> np.ndarray | None:
        """The names or numbers of the rows, if the source has any beside its columns."""
        return None


class TableFile(OpenedTable):
    """A file in one of the registered formats. Column names are trimmed, in the header and in requests."""

    def __init__(self, path: Path, row_group: int | None = None):
        self.path = path
        self.part = {} if row_group is None else {"row_group": row_group}  # of a Parquet file, for `blocks`
        self.where = repr(path.name)
        if not is_table(path):
            raise DataError(f"{self.where} is not a table file. Give a file that ends in {', '.join(FORMATS)}.")
        self.format = FORMATS[file_suffix(path)]
        self.has_types = self.format.has_types
        if not path.is_file():
            raise DataError(f"There is no file {str(path)!r}. Check the path.")
        self.state = _state(path)
        if path.stat().st_size == 0:
            raise DataError(f"{self.where} is empty. Give a file with a header and at least one row.")
        self.names = column_names(self.format.column_names(path))
        if not self.names:
            raise DataError(f"{self.where} has no columns. Give a table with two or more.")
        check_names(self.names, self.where)

    @property
    def n_bytes(self) -> int:
        return self.format.n_bytes(self.path)

    def read(self, selection: ColumnSelection) -> Any:
        table = self.format.read(self.path, selection).rename_columns(list(selection.names))
        self._check_unchanged()
        return table

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        batches = self.format.batches(self.path, selection, rows, **self.part)
        yield from regroup((batch.rename_columns(list(selection.names)) for batch in batches), rows)
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """A file that is cut short while it is read would look like a shorter one with a wrong last cell."""
        if _state(self.path) != self.state:
            raise DataError(f"{self.where} was changed while it was read. Try again when it is complete.")


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of the last change."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns


class Frame(OpenedTable):
    """A pandas frame, or any object with Arrow's stream protocol (a polars frame, an Arrow table)."""

    where = "The data frame"

    def __init__(self, frame: Any):
        import pyarrow as pa

        self.is_pandas = hasattr(frame, "iloc")
        self.frame = frame if self.is_pandas else pa.table(frame)
        names = frame.columns if self.is_pandas else self.frame.schema.names
        self.names = column_names([str(name) for name in names])
        check_names(self.names, self.where)

    def read(self, selection: ColumnSelection) -> Any:
        import pyarrow as pa

        positions = [self.names.index(name) for name in selection.names]
        if not self.is_pandas:
            return without_views(self.frame.select(positions).rename_columns(list(selection.names)))
        part = self.frame.iloc[:, positions].set_axis(list(selection.names), axis=1)
        try:
            return pa.Table.from_pandas(part, preserve_index=False)
        except pa.ArrowException as error:
            reason = "; ".join(map(str, error.args))
            raise DataError(
                f"The data frame cannot be read ({reason}). Give each column values of one type, "
                f"or name it in `ignore` to drop it."
            ) from None

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        return regroup(iter(self.read(selection).to_batches()), rows)

    def row_ids(self) -> np.ndarray | None:
        """The index of a pandas frame."""
        index = self.frame.index if self.is_pandas else None
        return np.asarray(index) if getattr(index, "nlevels", 0) == 1 else None


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse two columns of the same name."""
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise DataError(f"{where} has more than one column named {quoted_list(repeated)}. Give each a different name.")


def check_column(name: str, opened: OpenedTable, what: str = "column") -> None:
    """Refuse the name of a column that does not exist, and suggest similar ones."""
    if name not in opened.names:
        raise DataError(f"There is no {what} {name!r} in {opened.where}. {did_you_mean(name, opened.names)}")


def regroup(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in tables of `rows` rows, and a shorter one at the end."""
    import pyarrow as pa

    waiting, n_waiting = [], 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting < rows:
            continue
        table = pa.Table.from_batches(waiting)
        complete = n_waiting - n_waiting % rows
        yield from (table.slice(start, rows) for start in range(0, complete, rows))
        waiting, n_waiting = table.slice(complete).to_batches(), n_waiting - complete
    if n_waiting:
        yield pa.Table.from_batches(waiting)


# ---- Folders of table files ----

MAX_FILES_LOOKED_AT = 1_000  # to see whether a folder holds tables or images
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")


def is_table_folder(path: str | os.PathLike) -> bool:
    """Whether a folder holds tables and no images; a folder of images may hold a table of labels."""
    if not Path(path).is_dir():
        return False
    looked_at = list(islice(_visible(Path(path)), MAX_FILES_LOOKED_AT))
    has_images = any(file.suffix.lower() in IMAGE_SUFFIXES for file in looked_at)
    return not has_images and any(is_table(file) for file in looked_at)


def table_files(folder: Path) -> list[Path]:
    """In the order of their names, including folders below."""
    return sorted(path for path in _visible(folder) if is_table(path))


def _visible(folder: Path) -> Iterator[Path]:
    """Files whose names do not begin with a dot or, as the notes of Spark and Dask, with an underscore."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        yield from (Path(place) / name for name in sorted(names) if name[0] not in "._")
