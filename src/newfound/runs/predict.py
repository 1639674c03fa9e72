"""What a run says of rows, of its own or of a file of any size, beside the user's columns; and how good that is."""

import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from newfound._internal.files import make_folders, sweep, written_whole
from newfound._internal.threads import ahead
from newfound._internal.words import DataError, did_you_mean
from newfound.classes import DEFAULT_DECISION, Classes, Decision
from newfound.evaluation import (
    Certainty,
    Evaluation,
    Match,
    evaluate,
    expected_calibration_error,
    posterior_entropy,
    reliability,
)
from newfound.predictor import Predictor
from newfound.preprocessing.checks import RangeCheck
from newfound.preprocessing.columns import Preprocessing
from newfound.runs.leftovers import check_file_out
from newfound.runs.manifest import MANIFEST
from newfound.runs.records import Calibration, Columns, csv_bytes, ignore, parquet_writer, table_bytes
from newfound.runs.run import Run
from newfound.tables import own_columns
from newfound.tables.dataset import Column, Dataset, Schema
from newfound.tables.formats import streams
from newfound.tables.limits import rows_at_a_time
from newfound.tables.log import about_missing, add_counts
from newfound.tables.read import read_batches, read_dataset
from newfound.tables.sources import TableFile, is_table_folder

# ---- What a model says of each row, as a table: of the rows it was fitted on, or of a file of any size ----

ROWS_AT_A_TIME = 32_768  # of a file that streams


class Counted:
    """What there is to say of the rows that were read so far, beside their classes."""

    def __init__(self) -> None:
        self.columns: Sequence[Column] = ()
        self.ranges: RangeCheck | None = None
        self.message = ""

    def take(self, batch: Dataset, preprocessing: Preprocessing) -> None:
        self.columns = add_counts(self.columns, batch.columns)
        ranges = RangeCheck.of(batch.X, preprocessing)
        self.ranges = ranges if self.ranges is None else self.ranges.joined(ranges)
        names = np.array(batch.feature_names)[preprocessing.is_kept]
        self.message = self.ranges.message(lambda i: repr(str(names[i])))

    def sentences(self) -> list[str]:
        return [*about_missing(self.columns), *filter(None, [self.message])]


def answer_table(
    classes: Classes,
    probabilities: np.ndarray,
    row_ids: np.ndarray,
    observed: np.ndarray,
    truth: np.ndarray | None = None,
) -> Columns:
    """A column for each thing that is said of a row, and its labels by the names that known classes have now.

    `observed` and `truth` are names, "" where there is none.
    """
    said = said_of(classes, probabilities)
    table = {"row_id": row_ids.astype(str)} | said | {"observed_label": classes.called_now(observed)}
    return table if truth is None else table | {"true_class": classes.called_now(truth)}


SAID = ("class", "probability", "p_new", "component", "entropy")


def said_of(
    classes: Classes, probabilities: np.ndarray, decision: Decision = DEFAULT_DECISION, wanted: Collection[str] = SAID
) -> Columns:
    """What is said of each row, as far as it is wanted. The class is "" where no answer is given."""
    answer = classes.answer(probabilities, decision)
    made: dict[str, Callable[[], np.ndarray]] = {
        "class": lambda: np.where(answer.is_given, classes.names.astype(str)[answer.position], ""),
        "probability": lambda: answer.probability,
        "p_new": lambda: answer.p_new,
        "component": lambda: answer.component,
        "entropy": lambda: posterior_entropy(probabilities),
    }
    return {name: made[name]() for name in SAID if name in wanted}


def disagreements(table: Columns) -> np.ndarray:
    """Flags of the rows whose observed label is not their predicted class."""
    return (table["observed_label"] != "") & (table["observed_label"] != table["class"])


def surest_disagreements(table: Columns, at_most: int) -> np.ndarray:
    """Numbers of the rows whose label the model doubts most: it is surest of another class."""
    rows = np.flatnonzero(disagreements(table))
    return rows[np.argsort(-table["probability"][rows], kind="stable")][:at_most]


def predict_batches(
    run: Run,
    source: str,
    label: str | None = None,
    decision: Decision = DEFAULT_DECISION,
    features: str | None = None,
    counted: Counted | None = None,
    wanted: Collection[str] = (*SAID, "observed_label"),
) -> Iterator[Columns]:
    """Predictions for a file, some rows at a time where its format allows, so that memory stays flat.

    `counted` has then seen all rows: cells that were missing and filled, and cells unlike those of the fit.
    """
    model = run.predictor
    decision.check(model.fitted_.classes)
    read = _counted(_batches(source, run.schema, label, features), counted, model.fitted_.preprocessing)
    for batch in ahead(read):
        yield answer_batch(model, batch, decision, wanted)


def _counted(batches: Iterable[Dataset], counted: Counted | None, preprocessing: Preprocessing) -> Iterator[Dataset]:
    for batch in batches:
        if counted is not None and len(batch.X):
            counted.take(batch, preprocessing)
        yield batch


def answer_batch(model: Predictor, batch: Dataset, decision: Decision, wanted: Collection[str]) -> Columns:
    """What is said of some rows, beside their ids and, if wanted, their labels."""
    classes = model.fitted_.classes
    said = said_of(classes, model.component_probabilities(batch.X), decision, wanted)
    observed = {"observed_label": classes.called_now(batch.labels.names)} if "observed_label" in wanted else {}
    return {"row_id": batch.row_ids} | said | observed


def block_rows(schema: Schema) -> int:
    """How many rows of a file are read at a time."""
    return min(ROWS_AT_A_TIME, rows_at_a_time(len(schema.feature_names)))


def _batches(source: str, schema: Schema, label: str | None, features: str | None) -> Iterable[Dataset]:
    if schema.kind == "table" and ((Path(source).is_file() and streams(source)) or is_table_folder(source)):
        return read_batches(source, schema, rows=block_rows(schema), label=label, features=features)
    return [read_dataset(source, label, schema=schema, features=features)]


# ---- The answer beside the data: a user's own columns, unchanged, then what newfound says of each row ----

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
    decision: Decision = DEFAULT_DECISION,
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
    own = own_columns.open_own(source)

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
    if own is not None and own_columns.is_csv(own) and out.suffix.lower() == ".csv" and wanted.as_written:
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
    if own_columns.HEADER in about:
        delimiter = about[own_columns.DELIMITER].decode()
        lines = io.BytesIO()
        lines.write(record_header(about[own_columns.HEADER], delimiter, about[own_columns.NAMES].decode().split("\n")))
        _write_lines(lines, with_answer(own[own_columns.RECORD], said, delimiter), slice(None))
        return {"labelled.csv": lines.getvalue()}
    labelled = beside_own(own, {PREFIX + name: said[PREFIX + name] for name in ANSWER}, own.schema.names)
    return {"labelled.parquet": table_bytes(labelled)}


def _write_records(
    file: BinaryIO, own: Any, batches: Iterator[Columns], wanted: Wanted, progress: Callable[[int], None]
) -> int:
    """CSV beside CSV: every record as it is written, then the answer."""
    records, delimiter = own_columns.own_records(own)
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
    blocks = None if own is None or not carried else own_columns.own_blocks(own, carried, rows)
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


# ---- How good the answers of a run are: against true classes, and by the labels that training did not see ----


def evaluate_answers(table: Columns, truth: np.ndarray, classes: Classes) -> Evaluation:
    """True classes against predicted ones, by name, on the rows whose true class is not ""."""
    rows = truth != ""
    truth, predicted = classes.called_now(truth[rows].astype(str)), table["class"][rows].astype(str)
    known = classes.known.astype(str)
    certainty = Certainty(
        probability=table["probability"][rows],
        is_right=predicted == truth,
        entropy=table["entropy"][rows],
        is_known=np.isin(truth, known),
        p_new=table["p_new"][rows],
    )
    return replace(evaluate(truth, predicted, known, classes.names.astype(str)), certainty=certainty)


def evaluate_run(run: Run) -> Evaluation | None:
    """Against the labels that were hidden on purpose, if any were, on the rows whose label the model did not see."""
    table = run.predictions
    if "true_class" not in table:
        return None
    truth = np.where(table["observed_label"] == "", table["true_class"], "")
    return evaluate_answers(table, truth, run.class_map) if (truth != "").any() else None


def evaluate_file(
    run: Run,
    source: str,
    label: str | None = None,
    features: str | None = None,
    note: Callable[[str], None] = ignore,
) -> Evaluation:
    """Compare the predictions for a file, or for a named set's test part, with its labels."""
    counted = Counted()
    batches = list(predict_batches(run, source, label, features=features, counted=counted))
    for sentence in counted.sentences():
        note(sentence)
    if not batches:
        raise DataError(f"{source!r} holds no rows, so there is nothing to compare. Give a file with rows.")
    table = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0] if name != "row_id"}
    if not (table["observed_label"] != "").any():
        column = label or run.schema.label_column
        where = f" in column {column!r}" if column else ""
        raise DataError(
            f"{source!r} has no label{where} to compare with. Name the column that holds them with --label."
        )
    return evaluate_answers(table, table["observed_label"], run.class_map)


def which_is_which(evaluation: Evaluation, classes: Classes) -> list[Match]:
    """What each new class is in truth, the largest first."""
    new = set(classes.names[classes.is_new].astype(str).tolist())
    return sorted((match for match in evaluation.matches if match.predicted in new), key=lambda match: -match.n_all)


def validation_calibration(model: Any, table: Columns) -> Calibration | None:
    """Reliability of the known classes' probabilities, on the labels of the validation rows."""
    rows = model.validation_indices_[table["observed_label"][model.validation_indices_] != ""]
    if len(rows) == 0:
        return None
    probability = table["probability"][rows]
    is_right = table["class"][rows] == table["observed_label"][rows]
    mean, accuracy, n_rows = reliability(probability, is_right)
    error = expected_calibration_error(probability, is_right)
    return Calibration(mean, accuracy, n_rows, error, float(is_right.mean()), model.temperature_)
