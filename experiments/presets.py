"""Settings of the experiments: the paper's, a quick set with its accuracy, and the defaults with one change.

A preset is written as changes of names, each of which is a keyword of the estimators or a setting of `Config`. What
the paper leaves unspecified is the same in every experiment of a preset: UNSPECIFIED. docs/paper.md has the reasons.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from experiments.tasks import FIRST_HALF, RANDOM_SPLIT, SAMPLE
from newfound.config import NAMES, Config, check_parameters

PRESETS = ("quick", "paper")
DEFAULT = "default"  # the estimator's defaults, which are no reproduction
OF_THE_TASK = {"n_new", "n_init", "random_state", "verbose", "feature_types"}  # not part of a preset
CONFIG_NAMES = frozenset().union(*NAMES.values())

Changes = Mapping[str, Any]

UNSPECIFIED: dict[str, Any] = {
    "label_weight": 100.0,
    "temperature": 0.5,
    "activation": "relu",
    "prior_known": 0.5,  # half of p(y) for the known classes, where there are new components; else all of it
    "target_steps": 6_000,  # of max_epochs="auto",
    "pretrain_target_steps": 3_000,  # and of each phase of pretraining
    "validation_fraction": 0.0,  # every row and every label that is kept is learned from
    "pu_weight": 0.0,  # the paper's objective has no such term
}

# Appendix C: dimensions of z, units, batch size, learning rate.
SIZES: dict[str, dict[str, Any]] = {
    "mnist": {"latent_dim": 5, "hidden_layer_sizes": (200, 200), "batch_size": 4, "learning_rate": 1e-3},
    "fashion-mnist": {"latent_dim": 10, "hidden_layer_sizes": (500, 500), "batch_size": 64, "learning_rate": 1.5e-3},
    "har": {"latent_dim": 15, "hidden_layer_sizes": (500, 500), "batch_size": 64, "learning_rate": 5e-3},
}
IMAGES: dict[str, Any] = {"likelihood": "bernoulli", "min_std": 0.1}
FIXED_SIGMA: dict[str, Any] = {"likelihood": "gaussian-fixed", "sigma": 0.01, "standardize": False}
SMALL_KERNELS: dict[str, Any] = {"init_scale": 0.001}
AS_PRINTED: dict[str, Any] = {"max_epochs": 400, "pretrain_epochs": 0, "max_grad_norm": 1e30}

K_MEANS: dict[str, Any] = {"init": "kmeans"}
MEAN_FIELD: dict[str, Any] = {"posterior": "mean-field", "expectation": "exact"}
AS_PUBLISHED: dict[str, Any] = {"standardize": False}  # the publisher of HAR has scaled its columns to −1..1
QUICK: dict[tuple[str, str], dict[str, Any]] = {
    ("ssvae", "mnist"): SMALL_KERNELS | {"latent_dim": 5, "max_epochs": 40},
    ("ssvae", "fashion-mnist"): SMALL_KERNELS | {"latent_dim": 10, "max_epochs": 20},
    ("ssvae", "har"): AS_PUBLISHED | SMALL_KERNELS | {"latent_dim": 15, "max_epochs": 150},
    ("gmdgm", "mnist"): K_MEANS | {"max_epochs": 40},
    ("gmdgm", "fashion-mnist"): K_MEANS | {"max_epochs": 30},
    ("gmdgm", "har"): AS_PUBLISHED | K_MEANS | MEAN_FIELD,
}

# What `newfound fit` adds to the defaults for images.
OF_IMAGES: dict[str, dict[str, Any]] = {name: {"image_shape": (28, 28)} for name in ("mnist", "fashion-mnist")}

# The defaults, and the same with one change, which measures what each part contributes.
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "without-hog": {"image_shape": None},
    "without-pretraining": {"pretrain_epochs": 0},
    "without-pu": {"pu_weight": 0.0},
    "label-weight-1": {"label_weight": 1.0},
}


def changes_of(preset: str, dataset: str, model: str) -> dict[str, Any]:
    """What a preset changes of the defaults, in every regime.

    "quick" leaves widths, learning rate, pretraining and HAR's likelihood as they are. The baseline SSVAE keeps the
    paper's kernels and dimensions of z in both presets.
    """
    if preset in VARIANTS:
        changes = OF_IMAGES.get(SAMPLE.sub(r"\1", dataset), {}) | VARIANTS[preset]
        return {name: value for name, value in changes.items() if value is not None}
    source = dataset.removesuffix(FIRST_HALF).removesuffix(RANDOM_SPLIT)
    of_data = {} if source == "har" else IMAGES
    if preset == "paper":
        return UNSPECIFIED | SIZES[source] | (of_data or FIXED_SIGMA) | SMALL_KERNELS | AS_PRINTED
    return UNSPECIFIED | of_data | QUICK[model, source]


def changes_anything(variant: str, dataset: str) -> bool:
    """Whether a variant is another fit than the default one on this data; HOG, for one, is of images only."""
    return variant == DEFAULT or changes_of(variant, dataset, "gmdgm") != changes_of(DEFAULT, dataset, "gmdgm")


# ---- From changes to the estimator, and to the record ----


def keywords(changes: Changes) -> dict[str, Any]:
    """Keywords of an estimator, with all names that are not its own in `config`."""
    in_config = {name: value for name, value in changes.items() if name in CONFIG_NAMES}
    own = {name: value for name, value in changes.items() if name not in CONFIG_NAMES}
    return own | {"config": Config().replace(**in_config)}


def whole_settings(model: str, changes: Changes) -> dict[str, Any]:
    """The whole configuration with these changes, as JSON: every keyword that is not the task's, and the config."""
    from newfound.estimator import estimator_of

    settings = estimator_of(model)(**keywords(changes)).settings()
    return json.loads(json.dumps({name: value for name, value in settings.items() if name not in OF_THE_TASK}))


def by_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings in one flat dictionary; no name occurs in two parts."""
    config = {name: value for part in settings.get("config", {}).values() for name, value in part.items()}
    return {name: value for name, value in settings.items() if name != "config"} | config


def parse_changes(texts: Sequence[str]) -> dict[str, Any]:
    """Changes from "label_weight=1" and the like; values are read as JSON where they are JSON."""
    from newfound.estimator import GMDGM, PARAMETER_RULES

    allowed = (CONFIG_NAMES | GMDGM().get_params().keys()) - OF_THE_TASK - {"config"}
    changes: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in allowed:
            names = ", ".join(sorted(allowed))
            raise ValueError(f"--set must be name=value, with one of the names {names}; got {text!r}.")
        with suppress(ValueError):
            value = json.loads(value)
        changes[name] = tuple(value) if isinstance(value, list) else value
    Config().replace(**{name: value for name, value in changes.items() if name in CONFIG_NAMES})
    check_parameters(changes, {name: rules for name, rules in PARAMETER_RULES.items() if name in changes})
    return changes
