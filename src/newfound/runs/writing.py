"""From a fitted model and its rows to a run folder."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from newfound import __version__
from newfound.auditing import Audit
from newfound.data import Dataset
from newfound.labels import Labels
from newfound.runs.class_descriptions import describe_rows, descriptions_json
from newfound.runs.class_summaries import summarise_classes, to_json
from newfound.runs.columnar import Columns, write_csv, write_parquet, write_tensors
from newfound.runs.discovered import discovered_columns, summarise_discovery
from newfound.runs.examples import choose_examples
from newfound.runs.folder import AUDIT, DESCRIPTION, DESCRIPTIONS, FORMAT, Run, made_whole
from newfound.runs.listener import SILENT, Listener
from newfound.runs.predictions import disagreements, predict_table
from newfound.runs.scoring import validation_calibration
from newfound.runs.versions import versions


@dataclass(frozen=True)
class Origin:
    """Where a run comes from."""

    source: str  # the file or data set, as the user named it
    command: str = ""  # to repeat the run
    masking: dict[str, Any] | None = None  # which labels were hidden on purpose


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
    with made_whole(folder) as building:
        run = fill_run(building, model, dataset, origin, observed, listener)
        finish(run)
    return Run(folder, run.description)


def fill_run(
    folder: Path, model: Any, dataset: Dataset, origin: Origin, observed: Labels | None, listener: Listener
) -> Run:
    """Every file of a run, in an empty folder."""
    listener.stage("predicting")
    truth = None if observed is None else dataset.labels.names
    seen = dataset.labels if observed is None else observed
    table = predict_table(model, dataset.X, dataset.row_ids, seen.names, truth) | discovered_columns(model)
    model.save(folder / "model")
    write_parquet(folder / "history.parquet", model.history_)
    _write_predictions(folder, table)
    (folder / "classes.json").write_text(to_json(summarise_classes(model.fitted_.classes, table, model.evidence_)))
    listener.stage("laying out the latent map")
    write_tensors(folder / "examples.safetensors", choose_examples(model, dataset, table))
    listener.stage("describing the classes")
    described = describe_rows(model, dataset.X, dataset.columns, table)
    (folder / DESCRIPTIONS).write_text(descriptions_json(described), encoding="utf-8")
    description = _describe(model, dataset, table) | asdict(origin)
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1, default=_plain))
    return Run(folder, json.loads((folder / DESCRIPTION).read_text()))


def write_audit(folder: Path, audit: Audit) -> None:
    (folder / AUDIT).write_text(json.dumps(audit.to_json(), indent=1))


def _write_predictions(folder: Path, table: Columns) -> None:
    write_parquet(folder / "predictions.parquet", table)
    write_csv(folder / "predictions.csv", table)
    differ = disagreements(table)
    write_csv(folder / "disagreements.csv", {name: column[differ] for name, column in table.items()})


def _describe(model: Any, dataset: Dataset, table: Columns) -> dict[str, Any]:
    from newfound.models import MODELS

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
        "n_new": model.n_new_,
        "n_new_range": model.n_new_range_,
        "selection": _about_selection(model),
        "discovery": summarise_discovery(model, table).to_json(),
        "n_rows": len(dataset),
        "n_labelled": int((table["observed_label"] != "").sum()),
        "n_disagreements": int(disagreements(table).sum()),
        "fingerprint": dataset.fingerprint(),
        "schema": dataset.schema.to_json(),
        "log": dataset.log,
        "calibration": validation_calibration(model, table),
    }


def _about_selection(model: Any) -> dict[str, Any] | None:
    from newfound.discovery.selection import describe

    selection = model.selection_
    return None if selection is None else selection._asdict() | {"sentence": describe(selection, model.classes_)}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
