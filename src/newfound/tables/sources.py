"""Where tables come from: files on disk, whole or a block at a time, and data frames in memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newfound._internal.words import DataError, did_you_mean, quoted_list
from newfound.tables.formats import ColumnSelection, column_names, format_of, without_views


class TableFile:
    """A file in one of the registered formats. Column names are trimmed, in the header and in what is asked for."""

    def __init__(self, path: Path, row_group: int | None = None):
        self.path = path
        self.part = {} if row_group is None else {"row_group": row_group}  # of Parquet, to be read block by block
        self.format = format_of(path)
        self.where = repr(path.name)
        if not path.is_file():
            raise DataError(f"There is no file {str(path)!r}. Check the path.")
        self.begun_with = _state(path)
        if path.stat().st_size == 0:
            raise DataError(f"{self.where} is empty. Give a file with a header and at least one row.")
        self.names = column_names(self.format.column_names(path))
        if not self.names:
            raise DataError(f"{self.where} has no columns. Give a table with two or more.")
        check_names(self.names, self.where)

    @property
    def has_types(self) -> bool:
        return self.format.has_types

    @property
    def n_bytes(self) -> int:
        """About what its cells take in memory."""
        return self.format.n_bytes(self.path)

    def read(self, selection: ColumnSelection) -> Any:
        """One Arrow table."""
        table = self.format.read(self.path, selection).rename_columns(list(selection.names))
        self._check_unchanged()
        return table

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """Arrow tables of `rows` rows, the last one shorter, with only a few in memory at any time."""
        batches = self.format.batches(self.path, selection, rows, **self.part)
        yield from regroup((batch.rename_columns(list(selection.names)) for batch in batches), rows)
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """A file that is cut short meanwhile would look like a shorter one, and its last cell be wrong."""
        if _state(self.path) != self.begun_with:
            raise DataError(f"{self.where} was changed while it was read. Try again when nobody writes to it.")

    def row_ids(self) -> np.ndarray | None:
        return None


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of the last change."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns


class Frame:
    """A pandas frame, or any object with Arrow's stream protocol (a polars frame, an Arrow table)."""

    where = "The data frame"
    has_types = True
    n_bytes = 0  # beside those that it takes already

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
        """As those of a file; it is all in memory already."""
        return regroup(iter(self.read(selection).to_batches()), rows)

    def row_ids(self) -> np.ndarray | None:
        """The index of a pandas frame."""
        index = self.frame.index if self.is_pandas else None
        return np.asarray(index) if getattr(index, "nlevels", 0) == 1 else None


def check_names(names: Sequence[str], where: str) -> None:
    """Raise an error where two columns have the same name."""
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise DataError(f"{where} has more than one column named {quoted_list(repeated)}. Give each a different name.")


def check_column(name: str, opened: Any, what: str = "column") -> None:
    """Raise an error where there is no column of that name, and say which ones may have been meant."""
    if name not in opened.names:
        raise DataError(f"There is no {what} {name!r} in {opened.where}. {did_you_mean(name, opened.names)}")


def regroup(batches: Iterator[Any], rows: int) -> Iterator[Any]:
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
