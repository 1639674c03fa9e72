"""Rows to label, as files: a table with the user's own columns, and tasks for Label Studio."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from newfound.data import own_rows
from newfound.data.cells import text
from newfound.data.formats import is_table
from newfound.errors import DataError
from newfound.files import make_folders, replace_file
from newfound.labelling import Suggestions
from newfound.runs.columnar import Columns, csv_bytes
from newfound.runs.folder import Run
from newfound.runs.label_studio import as_data_uri, interface, task
from newfound.runs.outputs import check_file_out

ROW_ID, LABEL, OWN_LABEL = "newfound_row_id", "label", "newfound_label"


def suggest_for(run: Run, n: int, labelled_since: dict[int, str]) -> Suggestions:
    """The rows of a run that would tell most; those that got a label since it was made are left out."""
    rows = run.rows
    y = np.full(len(rows.row_ids), "", dtype=object)
    for row, label in labelled_since.items():
        y[row] = label
    return run.model.suggest(rows.X, n, y)


def source_columns(run: Run, rows: np.ndarray) -> tuple[Columns, str | None]:
    """The user's own columns of some rows, as text, from the run itself; none, and why, where it does not hold them."""
    source = Path(run.description["source"]).expanduser()
    if run.schema.kind != "table" or not is_table(source):
        return {}, None
    own = run.rows.own
    if own is None or own.num_rows != len(run.rows.row_ids):
        return {}, "The run does not hold your own columns, so only ids are written."
    if own_rows.HEADER in (own.schema.metadata or {}):
        return _cells(own, rows), None
    some = own.take(rows)
    return {name: np.array(_as_written(some.column(name)).to_pylist(), dtype=str) for name in own.column_names}, None


def _cells(own: Any, rows: np.ndarray) -> Columns:
    """Of records of CSV, as they are written."""
    about = own.schema.metadata
    names, delimiter = about[own_rows.NAMES].decode().split("\n"), about[own_rows.DELIMITER].decode()
    records = own[own_rows.RECORD].take(rows).to_pylist()
    cells = [next(csv.reader([record], delimiter=delimiter), []) for record in records]
    return {name: np.array([line[i] if i < len(line) else "" for line in cells]) for i, name in enumerate(names)}


def _as_written(column: Any) -> Any:
    """Text as it is in the file; what has a type of its own there, as text."""
    import pyarrow as pa

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return (column if is_text else text(column)).fill_null("")


def suggestion_table(run: Run, suggestions: Suggestions, own: Columns) -> Columns:
    """What a person fills in: an empty column of labels, beside the user's columns and what is thought of each row."""
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
    """Before anything is computed; a file of suggestions may hold the labels that a person filled in."""
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
    """Tasks with predictions as JSON, and the labelling configuration beside it as XML, which is returned."""
    rows, shape = run.rows, run.schema.image_shape
    tasks = [
        task(str(rows.row_ids[s.row]), _shown(rows.X[s.row], shape, own, i), str(s.class_name), s.probability, s.reason)
        for i, s in enumerate(suggestions)
    ]
    make_folders(path.absolute().parent)
    replace_file(path, json.dumps(tasks, ensure_ascii=False, indent=1).encode())
    names = [summary.name for summary in run.classes]
    replace_file(path.with_suffix(".xml"), interface(names, is_image=shape is not None).encode())
    return path.with_suffix(".xml")


def _shown(x: np.ndarray, shape: tuple[int, ...] | None, own: Columns, i: int) -> dict[str, Any]:
    if shape is not None:
        return {"image": as_data_uri(x, shape)}
    return {"columns": {name: str(column[i]) for name, column in own.items()}}
