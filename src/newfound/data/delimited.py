"""CSV and TSV, read by Arrow. Where Arrow fails, the file is walked once more, slowly, to say which row is to blame."""

import csv
import gzip
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

from newfound.data.cells import MISSING, NUMBER, stray_word
from newfound.data.problems import DataError, some

BLOCK = 1 << 20  # bytes Arrow parses at a time; larger ones are slower and take more memory,
ROWS_IN_BLOCK = 32  # but a row must fit: wide tables, by the length of their header, get blocks of at least so many
DAMAGE = (csv.Error, EOFError, OSError, zlib.error)  # of the file, or of the gzip around it
DELIMITERS = (",", "\t", ";", "|")


def header_of(path: Path) -> list[str]:
    """The column names, as they are written."""
    delimiter = delimiter_of(path)
    with _open(path) as file:
        return next(row for row in csv.reader(file, delimiter=delimiter) if row)


def delimiter_of(path: Path) -> str:
    """A tab where the name says so, else what parts the header most often."""
    if ".tsv" in path.suffixes or ".tab" in path.suffixes:
        return "\t"
    unquoted = re.sub(r'"[^"]*"', "", _first_line(path))
    return max(DELIMITERS, key=unquoted.count)


def check_header(names: Sequence[str], path: Path) -> None:
    """Refuse a first row that looks like data."""
    numbers = [name for name in names if re.match(NUMBER, name.strip())]
    if 2 * len(numbers) < len(names) or _counts_up(numbers):
        return
    raise DataError(
        f"{path.name!r} seems to have no header: its first row is {some(names, 4)}. "
        f"Put a line with the names of the {len(names)} columns at the top."
    )


def _counts_up(names: Sequence[str]) -> bool:
    """Whole numbers in order, as pandas names the columns of a matrix, or as years are."""
    if not all(name.strip().isdecimal() for name in names):
        return False
    values = [int(name) for name in names]
    return all(a < b for a, b in pairwise(values))


def read_whole(path: Path, names: Sequence[str], text: Collection[str], numbers: Collection[str]) -> Any:
    """An Arrow table of the named columns; those in neither `text` nor `numbers` get the type of their cells."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        table = arrow_csv.read_csv(path, **_options(path, names, text, numbers))
    except (pa.ArrowInvalid, OSError) as error:
        raise fault_of(path, numbers, error) from None
    if any(pa.types.is_binary(column.type) for column in table.columns):  # what Arrow makes of text it cannot decode
        raise fault_of(path, numbers, "text that is not UTF-8")
    return _named_plainly(table)


def read_in_batches(path: Path, names: Sequence[str], text: Collection[str], numbers: Collection[str]) -> Iterator[Any]:
    """Record batches of the named columns, a block of the file at a time."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        with arrow_csv.open_csv(path, **_options(path, names, text, numbers)) as reader:
            for batch in reader:
                yield _named_plainly(batch)
    except (pa.ArrowInvalid, OSError) as error:
        raise fault_of(path, numbers, error) from None


def _options(path: Path, names: Sequence[str], text: Collection[str], numbers: Collection[str]) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    written = {name.strip(): name for name in header_of(path)}
    types = {written[name]: pa.string() for name in text} | {written[name]: pa.float64() for name in numbers}
    return {
        "read_options": arrow_csv.ReadOptions(block_size=max(BLOCK, ROWS_IN_BLOCK * len(_first_line(path)))),
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter_of(path), newlines_in_values=True),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=[written[name] for name in names],
            null_values=list(MISSING),
            strings_can_be_null=True,
        ),
    }


def _named_plainly(table: Any) -> Any:
    return table.rename_columns([name.strip() for name in table.schema.names])


def fault_of(path: Path, numbers: Collection[str], error: object) -> DataError:
    """What is behind Arrow's error: the first row that is ragged, wrongly encoded, or has a word for a number."""
    try:
        with _open(path) as file:
            rows = (row for row in csv.reader(file, delimiter=delimiter_of(path)) if row)
            names = [name.strip() for name in next(rows)]
            places = [(i, name) for i, name in enumerate(names) if name in numbers]
            faults = (_fault_of_row(row, i, len(names), places) for i, row in enumerate(rows, start=1))
            fault = next(filter(None, faults), None)
    except UnicodeDecodeError as problem:
        return _wrong_encoding(path, problem)
    except DAMAGE as problem:
        fault, error = None, problem
    return DataError(
        fault or f"{path.name!r} cannot be read as a table ({error}). Copy it again, or save it anew as CSV."
    )


def _fault_of_row(row: list[str], i: int, n_columns: int, places: Sequence[tuple[int, str]]) -> str | None:
    if len(row) != n_columns:
        return (
            f"Row {i:,} of the data has {len(row)} cells where the header has {n_columns}: {some(row, 3)}. Give every "
            f"row as many cells as the header; a cell that holds the separator itself must stand in double quotes."
        )
    cells = ((name, row[place].strip()) for place, name in places)
    words = ((name, cell) for name, cell in cells if cell not in MISSING and not re.match(NUMBER, cell))
    return next((stray_word(name, i, cell) for name, cell in words), None)


def _first_line(path: Path) -> str:
    """The first line that is not blank."""
    try:
        with _open(path) as file:
            line = next((line for line in file if line.strip()), None)
    except UnicodeDecodeError as problem:
        raise _wrong_encoding(path, problem) from None
    except DAMAGE as problem:
        raise DataError(f"{path.name!r} cannot be read ({problem}). Copy or download it again.") from None
    if line is None:
        raise DataError(f"{path.name!r} is empty. Give a file with a header and at least one row.")
    return line


def _wrong_encoding(path: Path, problem: UnicodeDecodeError) -> DataError:
    with _open(path, "latin-1") as file:  # decodes anything
        n, line = next((i, line) for i, line in enumerate(file, 1) if not _is_utf8(line))
    return DataError(
        f"{path.name!r} is not text in UTF-8: line {n:,} holds the byte 0x{problem.object[problem.start]:02x} "
        f'({line.strip()[:40]!r} if it is Latin-1). Save the file again as UTF-8 (spreadsheets call it "CSV UTF-8").'
    )


def _is_utf8(line: str) -> bool:
    try:
        line.encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True


def _open(path: Path, encoding: str = "utf-8-sig") -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")
