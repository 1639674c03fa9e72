"""A run: a folder that holds everything one fit produced, and from which report and predictions are made.

    run.json             settings, seed, versions, source, fingerprint, layout and decisions of the data
    model/               the fitted model (newfound.load)
    classes.json         each class with its components, size and confidence
    predictions.parquet  every row: id, class, probability, P(new), component, entropy, observed label; also as CSV
    disagreements.csv    rows whose observed label the model doubts; the label itself is never changed
    history.parquet      every term of the objective over time
    examples.safetensors the rows that the report shows, and the map
    report.html

It is made beside its place, in a folder of another name, and moved there when it is whole.
"""

import json
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from newfound import __version__
from newfound.data import DataError, Dataset, Layout

FORMAT = 1
UNFINISHED = ".unfinished-"
VERSIONS_OF = ("jax", "equinox", "optax", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Run:
    """An opened run folder; its parts are read when asked for."""

    folder: Path
    description: dict[str, Any]

    @property
    def model(self) -> Any:
        from newfound.storage import load

        return load(self.folder / "model")

    @property
    def layout(self) -> Layout:
        return Layout.from_json(self.description["layout"])

    @property
    def classes(self) -> list[dict[str, Any]]:
        return json.loads((self.folder / "classes.json").read_text())

    @property
    def predictions(self) -> dict[str, np.ndarray]:
        return _read_parquet(self.folder / "predictions.parquet")

    @property
    def history(self) -> dict[str, np.ndarray]:
        return _read_parquet(self.folder / "history.parquet")

    @property
    def examples(self) -> dict[str, np.ndarray]:
        from safetensors.numpy import load_file

        return load_file(self.folder / "examples.safetensors")


def open_run(folder: str | os.PathLike) -> Run:
    """The run in `folder`; one that is missing or half-written is said to be so."""
    folder = Path(folder)
    description = folder / "run.json"
    if not description.is_file():
        begun = sorted(folder.parent.glob(f".{folder.name}{UNFINISHED}*"))
        why = (
            f"a fit towards it was begun but stopped before it was done ({begun[0].name}): fit again"
            if begun
            else "give the folder that `newfound fit --out` wrote"
        )
        what = "is not a run: run.json is missing" if folder.is_dir() else "is not there"
        raise DataError(f"The run {str(folder)!r} {what}; {why}.")
    try:
        stored = json.loads(description.read_text())
        if stored["format"] > FORMAT:
            raise DataError(
                f"The run {str(folder)!r} was written by a newer newfound ({stored['newfound']}); "
                f"this is {__version__}. Upgrade with pip install --upgrade newfound."
            )
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{str(description)!r} is damaged ({error!r}). Fit again.") from None
    return Run(folder, stored)


def check_out(folder: Path, *, replace: bool) -> None:
    """Refuse to write over what is already there, before anything is computed."""
    if folder.exists() and not (folder / "run.json").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{str(folder)!r} exists and is not a run. Name another folder with --out.")
    if (folder / "run.json").is_file() and not replace:
        raise DataError(f"{str(folder)!r} already holds a run. Use --replace to write over it, or another --out.")


def column_kinds(dataset: Dataset) -> list[str] | None:
    """The kind of each column for the model, where there are others than numbers."""
    if all(column.role == "numeric" for column in dataset.columns):
        return None
    kinds = ["numeric"] * dataset.X.shape[1]
    for column in dataset.columns:
        for position in column.positions:
            kinds[position] = f"category:{column.name}" if column.role == "category" else column.role
    return kinds


def write_run(
    folder: Path,
    model: Any,
    dataset: Dataset,
    observed: np.ndarray,
    truth: np.ndarray | None,
    about: dict[str, Any],
    tell: Callable[[str], None] = lambda what: None,
) -> Run:
    """Write everything about a fitted model to `folder`, which appears whole or not at all.

    `observed` are the labels the model saw ("" where none), `truth` the labels hidden from it, if there are any.
    """
    from newfound.report.assemble import choose_examples, class_summaries

    folder.parent.mkdir(parents=True, exist_ok=True)
    building = folder.parent / f".{folder.name}{UNFINISHED}{os.getpid()}"
    building.mkdir()
    try:
        tell("predicting")
        table = predictions_of(model, dataset.X, dataset.row_ids, observed, truth)
        model.save(building / "model")
        _write_parquet(building / "history.parquet", model.history_)
        _write_table(building, "predictions", table)
        doubted = disagreements(table)
        _write_csv(building / "disagreements.csv", {name: column[doubted] for name, column in table.items()})
        classes = class_summaries(model, table)
        _write_json(building / "classes.json", classes)
        tell("laying out the map")
        _write_tensors(building / "examples.safetensors", choose_examples(model, dataset, table))
        description = _describe(model, dataset, observed, table, doubted, about)
        _write_json(building / "run.json", description)
        tell("writing the report")
        write_report(Run(building, description))
        _move_into_place(building, folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return Run(folder, description)


def write_report(run: Run) -> Path:
    """(Re)write the report of a run from what its folder holds."""
    from newfound.report.assemble import content_of
    from newfound.report.page import render
    from newfound.storage import replace_file

    path = run.folder / "report.html"
    replace_file(path, render(content_of(run)).encode())
    return path


def predictions_of(
    model: Any, X: np.ndarray, row_ids: np.ndarray, observed: np.ndarray, truth: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """A column for each thing that is said of a row."""
    from newfound.evaluation import posterior_entropy
    from newfound.labels import most_probable

    components = model.predict_component_proba(X)
    probabilities = model.by_class(components)
    best = most_probable(probabilities, model.is_new_)
    table = {
        "row_id": row_ids.astype(str),
        "class": model.classes_[best].astype(str),
        "probability": probabilities[np.arange(len(X)), best],
        "p_new": probabilities[:, model.is_new_].sum(axis=1),
        "component": most_probable(components, model.is_new_[model.component_class_]),
        "entropy": posterior_entropy(components),
        "observed_label": observed.astype(str),
    }
    return table if truth is None else table | {"true_class": truth.astype(str)}


def disagreements(table: dict[str, np.ndarray]) -> np.ndarray:
    """Flags of the rows whose observed label is not the class the model gives them."""
    return (table["observed_label"] != "") & (table["observed_label"] != table["class"])


def heldout_calibration(model: Any, table: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Reliability of the known classes' probabilities, on labels that were held out of training."""
    from newfound.evaluation import expected_calibration_error, reliability

    rows = model.heldout_[table["observed_label"][model.heldout_] != ""]
    if len(rows) == 0:
        return None
    probability = table["probability"][rows]
    is_right = table["class"][rows] == table["observed_label"][rows]
    mean, accuracy, n_rows = reliability(probability, is_right)
    return {
        "bin_probability": mean.tolist(),
        "bin_accuracy": accuracy.tolist(),
        "bin_rows": n_rows.tolist(),
        "expected_calibration_error": expected_calibration_error(probability, is_right),
        "accuracy": float(is_right.mean()),
    }


def versions() -> dict[str, str]:
    """Of Python and of the libraries that a result may depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in VERSIONS_OF}


def _describe(
    model: Any,
    dataset: Dataset,
    observed: np.ndarray,
    table: dict[str, np.ndarray],
    doubted: np.ndarray,
    about: dict[str, Any],
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "newfound": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "settings": model.get_params(),
        "seeds": [run.seed for run in model.runs_],
        "regime": model.regime_,
        "ending": str(model.ending_),
        "n_rows": len(dataset),
        "n_labelled": int((observed != "").sum()),
        "n_disagreements": int(doubted.sum()),
        "fingerprint": dataset.fingerprint(),
        "layout": dataset.layout.to_json(),
        "decisions": dataset.decisions,
        "calibration": heldout_calibration(model, table),
        **about,
    }


def _move_into_place(building: Path, folder: Path) -> None:
    if not folder.exists():
        building.rename(folder)
        return
    former = building.with_name(building.name + "-former")
    folder.rename(former)
    building.rename(folder)
    shutil.rmtree(former)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _write_table(folder: Path, name: str, columns: dict[str, np.ndarray]) -> None:
    _write_parquet(folder / f"{name}.parquet", columns)
    _write_csv(folder / f"{name}.csv", columns)


def _write_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), path)


def _write_csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    import pyarrow as pa
    import pyarrow.csv

    pa.csv.write_csv(pa.table({name: pa.array(column) for name, column in columns.items()}), path)


def _read_parquet(path: Path) -> dict[str, np.ndarray]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def _write_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, path)
