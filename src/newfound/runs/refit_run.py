"""A run fitted again, to the same rows, with the labels that were given since: another run; the first one stays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from newfound.data import Dataset
from newfound.errors import DataError
from newfound.labels import Labels
from newfound.runs.folder import CHANGES, Run
from newfound.runs.given_labels import current_labels, labels_since
from newfound.runs.listener import SILENT, Listener
from newfound.runs.manifest import put_files
from newfound.runs.new_run import run_of
from newfound.runs.outputs import told_path
from newfound.runs.writing import Origin, leave_as_is


def refit_run(
    run: Run,
    out: Path,
    *,
    command: str = "",
    replace: bool = False,
    listener: Listener = SILENT,
    finish: Callable[[Run], object] = leave_as_is,
) -> Run:
    """Fit the rows of a run again, with its settings; classes that are the same keep their ids and names."""
    if out.resolve() == run.folder.resolve():
        raise DataError(f"A refit leaves the run {str(run.folder)!r} as it is. Name another folder with --out.")
    labels = current_labels(run)
    dataset, observed = as_dataset(run, labels)
    about = run.description
    origin = Origin(about["source"], command, about["masking"], about["uses_groups"])

    def fit(seen: Labels, building: Path) -> Any:
        return run.model.refit(dataset.X, seen)

    def add(folder: Path, estimator: Any) -> None:
        write_changes(folder, run, estimator)

    has_audit = run.audit is not None
    return run_of(fit, dataset, out, origin, observed, replace, has_audit, listener, finish, add)


def as_dataset(run: Run, labels: np.ndarray) -> tuple[Dataset, Labels | None]:
    """The rows of a run with the labels there are now, as they were read from the source; and those a fit may see.

    Where labels were hidden on purpose, the data set goes on to hold all of them, and the fit sees the others.
    """
    rows, schema = run.rows, run.schema
    seen = Labels.read(labels, len(labels), schema.class_names)
    truth = None if rows.truth is None else Labels.read(rows.truth, len(labels), schema.class_names)
    dataset = Dataset(
        X=np.ascontiguousarray(rows.X.astype(schema.dtype)),
        labels=seen if truth is None else truth,
        feature_names=schema.feature_names,
        row_ids=rows.row_ids,
        kind=schema.kind,
        image_shape=schema.image_shape,
        columns=list(schema.columns),
        log=run.description["log"],
        flags=run.description["flags"],
        groups=rows.groups,
        label_column=schema.label_column,
        id_column=schema.id_column,
        dropped=list(schema.dropped),
        source=rows.own,
    )
    return dataset, None if truth is None else seen


def write_changes(folder: Path, run: Run, estimator: Any) -> None:
    """What is different from the run before, and the labels that were given and corrected since."""
    since, rows = labels_since(run), run.rows
    about = [(str(rows.row_ids[row]), str(rows.observed[row]), label) for row, label in sorted(since.items())]
    stored = {
        "refit_of": told_path(run.folder),
        "changes": estimator.changes_.to_json(),
        "given": [{"row_id": i, "label": now} for i, was, now in about if was == ""],
        "corrections": [{"row_id": i, "was": was, "label": now} for i, was, now in about if was != ""],
    }
    put_files(folder, {CHANGES: json.dumps(stored, indent=1, ensure_ascii=False).encode()})
