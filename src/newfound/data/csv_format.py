"""CSV and TSV, read by Arrow. Where Arrow fails, the file is read once more, slowly, to say which row is wrong."""

import csv
import gzip
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

from newfound.data.cells import NUMBER, not_a_number
from newfound.data.table_format import ColumnSelection, TableFormat
from newfound.errors import DataError
from newfound.labels import MISSING
from newfound.wording import quoted_list

BLOCK = 1 << 20  # bytes Arrow parses at a time; larger ones are slower and take more memory,
ROWS_IN_BLOCK = 32  # but a row must fit: wide tables, by the length of their header, get blocks of at least so many
READ_ERRORS = (csv.Error, EOFError, OSError, zlib.error)  # of the file, or of the gzip around it
LONGEST_LINE = 1 << 26  # characters of a header; a file without line breaks is not read whole to find it
DELIMITERS = (",", "\t", ";", "|")
USUAL_RATIO = 4  # by which gzip makes a table smaller


@dataclass(frozen=True)
class CSVFormat(TableFormat):
    """Text with a header, gzipped or not."""

    delimiter: str | None = None  # None: the one that occurs most often in the header

    name = "CSV"
    streams = True
    has_types = False

    def column_names(self, path: Path) -> list[str]:
        names = self._header(path)
        _check_header(names, path)
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
            "read_options": arrow_csv.ReadOptions(block_size=max(BLOCK, ROWS_IN_BLOCK * len(_first_line(path)))),
            "parse_options": arrow_csv.ParseOptions(delimiter=self.delimiter_of(path), newlines_in_values=True),
            "convert_options": _convert_options(selection, written),
        }

    def _diagnosis(self, path: Path, numbers: Collection[str], error: object) -> DataError:
        """What is behind Arrow's error: the first row that is ragged, wrongly encoded, or has text for a number."""
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
    """Cells that were read as text, as they would have been read from a file that holds just these."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    content = pa.BufferOutputStream()
    arrow_csv.write_csv(table.select(list(selection.names)), content)
    written = content.getvalue()
    typed = arrow_csv.read_csv(
        pa.BufferReader(written),
        read_options=arrow_csv.ReadOptions(block_size=max(BLOCK, written.size)),
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
        strings_can_be_null=not selection.marked,  # else `_with_nulls` does it, for all but these
    )


def _check_header(names: Sequence[str], path: Path) -> None:
    """Raise an error where the first row looks like data."""
    numbers = [name for name in names if re.match(NUMBER, name.strip())]
    if 2 * len(numbers) < len(names) or _is_increasing(numbers):
        return
    raise DataError(
        f"{path.name!r} seems to have no header: its first row is {quoted_list(names, 4)}. "
        f"Add a first line with the names of the {len(names)} columns."
    )


def _is_increasing(names: Sequence[str]) -> bool:
    """Whole numbers in order, as pandas names the columns of a matrix, or as years are."""
    if not all(name.strip().isdecimal() for name in names):
        return False
    values = [int(name) for name in names]
    return all(a < b for a, b in pairwise(values))


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
        with _open(path, "latin-1") as file:  # decodes anything
            n, line = next((i, line) for i, line in enumerate(file, 1) if not _is_utf8(line))
    except (*READ_ERRORS, StopIteration):
        return DataError(f"{path.name!r} is not UTF-8 text, and cut short or damaged. Copy or download it again.")
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
    """Missing cells as nulls, as Arrow would have made them, but for the columns whose marks are to be told."""
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
    """Arrow unzips by the file's name, and knows .gz but not .GZ."""
    import pyarrow as pa

    is_unknown = path.suffix != ".gz" and path.suffix.lower() == ".gz"
    return pa.input_stream(str(path), compression="gzip") if is_unknown else path


def _open(path: Path, encoding: str = "utf-8-sig") -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")
