"""A cell: one data set, model, regime and seed, fitted once and put on record."""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from newfound import __version__
from newfound.evaluation import Accuracy, evaluate, posterior_entropy
from newfound.reproduce.peers import PEERS
from newfound.reproduce.presets import PRESETS, settings_of
from newfound.reproduce.tasks import FIRST_HALF, Task, make_task
from newfound.run_folder import versions

GRID_ROWS = 8  # draws of z in a picture of generated rows
SUREST_ROWS = 10  # rows a component in a picture of the most confident ones


@dataclass(frozen=True, order=True)
class Cell:
    """What is to be fitted. Components and labels per class are given where they are not the regime's own."""

    preset: str
    dataset: str
    model: str
    regime: str
    seed: int
    n_components: int | None = None
    labels_per_class: int | None = None

    @property
    def name(self) -> str:
        changes = [] if self.n_components is None else [f"{self.n_components}-components"]
        changes += [] if self.labels_per_class is None else [f"{self.labels_per_class}-labels"]
        return "-".join([self.dataset, self.model, self.regime, *changes, str(self.seed)])

    @property
    def is_pictured(self) -> bool:
        """Whether a figure needs more of it than counts: what it generates, and how sure it is."""
        is_accident = self.regime == "accidental" or self.dataset.endswith(FIRST_HALF)
        return self.model == "ssvae" and self.seed == 0 and (is_accident or self.n_components is not None)

    def settings(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Settings of the estimator, or of k-means, whose starts are the seeds."""
        if self.model in PEERS:
            return PEERS[self.model].settings
        return settings_of(self.preset, self.dataset, self.model) | changes


def run_cell(cell: Cell, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fit and test: the record of a cell, and the arrays that its figures need."""
    task = make_task(cell.dataset, cell.regime, cell.seed, cell.n_components, cell.labels_per_class)
    settings = cell.settings(changes)
    began = time.perf_counter()
    model = PEERS[cell.model].fit(task, cell.seed) if cell.model in PEERS else _fit(cell, task, settings)
    seconds = time.perf_counter() - began
    component = _components(cell, model, task.X_test)
    record = {
        **{name: value for name, value in asdict(cell).items() if value is not None or name == "n_components"},
        **_scores(task, component),
        "training": _course(model),
        "settings": json.loads(json.dumps(settings)),
        "seconds": round(seconds, 1),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "versions": {"newfound": __version__} | versions(),
    }
    return record, pictures(model, task) if cell.is_pictured else {}


def _fit(cell: Cell, task: Task, settings: dict[str, Any]) -> Any:
    from newfound import GMDGM, SSVAE
    from newfound.training import Ending

    estimator = {"gmdgm": GMDGM, "ssvae": SSVAE}[cell.model]
    model = estimator(n_new=task.n_new, random_state=cell.seed, **settings).fit(task.X, task.y)
    if model.ending_ is Ending.INTERRUPTED:  # half a fit is no result
        raise KeyboardInterrupt
    return model


def _components(cell: Cell, model: Any, X: np.ndarray) -> np.ndarray:
    """newfound's own answers, or the paper's: the most probable component, be it known or new."""
    is_papers = cell.model not in PEERS and cell.preset in PRESETS
    return model.predict_component_proba(X).argmax(axis=1) if is_papers else model.predict_component(X)


def _scores(task: Task, component: np.ndarray) -> dict[str, Any]:
    """Every metric on the test rows that count, accuracies in per cent."""
    truth, component = task.truth[task.is_scored], component[task.is_scored]
    evaluation = evaluate(truth, component, task.n_components, task.known)
    metrics = evaluation.metrics
    is_known = np.isin(truth, task.known)
    in_own = component[is_known] == np.searchsorted(task.known, truth[is_known])
    return {
        "n_train": len(task.X),
        "n_labelled": int((task.y >= 0).sum()),
        "n_test": len(truth),
        "n_known": len(task.known),
        "n_new": task.n_new,
        "acc_many_to_one": _per_cent(evaluation.many_to_one.all),
        "acc_many_to_one_by_group": _groups(evaluation.many_to_one),
        "acc_one_to_one": _groups(evaluation.one_to_one),
        "acc_own_component": _per_cent(float(in_own.mean()) if len(in_own) else float("nan")),
        "called_known": _per_cent(float((component < len(task.known)).mean())),
        "nmi": round(metrics["normalised mutual information"], 4),
        "ari": round(metrics["adjusted Rand index"], 4),
        "components_in_use": int(metrics["components in use"]),
        "classes": [task.class_names[i] for i in evaluation.classes],
        "counts": evaluation.counts.tolist(),
    }


def _groups(accuracy: Accuracy) -> dict[str, float | None]:
    return {"all": _per_cent(accuracy.all), "known": _per_cent(accuracy.known), "new": _per_cent(accuracy.new)}


def _per_cent(share: float) -> float | None:
    return None if share != share else round(100 * share, 2)


def _course(model: Any) -> dict[str, Any] | None:
    """How training went; nothing for k-means."""
    if not hasattr(model, "ending_"):
        return None
    run = model.runs_[model.best_run_]
    return {
        "ending": str(run.ending),
        "steps": int(run.history["step"][-1]) if run.history else 0,
        "halvings_of_learning_rate": run.halvings,
        "heldout_elbo": None if run.heldout_elbo != run.heldout_elbo else round(run.heldout_elbo, 3),
    }


def pictures(model: Any, task: Task) -> dict[str, np.ndarray]:
    """What the figures show: generated rows, how unsure q(y | x) is, and the surest test rows of each component."""
    probabilities = model.predict_component_proba(task.X_test)
    surest = np.argsort(-probabilities, axis=0, kind="stable")[:SUREST_ROWS].T
    return {
        "grid": np.clip(model.sample_grid(GRID_ROWS, random_state=0), 0, 255).astype(np.uint8),
        "entropy": posterior_entropy(probabilities).astype(np.float32),
        "is_known": np.isin(task.truth, task.known),
        "surest": task.X_test[surest].astype(np.uint8),
    }


# ---- on disk ---------------------------------------------------------------------------------------------------------


def save_cell(folder: Path, cell: Cell, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a cell; its JSON comes last, so that where it is, all is."""
    from safetensors.numpy import save

    from newfound.storage import replace_file

    place = cells_folder(folder, cell.preset)
    place.mkdir(parents=True, exist_ok=True)
    if arrays:
        replace_file(place / f"{cell.name}.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
    replace_file(place / f"{cell.name}.json", (_to_json(record) + "\n").encode())


def _to_json(record: dict[str, Any]) -> str:
    """One line for each entry, and for each row of the counts."""
    import re

    text = json.dumps(record, indent=1, ensure_ascii=False)
    return re.sub(r"\[\s+([^\[\]]*?)\s+\]", lambda found: "[" + re.sub(r",\s+", ", ", found[1]) + "]", text)


def cells_folder(folder: Path, preset: str) -> Path:
    return folder / preset / "cells"


def read_cell(folder: Path, cell: Cell) -> dict[str, Any] | None:
    """The record of a cell that is done, or None."""
    path = cells_folder(folder, cell.preset) / f"{cell.name}.json"
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text())
        return record | {"settings": dict(record["settings"])}
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{str(path)!r} is damaged. Remove it; the cell is then computed again.") from None


def read_arrays(folder: Path, cell: Cell) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(cells_folder(folder, cell.preset) / f"{cell.name}.safetensors")
