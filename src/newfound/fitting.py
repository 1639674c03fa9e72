"""From checked rows and labels to a `Fitted` record: one function, for every model and whoever calls."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from newfound.batching import in_batches
from newfound.classes import Classes
from newfound.config import Config
from newfound.discovery import Discovery, discover
from newfound.fitted import Fitted, regime_of
from newfound.inference import component_probabilities
from newfound.initialisation import Assignment, Images, Rows
from newfound.labels import UNLABELLED, Labels
from newfound.models import MODELS, Architecture, log_prior
from newfound.models.likelihoods import LIKELIHOODS
from newfound.parameters import Number, OneOf, Rule, Several
from newfound.preprocessing import Preprocessing, check_feature_types, check_image_shape, decide, is_binary
from newfound.progress import progress_bar
from newfound.training import (
    Callback,
    RestartResult,
    Termination,
    TrainingData,
    best_restart,
    split_rows,
    train,
    training_settings,
)

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
    check_feature_types(p.feature_types, X.shape[1])
    check_image_shape(p.image_shape, X.shape[1])
    _check_number(labels, p)
    _check_validation(labels, p)
    likelihood = _likelihood(X, p)
    preprocessing = _preprocessing(X, likelihood, p)
    rng = check_random_state(p.random_state)
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=p.n_init)]
    split = split_rows(labels.codes, p.validation_fraction, rng)
    with progress_bar(p.verbose, MODELS[model].title) as callback:
        data, discovery = _training_data(X, labels, split, preprocessing, seeds[0], p)
        architecture = _architecture(model, preprocessing, likelihood, data.classes, p)
        restarts = _train(architecture, data, labels, preprocessing.spread, seeds, callback, p)
    best = best_restart(restarts)
    _warn_of_termination(restarts[best])
    n_new = len(data.classes.new_components)
    return Fitted(
        classes=data.classes,
        regime=regime_of(data.classes.n_known, n_new, has_unlabelled=labels.n_unlabelled > 0),
        preprocessing=preprocessing,
        architecture=architecture,
        restarts=tuple(restarts),
        best_restart=best,
        validation_indices=split[1],
        row_components=_row_components(data, restarts[best]),
        n_new_range=(n_new, n_new) if discovery is None else discovery.n_new_range,
        n_features=X.shape[1],
        feature_names=None if feature_names is None else tuple(map(str, feature_names)),
        discovery=discovery,
    )


def _training_data(
    X: np.ndarray,
    labels: Labels,
    split: tuple[np.ndarray, np.ndarray],
    preprocessing: Preprocessing,
    seed: int,
    p: Parameters,
) -> tuple[TrainingData, Discovery | None]:
    """The rows with their classes, as many new ones as were asked for or are found; and what was discovered."""
    rows = rows_of(X, preprocessing, p.image_shape)
    n_new, discovery, found = 0 if p.n_new == "auto" else int(p.n_new), None, None
    if p.n_new == "auto" and labels.n_unlabelled:
        discovery = discover(
            rows,
            labels.keep(split[0]).codes,
            len(labels.classes),
            p.config.initialisation,
            seed,
            uses_pu=p.pu_weight > 0,
        )
        n_new, found = discovery.n_new, Assignment(discovery.labels, discovery.targets)
    classes = Classes.one_component_each(labels.classes, n_new)
    _check_classes(labels, classes)
    return TrainingData(rows.X, labels.codes, *split, rows.scaling, classes, rows.images, found), discovery


def rows_of(X: np.ndarray, preprocessing: Preprocessing, image_shape: Sequence[int] | None) -> Rows:
    """Rows as discovery sees them."""
    images = None if image_shape is None else Images(X, tuple(image_shape))
    return Rows(preprocessing.select(X), preprocessing.scaling, images)


def prepared_rows(X: np.ndarray, parameters: dict[str, Any]) -> Rows:
    """Rows as discovery sees them, by the same decisions as a fit, without one."""
    p = Parameters(**parameters)
    check_feature_types(p.feature_types, X.shape[1])
    check_image_shape(p.image_shape, X.shape[1])
    return rows_of(X, _preprocessing(X, _likelihood(X, p), p), p.image_shape)


def _train(
    architecture: Architecture,
    data: TrainingData,
    labels: Labels,
    spread: float,
    seeds: list[int],
    callback: Callback,
    p: Parameters,
) -> list[RestartResult]:
    settings = training_settings(
        labels.codes[data.training],
        p.config,
        batch_size=p.batch_size,
        max_epochs=p.max_epochs,
        learning_rate=p.learning_rate,
        pu_weight=p.pu_weight,
        pretrains=MODELS[architecture.model].pretrains,
    )
    prior = log_prior(labels.counts, len(data.classes.new_components), p.config.objective.prior_known)
    is_given = LIKELIHOODS[architecture.likelihood].sigma_is_given
    sigma = p.config.objective.sigma if is_given else spread
    return train(architecture, prior, sigma, data, settings, seeds, callback)


def _row_components(data: TrainingData, restart: RestartResult) -> np.ndarray:
    """The component of each row: that of its label, else what was discovered, else what the model predicts."""
    classes = data.classes
    if data.found is not None:
        component = np.array([*classes.known_components, *classes.new_components])[data.found.labels]
    else:
        q = in_batches(lambda rows: component_probabilities(restart.model, rows, data.scaling), data.X)
        component = classes.answer(q.astype(float)).component
    return np.where(data.labels == UNLABELLED, component, classes.component_of(data.labels)).astype(np.int32)


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


def _check_number(labels: Labels, p: Parameters) -> None:
    """Refuse a number of new classes that cannot be found among these rows."""
    if labels.n_unlabelled == 0 and p.n_new in (0, "auto"):
        _check_classes(labels, Classes.one_component_each(labels.classes, 0))
    if p.n_new == "auto":
        return
    if len(labels.classes) == 0 and p.n_new == 0:
        raise ValueError(
            "There is nothing to learn: y has no labels and n_new = 0. Give some labels, or set n_new to the "
            "number of classes you expect, or leave it at 'auto' to find it."
        )
    if labels.n_unlabelled == 0 and int(p.n_new) > 0:
        raise ValueError(
            f"All {len(labels)} rows have a label, so no new class can be found among them; expected n_new = 0, got "
            f"{p.n_new}. Set n_new = 0 (or 'auto'), or mark the rows whose class is open with -1."
        )
    if int(p.n_new) > labels.n_unlabelled:
        raise ValueError(
            f"n_new must be at most the number of unlabelled rows, {labels.n_unlabelled}; got {p.n_new}. "
            f"Lower n_new or give more rows without a label."
        )


def _check_classes(labels: Labels, classes: Classes) -> None:
    n_new = len(classes) - classes.n_known
    if len(classes) < 2:
        raise ValueError(
            f"There is one class only (n_samples = {len(labels)}, {classes.n_known} known and {n_new} new); expected "
            f"at least two. Give labels of another class, or set n_new to 1 or more and leave some rows unlabelled."
        )


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
