"""From checked rows and labels to a `Fitted` record: a first fit, and one with labels given since."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from newfound._internal.progress import Callback, Show, step_bar, training_callback
from newfound.classes import Classes
from newfound.config import Config, Number, OneOf, Rule, Several
from newfound.discovery.discover import Discovery, answers, discover, is_sure
from newfound.discovery.rows import Assignment, Images, Rows, feature_sets
from newfound.discovery.selection import Selection, describe
from newfound.fitted import Fitted, RestartResult, Termination, best_restart, regime_of
from newfound.labelling.given import N_LENGTHS, corrected
from newfound.labelling.lineage import Lineage
from newfound.labelling.suggest import Likeness, joined
from newfound.labels import UNLABELLED, Labels
from newfound.models.architecture import LIKELIHOODS, MODELS, Architecture, log_prior
from newfound.models.base import DeepGenerativeModel, model_of
from newfound.models.in_numpy import MIN_LABELS, Inference, Posterior, fit_temperature, normalised
from newfound.preprocessing.checks import check_feature_types, check_image_shape, outlier_message
from newfound.preprocessing.columns import Preprocessing, SumOverRows, decide, is_binary
from newfound.training.batches import split_rows
from newfound.training.checkpoints import Checkpoints
from newfound.training.loop import train
from newfound.training.phases import TrainingData, TrainingSettings, training_settings

# ---- What is refused of labels and of the number of new classes, before anything is computed ----


def check_number(labels: Labels, n_new: int | str) -> None:
    """Refuse a number of new classes that cannot be found among these rows."""
    if labels.n_unlabelled == 0 and n_new in (0, "auto"):
        check_classes(labels, Classes.one_component_each(labels.classes, 0))
    if n_new == "auto":
        return
    if len(labels.classes) == 0 and n_new == 0:
        raise ValueError(
            "There is nothing to learn: y has no labels and n_new = 0. Give some labels, or set n_new to the "
            "number of classes you expect, or leave it at 'auto' to find it."
        )
    if labels.n_unlabelled == 0 and int(n_new) > 0:
        raise ValueError(
            f"All {len(labels)} rows have a label, so no new class can be found among them; expected n_new = 0, got "
            f"{n_new}. Set n_new = 0 (or 'auto'), or mark the rows whose class is open with -1."
        )
    if int(n_new) > labels.n_unlabelled:
        raise ValueError(
            f"n_new must be at most the number of unlabelled rows, {labels.n_unlabelled}; got {n_new}. "
            f"Lower n_new or give more rows without a label."
        )


def check_classes(labels: Labels, classes: Classes) -> None:
    """Refuse to tell one class from none."""
    n_new = len(classes) - classes.n_known
    if len(classes) < 2:
        raise ValueError(
            f"There is one class only (n_samples = {len(labels)}, {classes.n_known} known and {n_new} new); expected "
            f"at least two. Give labels of another class, or set n_new to 1 or more and leave some rows unlabelled."
        )


def check_validation(labels: Labels, validation_fraction: float, *, chooses_by_elbo: bool) -> None:
    """Refuse labels that cannot be held out, and choices that would need some that are."""
    if validation_fraction > 0 and len(labels.classes) and labels.counts.min() < 2:
        rare = labels.classes[labels.counts.argmin()].item()
        raise ValueError(
            f"Every known class needs at least 2 labels, one to learn from and one for validation; class {rare!r} has "
            f"1. Label another row of it, or set its label to -1 to let it be discovered, or set "
            f"validation_fraction = 0 to hold nothing out."
        )
    if validation_fraction == 0 and chooses_by_elbo:
        raise ValueError(
            "early_stopping and n_init > 1 choose by the validation ELBO, but validation_fraction = 0 holds nothing "
            "out. Set validation_fraction to 0.1, say."
        )


# ---- From checked rows and labels to a `Fitted` record: one function, for every model and whoever calls ----

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
        probabilities = normalised(inference.component_probabilities(X, temperature))
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
    if clipped := outlier_message(X, preprocessing, lambda column: f"column {column}"):
        warnings.warn(clipped, stacklevel=5)
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


# ---- From a `Fitted` record and labels given since to another: what was found is kept, and the labels correct it ----
# Nothing is discovered anew: in a class that a person has just begun to label, nearly all labels are missing, and what
# is left of it would look new again. The labels correct the classes of the rows around them (`labelling.correction`),
# and the networks go on from the weights they have, to learn that.

SHARE = 0.25  # of the epochs of a fit: networks that know most of it learn the rest
LEAST_PRIOR = 1e-6  # p(y) of a component that has no rows


def refit_model(
    X: np.ndarray, labels: Labels, lineage: Lineage, held_out: np.ndarray, parameters: dict[str, Any]
) -> Fitted:
    """Correct a fit of the same rows by labels, those of the `held_out` rows excepted."""
    p, before, classes = Parameters(**parameters), lineage.before, lineage.classes
    check_classes(labels, classes)
    rows = rows_of(X, before.preprocessing, p.image_shape)
    training = np.setdiff1d(np.arange(len(X)), held_out)
    with step_bar(p.verbose, MODELS[before.architecture.model].title) as show:
        show(0, 0, "finding neighbours")
        targets = corrected_targets(rows, labels.keep(training).codes, lineage, p)
        answer = answers(targets, labels.codes, len(labels.classes))
        found = Assignment(answer, targets)
        data = TrainingData(rows.X, labels.codes, training, held_out, rows.scaling, classes, rows.images, found)
        show(0, 0, "compiling")
        prior = np.log(np.maximum(targets.mean(axis=0), LEAST_PRIOR)).astype(np.float32)
        models = [as_begun(before, of, lineage.sources(targets), prior) for of in before.restarts]
        architecture = before.architecture._replace(n_components=classes.n_components)
        seeds = [of.seed for of in before.restarts]
        settings = _settings(labels.codes[training], p)
        restarts = train(architecture, prior, 1.0, data, settings, seeds, training_callback(show), models)
    fitted = replace(before, classes=classes, architecture=architecture, restarts=tuple(restarts))
    return _with_answer(fitted, lineage, data, restarts, X)


def as_begun(before: Fitted, restart: RestartResult, sources: np.ndarray, prior: np.ndarray) -> DeepGenerativeModel:
    """A trained model with the components that there are now."""
    model = jax.tree.map(jnp.asarray, model_of(before.architecture, restart.weights))
    return model.with_components(sources, jnp.asarray(prior))


def corrected_targets(rows: Rows, codes: np.ndarray, lineage: Lineage, p: Parameters) -> np.ndarray:
    """(rows, components): how probable each is, by what was found and by the labels there are now."""
    before, settings = lineage.before, p.config.initialisation
    at_random = np.where(before.row_is_labelled, codes, UNLABELLED)  # rows are picked no longer as they were then
    space = feature_sets(rows, at_random, settings, before.restarts[0].seed)[0]
    likeness = Likeness.of(joined(space.projection, space.embedding), N_LENGTHS)
    of_classes = corrected(lineage.class_probabilities(), likeness, codes, ~before.row_is_labelled)
    return lineage.targets(of_classes).astype(np.float32)


def _settings(codes: np.ndarray, p: Parameters) -> TrainingSettings:
    """What was found is learned from, also where a missing label says nothing (pu_weight = 0)."""
    settings = training_settings(
        codes,
        p.config,
        batch_size=p.batch_size,
        max_epochs=p.max_epochs,
        learning_rate=p.learning_rate,
        pu_weight=PU_WEIGHT if p.pu_weight == "auto" else float(p.pu_weight) or PU_WEIGHT,
        pretrains=False,
    )
    return replace(
        settings, max_epochs=min(max(1, round(SHARE * settings.max_epochs)), settings.max_epochs), is_refit=True
    )


def _with_answer(
    fitted: Fitted, lineage: Lineage, data: TrainingData, restarts: list[RestartResult], X: np.ndarray
) -> Fitted:
    """With what is said of the rows, and how sure the best restart may be."""
    assert data.found is not None
    assert data.found.targets is not None
    best, classes, is_labelled = best_restart(restarts), fitted.classes, data.labels != UNLABELLED
    held_out = data.validation[is_labelled[data.validation]]
    has_unlabelled = not is_labelled.all()
    inference = Inference(Posterior.of(fitted.architecture, restarts[best].weights), fitted.preprocessing)
    return replace(
        fitted,
        best_restart=best,
        regime=regime_of(classes.n_known, len(classes.new_components), has_unlabelled=has_unlabelled),
        validation_indices=data.validation,
        row_components=data.found.labels.astype(np.int32),
        row_probabilities=data.found.targets,
        row_is_labelled=is_labelled,
        n_new_range=lineage.n_new_range,
        tree=lineage.tree,
        evidence=lineage.evidence,
        temperature=temperature_of(inference, X, data, held_out),
        n_held_out_labels=len(held_out),
        discovery=_discovery(fitted, lineage, data.found.labels, data.found.targets),
    )


def _discovery(fitted: Fitted, lineage: Lineage, answer: np.ndarray, targets: np.ndarray) -> Discovery | None:
    """What is found by now, for those who ask whether there are new classes at all."""
    n_known, tree = fitted.classes.n_known, lineage.tree
    if tree is None:
        return None
    group = fitted.classes.component_class[n_known:] - n_known
    return Discovery(
        n_new=len(lineage.new),
        n_new_range=lineage.n_new_range,
        tree=tree,
        labels=answer,
        targets=targets,
        p_new=targets[:, n_known:].sum(axis=1),
        is_sure=is_sure(targets, answer, group),
        evidence=lineage.evidence,
        selection=fitted.selection,
        method=fitted.method or "graph",
    )
