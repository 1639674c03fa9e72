"""From a fitted model and its rows to a run folder."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from newfound import __version__
from newfound.auditing import Audit
from newfound.data import Dataset
from newfound.interrupts import held_back
from newfound.labels import Labels
from newfound.preprocessing import about_wild
from newfound.runs.all_rows import AllRows
from newfound.runs.columnar import parquet_bytes
from newfound.runs.derived import write_derived
from newfound.runs.folder import AUDIT, FORMAT, MODEL, Run, being_made
from newfound.runs.latent_map import latent_map
from newfound.runs.listener import SILENT, Listener
from newfound.runs.making import made_whole
from newfound.runs.manifest import put_files
from newfound.runs.stored_rows import StoredRows, row_files, rows_of_fit
from newfound.runs.versions import versions


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
        "n_acts": 0,
        "n_rows": len(dataset),
        "n_labelled": int((rows.observed != "").sum()),
        "fingerprint": dataset.fingerprint(),
        "schema": dataset.schema.to_json(),
        "log": _log(model, dataset),
        "flags": dataset.flags,
    }


def _log(model: Any, dataset: Dataset) -> list[str]:
    """How the source was read, and what became of wild cells in it."""
    names = dataset.feature_names
    wild = about_wild(dataset.X, model.fitted_.preprocessing, lambda column: repr(names[column]))
    return [*dataset.log, wild] if wild and wild not in dataset.log else dataset.log
