"""A fitted model on disk: weights as safetensors, all else as JSON. Nothing that is read can run code."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as tensors_from_bytes
from safetensors.numpy import save as tensors_to_bytes

from newfound import __version__
from newfound._internal.files import disk, make_folders, replace_file
from newfound._internal.records import misfit, read_json
from newfound._internal.words import one_line
from newfound.classes import Classes
from newfound.config import Number, Objective, OneOf, Optimisation, Rule, Several
from newfound.discovery.record import Evidence, Selection
from newfound.discovery.tree import ClassTree
from newfound.fitted import Fitted, RestartResult, Termination
from newfound.models.architecture import LIKELIHOODS, MODELS, Architecture, posterior_shapes
from newfound.preprocessing.columns import Preprocessing, Scaling

# ---- What `model.json` must be before a model is made of it ----
# Whole, unchanged since it was saved, and of bounded sizes. The checksum covers the description, which names the
# checksum of the weights: so it covers all of a model. It tells an accident from what was saved; whoever edits a model
# on purpose can write a new one. So sizes are compared with each other and with the tensors, too, before anything is
# allocated.

CHECKSUM = "checksum"
MOST_LAYERS = 100
MOST_COMPONENTS = 100_000
SAVE_AGAIN = "Save the model again."


def sealed(description: dict[str, Any]) -> dict[str, Any]:
    """With the checksum of all else that it says."""
    return description | {CHECKSUM: _checksum(description)}


def check_seal(description: dict[str, Any], where: str) -> None:
    """Refuse a description that is not what was saved."""
    if description.get(CHECKSUM) != _checksum(description):
        raise ValueError(f"{where!r} was changed since it was saved: its checksum does not fit. {SAVE_AGAIN}")


def _checksum(description: dict[str, Any]) -> str:
    said = {name: value for name, value in description.items() if name != CHECKSUM}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


RULES: dict[str, Rule] = {
    "model": OneOf(tuple(MODELS)),
    "n_features": Number(1, 100_000_000, whole=True),
    "n_components": Number(1, MOST_COMPONENTS, whole=True),
    "latent_dim": Number(1, 1_000, whole=True),
    "hidden_layer_sizes": Several(Number(1, 100_000, whole=True)),
    "likelihood": OneOf(tuple(LIKELIHOODS)),
    "posterior": Objective.__dataclass_fields__["posterior"].metadata["rules"][0],
    "activation": Optimisation.__dataclass_fields__["activation"].metadata["rules"][0],
}
RECORDS: dict[str, Any] = {
    "settings": dict[str, Any],
    "weights": str,
    "classes": dict[str, Any],
    "regime": str,
    "n_new_range": list[int],
    "tree": dict[str, list[Any]] | None,
    "evidence": dict[str, list[Any]] | None,
    "temperature": float,
    "n_held_out_labels": int,
    "n_features": int,
    "feature_names": list[str] | None,
    "architecture": Architecture,
    "best_restart": int,
    "restarts": list[dict[str, Any]],
}
CLASSES: dict[str, Any] = {
    "names": list[str] | list[int] | list[bool],
    "ids": list[str] | list[int] | list[bool],
    "is_new": list[bool],
    "is_named": list[bool],
    "component_class": list[int],
    "component_is_new": list[bool],
    "next_new": int,
}
RESTART: dict[str, Any] = {
    "seed": int,
    "termination_condition": str,
    "validation_elbo": float | None,
    "learning_rate_reductions": int,
    "history": dict[str, list[float | None]],
}


def check_description(description: dict[str, Any], where: str) -> None:
    """Refuse a description of which no model can be made."""
    wrong = (
        _wrong_entries(description, RECORDS)
        or _wrong_entries(description["classes"], CLASSES, "classes.")
        or next(filter(None, (_wrong_entries(one, RESTART, "restarts.") for one in description["restarts"])), None)
        or _wrong_architecture(description["architecture"])
        or _wrong_sizes(description)
    )
    if wrong:
        raise ValueError(f"{where!r} is damaged: {wrong}. {SAVE_AGAIN}")


def _wrong_entries(stored: Mapping[str, Any], forms: Mapping[str, Any], at: str = "") -> str | None:
    lacking = next((name for name in forms if name not in stored), None)
    if lacking is not None:
        return f"it lacks {at + lacking!r}"
    return next(filter(None, (misfit(stored[name], form, at + name) for name, form in forms.items())), None)


def _wrong_architecture(architecture: Mapping[str, Any]) -> str | None:
    for name, rule in RULES.items():
        if name in architecture and not rule.accepts(architecture[name]):
            return f"architecture.{name} must be {rule}, got {str(architecture[name])[:40]}"
    if len(architecture["hidden_layer_sizes"]) > MOST_LAYERS:
        return f"architecture.hidden_layer_sizes must be at most {MOST_LAYERS}"
    columns = [i for _, block in architecture.get("blocks", ()) for i in block]
    if any(not 0 <= i < architecture["n_features"] for i in columns):
        return "architecture.blocks names columns that are not there"
    return None


def _wrong_sizes(description: Mapping[str, Any]) -> str | None:
    """What must be as long as, or within, something else."""
    classes, n_components = description["classes"], description["architecture"]["n_components"]
    n_classes = len(classes["names"])
    if not len(classes["ids"]) == len(classes["is_new"]) == len(classes["is_named"]) == n_classes:
        return "classes must have a name, an id and two flags each"
    of_components = classes["component_class"]
    if not len(of_components) == len(classes["component_is_new"]) == n_components:
        return f"classes.component_class must be {n_components} numbers"
    if any(not -1 <= i < n_classes for i in of_components) or {*range(n_classes)} - {*of_components}:
        return "classes.component_class must give every class a component, and no component another class"
    if len({*map(str, classes["names"])}) < n_classes:
        return "two classes have one name"
    names = description["feature_names"]
    if names is not None and len(names) != description["n_features"]:
        return f"feature_names must be {description['n_features']}"
    if not 0 <= description["best_restart"] < len(description["restarts"]):
        return f"best_restart must be one of the {len(description['restarts'])} restarts"
    return None if description["temperature"] > 0 else "temperature must be above 0"


def check_tensors(description: Mapping[str, Any], tensors: Mapping[str, np.ndarray], where: str) -> None:
    """Refuse tensors that are not those of the description."""
    n_components, n_features = description["architecture"]["n_components"], description["n_features"]
    n_rows = len(tensors["row_components"]) if "row_components" in tensors else 0
    shapes: dict[str, tuple[int, ...]] = {
        "preprocessing.is_kept": (n_features,),
        "preprocessing.fill_value": (n_features,),
        "preprocessing.spread": (),
        "row_components": (n_rows,),
        "row_probabilities": (n_rows, n_components),
        "row_is_labelled": (n_rows,),
    }
    check_shapes(shapes, tensors, where)
    n_kept = description["architecture"]["n_features"]
    of_columns = ("shift", "scale", "centre", "unit", "is_scaled")
    check_shapes({f"preprocessing.{name}": (n_kept,) for name in of_columns}, tensors, where)
    check_shapes({f"preprocessing.{name}": (2, n_kept) for name in ("fences", "ends")}, tensors, where)
    components, n_marked = tensors["row_components"], int(tensors["preprocessing.is_kept"].astype(bool).sum())
    is_within = components.dtype.kind in "iu" and (
        not n_rows or 0 <= components.min() <= components.max() < n_components
    )
    if not is_within or n_marked != n_kept or "validation_indices" not in tensors:
        raise ValueError(f"{where!r} is damaged: its weights are not those of its description. {SAVE_AGAIN}")


def check_shapes(shapes: Mapping[str, tuple[int, ...]], tensors: Mapping[str, np.ndarray], where: str) -> None:
    for name, shape in shapes.items():
        got = tensors[name].shape if name in tensors else None
        if got != shape or tensors[name].dtype.kind not in "biuf":
            found = "none is there" if got is None else f"got {got} of {tensors[name].dtype}"
            raise ValueError(
                f"{where!r} is damaged: the weights {name!r} must be of the shape {shape}, {found}. {SAVE_AGAIN}"
            )


# ---- A fitted model on disk: weights as safetensors, all else as JSON. Nothing that is read can run code ----
# `model.json` names the file of weights it belongs to, and is put in place last, in one move. Whatever happens in
# between, the folder holds the old model or the new one, whole.

FORMAT = 6
DESCRIPTION = "model.json"
OWN_WEIGHTS = re.compile(r"weights-[0-9a-f]{16}\.safetensors")


def save_fitted(fitted: Fitted, settings: dict[str, Any], folder: str | PathLike) -> None:
    """Write a fitted model, and the whole settings it was fitted with, to `folder`, which is made if need be."""
    folder = Path(folder)
    make_folders(folder)
    former = _weights_named(folder)
    weights = tensors_to_bytes(_tensors(fitted))
    name = f"weights-{hashlib.sha256(weights).hexdigest()[:16]}.safetensors"
    replace_file(folder / name, weights)
    replace_file(folder / DESCRIPTION, json.dumps(sealed(_describe(fitted, settings, name)), indent=1).encode())
    if former not in (None, name):
        with suppress(FileNotFoundError):
            disk.remove(folder / str(former))


def _weights_named(folder: Path) -> str | None:
    """The weights of the model that is in a folder now: no other file is newfound's to remove."""
    try:
        name = json.loads((folder / DESCRIPTION).read_text())["weights"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) and OWN_WEIGHTS.fullmatch(name) else None


def load_fitted(folder: str | PathLike) -> tuple[Fitted, dict[str, Any]]:
    """The fitted model in `folder`, and the settings it was fitted with."""
    folder = Path(folder)
    description = _read_description(folder)
    check_description(description, str(folder))
    tensors = _read_weights(folder, description)
    check_tensors(description, tensors, str(folder))
    architecture = Architecture(**{name: _as_tuples(value) for name, value in description["architecture"].items()})
    names = description["feature_names"]
    fitted = Fitted(
        classes=_classes_from_json(description["classes"]),
        regime=description["regime"],
        preprocessing=_preprocessing(tensors, architecture),
        architecture=architecture,
        restarts=tuple(
            _restart_from_json(restart, _weights(architecture, tensors, f"restart-{i}", folder))
            for i, restart in enumerate(description["restarts"])
        ),
        best_restart=description["best_restart"],
        validation_indices=tensors["validation_indices"],
        row_components=tensors["row_components"],
        row_probabilities=tensors["row_probabilities"],
        row_is_labelled=tensors["row_is_labelled"].astype(bool),
        n_new_range=_as_tuples(description["n_new_range"]),
        tree=_record_from_json(ClassTree, description["tree"]),
        evidence=_record_from_json(Evidence, description["evidence"]),
        temperature=description["temperature"],
        n_held_out_labels=description["n_held_out_labels"],
        n_features=description["n_features"],
        feature_names=None if names is None else tuple(names),
        selection=_selection_from_json(description.get("selection")),
        method=description.get("method"),
    )
    return fitted, description["settings"]


# ---- out ---------------------------------------------------------------------------------------------------------


def _describe(fitted: Fitted, settings: dict[str, Any], weights: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "newfound": __version__,
        "settings": settings,
        "weights": weights,
        "classes": _classes_to_json(fitted.classes),
        "regime": fitted.regime,
        "n_new_range": fitted.n_new_range,
        "tree": _record_to_json(fitted.tree),
        "evidence": _record_to_json(fitted.evidence),
        "temperature": fitted.temperature,
        "n_held_out_labels": fitted.n_held_out_labels,
        "n_features": fitted.n_features,
        "feature_names": fitted.feature_names,
        "selection": None if fitted.selection is None else fitted.selection._asdict(),
        "method": fitted.method,
        "architecture": fitted.architecture._asdict(),
        "best_restart": fitted.best_restart,
        "restarts": [_restart_to_json(restart) for restart in fitted.restarts],
    }


def _classes_to_json(classes: Classes) -> dict[str, Any]:
    arrays = {name: value for name, value in vars(classes).items() if name in Classes.__dataclass_fields__}
    return {name: value if name == "next_new" else value.tolist() for name, value in arrays.items()}


def _record_to_json(record: ClassTree | Evidence | None) -> dict[str, Any] | None:
    """A record of arrays as lists, for the few numbers that people may want to read."""
    return None if record is None else {name: array.tolist() for name, array in record._asdict().items()}


def _restart_to_json(restart: RestartResult) -> dict[str, Any]:
    return {
        "seed": restart.seed,
        "termination_condition": str(restart.termination_condition),
        "validation_elbo": _number_to_json(restart.validation_elbo),
        "learning_rate_reductions": restart.learning_rate_reductions,
        "history": {name: [_number_to_json(value) for value in column] for name, column in restart.history.items()},
    }


def _number_to_json(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _tensors(fitted: Fitted) -> dict[str, np.ndarray]:
    preprocessing = fitted.preprocessing
    tensors = {
        "preprocessing.is_kept": preprocessing.is_kept,
        "preprocessing.fill_value": preprocessing.fill_value,
        "preprocessing.centre": preprocessing.centre,
        "preprocessing.unit": preprocessing.unit,
        "preprocessing.fences": preprocessing.clip_range,
        "preprocessing.ends": preprocessing.fitted_range,
        "preprocessing.is_scaled": preprocessing.is_scaled,
        "preprocessing.shift": np.asarray(preprocessing.scaling.shift),
        "preprocessing.scale": np.asarray(preprocessing.scaling.scale),
        "preprocessing.spread": np.array(preprocessing.spread),
        "validation_indices": fitted.validation_indices,
        "row_components": fitted.row_components,
        "row_probabilities": fitted.row_probabilities,
        "row_is_labelled": fitted.row_is_labelled,
    }
    for i, restart in enumerate(fitted.restarts):
        tensors |= {f"restart-{i}{name}": array for name, array in restart.weights.items()}
    return {name: np.asarray(array, order="C") for name, array in tensors.items()}


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
    description = read_json(path, SAVE_AGAIN)
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise ValueError(f"{str(path)!r} is damaged or not newfound's: it names no format. {SAVE_AGAIN}")
    _check_format(folder, description["format"], description.get("newfound"))
    check_seal(description, str(path))
    return description


def _check_format(folder: Path, written_as: int, version: str | None) -> None:
    if written_as > FORMAT:
        raise ValueError(
            f"{str(folder)!r} was written by a newer newfound ({version}, format {written_as}); "
            f"this is newfound {__version__}, which reads format {FORMAT}. "
            f"Upgrade with pip install --upgrade newfound."
        )
    if written_as < FORMAT:
        raise ValueError(
            f"{str(folder)!r} was written by an earlier newfound (format {written_as}); this one reads format "
            f"{FORMAT}. Fit the model again and save it."
        )


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
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"{str(path)!r} is damaged ({one_line(str(error))}). Save the model again.") from None


def _as_tuples(value: Any) -> Any:
    """JSON has lists only; what is compiled for an architecture is found by its hash."""
    return tuple(_as_tuples(v) for v in value) if isinstance(value, list) else value


def _selection_from_json(stored: dict[str, Any] | None) -> Selection | None:
    return None if stored is None else Selection(**{name: _as_tuples(value) for name, value in stored.items()})


def _classes_from_json(stored: dict[str, Any]) -> Classes:
    kinds: dict[str, type] = {"is_new": bool, "component_class": int, "is_named": bool, "component_is_new": bool}
    arrays: dict[str, Any] = {name: np.array(stored[name], dtype=kind) for name, kind in kinds.items()}
    names = {name: np.array(stored[name] or np.zeros(0, np.int64)) for name in ("names", "ids")}
    return Classes(**names, **arrays, next_new=stored["next_new"])


def _record_from_json(kind: type[Any], stored: dict[str, Any] | None) -> Any:
    if stored is None:
        return None
    try:
        return kind(**{name: np.array(values, dtype=float if not values else None) for name, values in stored.items()})
    except (TypeError, ValueError):
        raise ValueError(f"The stored {kind.__name__} is damaged: its lists do not fit. {SAVE_AGAIN}") from None


def _preprocessing(tensors: dict[str, np.ndarray], architecture: Architecture) -> Preprocessing:
    return Preprocessing(
        is_kept=tensors["preprocessing.is_kept"].astype(bool),
        fill_value=tensors["preprocessing.fill_value"],
        centre=tensors["preprocessing.centre"],
        unit=tensors["preprocessing.unit"],
        clip_range=tensors["preprocessing.fences"],
        fitted_range=tensors["preprocessing.ends"],
        scaling=Scaling(tensors["preprocessing.shift"], tensors["preprocessing.scale"]),
        spread=float(tensors["preprocessing.spread"]),
        is_scaled=tensors["preprocessing.is_scaled"].astype(bool),
        blocks=architecture.blocks,
    )


def _restart_from_json(stored: dict[str, Any], weights: dict[str, np.ndarray]) -> RestartResult:
    if stored["termination_condition"] not in {str(ending) for ending in Termination}:
        raise ValueError(f"{stored['termination_condition']!r} is no way in which training ends. {SAVE_AGAIN}")
    return RestartResult(
        seed=stored["seed"],
        weights=weights,
        termination_condition=Termination(stored["termination_condition"]),
        validation_elbo=math.nan if stored["validation_elbo"] is None else stored["validation_elbo"],
        learning_rate_reductions=stored["learning_rate_reductions"],
        history={name: np.array(column, dtype=float) for name, column in stored["history"].items()},
    )


def _weights(
    architecture: Architecture, tensors: dict[str, np.ndarray], restart: str, folder: Path
) -> dict[str, np.ndarray]:
    """Of one restart: its arrays by the names that they have in the model, which begin with a point."""
    weights = {name.removeprefix(restart): array for name, array in tensors.items() if name.startswith(f"{restart}.")}
    for name, shape in posterior_shapes(architecture).items():
        if name not in weights or weights[name].shape != shape:
            got = weights[name].shape if name in weights else "nothing"
            raise ValueError(
                f"{str(folder)!r} is damaged: {restart}{name} must have the shape {shape}; got {got}. "
                f"Save the model again."
            )
    return weights
