"""From checked rows and labels to a `Fitted` record: one function, for every model and whoever calls."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from newfound.calibration import MIN_LABELS, fit_temperature
from newfound.classes import Classes
from newfound.config import Config
from newfound.discovery import Discovery, Selection, discover
from newfound.discovery.selection import describe
from newfound.fitted import Fitted, regime_of
from newfound.inference import Inference, Posterior, normed
from newfound.initialisation import Assignment, Images, Rows, feature_sets
from newfound.label_checks import check_classes, check_number, check_validation
from newfound.labels import UNLABELLED, Labels
from newfound.models import MODELS, Architecture, log_prior
from newfound.models.likelihoods import LIKELIHOODS
from newfound.parameters import Number, OneOf, Rule, Several
from newfound.preprocessing import (
    Preprocessing,
    SumOverRows,
    about_wild,
    check_feature_types,
    check_image_shape,
    decide,
    is_binary,
)
from newfound.progress import Show, step_bar, training_callback
from newfound.trained import RestartResult, Termination, best_restart
from newfound.training import Callback, Checkpoints, TrainingData, split_rows, train, training_settings

PU_WEIGHT = 0.3  # of pu_weight='auto'
FEW_ROWS = 2_000  # among which threads would wait for each other longer than they compute
FEW_LABELS = 500  # with fewer, discovery sees those of validation rows, too

CHOOSABLE = tuple(name for name, kind in LIKELIHOODS.items() if not kind.needs_feature_types)

RULES: dict[str, tuple[Rule, ...]] = {
    "n_new": (Number(0, 10_000, whole=True), OneOf(("auto",))),
    "latent_dim": (Number(1, 1_000, whole=True),),
    "hidden_layer_sizes": (Several(Number(1, 100_000, whole=True)),),
    "likelihood": (OneOf(("auto", *CHOOSABLE)),),
    "standardize": (OneOf(("auto", "min-max", True, False)),),
    "pu_weight": (Number(0, 1_000), OneOf(("auto",))),
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
    pu_weight: float | str
    batch_size: int
    learning_rate: float
    max_epochs: int | str
    validation_fraction: float
    n_init: int
    verbose: bool | str
    random_state: Any
    config: Config


def fit_model(
    model: str,
    X: np.ndarray,
    labels: Labels,
    parameters: dict[str, Any],
    feature_names: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    checkpoints: Checkpoints | None = None,
    of_all: SumOverRows | None = None,
) -> Fitted:
    """Fit a model of the registry to rows of float32 or uint8, the labels that some of them carry, and their groups.

    Where X is a sample, columns are scaled by all rows that it was drawn from: `of_all` sums over these.
    """
    p = Parameters(**parameters)
    _check(X, labels, p)
    likelihood = _likelihood(X, p)
    preprocessing = _preprocessing(X, likelihood, p, of_all)
    rng = check_random_state(p.random_state)
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=p.n_init)]
    split = split_rows(labels.codes, p.validation_fraction, rng, groups)
    with step_bar(p.verbose, MODELS[model].title) as show:
        data, found = _training_data(model, X, labels, split, groups, preprocessing, seeds[0], p, show, checkpoints)
        architecture = _architecture(model, preprocessing, likelihood, data.classes, p)
        show(0, 0, "compiling")
        restarts = _train(architecture, data, labels, preprocessing, seeds, training_callback(show), p, checkpoints)
    best = best_restart(restarts)
    _warn_of_termination(restarts[best])
    labels_held_out = split[1][labels.is_labelled[split[1]]]
    inference = Inference(Posterior.of(architecture, restarts[best].weights), preprocessing)
    temperature = temperature_of(inference, X, data, labels_held_out)
    _warn_of_selection(None if found is None else found.selection, labels.classes, p)
    n_new = len(data.classes.new_components)
    return Fitted(
        classes=data.classes,
        regime=regime_of(data.classes.n_known, n_new, has_unlabelled=labels.n_unlabelled > 0),
        preprocessing=preprocessing,
        architecture=architecture,
        restarts=tuple(restarts),
        best_restart=best,
        validation_indices=split[1],
        **_answer(inference, X, data, found, temperature),
        temperature=temperature,
        n_held_out_labels=len(labels_held_out),
        n_features=X.shape[1],
        feature_names=None if feature_names is None else tuple(map(str, feature_names)),
        selection=None if found is None else found.selection,
        method=None if found is None else found.method,
        discovery=found,
    )


def _check(X: np.ndarray, labels: Labels, p: Parameters) -> None:
    check_feature_types(p.feature_types, X.shape[1])
    check_image_shape(p.image_shape, X.shape[1])
    check_number(labels, p.n_new)
    by_elbo = p.config.optimisation.early_stopping or p.n_init > 1
    check_validation(labels, p.validation_fraction, chooses_by_elbo=by_elbo)


def _training_data(
    model: str,
    X: np.ndarray,
    labels: Labels,
    split: tuple[np.ndarray, np.ndarray],
    groups: np.ndarray | None,
    preprocessing: Preprocessing,
    seed: int,
    p: Parameters,
    show: Show,
    checkpoints: Checkpoints | None,
) -> tuple[TrainingData, Discovery | None]:
    """The rows with their classes, as many new ones as were asked for or are found; and what was discovered.

    Labels of validation rows are kept from discovery, unless whole groups are held out (without any label, a known
    class of theirs would look new) or labels are few (every one tells).
    """
    if checkpoints is not None:
        checkpoints.identify(model, X, labels.codes, labels.classes.tolist(), p._replace(verbose=False), seed, *split)
    is_open = groups is not None or labels.n_labelled < FEW_LABELS
    rows = rows_of(X, preprocessing, p.image_shape)
    found = None
    if labels.n_unlabelled and _discovers(model, p):
        codes = labels.codes if is_open else labels.keep(split[0]).codes
        if checkpoints is not None and checkpoints.resumed is not None:
            found = checkpoints.found
        found = found or _discover(rows, codes, len(labels.classes), groups, seed, p, show)
        if checkpoints is not None:
            checkpoints.found = found
        classes = Classes.of_fragments(labels.classes, found.group)
    else:
        classes = Classes.one_component_each(labels.classes, 0 if p.n_new == "auto" else int(p.n_new))
    check_classes(labels, classes)
    assignment = None if found is None else Assignment(found.labels, found.targets)
    return TrainingData(rows.X, labels.codes, *split, rows.scaling, classes, rows.images, assignment), found


def _discover(
    rows: Rows, codes: np.ndarray, n_known: int, groups: np.ndarray | None, seed: int, p: Parameters, show: Show
) -> Discovery:
    few = 1 if len(rows.X) <= FEW_ROWS else None
    with threadpool_limits(few):
        show(0, 0, "finding neighbours")
        space = feature_sets(rows, codes, p.config.initialisation, seed)
        show(0, 0, "looking for new classes")
        return discover(
            rows,
            codes,
            n_known,
            p.config.initialisation,
            seed,
            n_new=None if p.n_new == "auto" else int(p.n_new),
            uses_pu=None if p.pu_weight == "auto" else float(p.pu_weight) > 0,
            groups=groups,
            space=space,
        )


def _discovers(model: str, p: Parameters) -> bool:
    """Where the number is to be found, or where a model learns from what is."""
    learns = MODELS[model].pretrains and p.config.optimisation.pretrain_epochs != 0
    return p.n_new == "auto" or (learns and p.config.initialisation.init == "graph")


def rows_of(X: np.ndarray, preprocessing: Preprocessing, image_shape: Sequence[int] | None) -> Rows:
    """Rows as discovery sees them."""
    images = None if image_shape is None else Images(X, tuple(image_shape))
    return Rows(preprocessing.select(X), preprocessing.scaling, images, is_scaled=preprocessing.is_scaled)


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
    preprocessing: Preprocessing,
    seeds: list[int],
    callback: Callback,
    p: Parameters,
    checkpoints: Checkpoints | None,
) -> list[RestartResult]:
    settings = training_settings(
        labels.codes[data.training],
        p.config,
        batch_size=p.batch_size,
        max_epochs=p.max_epochs,
        learning_rate=p.learning_rate,
        pu_weight=PU_WEIGHT if p.pu_weight == "auto" else float(p.pu_weight),
        pretrains=MODELS[architecture.model].pretrains,
    )
    prior = log_prior(labels.counts, len(data.classes.new_components), p.config.objective.prior_known)
    is_given = LIKELIHOODS[architecture.likelihood].sigma_is_given
    sigma = p.config.objective.sigma if is_given else preprocessing.spread
    return train(architecture, prior, sigma, data, settings, seeds, callback, checkpoints=checkpoints)


def temperature_of(inference: Inference, X: np.ndarray, data: TrainingData, held_out: np.ndarray) -> float:
    """Fitted on the labels that no step saw."""
    if len(held_out) < MIN_LABELS:
        return 1.0
    log_q = inference.component_log_probabilities(X[held_out])
    return fit_temperature(log_q.astype(float), data.classes.component_class, data.labels[held_out])


def _answer(
    inference: Inference, X: np.ndarray, data: TrainingData, found: Discovery | None, temperature: float
) -> dict[str, Any]:
    """What is said of the rows that were fitted on: what was discovered, else what the model predicts."""
    classes = data.classes
    n_new = len(classes) - classes.n_known
    n_new_range, tree, evidence = (n_new, n_new), None, None
    if found is not None:
        n_new_range, tree, evidence = found.n_new_range, found.tree, found.evidence
    if found is not None and found.n_new:
        component, probabilities = found.labels, found.targets
    else:  # what was found is that there is nothing to find: the classifier knows best
        probabilities = normed(inference.component_probabilities(X, temperature))
        component = classes.answer(probabilities).component
    is_labelled = data.labels != UNLABELLED
    return {
        "row_components": np.where(is_labelled, classes.component_of(data.labels), component).astype(np.int32),
        "row_probabilities": probabilities.astype(np.float32),
        "row_is_labelled": is_labelled,
        "n_new_range": n_new_range,
        "tree": tree,
        "evidence": evidence,
    }


def _likelihood(X: np.ndarray, p: Parameters) -> str:
    if p.feature_types is not None:
        return next(name for name, kind in LIKELIHOODS.items() if kind.needs_feature_types)
    if p.likelihood != "auto":
        return p.likelihood
    return "bernoulli" if is_binary(X) else "gaussian"


def _preprocessing(X: np.ndarray, likelihood: str, p: Parameters, of_all: SumOverRows | None = None) -> Preprocessing:
    min_std = p.config.optimisation.min_std
    needs: dict[str, Any] = {
        "unit_interval": LIKELIHOODS[likelihood].needs_unit_interval,
        "is_image": p.image_shape is not None,
    }
    preprocessing = decide(X, p.standardize, min_std, p.feature_types, of_all=of_all, **needs)
    n_dropped = int((~preprocessing.is_kept).sum())
    if n_dropped and X.dtype != np.uint8:  # the blank border of images is no news
        warnings.warn(
            f"{n_dropped} of {len(preprocessing.is_kept)} columns do not vary (standard deviation at most "
            f"{min_std:g}) and are dropped: the first is column {int(np.argmin(preprocessing.is_kept))}.",
            stacklevel=5,
        )
    if wild := about_wild(X, preprocessing, lambda column: f"column {column}"):
        warnings.warn(wild, stacklevel=5)
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


def _warn_of_selection(selection: Selection | None, known: np.ndarray, p: Parameters) -> None:
    if selection is None or not selection.is_biased or p.pu_weight == 0:
        return
    what = describe(selection, known)
    if p.pu_weight == "auto":
        then = "So missing labels are not taken as a sign of new classes here; set pu_weight = 0.3 if they should be."
    else:
        then = "Parts of known classes may look new; set pu_weight = 'auto' or 0, or label rows picked at random."
    warnings.warn(f"{what} {then}", stacklevel=5)
