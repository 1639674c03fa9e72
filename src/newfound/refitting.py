"""From a `Fitted` record and labels given since to another: what was found is kept, and the labels correct it.

Nothing is discovered anew: in a class that a person has just begun to label, nearly all labels are missing, and what is
left of it would look new again. The labels correct the classes of the rows around them (`labelling.correction`), and
the networks go on from the weights they have, to learn that.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from newfound.discovery import Discovery
from newfound.discovery.answers import answers, is_sure
from newfound.fitted import Fitted, regime_of
from newfound.fitting import PU_WEIGHT, Parameters, rows_of, temperature_of
from newfound.inference import Inference, Posterior
from newfound.initialisation import Assignment, Rows, feature_sets
from newfound.label_checks import check_classes
from newfound.labelling.correction import N_LENGTHS, corrected
from newfound.labelling.likeness import Likeness, joined
from newfound.labelling.lineage import Lineage
from newfound.labels import UNLABELLED, Labels
from newfound.models import MODELS
from newfound.models.base import DeepGenerativeModel
from newfound.models.weights import model_of
from newfound.progress import step_bar, training_callback
from newfound.trained import RestartResult, best_restart
from newfound.training import TrainingData, TrainingSettings, train, training_settings

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
