"""Settings: the paper's own, and the ones that reach its accuracy soonest.

Where the paper is silent, one choice serves every cell of a preset: SILENT. How each was chosen is in docs/paper.md.
"""

import json
from collections.abc import Sequence
from typing import Any

from newfound.errors import check_settings
from newfound.reproduce.tasks import FIRST_HALF, RANDOM_SPLIT
from newfound.settings import RULES

PRESETS = ("quick", "paper")
OWN = "default"  # newfound's own settings, which are no reproduction
OF_THE_TASK = {"n_new", "n_runs", "progress"}  # not for a preset to say

SILENT = {
    "alpha": 100.0,
    "temperature": 0.5,
    "activation": "relu",
    "known_mass": 0.5,  # half of p(y) for the known classes, where there are new components; else all of it
    "validation_fraction": 0.0,  # every row and every label that is left is learned from
    "evidence": 0.0,  # the paper's objective has no such term,
    "smoothness": 0.0,  # nor this one
}

# Appendix C: dimensions of z, units, batch size, learning rate.
SIZES = {
    "mnist": {"latent_dim": 5, "hidden": (200, 200), "batch_size": 4, "learning_rate": 1e-3},
    "fashion-mnist": {"latent_dim": 10, "hidden": (500, 500), "batch_size": 64, "learning_rate": 1.5e-3},
    "har": {"latent_dim": 15, "hidden": (500, 500), "batch_size": 64, "learning_rate": 5e-3},
}
IMAGES: dict[str, Any] = {"likelihood": "bernoulli", "min_sd": 0.1}
FIXED_SIGMA = {"likelihood": "gaussian-fixed", "sigma": 0.01, "standardize": False}
INITIALISATION: dict[str, Any] = {"kernel_sd": 0.001}
LITERAL = {"max_epochs": 400, "warm_epochs": 0, "max_gradient_norm": 1e30}


BY_DISTANCES: dict[str, Any] = {"start": "distances"}
MEAN_FIELD: dict[str, Any] = {"posterior": "mean-field", "expectation": "exact"}
QUICK: dict[tuple[str, str], dict[str, Any]] = {
    ("ssvae", "mnist"): INITIALISATION | {"latent_dim": 5, "max_epochs": 40},
    ("ssvae", "fashion-mnist"): INITIALISATION | {"latent_dim": 10, "max_epochs": 20},
    ("ssvae", "har"): INITIALISATION | {"latent_dim": 15, "max_epochs": 150},
    ("gmdgm", "mnist"): BY_DISTANCES | {"max_epochs": 40},
    ("gmdgm", "fashion-mnist"): BY_DISTANCES | {"max_epochs": 30},
    ("gmdgm", "har"): BY_DISTANCES | MEAN_FIELD,
}


# What `newfound fit` adds to newfound's own settings for images.
OF_IMAGES: dict[str, dict[str, Any]] = {name: {"image_shape": (28, 28)} for name in ("mnist", "fashion-mnist")}

# What each part of newfound's own settings is worth: the same with one thing changed.
VARIANTS: dict[str, dict[str, Any]] = {
    OWN: {},
    "without-edges": {"image_shape": None},
    "without-warm-start": {"warm_epochs": 0},
    "start-by-distances": {"start": "distances"},
    "without-evidence": {"evidence": 0.0},
    "alpha-1": {"alpha": 1.0},
    "mean-field": MEAN_FIELD,
    "with-smoothness": {"smoothness": 3.0},
}


def settings_of(preset: str, dataset: str, model: str) -> dict[str, Any]:
    """The settings of the estimator, whatever the regime.

    "quick" leaves widths, learning rate, warm start and HAR's likelihood to the estimator's defaults. The baseline
    keeps the paper's kernels and dimensions of z in both presets.
    """
    if preset in VARIANTS:
        return {
            name: value for name, value in (OF_IMAGES.get(dataset, {}) | VARIANTS[preset]).items() if value is not None
        }
    source = dataset.removesuffix(FIRST_HALF).removesuffix(RANDOM_SPLIT)
    of_data = {} if source == "har" else IMAGES
    if preset == "paper":
        return SILENT | SIZES[source] | (of_data or FIXED_SIGMA) | INITIALISATION | LITERAL
    return SILENT | of_data | QUICK[model, source]


def changes_anything(variant: str, dataset: str) -> bool:
    """Whether a variant is another fit than newfound's own on this data; edges, for one, are of images only."""
    return variant == OWN or settings_of(variant, dataset, "gmdgm") != settings_of(OWN, dataset, "gmdgm")


def parse_changes(texts: Sequence[str]) -> dict[str, Any]:
    """Settings from "alpha=1" and the like; values are read as JSON where they are JSON."""
    changes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in RULES or name in OF_THE_TASK:
            names = ", ".join(sorted(RULES.keys() - OF_THE_TASK))
            raise ValueError(f"--set must be name=value, with one of the names {names}; got {text!r}.")
        try:
            changes[name] = json.loads(value)
        except ValueError:
            changes[name] = value
    check_settings(changes, {name: RULES[name] for name in changes})
    return changes
