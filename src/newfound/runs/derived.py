"""The files of a run that follow every act: written with the run, and again when its classes change."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound import __version__
from newfound._internal.files import held_back
from newfound._internal.records import checked
from newfound.acts import ACTS
from newfound.config import OneOf, check_parameters
from newfound.explain.audit_record import Audit
from newfound.labels import Labels
from newfound.models.in_numpy import normalised
from newfound.preprocessing.checks import outlier_message
from newfound.runs.all_rows import AllRows
from newfound.runs.answer import discovered_columns, summarise_discovery
from newfound.runs.making import made_whole
from newfound.runs.manifest import alone, put_files
from newfound.runs.map import LATENT_MAP, choose_examples, latent_map
from newfound.runs.predict import answer_table, disagreements, labelled_file, validation_calibration
from newfound.runs.records import (
    SILENT,
    ClassSummary,
    Columns,
    Listener,
    LoggedAct,
    StoredRows,
    acts_file,
    csv_bytes,
    describe_rows,
    descriptions_json,
    done,
    parquet_bytes,
    row_files,
    rows_of_fit,
    summarise_classes,
    taken_back,
    tensor_bytes,
    to_json,
    versions,
)
from newfound.runs.run import AUDIT, DESCRIPTION, DESCRIPTIONS, FORMAT, MODEL, Run, being_made, open_run
from newfound.tables.dataset import Dataset, Schema

# ---- What a run says, from its model as it stands now and its stored rows: the files that follow every act ----
# The files are made in memory and then put in place together (`manifest.put_files`): a reader never meets half of one,
# and what was cut short is finished by whoever opens the run next. Where the log of acts was moved away, the others
# follow (`is_behind`).


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
    answers = answer_table(model.fitted_.classes, normalised(rows.q), rows.row_ids, rows.observed, rows.truth)
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


# ---- From a fitted model and its rows to a run folder ----


@dataclass(frozen=True)
class Origin:
    """Where a run comes from."""

    source: str  # the file or data set, as the user named it
    command: str = ""  # to repeat the run
    masking: dict[str, Any] | None = None  # which labels were hidden on purpose
    uses_groups: bool = False  # whether whole groups of rows were held out


def leave_as_is(run: Run) -> None:
    """For a run to which nothing is added."""


def write_run(
    folder: Path,
    model: Any,
    dataset: Dataset,
    origin: Origin,
    *,
    observed: Labels | None = None,
    listener: Listener = SILENT,
    finish: Callable[[Run], object] = leave_as_is,
) -> Run:
    """Write everything about a fitted (or loaded) model to `folder`, which appears whole or not at all.

    `dataset` are the rows it was fitted on. `observed` are the labels it saw, where some of the data set's were hidden
    on purpose. `finish` may add to the run, such as a report, before it appears.
    """
    with held_back(), made_whole(folder, note=listener.note) as building:
        run = fill_run(building, model, dataset, origin, observed, listener)
        finish(run)
    return Run(folder, run.description)


def fill_run(
    folder: Path,
    model: Any,
    dataset: Dataset,
    origin: Origin,
    observed: Labels | None,
    listener: Listener,
    all_rows: AllRows | None = None,
) -> Run:
    """Every file of a run, in an empty folder; `all_rows` are counts where the data set is a sample."""
    listener.stage("predicting")
    rows = rows_of_fit(model, dataset, observed)
    put_files(folder, row_files(rows))
    model.save(folder / MODEL)
    put_files(folder, {"history.parquet": parquet_bytes(model.history_)})
    listener.stage("laying out the latent map")
    positions = latent_map(model, dataset.X)
    listener.stage("describing the classes")
    about = _describe(model, dataset, rows) | asdict(origin)
    if all_rows is not None:
        about |= {"n_rows": all_rows.n_rows, "n_labelled": all_rows.n_labelled, "all_rows": all_rows.to_json()}
    write_derived(folder, model, rows, positions, about)
    return being_made(folder)


def write_audit(folder: Path, audit: Audit) -> None:
    put_files(folder, {AUDIT: json.dumps(audit.to_json(), indent=1).encode()})


def _describe(model: Any, dataset: Dataset, rows: StoredRows) -> dict[str, Any]:
    """The part of `run.json` that no act changes."""
    from newfound.models.architecture import MODELS

    return {
        "format": FORMAT,
        "newfound": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "model": model.model,
        "model_title": MODELS[model.model].title,
        "settings": model.settings(),
        "seeds": [restart.seed for restart in model.restarts_],
        "regime": model.regime_,
        "termination_condition": str(model.termination_condition_),
        "n_acts": 0,
        "n_rows": len(dataset),
        "n_labelled": int((rows.observed != "").sum()),
        "fingerprint": dataset.fingerprint(),
        "schema": dataset.schema.to_json(),
        "log": _log(model, dataset),
        "flags": dataset.flags,
    }


def _log(model: Any, dataset: Dataset) -> list[str]:
    """How the source was read, and which outliers were clipped."""
    names = dataset.feature_names
    clipped = outlier_message(dataset.X, model.fitted_.preprocessing, lambda column: repr(names[column]))
    return [*dataset.log, clipped] if clipped and clipped not in dataset.log else dataset.log


# ---- Acts on a run: decided by a person, kept in its log, and followed by all that the run says ----


class Acted(NamedTuple):
    """The run after an act, and the act's line."""

    run: Run
    act: LoggedAct


def act_on(run: Run, act: str, arguments: dict[str, Any], finish: Callable[[Run], object] = leave_as_is) -> Acted:
    """One act of the registry (`acts.ACTS`) on a run; what is refused changes nothing. For `finish` see `rewrite`."""
    check_parameters({"act": act}, {"act": (OneOf(tuple(ACTS)),)})
    with alone(run.folder):
        line = done(run.model.fitted_, run.acts, act, arguments)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def undo(run: Run, finish: Callable[[Run], object] = leave_as_is) -> Acted:
    """Take back the last act that is in effect; the log keeps both."""
    with alone(run.folder):
        line = taken_back(run.acts)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def caught_up(run: Run) -> Run:
    """The run, its files written again if its log of acts was moved away."""
    if not is_behind(run):
        return run
    with alone(run.folder):
        return rewrite(run, run.acts, leave_as_is)
