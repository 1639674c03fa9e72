"""A fitted model on disk: weights as safetensors, all else as JSON. Nothing that is read can run code.

`model.json` names the file of weights it belongs to, and is put in place last, in one move. Whatever happens in
between, the folder holds the old model or the new one, whole.
"""

import hashlib
import json
import math
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as tensors_from_bytes
from safetensors.numpy import save as tensors_to_bytes

from newfound import __version__
from newfound.features import Features, Scaling
from newfound.models import MODELS, Architecture, DeepGenerativeModel
from newfound.models.randomness import key_of
from newfound.training import Ending, RunResult

if TYPE_CHECKING:
    from newfound.estimator import DeepGenerativeClassifier

FORMAT = 1
DESCRIPTION = "model.json"


def save(estimator: "DeepGenerativeClassifier", folder: str | PathLike) -> None:
    """Write a fitted estimator to `folder`, which is made where there is none."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = tensors_to_bytes(_all_tensors(estimator))
    name = f"weights-{hashlib.sha256(weights).hexdigest()[:16]}.safetensors"
    replace_file(folder / name, weights)
    replace_file(folder / DESCRIPTION, json.dumps(_describe(estimator, name), indent=1).encode())
    for stale in folder.glob("weights-*.safetensors"):
        if stale.name != name:
            stale.unlink()


def load(folder: str | PathLike) -> "DeepGenerativeClassifier":
    """The estimator that was saved to `folder`, ready to predict."""
    from newfound import estimator

    description = _read_description(Path(folder))
    kinds = {cls.__name__: cls for cls in (estimator.GMDGM, estimator.SSVAE)}
    fitted = kinds[description["estimator"]](**_settings_from_json(description["settings"]))
    tensors = _read_weights(Path(folder), description)
    fitted.classes_ = np.array(description["classes"], dtype=description["classes_dtype"])
    fitted.is_new_ = np.array(description["is_new"], dtype=bool)
    fitted.component_class_ = np.array(description["component_class"], dtype=int)
    fitted.regime_ = description["regime"]
    fitted.n_features_in_ = description["n_features_in"]
    if description["feature_names_in"] is not None:
        fitted.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)
    fitted.architecture_ = Architecture(**{k: _as_tuples(v) for k, v in description["architecture"].items()})
    fitted.features_ = _features_from_tensors(tensors, fitted.architecture_)
    fitted.runs_ = [
        _run_from_json(run, _model_from_tensors(fitted.architecture_, tensors, f"run-{i}"))
        for i, run in enumerate(description["runs"])
    ]
    fitted.best_run_ = description["best_run"]
    fitted.history_ = fitted.runs_[fitted.best_run_].history
    fitted.ending_ = fitted.runs_[fitted.best_run_].ending
    return fitted


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one move: a reader, or a crash, never meets half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# ---- out ---------------------------------------------------------------------------------------------------------


def _describe(estimator: "DeepGenerativeClassifier", weights: str) -> dict[str, Any]:
    settings = estimator.get_params()
    if not isinstance(settings["random_state"], int):
        settings["random_state"] = None  # a generator has no JSON; the seeds it gave are kept with the runs
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "newfound": __version__,
        "estimator": type(estimator).__name__,
        "settings": settings,
        "weights": weights,
        "classes": estimator.classes_.tolist(),
        "classes_dtype": str(estimator.classes_.dtype),
        "is_new": estimator.is_new_.tolist(),
        "component_class": estimator.component_class_.tolist(),
        "regime": estimator.regime_,
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else names.tolist(),
        "architecture": estimator.architecture_._asdict(),
        "best_run": estimator.best_run_,
        "runs": [_run_to_json(run) for run in estimator.runs_],
    }


def _run_to_json(run: RunResult) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "ending": str(run.ending),
        "heldout_elbo": _number_to_json(run.heldout_elbo),
        "halvings": run.halvings,
        "history": {name: [_number_to_json(value) for value in column] for name, column in run.history.items()},
    }


def _number_to_json(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _all_tensors(estimator: "DeepGenerativeClassifier") -> dict[str, np.ndarray]:
    features = estimator.features_
    tensors = {
        "features.kept": features.kept,
        "features.filler": features.filler,
        "features.shift": np.asarray(features.scaling.shift),
        "features.scale": np.asarray(features.scaling.scale),
        "features.spread": np.array(features.spread),
    }
    for i, run in enumerate(estimator.runs_):
        tensors |= {f"run-{i}{name}": array for name, array in _named_leaves(run.model).items()}
    return {name: np.asarray(array, order="C") for name, array in tensors.items()}


def _named_leaves(model: DeepGenerativeModel) -> dict[str, np.ndarray]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


# ---- in ----------------------------------------------------------------------------------------------------------


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {str(folder)!r}. Give the folder that `save` wrote to.")
    if not path.is_file():
        raise FileNotFoundError(
            f"{str(folder)!r} holds no saved model: {DESCRIPTION} is missing. Give the folder that `save` wrote to; "
            f"if saving was cut short, save the model again."
        )
    try:
        description = json.loads(path.read_text())
        written_as = description["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is damaged or not newfound's ({error}). Save the model again.") from None
    if written_as > FORMAT:
        raise ValueError(
            f"{str(folder)!r} was written by a newer newfound ({description.get('newfound')}, format {written_as}); "
            f"this is newfound {__version__}, which reads formats up to {FORMAT}. "
            f"Upgrade with pip install --upgrade newfound."
        )
    return description


def _read_weights(folder: Path, description: dict[str, Any]) -> dict[str, np.ndarray]:
    name = Path(description["weights"]).name  # a bare name: a description cannot point outside its folder
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{str(folder)!r} is incomplete: {name} is missing. Copy the whole folder, or save the model again."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest()[:16] not in name:
        raise ValueError(f"{str(path)!r} is damaged: its content is not what was saved. Save the model again.")
    try:
        return tensors_from_bytes(content)
    except SafetensorError as error:
        raise ValueError(f"{str(path)!r} is damaged ({error}). Save the model again.") from None


def _settings_from_json(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: _as_tuples(value) if name in ("hidden", "image_shape") else value for name, value in settings.items()}


def _as_tuples(value: Any) -> Any:
    """JSON has lists only; what is compiled for an architecture is found by its hash."""
    return tuple(_as_tuples(v) for v in value) if isinstance(value, list) else value


def _features_from_tensors(tensors: dict[str, np.ndarray], architecture: Architecture) -> Features:
    return Features(
        kept=tensors["features.kept"].astype(bool),
        filler=tensors["features.filler"],
        scaling=Scaling(tensors["features.shift"], tensors["features.scale"]),
        spread=float(tensors["features.spread"]),
        likelihood=architecture.likelihood,
        blocks=architecture.blocks,
    )


def _run_from_json(run: dict[str, Any], model: DeepGenerativeModel) -> RunResult:
    return RunResult(
        seed=run["seed"],
        model=model,
        ending=Ending(run["ending"]),
        heldout_elbo=math.nan if run["heldout_elbo"] is None else run["heldout_elbo"],
        halvings=run["halvings"],
        history={name: np.array(column, dtype=float) for name, column in run["history"].items()},
    )


def _model_from_tensors(architecture: Architecture, tensors: dict[str, np.ndarray], prefix: str) -> DeepGenerativeModel:
    log_p_y, sigma = jnp.zeros(architecture.n_components), jnp.float32(1)
    blank = jax.eval_shape(lambda: MODELS[architecture.model].init(key_of(0), architecture, log_p_y, sigma))
    paths, structure = jax.tree_util.tree_flatten_with_path(blank)
    return jax.tree.unflatten(structure, [tensors[prefix + jax.tree_util.keystr(path)] for path, _ in paths])
