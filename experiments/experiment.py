"""An experiment: one data set, model, regime and seed, fitted once and recorded."""

import os
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from experiments.baselines import BASELINES, Discovered
from experiments.person import accuracy_by_name, answer_by_name, fit_with_person, is_simulated
from experiments.presets import PRESETS, Changes, changes_of, keywords, whole_settings
from experiments.scores import classes_of, evaluate_task, found, predicted, rules_of, scores
from experiments.tasks import FIRST_HALF, Task, make_task
from newfound import __version__
from newfound.classes import Classes
from newfound.evaluation import Evaluation, posterior_entropy

DISCOVERY = "discovery"  # in place of a model: what is found among the training rows, without any training
RULES = "rules"  # the same, with a rule for each new class
UNTRAINED = (DISCOVERY, RULES)
GRID_ROWS = 8  # draws of z in a picture of generated rows
CONFIDENT_ROWS = 10  # rows of each component in a picture of the most confident ones


@dataclass(frozen=True, order=True)
class Experiment:
    """What to fit. Components and labels per class are given only where they differ from the regime's own."""

    preset: str
    dataset: str
    model: str
    regime: str
    seed: int
    n_components: int | None = None
    labels_per_class: int | None = None

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Experiment":
        """The experiment that a record is of."""
        return cls(**{f.name: record[f.name] for f in fields(cls) if f.name in record})

    @property
    def name(self) -> str:
        changes = [] if self.n_components is None else [f"{self.n_components}-components"]
        changes += [] if self.labels_per_class is None else [f"{self.labels_per_class}-labels"]
        return "-".join([self.dataset, self.model, self.regime, *changes, str(self.seed)])

    @property
    def has_arrays(self) -> bool:
        """Whether a figure needs more of it than counts: generated rows, and how confident it is."""
        is_accident = self.regime == "accidental" or self.dataset.endswith(FIRST_HALF)
        return self.model == "ssvae" and self.seed == 0 and (is_accident or self.n_components is not None)

    def changes(self, asked: Changes) -> dict[str, Any]:
        """What is changed of the defaults: by the preset, and by the user."""
        return {} if self.model in BASELINES else changes_of(self.preset, self.dataset, self.model) | dict(asked)

    def settings(self, asked: Changes) -> dict[str, Any]:
        """The whole configuration, as it is recorded."""
        if self.model in BASELINES:
            return BASELINES[self.model].settings
        is_own = self.model not in UNTRAINED and not is_simulated(self.model)
        return whole_settings(self.model if is_own else "gmdgm", self.changes(asked))


class Series(NamedTuple):
    """The same experiment with every seed."""

    dataset: str
    model: str
    regime: str
    n_components: int | None = None
    labels_per_class: int | None = None
    preset: str | None = None  # where it is not for the user to choose

    def experiment(self, preset: str, seed: int) -> Experiment:
        return Experiment(
            self.preset or preset, self.dataset, self.model, self.regime, seed, self.n_components, self.labels_per_class
        )


def run_experiment(experiment: Experiment, asked: Changes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fit and test: the record of an experiment, and the arrays that its figures need."""
    from newfound.runs.records import versions

    e = experiment
    task = make_task(e.dataset, e.regime, e.seed, e.n_components, e.labels_per_class)
    if e.model in UNTRAINED:
        task = replace(task, X_test=task.X, truth=task.all_labels)
    began = time.perf_counter()
    if is_simulated(e.model):
        model = fit_with_person(e.model, e.dataset, e.regime, e.seed, e.changes(asked))
    else:
        model = fit_method(e.model, task, e.seed, e.changes(asked))
    seconds = time.perf_counter() - began
    position, classes = _answer(e, model, task)
    evaluation = evaluate_task(task, position, classes)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    record = {
        **{name: value for name, value in asdict(e).items() if value is not None or name == "n_components"},
        **results(model, task, evaluation, classes),
        **({"acc_by_name": accuracy_by_name(model, task)} if is_simulated(e.model) else {}),
        **({"found": found(model, task)} if task.finds_number and hasattr(model, "n_new_range_") else {}),
        **({"rules": rules_of(model, task)} if e.model == RULES else {}),
        "settings": e.settings(asked),
        "seconds": round(seconds, 1),
        "cores": cores,
        "versions": {"newfound": __version__} | versions(),
    }
    return record, arrays_of(model, task) if e.has_arrays else {}


def _answer(e: Experiment, model: Any, task: Task) -> tuple[np.ndarray, Classes]:
    """The class of each test row; in the paper's tables its most probable component."""
    if is_simulated(e.model):
        return answer_by_name(model, task)
    if e.preset in PRESETS and e.model not in BASELINES:
        return model.predict_component_proba(task.X_test).argmax(axis=1), classes_of(model, task)
    return predicted(model, task)


def fit_method(name: str, task: Task, seed: int, changes: Changes) -> Any:
    """A model of newfound, a baseline, or discovery alone, fitted to a task."""
    if name in BASELINES:
        return BASELINES[name].fit(task, seed)
    if name in UNTRAINED:
        return Discovered(task, seed, changes)
    from newfound.estimator import estimator_of
    from newfound.fitted import Termination

    of_task = {"n_new": "auto" if task.finds_number else task.n_new, "feature_types": task.feature_types}
    model = estimator_of(name)(**of_task, random_state=seed, **keywords(changes)).fit(task.X, task.labels)
    if model.termination_condition_ is Termination.INTERRUPTED:  # half a fit is no result
        raise KeyboardInterrupt
    return model


def results(model: Any, task: Task, evaluation: Evaluation, classes: Classes) -> dict[str, Any]:
    """What was learned from, and how well."""
    return {
        "n_train": len(task.X),
        "n_labelled": task.labels.n_labelled,
        "n_test": int(evaluation.counts.sum()),
        "n_known": classes.n_known,
        "n_new": len(classes) - classes.n_known,
        **scores(evaluation, classes),
        "classes": evaluation.classes.tolist(),
        "known_classes": classes.known.tolist(),
        "component_class": classes.component_class.tolist(),
        "counts": evaluation.counts.tolist(),
        "training": training_of(model),
    }


def training_of(model: Any) -> dict[str, Any] | None:
    """How training went; nothing for a baseline."""
    if not hasattr(model, "restarts_"):
        return None
    restart = model.restarts_[model.best_restart_]
    elbo = restart.validation_elbo
    return {
        "termination_condition": str(restart.termination_condition),
        "steps": int(restart.history["step"][-1]) if restart.history else 0,
        "learning_rate_reductions": restart.learning_rate_reductions,
        "validation_elbo": None if elbo != elbo else round(elbo, 3),
    }


def arrays_of(model: Any, task: Task) -> dict[str, np.ndarray]:
    """What figures show: generated rows, the entropy of q(y | x), and each component's most confident test rows."""
    probabilities = model.predict_component_proba(task.X_test)
    most_confident = np.argsort(-probabilities, axis=0, kind="stable")[:CONFIDENT_ROWS].T
    return {
        "grid": np.clip(model.sample_grid(GRID_ROWS, random_state=0), 0, 255).astype(np.uint8),
        "entropy": posterior_entropy(probabilities).astype(np.float32),
        "is_known": np.isin(task.truth.codes, task.known),
        "most_confident": task.X_test[most_confident].astype(np.uint8),
    }
