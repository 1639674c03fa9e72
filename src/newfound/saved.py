"""A fitted model on disk: weights as safetensors, all else as JSON. Nothing that is read can run code.

`model.json` names its file of weights, and is put in place last, in one move: at any time the folder holds the old
model or the new one, whole. Its checksum also covers the checksum of the weights. A checksum shows accidents; anyone
who edits a model on purpose can write a new one. So types, bounds and sizes are checked as well, before anything is
allocated.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec.structs import astuple
from safetensors import SafetensorError
from safetensors.numpy import load as tensors_from_bytes
from safetensors.numpy import save as tensors_to_bytes

from newfound import __version__
from newfound._internal.files import disk, make_folders, replace_file
from newfound._internal.records import JSON, Count, Meta, Record, check_format, converted, encoded, read_json, to_json
from newfound._internal.words import DataError, reason_of
from newfound.classes import Classes, ClassName
from newfound.discovery.record import Evidence, Selection
from newfound.discovery.tree import ClassTree
from newfound.fitted import Fitted, RestartResult, Termination
from newfound.models.architecture import MAX_FEATURES, Architecture, posterior_shapes
from newfound.preprocessing.columns import Preprocessing, Scaling

FORMAT = 7
DESCRIPTION = "model.json"
OWN_WEIGHTS = r"weights-[0-9a-f]{16}\.safetensors"
SAVE_AGAIN = "Save the model again."

# ---- What `model.json` holds ----


class StoredClasses(Record, frozen=True):
    """`Classes`, as lists."""

    names: list[ClassName]
    ids: list[ClassName]
    is_new: list[bool]
    is_named: list[bool]
    component_class: list[int]
    component_is_new: list[bool]
    next_new: Count


class StoredRestart(Record, frozen=True):
    """`RestartResult` without its weights. None stands for a number that is not finite."""

    seed: int
    termination_condition: Termination
    validation_elbo: float | None
    learning_rate_reductions: Count
    history: dict[str, list[float | None]]


class ModelFile(Record, frozen=True):
    """A `Fitted` without its arrays, and the settings of the fit."""

    format: int
    newfound: str
    settings: dict[str, JSON]
    weights: Annotated[str, Meta(pattern=f"^{OWN_WEIGHTS}$")]
    classes: StoredClasses
    regime: str
    n_new_range: tuple[Count, Count]
    tree: ClassTree | None
    evidence: Evidence | None
    temperature: Annotated[float, Meta(gt=0)]
    n_held_out_labels: Count
    n_features: Annotated[int, Meta(ge=1, le=MAX_FEATURES)]
    feature_names: tuple[str, ...] | None
    selection: Selection | None
    method: str | None
    architecture: Architecture
    best_restart: Count
    restarts: list[StoredRestart]
    checksum: str

    def check_sizes(self) -> None:
        """Refuse parts that do not fit each other."""
        classes, n_components = self.classes, self.architecture.n_components
        n_classes, of_components = len(classes.names), classes.component_class
        if not len(classes.ids) == len(classes.is_new) == len(classes.is_named) == n_classes:
            raise ValueError("classes must have a name, an id and two flags each")
        if len({type(name) for name in (*classes.names, *classes.ids)}) > 1:
            raise ValueError("names and ids of classes must all be text, or all numbers")
        if any(abs(name) >= 1 << 63 for name in (*classes.names, *classes.ids) if isinstance(name, int)):
            raise ValueError("names and ids of classes must be numbers of 64 bits")
        if not len(of_components) == len(classes.component_is_new) == n_components:
            raise ValueError(f"classes.component_class must be {n_components} numbers")
        if any(not -1 <= i < n_classes for i in of_components) or {*range(n_classes)} - {*of_components}:
            raise ValueError("classes.component_class must name all classes and no others")
        if len({*map(str, classes.names)}) < n_classes:
            raise ValueError("two classes have one name")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"feature_names must be {self.n_features}")
        if self.best_restart >= len(self.restarts):
            raise ValueError(f"best_restart must be one of the {len(self.restarts)} restarts")
        if self.settings.get("latent_dim", self.architecture.latent_dim) != self.architecture.latent_dim:
            raise ValueError(f"settings.latent_dim must be {self.architecture.latent_dim}")
        if self.tree is not None:
            self.tree.check(n_components)
        n_fragments = 0 if self.tree is None else self.tree.n_fragments
        if self.evidence is not None and any(entry.shape != (n_fragments,) for entry in astuple(self.evidence)):
            raise ValueError(f"evidence must be of the {n_fragments} fragments of the tree")
        if self.selection is not None and any(i >= n_classes for i in self.selection.worst):
            raise ValueError("selection.worst must be classes")


SHARED = ({*ModelFile.__struct_fields__} & Fitted.__dataclass_fields__.keys()) - {"classes", "restarts"}


def with_checksum(description: dict[str, Any]) -> dict[str, Any]:
    """The description with the checksum of all its other entries."""
    rest = {name: value for name, value in description.items() if name != "checksum"}
    return rest | {"checksum": hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()}


# ---- Out ----


def save_fitted(fitted: Fitted, settings: dict[str, Any], folder: str | PathLike) -> None:
    """Write a fitted model, and the whole settings it was fitted with, to `folder`, which is made if need be."""
    folder = Path(folder)
    make_folders(folder)
    former = _weights_named(folder)
    weights = tensors_to_bytes(_tensors(fitted))
    name = f"weights-{hashlib.sha256(weights).hexdigest()[:16]}.safetensors"
    replace_file(folder / name, weights)
    replace_file(folder / DESCRIPTION, encoded(with_checksum(to_json(_description(fitted, settings, name)))))
    if former not in (None, name):
        with suppress(FileNotFoundError):
            disk.remove(folder / str(former))


def _weights_named(folder: Path) -> str | None:
    """The weights of the model that is in a folder now: no other file is newfound's to remove."""
    try:
        name = read_json(folder / DESCRIPTION, dict[str, Any], SAVE_AGAIN)["weights"]
    except (OSError, ValueError, KeyError):
        return None
    return name if isinstance(name, str) and re.fullmatch(OWN_WEIGHTS, name) else None


def _description(fitted: Fitted, settings: dict[str, Any], weights: str) -> ModelFile:
    classes = {name: getattr(fitted.classes, name) for name in StoredClasses.__struct_fields__}
    return ModelFile(
        format=FORMAT,
        newfound=__version__,
        settings=settings,
        weights=weights,
        classes=StoredClasses(**classes),
        restarts=[
            StoredRestart(
                seed=restart.seed,
                termination_condition=restart.termination_condition,
                validation_elbo=_finite(restart.validation_elbo),
                learning_rate_reductions=restart.learning_rate_reductions,
                history={name: [*map(_finite, column)] for name, column in restart.history.items()},
            )
            for restart in fitted.restarts
        ],
        checksum="",
        **{name: getattr(fitted, name) for name in SHARED},
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _tensors(fitted: Fitted) -> dict[str, np.ndarray]:
    preprocessing = fitted.preprocessing
    tensors = {
        "preprocessing.is_kept": preprocessing.is_kept,
        "preprocessing.fill_value": preprocessing.fill_value,
        "preprocessing.centre": preprocessing.centre,
        "preprocessing.unit": preprocessing.unit,
        "preprocessing.clip_range": preprocessing.clip_range,
        "preprocessing.fitted_range": preprocessing.fitted_range,
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


# ---- In ----


def load_fitted(folder: str | PathLike) -> tuple[Fitted, dict[str, Any]]:
    """The fitted model in `folder`, and the settings it was fitted with."""
    folder = Path(folder)
    stored = _read_description(folder)
    tensors = _read_weights(folder, stored.weights)
    _check_tensors(stored, tensors, str(folder))
    as_stored: dict[str, Any] = {name: getattr(stored, name) for name in SHARED}
    as_stored |= {name: tensors[name] for name in ("row_components", "row_probabilities", "validation_indices")}
    fitted = Fitted(
        classes=_classes(stored.classes),
        preprocessing=_preprocessing(tensors, stored.architecture),
        restarts=tuple(
            _restart(restart, _restart_weights(stored.architecture, tensors, f"restart-{i}", folder))
            for i, restart in enumerate(stored.restarts)
        ),
        row_is_labelled=tensors["row_is_labelled"].astype(bool),
        **as_stored,
    )
    return fitted, stored.settings


def _read_description(folder: Path) -> ModelFile:
    path = folder / DESCRIPTION
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {str(folder)!r}. Give the folder that `save` wrote to.")
    if not path.is_file():
        raise FileNotFoundError(
            f"{str(folder)!r} holds no saved model: {DESCRIPTION} is missing. Give the folder that `save` wrote to; "
            f"if saving was cut short, save the model again."
        )
    plain = read_json(path, dict[str, Any], SAVE_AGAIN)
    check_format(plain, FORMAT, repr(str(path)), "Fit the model again and save it.")
    if with_checksum(plain) != plain:
        raise ValueError(f"{str(path)!r} was changed since it was saved: its checksum does not fit. {SAVE_AGAIN}")
    stored = converted(plain, ModelFile, repr(str(path)), SAVE_AGAIN)
    try:
        stored.check_sizes()
    except ValueError as error:
        raise DataError(f"{str(path)!r} is damaged ({error}). {SAVE_AGAIN}") from None
    return stored


def _read_weights(folder: Path, name: str) -> dict[str, np.ndarray]:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{str(folder)!r} is incomplete: {name} is missing. Copy the whole folder, or save the model again."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest()[:16] not in name:
        raise ValueError(f"{str(path)!r} is damaged: its content is not what was saved. {SAVE_AGAIN}")
    try:
        return tensors_from_bytes(content)
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"{str(path)!r} is damaged ({reason_of(error)}). {SAVE_AGAIN}") from None


def _check_tensors(stored: ModelFile, tensors: Mapping[str, np.ndarray], where: str) -> None:
    """Refuse tensors that are not those of the description."""
    n_features, n_kept = stored.n_features, stored.architecture.n_features
    n_components = stored.architecture.n_components
    n_rows = len(tensors["row_components"]) if "row_components" in tensors else 0
    of_preprocessing: dict[str, tuple[int, ...]] = {"is_kept": (n_features,), "fill_value": (n_features,), "spread": ()}
    of_preprocessing |= dict.fromkeys(("shift", "scale", "centre", "unit", "is_scaled"), (n_kept,))
    of_preprocessing |= dict.fromkeys(("clip_range", "fitted_range"), (2, n_kept))
    shapes = {f"preprocessing.{name}": shape for name, shape in of_preprocessing.items()}
    shapes |= {"row_components": (n_rows,), "row_is_labelled": (n_rows,), "row_probabilities": (n_rows, n_components)}
    for name, shape in shapes.items():
        got = tensors[name].shape if name in tensors else None
        if got != shape or tensors[name].dtype.kind not in "biuf":
            found = "none is there" if got is None else f"got {got} of {tensors[name].dtype}"
            raise ValueError(
                f"{where!r} is damaged: the weights {name!r} must be of the shape {shape}, {found}. {SAVE_AGAIN}"
            )
    components, n_marked = tensors["row_components"], int(tensors["preprocessing.is_kept"].astype(bool).sum())
    is_within = components.dtype.kind in "iu" and (
        not n_rows or 0 <= components.min() <= components.max() < n_components
    )
    if not is_within or n_marked != n_kept or "validation_indices" not in tensors:
        raise ValueError(f"{where!r} is damaged: its weights are not those of its description. {SAVE_AGAIN}")


def _classes(stored: StoredClasses) -> Classes:
    kinds: dict[str, type] = {"is_new": bool, "component_class": int, "is_named": bool, "component_is_new": bool}
    arrays: dict[str, Any] = {name: np.array(getattr(stored, name), dtype=kind) for name, kind in kinds.items()}
    names = {name: np.array(getattr(stored, name) or np.zeros(0, np.int64)) for name in ("names", "ids")}
    return Classes(**names, **arrays, next_new=stored.next_new)


def _preprocessing(tensors: dict[str, np.ndarray], architecture: Architecture) -> Preprocessing:
    of = {name.removeprefix("preprocessing."): array for name, array in tensors.items()}
    return Preprocessing(
        is_kept=of["is_kept"].astype(bool),
        is_scaled=of["is_scaled"].astype(bool),
        scaling=Scaling(of["shift"], of["scale"]),
        spread=float(of["spread"]),
        blocks=architecture.blocks,
        **{name: of[name] for name in ("fill_value", "centre", "unit", "clip_range", "fitted_range")},
    )


def _restart(stored: StoredRestart, weights: dict[str, np.ndarray]) -> RestartResult:
    return RestartResult(
        seed=stored.seed,
        weights=weights,
        termination_condition=stored.termination_condition,
        validation_elbo=math.nan if stored.validation_elbo is None else stored.validation_elbo,
        learning_rate_reductions=stored.learning_rate_reductions,
        history={name: np.array(column, dtype=float) for name, column in stored.history.items()},
    )


def _restart_weights(
    architecture: Architecture, tensors: dict[str, np.ndarray], restart: str, folder: Path
) -> dict[str, np.ndarray]:
    """The arrays of one restart by the names that they have in the model, which begin with a point."""
    weights = {name.removeprefix(restart): array for name, array in tensors.items() if name.startswith(f"{restart}.")}
    for name, shape in posterior_shapes(architecture).items():
        if name not in weights or weights[name].shape != shape:
            got = weights[name].shape if name in weights else "nothing"
            raise ValueError(
                f"{str(folder)!r} is damaged: {restart}{name} must have the shape {shape}; got {got}. {SAVE_AGAIN}"
            )
    return weights
