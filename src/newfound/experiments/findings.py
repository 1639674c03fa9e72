"""How many new classes were found, and how far what is said of rows can be trusted."""

from dataclasses import asdict
from typing import Any

import numpy as np

from newfound.classes import Classes
from newfound.descriptions.rules import grow_rule
from newfound.descriptions.shortlists import histograms, shortlist
from newfound.descriptions.source_columns import source_columns
from newfound.evaluation import evaluate, expected_calibration_error
from newfound.experiments.component_scores import by_group
from newfound.experiments.presets import Changes, keywords
from newfound.experiments.tasks import Task

NO_RULE = 0.5  # the fidelity of saying nothing


def found(model: Any, task: Task) -> dict[str, Any]:
    """The number with its range, the answer for the rows fitted on, and the network's probabilities on test rows."""
    return {
        "n_new": model.n_new_,
        "n_new_range": list(model.n_new_range_),
        "n_true": task.n_new,
        "rows_fitted_on": transductive(model.labels_, task, model.classes_),
        **({} if isinstance(model, Discovered) else certainty(model, task)),
    }


def transductive(answer: np.ndarray, task: Task, classes: np.ndarray) -> dict[str, float | None]:
    """One-to-one accuracy on the training rows without a label, in %."""
    rows = ~task.labels.is_labelled
    known = task.labels.classes[task.known]
    accuracy = evaluate(task.all_labels.names[rows], answer[rows].astype(str), known, classes.astype(str)).one_to_one
    return by_group(accuracy)


def certainty(model: Any, task: Task) -> dict[str, Any]:
    """AUROC of P(new), calibration error of known classes, agreement of network and discovery."""
    from sklearn.metrics import roc_auc_score

    classes = model.fitted_.classes
    answer = classes.answer(model.predict_component_proba(task.X_test))
    is_known = np.isin(task.truth.codes, task.known)
    is_both = 0 < is_known.sum() < len(is_known)
    is_right = (classes.named(answer).astype(str) == task.truth.names)[is_known]
    error = expected_calibration_error(answer.probability[is_known], is_right) if is_known.any() else None
    return {
        "auroc_p_new": round(float(roc_auc_score(~is_known, answer.p_new)), 4) if is_both else None,
        "calibration_error_known": None if error is None else round(error, 4),
        "agreement": round(float(np.mean(model.predict(task.X) == model.labels_)), 4),
        "is_sure": round(float(model.is_sure_.mean()), 4),
        "temperature": round(model.temperature_, 3),
        "selection": None if model.selection_ is None else model.selection_.grade,
    }


def rules_of(found: "Discovered", task: Task) -> list[dict[str, Any]]:
    """The rule of each new class that discovery found, the largest first, and how far it holds."""
    columns = source_columns(task.X, task.columns)
    of_columns = histograms(columns, found.position, len(found.classes))
    rules = []
    for position in np.flatnonzero(found.classes.is_new).tolist():
        chosen = [columns[i] for i in shortlist(of_columns, position, None)]
        grown = grow_rule(chosen, found.position == position, np.ones(len(task.X)))
        told = {"text": None, "fidelity": NO_RULE} if grown is None else asdict(grown.rule)
        rules.append({"class": str(found.classes.names[position])} | told)
    return rules


class Discovered:
    """What discovery alone finds, with the names of a fitted estimator; it has no answer for other rows."""

    def __init__(self, task: Task, seed: int, changes: Changes):
        from newfound.config import Config
        from newfound.discovery import discover
        from newfound.estimator import GMDGM

        model = GMDGM(feature_types=task.feature_types, random_state=seed, **keywords(changes))
        rows, labels = model.rows_and_labels(task.X, task.labels)
        settings = (model.config or Config()).initialisation
        discovery = discover(rows, labels.codes, len(labels.classes), settings, seed)
        self.classes = Classes.one_component_each(labels.classes, discovery.n_new)
        self.labels_ = self.classes.names[discovery.classes]
        self.classes_, self.n_new_, self.n_new_range_ = self.classes.names, discovery.n_new, discovery.n_new_range
        self.position = discovery.classes

    def predict_component(self, X: np.ndarray) -> np.ndarray:
        """Of the rows that were fitted on, which are the test rows of such an experiment."""
        if len(X) != len(self.position):
            raise ValueError(f"Discovery has an answer for its own {len(self.position)} rows; got {len(X)} others.")
        return self.position


def discover_only(task: Task, seed: int, changes: Changes) -> Discovered:
    return Discovered(task, seed, changes)
