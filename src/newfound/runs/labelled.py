"""The answer beside the data: a user's own columns, unchanged, then what newfound says of each row."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from newfound.classes import AS_USUAL, Classes, Decision
from newfound.data import Schema, own_rows, read_batches
from newfound.data.table_sources import TableFile
from newfound.errors import DataError
from newfound.files import make_folders, sweep, written_whole
from newfound.predictor import Predictor
from newfound.runs.columnar import Columns, csv_bytes, parquet_writer, table_bytes
from newfound.runs.folder import Run
from newfound.runs.listener import ignore
from newfound.runs.manifest import MANIFEST
from newfound.runs.outputs import check_file_out
from newfound.runs.predictions import Counted, answer_batch, block_rows, predict_batches
from newfound.threads import ahead
from newfound.wording import did_you_mean

ANSWER = ("class", "probability", "p_new", "is_new")
ON_REQUEST = ("component", "entropy")
PREFIX = "newfound_"
FORMULA = r"^([=+\-@\t\r])"
FORMATS_OUT = (".csv", ".parquet")


class Wanted(NamedTuple):
    """Which rows and columns to write; no columns are all of the user's own, and the answer."""

    only_new: bool = False
    columns: Sequence[str] = ()
    for_spreadsheets: bool = False  # text that a spreadsheet would compute gets an apostrophe before it

    @property
    def as_written(self) -> bool:
        """Whether the records of a CSV file can stay as they are."""
        return not self.columns and not self.for_spreadsheets

    @property
    def of_answer(self) -> list[str]:
        """What is to be said of each row; the rest takes time. Whether it is new is told by its component."""
        asked_for = [name for name in ON_REQUEST if any(column.startswith(PREFIX + name) for column in self.columns)]
        return [*ANSWER, "component", *asked_for]


ALL = Wanted()


class OutOfStepError(Exception):
    """Records cannot be told from line breaks within cells, because a cell holds a lone quote: 5" nails."""


def predict_file(
    run: Run,
    source: str,
    out: Path,
    progress: Callable[[int], None] = lambda n_rows: None,
    decision: Decision = AS_USUAL,
    wanted: Wanted = ALL,
    features: str | None = None,
    replace: bool = False,
    note: Callable[[str], None] = ignore,
) -> int:
    """Write every row of `source` with its prediction to `out`, CSV or Parquet by its suffix; return their number.

    Memory stays flat: the file is read in step, once for the model and once for the user's own columns. Cells that were
    filled, because they were missing or infinite, are noted, and so are cells outside of what was fitted on.
    """
    if out.suffix.lower() not in FORMATS_OUT:
        raise DataError(f"--out must end in {' or '.join(FORMATS_OUT)}; got {out.name!r}. Name another file.")
    classes, counted = run.class_map, list[Counted]()
    decision.check(classes)
    check_file_out(out, [source, features], replace=replace)
    own = own_rows.open_own(source)

    def batches() -> Iterator[Columns]:
        counted.append(Counted())  # a file that cannot be read in step is read again
        tables = predict_batches(run, source, None, decision, features, counted[-1], wanted.of_answer)
        return (answers(table, classes) for table in tables)

    n_rows = _write(out, source, own, batches, wanted, progress, block_rows(run.schema))
    for sentence in counted[-1].sentences():
        note(sentence)
    return n_rows


def _write(
    out: Path,
    source: str,
    own: Any,
    batches: Callable[[], Iterator[Columns]],
    wanted: Wanted,
    progress: Callable[[int], None],
    rows: int,
) -> int:
    make_folders(out.absolute().parent)
    if not (out.absolute().parent / MANIFEST).is_file():  # a run's own waiting files are not for others to judge
        sweep(out.absolute().parent)
    if own is not None and own_rows.is_csv(own) and out.suffix.lower() == ".csv" and wanted.as_written:
        with suppress(OutOfStepError), written_whole(out) as file:
            return _write_records(file, own, batches(), wanted, progress)
    with written_whole(out) as file:
        n_rows = write_tables(file, out.suffix.lower(), _beside(own, batches(), wanted, rows), progress)
        if n_rows is None:
            raise DataError(f"{source!r} holds no rows, so there is nothing to predict. Give a file with rows.")
    return n_rows


def answered_tables(
    table: TableFile, predictor: Predictor, schema: Schema, decision: Decision, wanted: Wanted
) -> Iterator[Any]:
    """Arrow tables of the wanted columns of an opened file, some rows at a time."""
    rows = block_rows(schema)
    batches = (
        answer_batch(predictor, batch, decision, wanted.of_answer) for batch in read_batches(table, schema, rows)
    )
    classes = predictor.fitted_.classes
    return _beside(table, (answers(batch, classes) for batch in batches), wanted, rows)


def answers(table: Columns, classes: Classes) -> Columns:
    """What is said of each row, under the names that it has beside a user's columns."""
    is_new = classes.is_of_new_class[table["component"]]
    said = table | {"is_new": is_new}
    said = {name: said[name] for name in (*ANSWER, *ON_REQUEST) if name in said}
    return {"row_id": table["row_id"]} | {PREFIX + name: column for name, column in said.items()}


def labelled_file(own: Any, table: Columns, classes: Classes) -> dict[str, bytes]:
    """Of the rows that were fitted on, in the format they came in: `labelled.csv` or `labelled.parquet`."""
    said = answers(table, classes)
    about = own.schema.metadata or {} if own is not None else {}
    if own is None or own.num_rows != len(said["row_id"]):
        return {"labelled.csv": csv_bytes({name: said[name] for name in ("row_id", *(PREFIX + n for n in ANSWER))})}
    if own_rows.HEADER in about:
        delimiter = about[own_rows.DELIMITER].decode()
        lines = io.BytesIO()
        lines.write(record_header(about[own_rows.HEADER], delimiter, about[own_rows.NAMES].decode().split("\n")))
        _write_lines(lines, with_answer(own[own_rows.RECORD], said, delimiter), slice(None))
        return {"labelled.csv": lines.getvalue()}
    labelled = beside_own(own, {PREFIX + name: said[PREFIX + name] for name in ANSWER}, own.schema.names)
    return {"labelled.parquet": table_bytes(labelled)}


def _write_records(
    file: BinaryIO, own: Any, batches: Iterator[Columns], wanted: Wanted, progress: Callable[[int], None]
) -> int:
    """CSV beside CSV: every record as it is written, then the answer."""
    records, delimiter = own_rows.own_records(own)
    file.write(record_header(records.header, delimiter, own.names))
    n_read = n_written = 0
    for said in ahead(batches):
        lines = records.take(len(said["row_id"]))
        rows = said[PREFIX + "is_new"] if wanted.only_new else slice(None)
        n_read += len(said["row_id"])
        if len(lines) != len(said["row_id"]):
            raise OutOfStepError
        n_written += _write_lines(file, with_answer(lines, said, delimiter), rows)
        progress(n_read)
    return n_written


def record_header(header: bytes, delimiter: str, own: Sequence[str]) -> bytes:
    names = [free_name(PREFIX + name, own) for name in ANSWER]
    return b"".join([header, *(f"{delimiter}{name}".encode() for name in names), b"\n"])


def with_answer(records: Any, said: Columns, delimiter: str) -> Any:
    """Records of a CSV file with the answer at the end of each, and its line break."""
    import pyarrow as pa
    import pyarrow.compute as pc

    large = pa.large_string()
    classes, which = np.unique(said[PREFIX + "class"], return_inverse=True)
    cells = [
        pa.array([_quoted(name, delimiter) for name in classes.tolist()], large).take(pa.array(which.ravel())),
        pa.array(said[PREFIX + "probability"]).cast(large),
        pa.array(said[PREFIX + "p_new"]).cast(large),
        pc.if_else(pa.array(said[PREFIX + "is_new"]), pa.scalar("true\n", large), pa.scalar("false\n", large)),
    ]
    return pc.binary_join_element_wise(records, *cells, pa.scalar(delimiter, large))


def _quoted(name: str, delimiter: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in (delimiter, '"', "\n", "\r")) else name


def _write_lines(file: BinaryIO, lines: Any, rows: Any) -> int:
    import pyarrow as pa

    if not isinstance(rows, slice):
        lines = lines.filter(pa.array(rows))
    for chunk in lines.chunks:
        ends = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        if len(chunk):
            file.write(memoryview(chunk.buffers()[2])[ends[0] : ends[-1]])
    return len(lines)


def _beside(own: Any, batches: Iterator[Columns], wanted: Wanted, rows: int) -> Iterator[Any]:
    """Arrow tables of the wanted columns, the user's own first; both are read so many rows at a time."""
    import pyarrow as pa

    own_names = ["row_id"] if own is None else own.names
    names = _wanted_names(own_names, wanted)
    carried = [name for name in names if name in own_names]
    blocks = None if own is None or not carried else own_rows.own_blocks(own, carried, rows)
    for said in batches:
        table = None
        if blocks is not None:
            table = next(blocks)
        elif carried:
            table = pa.table({"row_id": said["row_id"].astype(str)})
        table = beside_own(table, {name: said[name] for name in said if name != "row_id"}, own_names)
        table = (
            table.filter(pa.array(said[PREFIX + "is_new"])).select(names) if wanted.only_new else table.select(names)
        )
        yield defused(table) if wanted.for_spreadsheets else table


def defused(table: Any) -> Any:
    """Text that begins like a formula (=, +, -, @, or a character that is skipped) behind an apostrophe."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _flat(table)
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            cells = pc.replace_substring_regex(table.column(i), FORMULA, r"'\1")
            table = table.set_column(i, field.name, cells)
    return table.rename_columns([re.sub(FORMULA, r"'\1", name) for name in table.schema.names])


def _wanted_names(own: Sequence[str], wanted: Wanted) -> list[str]:
    answer = [free_name(PREFIX + name, own) for name in ANSWER]
    known = [*own, *answer, *(free_name(PREFIX + name, own) for name in ON_REQUEST)]
    for name in wanted.columns:
        if name not in known:
            raise DataError(f"There is no column {name!r} to write. {did_you_mean(name, known)}")
    return list(dict.fromkeys(wanted.columns)) or [*own, *answer]


def beside_own(table: Any | None, said: Columns, taken: Sequence[str]) -> Any:
    """The user's own columns, if any are carried along, then the answer; a name that is taken gets a number."""
    import pyarrow as pa

    answer = {free_name(name, taken): pa.array(column) for name, column in said.items()}
    if table is None:
        return pa.table(answer)
    for name, cells in answer.items():
        table = table.append_column(name, cells)
    return table


def free_name(name: str, taken: Sequence[str]) -> str:
    return next(free for i in range(1, len(taken) + 2) if (free := name if i == 1 else f"{name}_{i}") not in taken)


def write_tables(file: BinaryIO, suffix: str, tables: Iterator[Any], progress: Callable[[int], None]) -> int | None:
    """How many rows were written; None where there was no table."""
    import pyarrow.csv

    writer: Any = None
    n_rows = 0
    try:
        for table in ahead(tables):
            table = _flat(table) if suffix == ".csv" else table
            writer = writer or (pyarrow.csv.CSVWriter if suffix == ".csv" else parquet_writer)(file, table.schema)
            writer.write_table(table)
            n_rows += table.num_rows
            progress(n_rows)
    finally:
        if writer is not None:
            writer.close()
    return None if writer is None else n_rows


def _flat(table: Any) -> Any:
    """A cell of CSV cannot hold a list: it holds its text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = [None if value is None else str(value) for value in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(cells, pa.string()))
        elif pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, pc.cast(table.column(i), field.type.value_type))
    return table
