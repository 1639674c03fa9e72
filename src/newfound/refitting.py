"""From a `Fitted` record and labels given since to another: what was found is kept, and the labels correct it.

Nothing is discovered anew: in a class that a person has just begun to label, nearly all labels are missing, and what is
left of it would look new again. The labels correct the classes of the rows around them (`labelling.correction`), and
the network goes on from the weights it has, to learn that.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from newfound.discovery import Discovery
from newfound.discovery.answers import answers, is_sure
from newfound.fitted import Fitted, regime_of
from newfound.fitting import PU_WEIGHT, Parameters, _answer, _temperature, rows_of
from newfound.initialisation import Assignment, feature_sets
from newfound.labelling.correction import N_LENGTHS, corrected
from newfound.labelling.likeness import Likeness, joined
from newfound.labelling.lineage import Lineage
from newfound.labels import Labels
from newfound.models import MODELS
from newfound.progress import Show, step_bar, training_callback
from newfound.training import RestartResult, TrainingData, best_restart, train, training_settings

SHARE = 0.25  # of the epochs of a fit


def refit_model(X: np.ndarray, labels: Labels, lineage: Lineage, held_out: np.ndarray, parameters: dict[str, Any]) -> Fitted:
    p, before = Parameters(**parameters), lineage.before
    seed = int(check_random_state(p.random_state).randint(2**31 - 1))
    rows = rows_of(X, before.preprocessing, p.image_shape)
    training = np.setdiff1d(np.arange(len(X)), held_out)
    heard = labels.keep(training).codes
    space = feature_sets(rows, p.config.initialisation, seed)[0]
    likeness = Likeness.of(joined(space.projection, space.embedding), N_LENGTHS)
    of_classes = corrected(lineage.class_probabilities(), likeness, heard, ~before.row_is_labelled)
    targets = lineage.targets(of_classes).astype(np.float32)
    classes = lineage.classes
    n_known = classes.n_known
    answer = answers(targets, labels.codes, n_known)
    group = classes.component_class[n_known:] - n_known
    found = Discovery(len(lineage.new), lineage.n_new_range, lineage.tree, answer, targets, targets[:, n_known:].sum(axis=1), is_sure(targets, answer, group), lineage.evidence, before.selection, before.method)
    data = TrainingData(rows.X, labels.codes, training, held_out, rows.scaling, classes, rows.images, Assignment(answer, targets))
    architecture = before.architecture._replace(n_components=classes.n_components)
    import os
    settings = training_settings(
        labels.codes[training], p.config, batch_size=p.batch_size, max_epochs=p.max_epochs, learning_rate=p.learning_rate * float(os.environ.get("LR", 1)),
        pu_weight=float(os.environ.get("PU", 0)) or PU_WEIGHT if p.pu_weight == "auto" else float(p.pu_weight) or PU_WEIGHT, pretrains=False)
    settings = replace(settings, max_epochs=max(1, round(float(os.environ.get("SHARE", SHARE)) * settings.max_epochs)), is_refit=True)
    prior = np.log(targets.mean(axis=0) + 1e-6).astype(np.float32)
    sources = lineage.sources(targets)
    models = [r.model.with_components(sources, prior) for r in before.restarts]
    with step_bar(p.verbose, MODELS[architecture.model].title) as show:
        restarts = train(architecture, prior, 1.0, data, settings, [r.seed for r in before.restarts], training_callback(show), models)
    best = best_restart(restarts)
    labels_held_out = held_out[labels.is_labelled[held_out]]
    temperature = _temperature(data, restarts[best], labels_held_out)
    return replace(before, classes=classes, regime=regime_of(n_known, len(classes.new_components), has_unlabelled=labels.n_unlabelled > 0),
        architecture=architecture, restarts=tuple(restarts), best_restart=best, validation_indices=held_out,
        **_answer(data, found, restarts[best], temperature), temperature=temperature, n_held_out_labels=len(labels_held_out), discovery=found)
