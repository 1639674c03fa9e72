"""What a run says, from its model as it stands now and its stored rows: the files that follow every act.

The files are made in memory and then put in place together (`manifest.put_files`): a reader never meets half of one,
and what was cut short is finished by whoever opens the run next. Where the log of acts was moved away, the others
follow (`is_behind`).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from newfound.checked_json import checked
from newfound.data import Schema
from newfound.inference import normed
from newfound.runs.act_log import LoggedAct, acts_file
from newfound.runs.all_rows import AllRows
from newfound.runs.class_descriptions import describe_rows, descriptions_json
from newfound.runs.class_summaries import ClassSummary, summarise_classes, to_json
from newfound.runs.columnar import Columns, csv_bytes, parquet_bytes, tensor_bytes
from newfound.runs.discovered import discovered_columns, summarise_discovery
from newfound.runs.examples import choose_examples
from newfound.runs.folder import DESCRIPTION, DESCRIPTIONS, Run, open_run
from newfound.runs.labelled import labelled_file
from newfound.runs.latent_map import LATENT_MAP
from newfound.runs.manifest import put_files
from newfound.runs.predictions import answer_table, disagreements
from newfound.runs.scoring import validation_calibration
from newfound.runs.stored_rows import StoredRows


def rewrite(run: Run, acts: list[LoggedAct], finish: Callable[[Run], object]) -> Run:
    """The log of acts, and every file that depends on them; `finish` adds what is made of these, such as a report."""
    fixed = {name: array for name, array in run.examples.items() if name in LATENT_MAP}
    files = derived_files(run.model_after(acts), run.rows, fixed, run.description | {"n_acts": len(acts)})
    put_files(run.folder, acts_file(acts) | files)
    again = open_run(run.folder)
    finish(again)
    return again


def is_behind(run: Run) -> bool:
    """Whether the files are those of other acts than are in the log."""
    return run.description["n_acts"] != len(run.acts)


def write_derived(folder: Path, model: Any, rows: StoredRows, fixed: Columns, description: dict[str, Any]) -> None:
    """`fixed` are parts of the examples that no act changes, `description` what `run.json` holds beside the answer."""
    put_files(folder, derived_files(model, rows, fixed, description))


def derived_files(model: Any, rows: StoredRows, fixed: Columns, description: dict[str, Any]) -> dict[str, bytes]:
    """The files by name, `run.json` last. Whatever else follows from the classes is one more line here."""
    table = table_of_rows(model, rows)
    differ = disagreements(table)
    all_rows = all_rows_of(description)
    classes = to_json(class_summaries(model, table, all_rows))
    described = describe_rows(model, rows.X, Schema.from_json(description["schema"]).columns, table)
    about = description | describe_answer(model, table, all_rows)
    return {
        "predictions.parquet": parquet_bytes(table),
        "predictions.csv": csv_bytes(table),
        **labelled_file(rows.own, table, model.fitted_.classes),
        "disagreements.csv": csv_bytes({name: column[differ] for name, column in table.items()}),
        "classes.json": classes.encode(),
        DESCRIPTIONS: descriptions_json(described).encode(),
        "examples.safetensors": tensor_bytes(choose_examples(model, rows.X, table) | fixed),
        DESCRIPTION: json.dumps(about, indent=1, default=_plain).encode(),
    }


def table_of_rows(model: Any, rows: StoredRows) -> Columns:
    """What is said of every row that was fitted on."""
    answers = answer_table(model.fitted_.classes, normed(rows.q), rows.row_ids, rows.observed, rows.truth)
    return answers | discovered_columns(model)


def all_rows_of(description: dict[str, Any]) -> AllRows | None:
    """The counts over all rows, where a run holds a sample of them."""
    stored = description.get("all_rows")
    return None if stored is None else AllRows.from_json(checked(stored, AllRows, "counts of all rows"))


def class_summaries(model: Any, table: Columns, all_rows: AllRows | None) -> list[ClassSummary]:
    classes = model.fitted_.classes
    summaries = summarise_classes(classes, table, model.evidence_)
    return summaries if all_rows is None else [all_rows.in_summary(one, classes) for one in summaries]


def describe_answer(model: Any, table: Columns, all_rows: AllRows | None = None) -> dict[str, Any]:
    """The part of `run.json` that depends on what the classes are now."""
    found, n_disagreements = summarise_discovery(model, table), int(disagreements(table).sum())
    if all_rows is not None:
        found, n_disagreements = all_rows.in_discovered(found), all_rows.n_disagreements(model.fitted_.classes)
    return {
        "n_new": model.n_new_,
        "n_new_range": model.n_new_range_,
        "selection": _about_selection(model),
        "discovery": found.to_json(),
        "n_disagreements": n_disagreements,
        "calibration": validation_calibration(model, table),
    }


def _about_selection(model: Any) -> dict[str, Any] | None:
    from newfound.discovery.selection import describe

    selection = model.selection_
    return None if selection is None else selection._asdict() | {"sentence": describe(selection, model.classes_)}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
