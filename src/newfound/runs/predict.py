"""What a run says of rows, of its own or of a file of any size, beside the user's columns; and how good that is."""

import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from newfound._internal.files import atomic_file, make_folders, sweep
from newfound._internal.threads import ahead
from newfound._internal.words import DataError, did_you_mean
from newfound.classes import DEFAULT_DECISION, Classes, Decision
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

if TYPE_CHECKING:
    from newfound.evaluation import Evaluation, Match

# ---- The answer for each row, as a table: of the rows that were fitted on, or of a file of any size ----

ROWS_AT_A_TIME = 32_768  # of a file that is read in blocks
FIELDS = ("class", "probability", "p_new", "component", "entropy")


class InputSummary:
    """Missing cells and outliers of the rows that were read so far."""

    def __init__(self) -> None:
        self.columns: Sequence[Column] = ()
        self.ranges: RangeCheck | None = None
        self.message = ""

    def add(self, batch: Dataset, preprocessing: Preprocessing) -> None:
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
    """Return FIELDS of each row beside its id and its labels, by the names that known classes have now.

    `observed` and `truth` are names, "" where there is none.
    """
    table = {"row_id": row_ids.astype(str)} | answer_fields(classes, probabilities)
    table |= {"observed_label": classes.called_now(observed)}
    return table if truth is None else table | {"true_class": classes.called_now(truth)}


def answer_fields(
    classes: Classes, probabilities: np.ndarray, decision: Decision = DEFAULT_DECISION, names: Collection[str] = FIELDS
) -> Columns:
    """Return the fields of `names`, for each row. The class is "" where no answer is given."""
    from newfound.evaluation import posterior_entropy

    answer = classes.answer(probabilities, decision)
    made: dict[str, Callable[[], np.ndarray]] = {
        "class": lambda: np.where(answer.is_given, classes.names.astype(str)[answer.position], ""),
        "probability": lambda: answer.probability,
        "p_new": lambda: answer.p_new,
        "component": lambda: answer.component,
        "entropy": lambda: posterior_entropy(probabilities),
    }
    return {name: made[name]() for name in FIELDS if name in names}


def disagreements(table: Columns) -> np.ndarray:
    """Return flags of the rows whose observed label is not their predicted class."""
    return (table["observed_label"] != "") & (table["observed_label"] != table["class"])


def surest_disagreements(table: Columns, at_most: int) -> np.ndarray:
    """Return numbers of the rows for which another class than their label is most probable, the surest first."""
    rows = np.flatnonzero(disagreements(table))
    return rows[np.argsort(-table["probability"][rows], kind="stable")][:at_most]


def predict_batches(
    run: Run,
    source: str,
    label: str | None = None,
    decision: Decision = DEFAULT_DECISION,
    features: str | None = None,
    summary: InputSummary | None = None,
    names: Collection[str] = (*FIELDS, "observed_label"),
) -> Iterator[Columns]:
    """Yield predictions for a file, some rows at a time where its format allows: memory stays flat.

    At the end, `summary` is of all rows.
    """
    model, schema = run.predictor, run.schema
    decision.check(model.fitted_.classes)
    is_read_in_blocks = schema.kind == "table" and (
        (Path(source).is_file() and streams(source)) or is_table_folder(source)
    )

    def batches() -> Iterator[Dataset]:
        if is_read_in_blocks:
            read = read_batches(source, schema, rows=block_rows(schema), label=label, features=features)
        else:
            read = iter([read_dataset(source, label, schema=schema, features=features)])
        for batch in read:
            if summary is not None and len(batch.X):
                summary.add(batch, model.fitted_.preprocessing)
            yield batch

    for batch in ahead(batches()):
        yield answer_batch(model, batch, decision, names)


def answer_batch(model: Predictor, batch: Dataset, decision: Decision, names: Collection[str]) -> Columns:
    """Return some fields of each row, beside its id and, if it is among `names`, its label."""
    classes = model.fitted_.classes
    answer = answer_fields(classes, model.component_probabilities(batch.X), decision, names)
    observed = {"observed_label": classes.called_now(batch.labels.names)} if "observed_label" in names else {}
    return {"row_id": batch.row_ids} | answer | observed


def block_rows(schema: Schema) -> int:
    """Return how many rows of a file are read at a time."""
    return min(ROWS_AT_A_TIME, rows_at_a_time(len(schema.feature_names)))


# ---- The answer beside the data: a user's own columns, unchanged, then newfound's for each row ----

ANSWER = ("class", "probability", "p_new", "is_new")
ON_REQUEST = ("component", "entropy")
PREFIX = "newfound_"
FORMULA = r"^([=+\-@\t\r])"
FORMATS_OUT = (".csv", ".parquet")


class OutputOptions(NamedTuple):
    """Which rows and columns to write; no columns are all of the user's own, and the answer."""

    only_new: bool = False
    columns: Sequence[str] = ()
    for_spreadsheets: bool = False  # text that a spreadsheet would compute gets an apostrophe before it

    @property
    def as_written(self) -> bool:
        """Whether the records of a CSV file can stay as they are."""
        return not self.columns and not self.for_spreadsheets

    @property
    def fields(self) -> list[str]:
        """The fields to compute. Whether a row is new follows from its component."""
        asked_for = [name for name in ON_REQUEST if any(column.startswith(PREFIX + name) for column in self.columns)]
        return [*ANSWER, "component", *asked_for]


ALL = OutputOptions()


class OutOfStepError(Exception):
    """Records and line breaks within cells cannot be separated, because a cell holds a lone quote: 5" nails."""


def predict_file(
    run: Run,
    source: str,
    out: Path,
    progress: Callable[[int], None] = lambda n_rows: None,
    decision: Decision = DEFAULT_DECISION,
    options: OutputOptions = ALL,
    features: str | None = None,
    replace: bool = False,
    note: Callable[[str], None] = ignore,
) -> int:
    """Write every row of `source` with its prediction to `out`, CSV or Parquet by its suffix; return their number.

    Memory stays flat: the file is read twice at the same pace, for the model and for the user's own columns. `note`
    gets a sentence about cells that were filled, because they were missing or infinite, and one about outliers.
    """
    if out.suffix.lower() not in FORMATS_OUT:
        raise DataError(f"--out must end in {' or '.join(FORMATS_OUT)}; got {out.name!r}. Name another file.")
    classes, summaries = run.class_map, list[InputSummary]()
    decision.check(classes)
    check_file_out(out, [source, features], replace=replace)
    own = own_columns.open_own(source)

    def batches() -> Iterator[Columns]:
        summaries.append(InputSummary())  # a file whose records cannot be separated is read again
        tables = predict_batches(run, source, None, decision, features, summaries[-1], options.fields)
        return (answers(table, classes) for table in tables)

    n_rows = _write(out, source, own, batches, options, progress, block_rows(run.schema))
    for sentence in summaries[-1].sentences():
        note(sentence)
    return n_rows


def _write(
    out: Path,
    source: str,
    own: Any,
    batches: Callable[[], Iterator[Columns]],
    options: OutputOptions,
    progress: Callable[[int], None],
    rows: int,
) -> int:
    make_folders(out.absolute().parent)
    if not (out.absolute().parent / MANIFEST).is_file():  # temporary files in a run belong to the run
        sweep(out.absolute().parent)
    if own is not None and own_columns.is_csv(own) and out.suffix.lower() == ".csv" and options.as_written:
        with suppress(OutOfStepError), atomic_file(out) as file:
            return _write_records(file, own, batches(), options, progress)
    with atomic_file(out) as file:
        n_rows = write_tables(file, out.suffix.lower(), _beside(own, batches(), options, rows), progress)
        if n_rows is None:
            raise DataError(f"{source!r} holds no rows, so there is nothing to predict. Give a file with rows.")
    return n_rows


def answered_tables(
    table: TableFile, predictor: Predictor, schema: Schema, decision: Decision, options: OutputOptions
) -> Iterator[Any]:
    """Yield Arrow tables of the chosen columns of an opened file, some rows at a time."""
    rows = block_rows(schema)
    batches = (answer_batch(predictor, batch, decision, options.fields) for batch in read_batches(table, schema, rows))
    classes = predictor.fitted_.classes
    return _beside(table, (answers(batch, classes) for batch in batches), options, rows)


def answers(table: Columns, classes: Classes) -> Columns:
    """Return the answer for each row, by the names that it has beside a user's columns."""
    table = table | {"is_new": classes.is_of_new_class[table["component"]]}
    names = ("row_id", *ANSWER, *ON_REQUEST)
    return {name if name == "row_id" else PREFIX + name: table[name] for name in names if name in table}


def labelled_file(own: Any, table: Columns, classes: Classes) -> dict[str, bytes]:
    """Of the rows that were fitted on, in the format they came in: `labelled.csv` or `labelled.parquet`."""
    answer = answers(table, classes)
    about = own.schema.metadata or {} if own is not None else {}
    if own is None or own.num_rows != len(answer["row_id"]):
        return {"labelled.csv": csv_bytes({name: answer[name] for name in ("row_id", *(PREFIX + n for n in ANSWER))})}
    if own_columns.HEADER in about:
        delimiter = about[own_columns.DELIMITER].decode()
        lines = io.BytesIO()
        lines.write(record_header(about[own_columns.HEADER], delimiter, about[own_columns.NAMES].decode().split("\n")))
        _write_lines(lines, with_answer(own[own_columns.RECORD], answer, delimiter), slice(None))
        return {"labelled.csv": lines.getvalue()}
    labelled = beside_own(own, {PREFIX + name: answer[PREFIX + name] for name in ANSWER}, own.schema.names)
    return {"labelled.parquet": table_bytes(labelled)}


def _write_records(
    file: BinaryIO, own: Any, batches: Iterator[Columns], options: OutputOptions, progress: Callable[[int], None]
) -> int:
    """CSV beside CSV: every record as it is written, then the answer."""
    records, delimiter = own_columns.own_records(own)
    file.write(record_header(records.header, delimiter, own.names))
    n_read = n_written = 0
    for answer in ahead(batches):
        lines = records.take(len(answer["row_id"]))
        rows = answer[PREFIX + "is_new"] if options.only_new else slice(None)
        n_read += len(answer["row_id"])
        if len(lines) != len(answer["row_id"]):
            raise OutOfStepError
        n_written += _write_lines(file, with_answer(lines, answer, delimiter), rows)
        progress(n_read)
    return n_written


def record_header(header: bytes, delimiter: str, own: Sequence[str]) -> bytes:
    names = [free_name(PREFIX + name, own) for name in ANSWER]
    return b"".join([header, *(f"{delimiter}{name}".encode() for name in names), b"\n"])


def with_answer(records: Any, answer: Columns, delimiter: str) -> Any:
    """Records of a CSV file with the answer at the end of each, and its line break."""
    import pyarrow as pa
    import pyarrow.compute as pc

    large = pa.large_string()
    classes, which = np.unique(answer[PREFIX + "class"], return_inverse=True)
    cells = [
        pa.array([_quoted(name, delimiter) for name in classes.tolist()], large).take(pa.array(which.ravel())),
        pa.array(answer[PREFIX + "probability"]).cast(large),
        pa.array(answer[PREFIX + "p_new"]).cast(large),
        pc.if_else(pa.array(answer[PREFIX + "is_new"]), pa.scalar("true\n", large), pa.scalar("false\n", large)),
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


def _beside(own: Any, batches: Iterator[Columns], options: OutputOptions, rows: int) -> Iterator[Any]:
    """Yield Arrow tables of the chosen columns, the user's own first; both are read `rows` rows at a time."""
    import pyarrow as pa

    own_names = ["row_id"] if own is None else own.names
    names = _names_out(own_names, options)
    carried = [name for name in names if name in own_names]
    blocks = None if own is None or not carried else own_columns.own_blocks(own, carried, rows)
    for answer in batches:
        table = None
        if blocks is not None:
            table = next(blocks)
        elif carried:
            table = pa.table({"row_id": answer["row_id"].astype(str)})
        table = beside_own(table, {name: answer[name] for name in answer if name != "row_id"}, own_names)
        table = (
            table.filter(pa.array(answer[PREFIX + "is_new"])).select(names) if options.only_new else table.select(names)
        )
        yield defused(table) if options.for_spreadsheets else table


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


def _names_out(own: Sequence[str], options: OutputOptions) -> list[str]:
    answer = [free_name(PREFIX + name, own) for name in ANSWER]
    known = [*own, *answer, *(free_name(PREFIX + name, own) for name in ON_REQUEST)]
    for name in options.columns:
        if name not in known:
            raise DataError(f"There is no column {name!r} to write. {did_you_mean(name, known)}")
    return list(dict.fromkeys(options.columns)) or [*own, *answer]


def beside_own(table: Any | None, answer: Columns, taken: Sequence[str]) -> Any:
    """The user's own columns, if any are carried along, then the answer; a name that is taken gets a number."""
    import pyarrow as pa

    added = {free_name(name, taken): pa.array(column) for name, column in answer.items()}
    if table is None:
        return pa.table(added)
    for name, cells in added.items():
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


def evaluate_answers(table: Columns, truth: np.ndarray, classes: Classes) -> "Evaluation":
    """Compare true classes with predicted ones, by name, on the rows whose true class is not ""."""
    from newfound.evaluation import Certainty, evaluate

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


def evaluate_run(run: Run) -> "Evaluation | None":
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
) -> "Evaluation":
    """Compare the predictions for a file, or for a named set's test part, with its labels."""
    summary = InputSummary()
    batches = list(predict_batches(run, source, label, features=features, summary=summary))
    for sentence in summary.sentences():
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


def which_is_which(evaluation: "Evaluation", classes: Classes) -> "list[Match]":
    """What each new class is in truth, the largest first."""
    new = set(classes.names[classes.is_new].astype(str).tolist())
    return sorted((match for match in evaluation.matches if match.predicted in new), key=lambda match: -match.n_all)


def validation_calibration(model: Any, table: Columns) -> Calibration | None:
    """Return how reliable the known classes' probabilities are, on the labels of the validation rows."""
    from newfound.evaluation import expected_calibration_error, reliability

    rows = model.validation_indices_[table["observed_label"][model.validation_indices_] != ""]
    if len(rows) == 0:
        return None
    probability = table["probability"][rows]
    is_right = table["class"][rows] == table["observed_label"][rows]
    mean, accuracy, n_rows = reliability(probability, is_right)
    error = expected_calibration_error(probability, is_right)
    return Calibration(mean, accuracy, n_rows, error, float(is_right.mean()), model.temperature_)
