"""What `model.json` must be before a model is made of it: whole, unchanged since it was saved, and of bounded sizes.

The checksum covers the description, which names the checksum of the weights: so it covers all of a model. It tells an
accident from what was saved; whoever edits a model on purpose can write a new one. So sizes are compared with each
other and with the tensors, too, before anything is allocated.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from newfound.checked_json import misfit
from newfound.config import Objective, Optimisation
from newfound.models import MODELS, Architecture
from newfound.parameters import Number, OneOf, Rule, Several

CHECKSUM = "checksum"
MOST_LAYERS = 100
LIKELIHOOD_NAMES = ("bernoulli", "gaussian", "gaussian-fixed", "mixed")  # as in LIKELIHOODS, which needs JAX
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
    "likelihood": OneOf(LIKELIHOOD_NAMES),
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
