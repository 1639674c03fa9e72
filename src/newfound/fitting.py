"""From checked rows and labels to a `Fitted` record: one function, for every model and whoever calls."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from newfound.classes import Classes
from newfound.config import Config
from newfound.fitted import Fitted, regime_of
from newfound.initialisation import Images
from newfound.labels import Labels
from newfound.models import MODELS, Architecture, log_prior
from newfound.models.likelihoods import LIKELIHOODS
from newfound.parameters import Number, OneOf, Rule, Several
from newfound.preprocessing import Preprocessing, check_feature_types, check_image_shape, decide, is_binary
from newfound.progress import progress_bar
from newfound.training import (
    RestartResult,
    Termination,
    TrainingData,
    best_restart,
    split_rows,
    train,
    training_settings,
)

AUTO_NEW = 40  # the paper's number of new components
ROWS_PER_AUTO_NEW = 20  # fewer rows get fewer
CHOOSABLE = tuple(name for name, kind in LIKELIHOODS.items() if not kind.needs_feature_types)

RULES: dict[str, tuple[Rule, ...]] = {
    "n_new": (Number(0, 10_000, whole=True), OneOf(("auto",))),
    "latent_dim": (Number(1, 1_000, whole=True),),
    "hidden_layer_sizes": (Several(Number(1, 100_000, whole=True)),),
    "likelihood": (OneOf(("auto", *CHOOSABLE)),),
    "standardize": (OneOf(("auto", "min-max", True, False)),),
    "pu_weight": (Number(0, 1_000),),
    "batch_size": (Number(1, 100_000, whole=True),),
    "learning_rate": (Number(0, 1, is_low_open=True),),
    "max_epochs": (Number(1, 1_000_000, whole=True), OneOf(("auto",))),
    "validation_fraction": (Number(0, 0.5),),
    "n_init": (Number(1, 1_000, whole=True),),
    "verbose": (OneOf(("auto", True, False)),),
}


class Parameters(NamedTuple):
    """The estimator's parameters, checked."""

    n_new: int | str
    latent_dim: int
    hidden_layer_sizes: Sequence[int]
    likelihood: str
    standardize: bool | str
    feature_types: Sequence[str] | None
    image_shape: Sequence[int] | None
    pu_weight: float
    batch_size: int
    learning_rate: float
    max_epochs: int | str
    validation_fraction: float
    n_init: int
    verbose: bool | str
    random_state: Any
    config: Config


def fit_model(
    model: str, X: np.ndarray, labels: Labels, parameters: dict[str, Any], feature_names: np.ndarray | None = None
) -> Fitted:
    """Fit a model of the registry to rows of float32 or uint8 and the labels that some of them carry."""
    p = Parameters(**parameters)
    classes = _classes(labels, p)
    check_labels(labels, classes, p)
    check_feature_types(p.feature_types, X.shape[1])
    check_image_shape(p.image_shape, X.shape[1])
    likelihood = _likelihood(X, p)
    preprocessing = _preprocessing(X, likelihood, p)
    rng = check_random_state(p.random_state)
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=p.n_init)]
    training, validation = split_rows(labels.codes, p.validation_fraction, rng)
    architecture = _architecture(model, preprocessing, likelihood, classes, p)
    images = None if p.image_shape is None else Images(X, tuple(p.image_shape))
    settings = training_settings(
        labels.codes[training],
        p.config,
        batch_size=p.batch_size,
        max_epochs=p.max_epochs,
        learning_rate=p.learning_rate,
        pu_weight=p.pu_weight,
        pretrains=MODELS[model].pretrains,
    )
    data = TrainingData(
        preprocessing.select(X), labels.codes, training, validation, preprocessing.scaling, classes, images
    )
    prior = log_prior(labels.counts, len(classes.new_components), p.config.objective.prior_known)
    sigma = p.config.objective.sigma if LIKELIHOODS[likelihood].sigma_is_given else preprocessing.spread
    with progress_bar(p.verbose, MODELS[model].title) as callback:
        restarts = train(architecture, prior, sigma, data, settings, seeds, callback)
    best = best_restart(restarts)
    _warn_of_termination(restarts[best])
    return Fitted(
        classes=classes,
        regime=regime_of(classes.n_known, len(classes.new_components), has_unlabelled=labels.n_unlabelled > 0),
        preprocessing=preprocessing,
        architecture=architecture,
        restarts=tuple(restarts),
        best_restart=best,
        validation_indices=validation,
        n_features=X.shape[1],
        feature_names=None if feature_names is None else tuple(map(str, feature_names)),
    )


def _classes(labels: Labels, p: Parameters) -> Classes:
    """The known classes, and as many new ones as were asked for."""
    auto = min(AUTO_NEW, math.ceil(labels.n_unlabelled / ROWS_PER_AUTO_NEW))
    return Classes.one_component_each(labels.classes, auto if p.n_new == "auto" else int(p.n_new))


def _likelihood(X: np.ndarray, p: Parameters) -> str:
    if p.feature_types is not None:
        return next(name for name, kind in LIKELIHOODS.items() if kind.needs_feature_types)
    if p.likelihood != "auto":
        return p.likelihood
    return "bernoulli" if is_binary(X) else "gaussian"


def _preprocessing(X: np.ndarray, likelihood: str, p: Parameters) -> Preprocessing:
    min_std = p.config.optimisation.min_std
    unit_interval = LIKELIHOODS[likelihood].needs_unit_interval
    preprocessing = decide(X, p.standardize, min_std, p.feature_types, unit_interval=unit_interval)
    n_dropped = int((~preprocessing.is_kept).sum())
    if n_dropped and X.dtype != np.uint8:  # the blank border of images is no news
        warnings.warn(
            f"{n_dropped} of {len(preprocessing.is_kept)} columns do not vary (standard deviation at most "
            f"{min_std:g}) and are dropped: the first is column {int(np.argmin(preprocessing.is_kept))}.",
            stacklevel=5,
        )
    return preprocessing


def _architecture(
    model: str, preprocessing: Preprocessing, likelihood: str, classes: Classes, p: Parameters
) -> Architecture:
    return Architecture(
        model=model,
        n_features=int(preprocessing.is_kept.sum()),
        n_components=classes.n_components,
        latent_dim=p.latent_dim,
        hidden_layer_sizes=tuple(p.hidden_layer_sizes),
        likelihood=likelihood,
        posterior=p.config.objective.posterior,
        activation=p.config.optimisation.activation,
        init_scale=p.config.optimisation.init_scale,
        blocks=preprocessing.blocks,
    )


def _warn_of_termination(restart: RestartResult) -> None:
    if restart.termination_condition is Termination.INTERRUPTED:
        warnings.warn("Training was interrupted; the best state so far is kept and can be used.", stacklevel=5)
    if restart.termination_condition is Termination.DIVERGED:
        warnings.warn(
            "Training diverged in every restart, even at a much lower learning rate; the last finite state is kept. "
            "Lower learning_rate, or let standardize = True scale the columns.",
            ConvergenceWarning,
            stacklevel=5,
        )


def check_labels(labels: Labels, classes: Classes, p: Parameters) -> None:
    """Refuse labels and numbers of classes from which nothing, or nothing new, can be learned."""
    n_rows, n_known, n_new = len(labels), classes.n_known, len(classes) - classes.n_known
    if n_known == 0 and n_new == 0:
        raise ValueError(
            "There is nothing to learn: y has no labels and n_new = 0. Give some labels, or set n_new to the "
            "number of classes you expect, or a few more."
        )
    if labels.n_unlabelled == 0 and n_new > 0:
        raise ValueError(
            f"All {n_rows} rows have a label, so no new class can be found among them; expected n_new = 0, got "
            f"{n_new}. Set n_new = 0 (or 'auto'), or mark the rows whose class is open with -1."
        )
    if n_known + n_new < 2:
        raise ValueError(
            f"There is one class only (n_samples = {n_rows}, {n_known} known and {n_new} new); expected at least "
            f"two. Give labels of another class, or set n_new to 1 or more and leave some rows unlabelled."
        )
    if n_new > labels.n_unlabelled:
        raise ValueError(
            f"n_new must be at most the number of unlabelled rows, {labels.n_unlabelled}; got {n_new}. "
            f"Lower n_new or give more rows without a label."
        )
    _check_validation(labels, p)


def _check_validation(labels: Labels, p: Parameters) -> None:
    if p.validation_fraction > 0 and len(labels.classes) and labels.counts.min() < 2:
        rare = labels.classes[labels.counts.argmin()]
        raise ValueError(
            f"Every known class needs at least 2 labels, one to learn from and one for validation; class {rare!r} has "
            f"1. Label another row of it, or set its label to -1 to let it be discovered, or set "
            f"validation_fraction = 0 to hold nothing out."
        )
    if p.validation_fraction == 0 and (p.config.optimisation.early_stopping or p.n_init > 1):
        raise ValueError(
            "early_stopping and n_init > 1 choose by the validation ELBO, but validation_fraction = 0 holds nothing "
            "out. Set validation_fraction to 0.1, say."
        )
