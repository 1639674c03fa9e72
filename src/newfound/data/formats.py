"""Where tables come from: files on disk, whole or a block at a time, and data frames in memory."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.data import delimited
from newfound.data.problems import DataError, count, some

FORMATS = {
    ".csv": "CSV",
    ".csv.gz": "CSV",
    ".tsv": "CSV",
    ".tsv.gz": "CSV",
    ".tab": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
}


class Wanted(NamedTuple):
    """The columns to read. CSV has no types: some are to be read as text, some as numbers, the rest as they look."""

    names: Sequence[str]
    text: Collection[str] = ()
    numbers: Collection[str] = ()


def ending_of(path: Path) -> str:
    """As in FORMATS: ".parquet", ".csv.gz"."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()


def open_source(source: Any) -> "TableFile | Frame":
    return TableFile(Path(source)) if isinstance(source, str | PathLike) else Frame(source)


class TableFile:
    """A CSV, Parquet or Feather file. Names are trimmed, in the header and in what is asked for."""

    def __init__(self, path: Path):
        self.path = path
        self.format = FORMATS[ending_of(path)]
        self.where = repr(path.name)
        self.names = [name.strip() for name in self._names()]
        check_names(self.names, self.where)

    def _names(self) -> list[str]:
        if self.path.stat().st_size == 0:
            raise DataError(f"{self.where} is empty. Give a file with a header and at least one row.")
        if self.format == "CSV":
            names = delimited.header_of(self.path)
            delimited.check_header(names, self.path)
            return names
        with self._opened() as file:
            return _schema(file).names

    def read(self, wanted: Wanted) -> Any:
        """One Arrow table."""
        if self.format == "CSV":
            return delimited.read_whole(self.path, *wanted)
        with self._opened() as file:
            columns = _written(file, wanted)
            return _trimmed(file.read(columns) if self.format == "Parquet" else file.read_all().select(columns))

    def blocks(self, wanted: Wanted, rows: int) -> Iterator[Any]:
        """Arrow tables of `rows` rows, the last one shorter, with only a few in memory at any time."""
        return _regroup(self._batches(wanted, rows), rows)

    def row_ids(self) -> np.ndarray | None:
        return None

    def _batches(self, wanted: Wanted, rows: int) -> Iterator[Any]:
        if self.format == "CSV":
            yield from delimited.read_in_batches(self.path, *wanted)
            return
        with self._opened() as file:
            columns = _written(file, wanted)
            if self.format == "Parquet":
                yield from map(_trimmed, file.iter_batches(batch_size=rows, columns=columns))
            else:
                yield from (_trimmed(file.get_batch(i).select(columns)) for i in range(file.num_record_batches))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Whatever Arrow finds wrong with a Parquet or Feather file, it is damaged or something else."""
        import pyarrow as pa
        from pyarrow import ipc, parquet

        try:
            with pa.OSFile(str(self.path)) as file:
                yield parquet.ParquetFile(file) if self.format == "Parquet" else ipc.open_file(file)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise DataError(
                f"{self.where} is not a whole {self.format} file: it is cut short, damaged or something else "
                f"({reason}). Copy or download it again, or write it anew."
            ) from None


class Frame:
    """A pandas frame, or whatever speaks Arrow's stream protocol (a polars frame, an Arrow table)."""

    where = "The data frame"

    def __init__(self, frame: Any):
        import pyarrow as pa

        self.is_pandas = hasattr(frame, "iloc")
        self.frame = frame if self.is_pandas else pa.table(frame)
        names = frame.columns if self.is_pandas else self.frame.schema.names
        self.names = [str(name).strip() for name in names]
        check_names(self.names, self.where)

    def read(self, wanted: Wanted) -> Any:
        import pyarrow as pa

        places = [self.names.index(name) for name in wanted.names]
        if not self.is_pandas:
            return self.frame.select(places).rename_columns(list(wanted.names))
        part = self.frame.iloc[:, places].set_axis(list(wanted.names), axis=1)
        try:
            return pa.Table.from_pandas(part, preserve_index=False)
        except pa.ArrowException as error:
            reason = "; ".join(map(str, error.args))
            raise DataError(
                f"The data frame cannot be read ({reason}). Give each column values of one kind, "
                f"or name it in `ignore`."
            ) from None

    def row_ids(self) -> np.ndarray | None:
        """The rows' own names in a pandas frame."""
        index = self.frame.index if self.is_pandas else None
        return np.asarray(index) if getattr(index, "nlevels", 0) == 1 else None


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse blank names and names given twice."""
    blank = [i for i, name in enumerate(names, 1) if not name]
    if blank:
        raise DataError(
            f"Column {blank[0]} of {where} has no name ({count(len(blank), 'such column')}). Give every column a name; "
            f"if it is the index that pandas wrote, write the file again with index=False."
        )
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise DataError(f"{where} has more than one column named {some(twice)}. Give every column a name of its own.")


def _regroup(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    import pyarrow as pa

    waiting, n_waiting = [], 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting < rows:
            continue
        table = pa.Table.from_batches(waiting)
        whole = n_waiting - n_waiting % rows
        yield from (table.slice(start, rows) for start in range(0, whole, rows))
        waiting, n_waiting = table.slice(whole).to_batches(), n_waiting - whole
    if n_waiting:
        yield pa.Table.from_batches(waiting)


def _schema(file: Any) -> Any:
    return getattr(file, "schema_arrow", None) or file.schema  # Parquet keeps Arrow's schema beside its own


def _written(file: Any, wanted: Wanted) -> list[str]:
    """The names as they stand in the file."""
    written = {name.strip(): name for name in _schema(file).names}
    return [written[name] for name in wanted.names]


def _trimmed(table: Any) -> Any:
    return table.rename_columns([name.strip() for name in table.schema.names])
