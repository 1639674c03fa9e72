"""The steps of a fit, from checked rows and labels to a `Fitted` record; and of a second fit with more labels.

`fit_model` and `refit_model` are for every model and every caller. The parameters are those of the estimator, checked.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from newfound._internal.progress import Show, step_bar, training_callback
from newfound.classes import Classes
from newfound.discovery.answers import answers, is_sure
from newfound.discovery.discover import discover
from newfound.discovery.record import Discovery
from newfound.discovery.rows import Assignment, Images, Rows, feature_sets
from newfound.discovery.selection import describe
from newfound.fitted import Fitted, RestartResult, Termination, best_restart, regime_of
from newfound.labelling.given import N_LENGTHS, corrected
from newfound.labelling.lineage import ClassMapping
from newfound.labelling.suggest import Likeness, joined
from newfound.labels import UNLABELLED, Labels
from newfound.models.architecture import LIKELIHOODS, MODELS, Architecture, log_prior
from newfound.models.base import model_of
from newfound.models.in_numpy import MIN_LABELS, Inference, Posterior, fit_temperature, normalised
from newfound.preprocessing.checks import check_feature_types, check_image_shape, outlier_message
from newfound.preprocessing.columns import Preprocessing, SumOverRows, decide, is_binary
from newfound.training.batches import split_rows
from newfound.training.checkpoints import Checkpoints
from newfound.training.loop import train
from newfound.training.phases import TrainingData, TrainingSettings, training_settings

PU_WEIGHT = 0.3  # for pu_weight="auto"
SINGLE_THREAD_ROWS = 2_000  # up to here, threads wait for each other longer than they compute
HIDE_VALIDATION_LABELS = 500  # with fewer labels, discovery uses those of validation rows, too
REFIT_SHARE = 0.25  # of the epochs of a fit: the networks are trained already
MIN_PRIOR = 1e-6  # p(y) of a component without rows


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
    """Fit a model of the registry to rows of float32 or uint8, with the labels of some rows and the groups of all.

    If X is a sample, columns are scaled by all rows from which it was drawn: `of_all` sums over these.
    """
    p = SimpleNamespace(**parameters)
    _check(X, labels, p)
    likelihood = _likelihood(X, p)
    preprocessing = _preprocessing(X, likelihood, p, of_all)
    rng = check_random_state(p.random_state)
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=p.n_init)]
    split = split_rows(labels.codes, p.validation_fraction, rng, groups)
    if checkpoints is not None:
        of_fit = parameters | {"verbose": False}
        checkpoints.identify(model, X, labels.codes, labels.classes.tolist(), of_fit, seeds[0], *split)
    rows = rows_of(X, preprocessing, p.image_shape)
    with step_bar(p.verbose, MODELS[model].title) as show:
        found = _discovered(model, rows, labels, split[0], groups, seeds[0], p, show, checkpoints)
        n_new = 0 if p.n_new == "auto" else int(p.n_new)
        one_each = Classes.one_component_each(labels.classes, n_new)
        classes = one_each if found is None else Classes.of_fragments(labels.classes, found.group)
        check_classes(labels, classes)
        assignment = None if found is None else Assignment(found.labels, found.targets)
        data = TrainingData(rows.X, labels.codes, *split, rows.scaling, classes, rows.images, assignment)
        architecture = Architecture(
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
        show(0, 0, "compiling")
        prior = log_prior(labels.counts, len(classes.new_components), p.config.objective.prior_known)
        is_given = LIKELIHOODS[likelihood].sigma_is_given
        sigma = p.config.objective.sigma if is_given else preprocessing.spread
        settings = _settings(labels.codes[split[0]], p, pretrains=MODELS[model].pretrains)
        callback = training_callback(show)
        restarts = train(architecture, prior, sigma, data, settings, seeds, callback, checkpoints=checkpoints)
    best = best_restart(restarts)
    _warn_of_termination(restarts[best])
    _warn_of_selection(found, labels.classes, p)
    held_out = split[1][labels.is_labelled[split[1]]]
    inference = Inference(Posterior.of(architecture, restarts[best].weights), preprocessing)
    temperature = _temperature(inference, X, data, held_out)
    return Fitted(
        classes=classes,
        regime=regime_of(classes.n_known, len(classes.new_components), has_unlabelled=labels.n_unlabelled > 0),
        preprocessing=preprocessing,
        architecture=architecture,
        restarts=tuple(restarts),
        best_restart=best,
        validation_indices=split[1],
        **_row_answers(inference, X, data, found, temperature),
        temperature=temperature,
        n_held_out_labels=len(held_out),
        n_features=X.shape[1],
        feature_names=None if feature_names is None else tuple(map(str, feature_names)),
        selection=None if found is None else found.selection,
        method=None if found is None else found.method,
        discovery=found,
    )


def prepared_rows(X: np.ndarray, parameters: dict[str, Any]) -> Rows:
    """Rows as discovery sees them, by the decisions of a fit, without one."""
    p = SimpleNamespace(**parameters)
    check_feature_types(p.feature_types, X.shape[1])
    check_image_shape(p.image_shape, X.shape[1])
    return rows_of(X, _preprocessing(X, _likelihood(X, p), p), p.image_shape)


def rows_of(X: np.ndarray, preprocessing: Preprocessing, image_shape: Sequence[int] | None) -> Rows:
    """Rows as discovery sees them."""
    images = None if image_shape is None else Images(X, tuple(image_shape))
    return Rows(preprocessing.select(X), preprocessing.scaling, images, is_scaled=preprocessing.is_scaled)


# ---- Checks, before anything is computed ----


def _check(X: np.ndarray, labels: Labels, p: SimpleNamespace) -> None:
    check_feature_types(p.feature_types, X.shape[1])
    check_image_shape(p.image_shape, X.shape[1])
    check_number(labels, p.n_new)
    by_elbo = p.config.optimisation.early_stopping or p.n_init > 1
    check_validation(labels, p.validation_fraction, chooses_by_elbo=by_elbo)


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
            f"{n_new}. Set n_new = 0 (or 'auto'), or mark the rows of open class with -1."
        )
    if int(n_new) > labels.n_unlabelled:
        raise ValueError(
            f"n_new must be at most the number of unlabelled rows, {labels.n_unlabelled}; got {n_new}. "
            f"Lower n_new or give more rows without a label."
        )


def check_classes(labels: Labels, classes: Classes) -> None:
    """Refuse a model of fewer than two classes."""
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
            "out. Set validation_fraction, for example to 0.1."
        )


# ---- The steps of a fit ----


def _likelihood(X: np.ndarray, p: SimpleNamespace) -> str:
    if p.feature_types is not None:
        return next(name for name, kind in LIKELIHOODS.items() if kind.needs_feature_types)
    if p.likelihood != "auto":
        return p.likelihood
    return "bernoulli" if is_binary(X) else "gaussian"


def _preprocessing(
    X: np.ndarray, likelihood: str, p: SimpleNamespace, of_all: SumOverRows | None = None
) -> Preprocessing:
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


def _discovered(
    model: str,
    rows: Rows,
    labels: Labels,
    training: np.ndarray,
    groups: np.ndarray | None,
    seed: int,
    p: SimpleNamespace,
    show: Show,
    checkpoints: Checkpoints | None,
) -> Discovery | None:
    """What is discovered in the rows, or was before a checkpoint; None if nothing is to be.

    Discovery does not see the labels of validation rows, with two exceptions: if whole groups are held out (a known
    class that only they have would look new), and if labels are few (then each one matters).
    """
    learns = MODELS[model].pretrains and p.config.optimisation.pretrain_epochs != 0
    is_needed = p.n_new == "auto" or (learns and p.config.initialisation.init == "graph")
    if not labels.n_unlabelled or not is_needed:
        return None
    if checkpoints is not None and checkpoints.resumed is not None and checkpoints.found is not None:
        return checkpoints.found
    is_open = groups is not None or labels.n_labelled < HIDE_VALIDATION_LABELS
    codes = labels.codes if is_open else labels.keep(training).codes
    with threadpool_limits(1 if len(rows.X) <= SINGLE_THREAD_ROWS else None):
        show(0, 0, "finding neighbours")
        space = feature_sets(rows, codes, p.config.initialisation, seed)
        show(0, 0, "looking for new classes")
        found = discover(
            rows,
            codes,
            len(labels.classes),
            p.config.initialisation,
            seed,
            n_new=None if p.n_new == "auto" else int(p.n_new),
            uses_pu=None if p.pu_weight == "auto" else float(p.pu_weight) > 0,
            groups=groups,
            space=space,
        )
    if checkpoints is not None:
        checkpoints.found = found
    return found


def _settings(codes: np.ndarray, p: SimpleNamespace, *, pretrains: bool) -> TrainingSettings:
    """Settings of training, from the codes of the labels that it sees."""
    return training_settings(
        codes,
        p.config,
        batch_size=p.batch_size,
        max_epochs=p.max_epochs,
        learning_rate=p.learning_rate,
        pu_weight=PU_WEIGHT if p.pu_weight == "auto" else float(p.pu_weight),
        pretrains=pretrains,
    )


def _temperature(inference: Inference, X: np.ndarray, data: TrainingData, held_out: np.ndarray) -> float:
    """Fitted on labels that training did not see."""
    if len(held_out) < MIN_LABELS:
        return 1.0
    log_q = inference.component_log_probabilities(X[held_out])
    return fit_temperature(log_q.astype(float), data.classes.component_class, data.labels[held_out])


def _row_answers(
    inference: Inference, X: np.ndarray, data: TrainingData, found: Discovery | None, temperature: float
) -> dict[str, Any]:
    """The answer for each fitted row: what was discovered, or else what the model predicts."""
    classes = data.classes
    n_new = len(classes) - classes.n_known
    if found is not None and found.n_new:
        component, probabilities = found.labels, found.targets
    else:  # there are no new classes, and the classifier is better at known ones
        probabilities = normalised(inference.component_probabilities(X, temperature))
        component = classes.answer(probabilities).component
    is_labelled = data.labels != UNLABELLED
    return {
        "row_components": np.where(is_labelled, classes.component_of(data.labels), component).astype(np.int32),
        "row_probabilities": probabilities.astype(np.float32),
        "row_is_labelled": is_labelled,
        "n_new_range": (n_new, n_new) if found is None else found.n_new_range,
        "tree": None if found is None else found.tree,
        "evidence": None if found is None else found.evidence,
    }


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


def _warn_of_selection(found: Discovery | None, known: np.ndarray, p: SimpleNamespace) -> None:
    selection = None if found is None else found.selection
    if selection is None or not selection.is_biased or p.pu_weight == 0:
        return
    if p.pu_weight == "auto":
        then = "So missing labels are not used as a sign of new classes here; set pu_weight = 0.3 to use them."
    else:
        then = "Parts of known classes may look new; set pu_weight = 'auto' or 0, or label rows picked at random."
    warnings.warn(f"{describe(selection, known)} {then}", stacklevel=5)


# ---- The steps of a refit ----
# Nothing is discovered again: most rows of a class that a person has just begun to label have no label, and would look
# new. The labels correct the classes of similar rows (`labelling.given`), and training continues from the weights of
# the first fit with the corrected classes as targets.


def refit_model(
    X: np.ndarray, labels: Labels, mapping: ClassMapping, held_out: np.ndarray, parameters: dict[str, Any]
) -> Fitted:
    """Correct a fit of the same rows by labels, except those of the `held_out` rows."""
    p, before, classes = SimpleNamespace(**parameters), mapping.before, mapping.classes
    check_classes(labels, classes)
    rows = rows_of(X, before.preprocessing, p.image_shape)
    training = np.setdiff1d(np.arange(len(X)), held_out)
    with step_bar(p.verbose, MODELS[before.architecture.model].title) as show:
        show(0, 0, "finding neighbours")
        targets = _corrected_targets(rows, labels.keep(training).codes, mapping, p)
        answer = answers(targets, labels.codes, len(labels.classes))
        assignment = Assignment(answer, targets)
        data = TrainingData(rows.X, labels.codes, training, held_out, rows.scaling, classes, rows.images, assignment)
        show(0, 0, "compiling")
        prior = np.log(np.maximum(targets.mean(axis=0), MIN_PRIOR)).astype(np.float32)
        trained = [jax.tree.map(jnp.asarray, model_of(before.architecture, of.weights)) for of in before.restarts]
        models = [model.with_components(mapping.sources(targets), jnp.asarray(prior)) for model in trained]
        architecture = before.architecture.replace(n_components=classes.n_components)
        seeds = [of.seed for of in before.restarts]
        if p.pu_weight == 0:  # what was found is learned even if missing labels are not used as a sign
            p.pu_weight = PU_WEIGHT
        settings = _settings(labels.codes[training], p, pretrains=False)
        max_epochs = min(max(1, round(REFIT_SHARE * settings.max_epochs)), settings.max_epochs)
        settings = replace(settings, max_epochs=max_epochs, is_refit=True)
        restarts = train(architecture, prior, 1.0, data, settings, seeds, training_callback(show), models)
    best, is_labelled = best_restart(restarts), labels.is_labelled
    labels_held_out = held_out[is_labelled[held_out]]
    inference = Inference(Posterior.of(architecture, restarts[best].weights), before.preprocessing)
    return replace(
        before,
        classes=classes,
        regime=regime_of(classes.n_known, len(classes.new_components), has_unlabelled=not is_labelled.all()),
        architecture=architecture,
        restarts=tuple(restarts),
        best_restart=best,
        validation_indices=held_out,
        row_components=answer.astype(np.int32),
        row_probabilities=targets,
        row_is_labelled=is_labelled,
        n_new_range=mapping.n_new_range,
        tree=mapping.tree,
        evidence=mapping.evidence,
        temperature=_temperature(inference, X, data, labels_held_out),
        n_held_out_labels=len(labels_held_out),
        discovery=_discovery_after(mapping, answer, targets),
    )


def _corrected_targets(rows: Rows, codes: np.ndarray, mapping: ClassMapping, p: SimpleNamespace) -> np.ndarray:
    """(rows, components): the probability of each component by what was found and by all labels."""
    before, settings = mapping.before, p.config.initialisation
    at_random = np.where(before.row_is_labelled, codes, UNLABELLED)  # later labels were not selected at random
    space = feature_sets(rows, at_random, settings, before.restarts[0].seed)[0]
    likeness = Likeness.of(joined(space.projection, space.embedding), N_LENGTHS)
    of_classes = corrected(mapping.class_probabilities(), likeness, codes, ~before.row_is_labelled)
    return mapping.targets(of_classes).astype(np.float32)


def _discovery_after(mapping: ClassMapping, answer: np.ndarray, targets: np.ndarray) -> Discovery | None:
    """The discovery as the labels leave it, for an audit."""
    tree, classes = mapping.tree, mapping.classes
    if tree is None:
        return None
    return Discovery(
        n_new=len(mapping.new),
        n_new_range=mapping.n_new_range,
        tree=tree,
        labels=answer,
        targets=targets,
        p_new=targets[:, classes.n_known :].sum(axis=1),
        is_sure=is_sure(targets, answer, classes.component_class[classes.n_known :] - classes.n_known),
        evidence=mapping.evidence,
        selection=mapping.before.selection,
        method=mapping.before.method or "graph",
    )
