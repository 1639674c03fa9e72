"""Files of rows to label, and files of labels: tables with ids, or tasks and exports of Label Studio."""

import base64
import csv
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from msgspec import Struct

from newfound._internal.files import make_folders, replace_file
from newfound._internal.records import encoded, read_json
from newfound._internal.words import DataError, count, quoted_list
from newfound.labelling.suggest import Suggestions
from newfound.labels import means_unlabelled
from newfound.runs.leftovers import check_file_out
from newfound.runs.records import Columns, csv_bytes
from newfound.runs.run import Run
from newfound.tables import own_columns
from newfound.tables.cells import text
from newfound.tables.formats import ColumnSelection, is_table
from newfound.tables.sources import TableFile

# ---- Label Studio: tasks with predictions, the labelling interface, and exports ----

CHOICE, NEW_NAME, OBJECT = "label", "new_name", "row"  # names of the tags
ID, REASON = "newfound_row_id", "newfound_reason"  # fields of a task


def task(row_id: str, shown: dict[str, Any], class_name: str, probability: float, reason: str) -> dict[str, Any]:
    """Return the task for one row: what is shown, and the present prediction."""
    choice = {
        "from_name": CHOICE,
        "to_name": OBJECT,
        "type": "choices",
        "value": {"choices": [class_name]},
    }
    prediction = {"model_version": "newfound", "score": round(float(probability), 4), "result": [choice]}
    return {"data": {ID: row_id, REASON: reason, **shown}, "predictions": [prediction]}


def interface(class_names: list[str], *, is_image: bool) -> str:
    """Return the labelling configuration: the row, a choice for each class, and a field for the name of another."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Header", value=f"${REASON}")
    if is_image:
        ElementTree.SubElement(view, "Image", name=OBJECT, value="$image")
    else:
        ElementTree.SubElement(view, "Table", name=OBJECT, value="$columns")
    choices = ElementTree.SubElement(view, "Choices", name=CHOICE, toName=OBJECT, choice="single", showInLine="true")
    for name in class_names:
        ElementTree.SubElement(choices, "Choice", value=name)
    other = {"name": NEW_NAME, "toName": OBJECT, "placeholder": "or the name of another class", "maxSubmissions": "1"}
    ElementTree.SubElement(view, "TextArea", other)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def as_data_uri(pixels: np.ndarray, shape: tuple[int, ...]) -> str:
    """Return an image as text inside a task, so that no file has to be served."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels.reshape(shape).astype(np.uint8)).save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def read_export(path: Path) -> Iterator[tuple[str, str]]:
    """Yield row ids and labels from an export as JSON or JSON-MIN; "" for a skipped row."""
    remedy = "Export from Label Studio again, as JSON or JSON-MIN."
    for task in read_json(path, list[ExportedTask], remedy):
        row_id = (task.data or {ID: task.newfound_row_id}).get(ID)
        if row_id is None:
            raise DataError(f"A task in {path.name!r} has no {ID!r}. Export tasks that `newfound suggest` made.")
        given = [one.label for one in task.annotations or () if not one.was_cancelled]
        if task.annotations is None:
            given = [_first(task.new_name) or _first(task.label)]
        yield from ((str(row_id), label) for label in given or [""])


Words = str | list[str] | None  # a list where a person could choose or write several


def _first(words: Words) -> str:
    return words if isinstance(words, str) else (words or [""])[0]


class ExportedValue(Struct, frozen=True):
    """What was chosen or written."""

    text: Words = None
    choices: Words = None


class ExportedResult(Struct):
    """The answer in one field of the interface."""

    from_name: str = ""
    value: ExportedValue = ExportedValue()


class Annotation(Struct):
    """What one person said of a row."""

    result: list[ExportedResult] = []
    was_cancelled: bool = False

    @property
    def label(self) -> str:
        """A written name counts more than a choice."""
        values = {result.from_name: result.value for result in self.result}
        none = ExportedValue()
        return _first(values.get(NEW_NAME, none).text) or _first(values.get(CHOICE, none).choices)


class ExportedTask(Struct):
    """A row, as Label Studio exports it; in JSON-MIN all is in the task itself."""

    data: dict[str, Any] | None = None
    annotations: list[Annotation] | None = None
    newfound_row_id: Any = None
    label: Words = None
    new_name: Words = None


# ---- Rows to label, as files: a table with the user's own columns, and tasks for Label Studio ----

ROW_ID, LABEL, OWN_LABEL = "newfound_row_id", "label", "newfound_label"


def suggest_for(run: Run, n: int, labelled_since: dict[int, str]) -> Suggestions:
    """Return the rows of a run whose labels would help most, without those that were labelled since."""
    rows = run.rows
    y = np.full(len(rows.row_ids), "", dtype=object)
    for row, label in labelled_since.items():
        y[row] = label
    return run.model.suggest(rows.X, n, y)


def source_columns(run: Run, rows: np.ndarray) -> tuple[Columns, str | None]:
    """Return the user's own columns of some rows, as text, and a note if the run does not hold them."""
    source = Path(run.description.source).expanduser()
    if run.schema.kind != "table" or not is_table(source):
        return {}, None
    own = run.rows.own
    if own is None or own.num_rows != len(run.rows.row_ids):
        return {}, "The run does not hold your own columns, so only ids are written."
    if own_columns.HEADER in (own.schema.metadata or {}):
        return _cells(own, rows), None
    some = own.take(rows)
    return {name: np.array(_as_written(some.column(name)).to_pylist(), dtype=str) for name in own.column_names}, None


def _cells(own: Any, rows: np.ndarray) -> Columns:
    """Return cells from the stored records of a CSV file."""
    about = own.schema.metadata
    names, delimiter = about[own_columns.NAMES].decode().split("\n"), about[own_columns.DELIMITER].decode()
    records = own[own_columns.RECORD].take(rows).to_pylist()
    cells = [next(csv.reader([record], delimiter=delimiter), []) for record in records]
    return {name: np.array([line[i] if i < len(line) else "" for line in cells]) for i, name in enumerate(names)}


def _as_written(column: Any) -> Any:
    """Return a column as text, unchanged if it is text."""
    import pyarrow as pa

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return (column if is_text else text(column)).fill_null("")


def suggestion_table(run: Run, suggestions: Suggestions, own: Columns) -> Columns:
    """Return the table to fill in: an empty column of labels, beside the user's columns and the predictions."""
    of_rows = {
        ROW_ID: run.rows.row_ids[suggestions.rows].astype(str),
        "newfound_class": suggestions.class_names.astype(str),
        "newfound_probability": suggestions.probabilities.round(4),
        "newfound_reason": np.array(suggestions.reasons, dtype=str),
    }
    to_fill = OWN_LABEL if LABEL in own and run.schema.label_column != LABEL else LABEL
    others = {name: column for name, column in own.items() if name != to_fill and name not in of_rows}
    return others | of_rows | {to_fill: np.full(len(suggestions), "", dtype=str)}


def check_paths(out: Path, tasks: Path | None, *, replace: bool) -> None:
    """Check the names before anything is computed. An existing file may hold labels that a person filled in."""
    if out.suffix.lower() != ".csv":
        raise DataError(f"--out must end in .csv; got {out.name!r}. Name another file.")
    if tasks is not None and tasks.suffix.lower() != ".json":
        raise DataError(f"--label-studio must end in .json; got {tasks.name!r}. Name another file.")
    for path in (out, *((tasks, tasks.with_suffix(".xml")) if tasks else ())):
        check_file_out(path, [], replace=replace)


def write_suggestions(path: Path, table: Columns) -> None:
    make_folders(path.absolute().parent)
    replace_file(path, csv_bytes(table))


def write_tasks(path: Path, run: Run, suggestions: Suggestions, own: Columns) -> Path:
    """Write tasks as JSON and the labelling configuration beside them as XML; return the path of the latter."""
    rows, shape = run.rows, run.schema.image_shape
    tasks = [
        task(str(rows.row_ids[s.row]), _shown(rows.X[s.row], shape, own, i), str(s.class_name), s.probability, s.reason)
        for i, s in enumerate(suggestions)
    ]
    make_folders(path.absolute().parent)
    replace_file(path, encoded(tasks))
    names = [summary.name for summary in run.classes]
    replace_file(path.with_suffix(".xml"), interface(names, is_image=shape is not None).encode())
    return path.with_suffix(".xml")


def _shown(x: np.ndarray, shape: tuple[int, ...] | None, own: Columns, i: int) -> dict[str, Any]:
    if shape is not None:
        return {"image": as_data_uri(x, shape)}
    return {"columns": {name: str(column[i]) for name, column in own.items()}}


# ---- Files of labels: a table with row ids and labels, or an export of Label Studio ----


class GivenLabels(NamedTuple):
    """Labels as pairs of a row's number and its label, as the act `label` stores them."""

    given: list[tuple[int, str]]  # rows that had no label
    corrections: list[tuple[int, str]]  # rows that had another one
    n_empty: int  # entries without a label
    n_same: int  # rows that already had this label

    def arguments(self) -> dict[str, Any]:
        """Of the act `label`."""
        return {"given": [list(pair) for pair in self.given], "corrections": [list(pair) for pair in self.corrections]}


def read_given(run: Run, path: Path) -> GivenLabels:
    """Read a file of labels and find the row of the run for each; refuse unknown and ambiguous rows."""
    entries = list(read_export(path) if path.suffix.lower() == ".json" else _read_table(run, path))
    labelled = [(row_id, label.strip()) for row_id, label in entries if not means_unlabelled(label)]
    if not labelled:
        raise DataError(
            f"{path.name!r} holds no label: {count(len(entries), 'row')}, all without. Fill in the column of labels."
        )
    labels = _one_each(labelled, path)
    rows = _rows_of(run, labels, path)
    now = current_labels(run)
    pairs = [(rows[row_id], label) for row_id, label in labels.items()]
    return GivenLabels(
        given=[(row, label) for row, label in pairs if now[row] == ""],
        corrections=[(row, label) for row, label in pairs if now[row] not in ("", label)],
        n_empty=len(entries) - len(labelled),
        n_same=sum(now[row] == label for row, label in pairs),
    )


def labels_since(run: Run) -> dict[int, str]:
    """Return the labels given since the run was made, by row number; the last one for each row."""
    acts = [act.arguments for act in run.acts_in_effect if act.act == "label"]
    return {row: label for act in acts for row, label in (*act["given"], *act["corrections"])}


def current_labels(run: Run) -> np.ndarray:
    """Return the present label of each row by its present name, "" for none."""
    labels = run.model.fitted_.classes.called_now(run.rows.observed).astype(object)
    for row, label in labels_since(run).items():
        labels[row] = label
    return labels.astype(str)


def _read_table(run: Run, path: Path) -> Iterator[tuple[str, str]]:
    if not is_table(path):
        raise DataError(
            f"{path.name!r} must be a table, such as a CSV with the columns {ROW_ID} and {LABEL}, or the .json that "
            f"Label Studio exports."
        )
    table = TableFile(path)
    id_column = _first_of(table, [ROW_ID, run.schema.id_column, "row_id", "file"], "ids of the rows")
    label_column = _first_of(table, [OWN_LABEL, LABEL, run.schema.label_column], "labels")
    cells = table.read(ColumnSelection([id_column, label_column], text={id_column, label_column}))
    ids, labels = (text(cells.column(name)).fill_null("").to_pylist() for name in (id_column, label_column))
    return zip(ids, labels, strict=True)


def _first_of(table: TableFile, names: list[str | None], what: str) -> str:
    wanted = [name for name in dict.fromkeys(names) if name is not None]
    found = next((name for name in wanted if name in table.names), None)
    if found is None:
        raise DataError(
            f"{table.where} has no column for the {what}: expected {' or '.join(map(repr, wanted))}, got "
            f"{quoted_list(table.names, 10)}. Rename the column."
        )
    return found


def _one_each(labelled: list[tuple[str, str]], path: Path) -> dict[str, str]:
    labels: dict[str, str] = {}
    for row_id, label in labelled:
        if labels.setdefault(row_id, label) != label:
            raise DataError(
                f"{path.name!r} gives the row {row_id!r} two labels, {labels[row_id]!r} and {label!r}. Keep one."
            )
    return labels


def _rows_of(run: Run, labels: dict[str, str], path: Path) -> dict[str, int]:
    ids, first, n = np.unique(run.rows.row_ids.astype(str), return_index=True, return_counts=True)
    row_of = dict(zip(ids.tolist(), first.tolist(), strict=True))
    unknown = [row_id for row_id in labels if row_id not in row_of]
    if unknown:
        raise DataError(
            f"{path.name!r} has {count(len(unknown), 'row')} that the run does not have: {quoted_list(unknown)}. The "
            f"ids must be those of the run, such as {run.rows.row_ids[0]!r}."
        )
    repeated = set(ids[n > 1].tolist()) & labels.keys()
    if repeated:
        raise DataError(
            f"More than one row of the run has the id {sorted(repeated)[0]!r}, so the label could be for any of them. "
            f"Fit with ids that differ."
        )
    return row_of
