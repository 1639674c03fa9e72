"""Table formats: how names, tables and batches are read. A new format is a class and one line in `FORMATS`."""

import csv
import gzip
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TextIO

import numpy as np

from newfound._internal.words import DataError, quoted_list, reason_of, shortened
from newfound.labels import MISSING
from newfound.tables.cells import NUMBER, not_a_number
from newfound.tables.limits import CELL_BYTES, check_memory


class ColumnSelection(NamedTuple):
    """The columns to read. CSV declares no types: columns in neither `text` nor `numbers` are inferred."""

    names: Sequence[str]  # trimmed
    text: Collection[str] = ()
    numbers: Collection[str] = ()
    marked: Collection[str] = ()  # text in which marks of missing cells, such as "NA", are kept

    def as_written(self, written: Sequence[str]) -> list[str]:
        """The selected names as the file has them, possibly with spaces around them."""
        by_name = dict(zip(column_names(written), written, strict=True))
        chosen = [by_name[name] for name in self.names]
        twice = next((name for name in chosen if written.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"More than one column is named {shortened(twice)!r}. Give each a different name.")
        return chosen


def column_names(written: Sequence[str]) -> list[str]:
    """Trimmed; a column without a name, such as the index in files of pandas and R, is named by its position."""
    return [name.strip() or f"column {i}" for i, name in enumerate(written, 1)]


class TableFormat(ABC):
    """Reads files of one format. Results may have the names as they are written; `TableFile` trims them."""

    name: ClassVar[str]
    streams: ClassVar[bool]  # whether `batches` takes the memory of a few batches only, for a file of any size
    has_types: ClassVar[bool] = True  # whether the file says which columns are numbers

    @abstractmethod
    def column_names(self, path: Path) -> list[str]:
        """The column names as they are written."""

    @abstractmethod
    def read(self, path: Path, selection: ColumnSelection) -> Any:
        """The selected columns as one Arrow table."""

    @abstractmethod
    def batches(self, path: Path, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """The selected columns as Arrow record batches of any size, preferably of about `rows` rows."""

    def n_bytes(self, path: Path) -> int:
        """Approximately the memory that its cells take."""
        return path.stat().st_size


def validated(table: Any) -> Any:
    """A table or batch after a check of every offset and index: a file may hold wrong ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table.validate(full=True)
    for field in table.schema:
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:  # else an unknown zone would fail later
            pc.local_timestamp(pa.scalar(0, pa.int64()).cast(field.type))
    return without_views(table)


def without_views(table: Any) -> Any:
    """The table with plain text in place of views of text, which polars writes: Arrow lacks functions for them."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for i, field in enumerate(table.schema):
        if field.type in plain:
            cells = table.column(i)
            is_present = np.asarray(cells.is_valid())
            # Not cast at once: a missing view may point anywhere, and no check covers it
            position = pa.array(np.cumsum(is_present) - 1, mask=~is_present)
            present = cells.drop_null().cast(plain[field.type])
            table = table.set_column(i, field.name, present.take(position))
    return table


@contextmanager
def opened_by_arrow(path: Path, format_name: str) -> Iterator[Any]:
    """An open binary file; every error of Arrow becomes a DataError."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path.name!r} is not a complete {format_name} file: it is cut short, damaged or of another format "
            f"({reason_of(error)}). Copy or download it again, or save it again."
        ) from None


# ---- CSV and TSV, read by Arrow. If Arrow fails, the file is read again, slowly, to find the row that is wrong ----

PARSED_BYTES = 1 << 20  # bytes that Arrow parses at a time; larger blocks are slower and take more memory,
ROWS_IN_BLOCK = 32  # but rows must fit: the block of a wide table has this many times the length of its header
READ_ERRORS = (csv.Error, EOFError, OSError, zlib.error)  # of the file, or of the gzip around it
LONGEST_LINE = 1 << 26  # characters of a header: a file without line breaks is not read whole
DELIMITERS = (",", "\t", ";", "|")
USUAL_RATIO = 4  # of a table's size to that of its gzip file


@dataclass(frozen=True)
class CSVFormat(TableFormat):
    """Text with a header, gzipped or not."""

    delimiter: str | None = None  # None: the one that occurs most often in the header

    name = "CSV"
    streams = True
    has_types = False

    def column_names(self, path: Path) -> list[str]:
        """The header; refuse a first row that looks like data."""
        names = self._header(path)
        numbers = [name.strip() for name in names if re.match(NUMBER, name.strip())]
        # Whole numbers in order are names: of the columns of a matrix in pandas, or of years
        are_names = all(number.isdecimal() for number in numbers) and all(
            int(first) < int(second) for first, second in pairwise(numbers)
        )
        if 2 * len(numbers) >= len(names) and not are_names:
            raise DataError(
                f"{path.name!r} seems to have no header: its first row is {quoted_list(names, 4)}. "
                f"Add a first line with the names of the {len(names)} columns."
            )
        return names

    def read(self, path: Path, selection: ColumnSelection) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        try:
            table = arrow_csv.read_csv(_arrow_source(path), **self._options(path, selection))
        except (pa.ArrowInvalid, OSError) as error:
            raise self._diagnosis(path, selection.numbers, error) from None
        if any(pa.types.is_binary(column.type) for column in table.columns):  # Arrow's type for text it cannot decode
            raise self._diagnosis(path, selection.numbers, "text that is not UTF-8")
        return _with_nulls(table, selection) if selection.marked else table

    def batches(self, path: Path, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        try:
            with arrow_csv.open_csv(_arrow_source(path), **self._options(path, selection)) as reader:
                yield from reader
        except (pa.ArrowInvalid, OSError) as error:
            raise self._diagnosis(path, selection.numbers, error) from None

    def n_bytes(self, path: Path) -> int:
        return path.stat().st_size * (USUAL_RATIO if path.suffix.lower() == ".gz" else 1)

    def _header(self, path: Path) -> list[str]:
        delimiter = self.delimiter_of(path)
        try:
            with _open(path) as file:
                return next(row for row in csv.reader(file, delimiter=delimiter) if row)
        except UnicodeDecodeError as problem:
            raise _wrong_encoding(path, problem) from None
        except READ_ERRORS as problem:
            raise DataError(f"The header of {path.name!r} cannot be read ({problem}). Save it again as CSV.") from None

    def delimiter_of(self, path: Path) -> str:
        unquoted = re.sub(r'"[^"]*"', "", _first_line(path))
        return self.delimiter or max(DELIMITERS, key=unquoted.count)

    def _options(self, path: Path, selection: ColumnSelection) -> dict[str, Any]:
        from pyarrow import csv as arrow_csv

        written = selection.as_written(self._header(path))
        return {
            "read_options": arrow_csv.ReadOptions(block_size=max(PARSED_BYTES, ROWS_IN_BLOCK * len(_first_line(path)))),
            "parse_options": arrow_csv.ParseOptions(delimiter=self.delimiter_of(path), newlines_in_values=True),
            "convert_options": _convert_options(selection, written),
        }

    def _diagnosis(self, path: Path, numbers: Collection[str], error: object) -> DataError:
        """The reason for Arrow's error: the first row with a wrong length or encoding, or with text for a number."""
        try:
            with _open(path) as file:
                rows = (row for row in csv.reader(file, delimiter=self.delimiter_of(path)) if row)
                names = [name.strip() for name in next(rows)]
                numeric = [(i, name) for i, name in enumerate(names) if name in numbers]
                found = (_error_in_row(row, i, len(names), numeric) for i, row in enumerate(rows, start=1))
                message = next(filter(None, found), None)
        except UnicodeDecodeError as problem:
            return _wrong_encoding(path, problem)
        except READ_ERRORS as problem:
            message, error = None, problem
        return DataError(
            message or f"{path.name!r} cannot be read as a table ({error}). Copy it again, or save it again as CSV."
        )


def with_types(table: Any, selection: ColumnSelection) -> Any:
    """Cells that were read as text, with the types that they would have in a file of these rows only."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    content = pa.BufferOutputStream()
    arrow_csv.write_csv(table.select(list(selection.names)), content)
    written = content.getvalue()
    typed = arrow_csv.read_csv(
        pa.BufferReader(written),
        read_options=arrow_csv.ReadOptions(block_size=max(PARSED_BYTES, written.size)),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=_convert_options(selection, selection.names),
    )
    return _with_nulls(typed, selection) if selection.marked else typed


def _convert_options(selection: ColumnSelection, written: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(selection.text, pa.string()) | dict.fromkeys(selection.numbers, pa.float64())
    in_file = dict(zip(selection.names, written, strict=True))
    return arrow_csv.ConvertOptions(
        column_types={in_file[name]: arrow_type for name, arrow_type in types.items()},
        include_columns=list(written),
        null_values=list(MISSING),
        strings_can_be_null=not selection.marked,  # otherwise `_with_nulls` finds them
    )


def _error_in_row(row: list[str], i: int, n_columns: int, numeric: Sequence[tuple[int, str]]) -> str | None:
    if len(row) != n_columns:
        return (
            f"Row {i:,} of the data has {len(row)} cells, but the header has {n_columns}: {quoted_list(row, 3)}. Give "
            f"every row as many cells as the header; put a cell that contains the separator in double quotes."
        )
    cells = ((name, row[position].strip()) for position, name in numeric)
    wrong = ((name, cell) for name, cell in cells if cell not in MISSING and not re.match(NUMBER, cell))
    return next((not_a_number(name, i, cell) for name, cell in wrong), None)


def _first_line(path: Path) -> str:
    """The first line that is not blank."""
    try:
        with _open(path) as file:
            line = next((line for line in iter(lambda: file.readline(LONGEST_LINE), "") if line.strip()), None)
    except UnicodeDecodeError as problem:
        raise _wrong_encoding(path, problem) from None
    except READ_ERRORS as problem:
        raise DataError(f"{path.name!r} cannot be read ({problem}). Copy or download it again.") from None
    if line is None:
        raise DataError(f"{path.name!r} is empty. Give a file with a header and at least one row.")
    return line


def _wrong_encoding(path: Path, problem: UnicodeDecodeError) -> DataError:
    try:
        with _open(path, "latin-1") as file:  # decodes any bytes
            n, line = next((i, line) for i, line in enumerate(file, 1) if not _is_utf8(line))
    except (*READ_ERRORS, StopIteration):
        return DataError(f"{path.name!r} is not UTF-8 text, and is cut short or damaged. Copy or download it again.")
    return DataError(
        f"{path.name!r} is not UTF-8 text: line {n:,} holds the byte 0x{problem.object[problem.start]:02x} "
        f'({line.strip()[:40]!r} if it is Latin-1). Save the file again as UTF-8 (spreadsheets call it "CSV UTF-8").'
    )


def _is_utf8(line: str) -> bool:
    try:
        line.encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True


def _with_nulls(table: Any, selection: ColumnSelection) -> Any:
    """Missing cells as nulls, as Arrow would read them, except in columns whose marks are reported."""
    import pyarrow as pa
    import pyarrow.compute as pc

    marks = pa.array(MISSING, pa.string())
    for i, name in enumerate(selection.names):
        cells = table.column(i)
        if name not in selection.marked and pa.types.is_string(cells.type):
            cells = pc.if_else(pc.is_in(cells, value_set=marks), pa.scalar(None, cells.type), cells)
            table = table.set_column(i, table.schema.names[i], cells)
    return table


def _arrow_source(path: Path) -> Any:
    """Arrow unzips by the file's name: .gz but not .GZ."""
    import pyarrow as pa

    is_unknown = path.suffix != ".gz" and path.suffix.lower() == ".gz"
    return pa.input_stream(str(path), compression="gzip") if is_unknown else path


def _open(path: Path, encoding: str = "utf-8-sig") -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")


# ---- Parquet ----

PAGES_AT_A_TIME = 2**16  # bytes of each column; by default, Arrow holds whole row groups, which may be the whole file


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
            check_memory(max(0, table.metadata.num_rows) * len(written), repr(path.name))  # were each cell a byte
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
            return about.num_rows * about.num_columns * CELL_BYTES


# ---- Feather, the file format of Arrow ----


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


# ---- The registry: the format of each suffix. A new format is one line here ----

FORMATS: dict[str, TableFormat] = {
    ".csv": CSVFormat(),
    ".csv.gz": CSVFormat(),
    ".tsv": CSVFormat(delimiter="\t"),
    ".tsv.gz": CSVFormat(delimiter="\t"),
    ".tab": CSVFormat(delimiter="\t"),
    ".parquet": ParquetFormat(),
    ".pq": ParquetFormat(),
    ".feather": FeatherFormat(),
    ".arrow": FeatherFormat(),
}


def file_suffix(path: Path) -> str:
    """As in FORMATS: ".parquet", ".csv.gz"."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()


def is_table(path: str | PathLike) -> bool:
    """Whether the suffix is that of a table file."""
    return file_suffix(Path(path)) in FORMATS and not Path(path).is_dir()


def streams(path: str | PathLike) -> bool:
    """Whether `read_batches` reads this file a block at a time; False if it is not a table file."""
    return is_table(path) and FORMATS[file_suffix(Path(path))].streams
