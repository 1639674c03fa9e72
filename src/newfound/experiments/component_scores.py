"""From components of test rows to numbers: the one scoring of experiments, baselines and demo.

The paper's metrics are those of components, and its models have one for each class. Where a class has several, what is
scored is the class.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from newfound.classes import Classes
from newfound.evaluation import Accuracy, Evaluation, evaluate, macro_accuracy, one_to_one
from newfound.experiments.tasks import Task


def evaluate_task(task: Task, component: np.ndarray, classes: Classes) -> Evaluation:
    """True classes by components, of the test rows that count."""
    truth = task.truth.codes[task.is_scored]
    evaluation = evaluate(truth, component[task.is_scored], task.known, range(classes.n_components))
    return replace(evaluation, classes=task.truth.classes[evaluation.classes])  # by name, in the order of the codes


def classes_of(model: Any, task: Task) -> Classes:
    """The classes of a fitted model; a baseline has a component for each class of the task."""
    if hasattr(model, "fitted_"):
        return model.fitted_.classes
    return getattr(model, "classes", task.classes)


def predicted(model: Any, task: Task) -> tuple[np.ndarray, Classes]:
    """What newfound or a baseline says of the test rows: their classes, as classes of one component each."""
    classes = classes_of(model, task)
    position = classes.component_class[model.predict_component(task.X_test)]
    return position, Classes(classes.names, classes.is_new, np.arange(len(classes)))


def scores(evaluation: Evaluation, classes: Classes) -> dict[str, Any]:
    """Every metric that is put on record, accuracies in per cent."""
    metrics = evaluation.metrics
    return {
        "acc_many_to_one": _per_cent(evaluation.many_to_one.all),
        "acc_many_to_one_by_group": by_group(evaluation.many_to_one),
        "acc_one_to_one": by_group(evaluation.one_to_one),
        "acc_one_to_one_macro": _per_cent(macro_accuracy(evaluation.counts, one_to_one(evaluation.counts))),
        "acc_own_component": _per_cent(_own_component(evaluation, classes)),
        "assigned_to_known": _per_cent(_assigned_to_known(evaluation, classes)),
        "nmi": round(metrics["normalised mutual information"], 4),
        "ari": round(metrics["adjusted Rand index"], 4),
        "non_empty_components": int(metrics["non-empty predicted classes"]),
    }


def _own_component(evaluation: Evaluation, classes: Classes) -> float:
    """The share of rows of known classes that lie in a component of their own class."""
    n_rows = evaluation.counts[evaluation.is_known].sum()
    own = sum(
        evaluation.counts[row, classes.components(classes.position(evaluation.classes[row]))].sum()
        for row in np.flatnonzero(evaluation.is_known)
    )
    return float(own / n_rows) if n_rows else float("nan")


def _assigned_to_known(evaluation: Evaluation, classes: Classes) -> float:
    """The share of all rows that lie in a component of any known class."""
    is_new = classes.is_new[classes.component_class]
    return float(evaluation.counts[:, ~is_new].sum() / evaluation.counts.sum())


def by_group(accuracy: Accuracy) -> dict[str, float | None]:
    """Accuracy in per cent; None where there is no such row."""
    return {"all": _per_cent(accuracy.all), "known": _per_cent(accuracy.known), "new": _per_cent(accuracy.new)}


def _per_cent(share: float) -> float | None:
    return None if share != share else round(100 * share, 2)


# ---- and back from a record ------------------------------------------------------------------------------------------


def evaluation_of(record: dict[str, Any]) -> Evaluation:
    """The evaluation that a record's numbers were taken from."""
    counts, classes = np.array(record["counts"]), np.array(record["classes"])
    return Evaluation(classes, np.arange(counts.shape[1]), counts, np.isin(classes, record["known_classes"]))


def recorded_classes(record: dict[str, Any]) -> Classes:
    """The classes that a record's components belong to."""
    known = np.array(record["known_classes"], dtype=str)
    classes = Classes.one_component_each(known, record["n_new"])
    return Classes(classes.names, classes.is_new, np.array(record["component_class"]))
