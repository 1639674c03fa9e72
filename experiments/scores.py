"""From components of test rows to the numbers of a record, and from a record back to the counts.

The paper's metrics are those of components, and its models have one for each class. Where a class has several, what is
scored is the class.
"""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.baselines import Discovered
from experiments.tasks import Task
from newfound.classes import Classes
from newfound.evaluation import Accuracy, Evaluation, evaluate, expected_calibration_error, macro_accuracy, one_to_one
from newfound.explain.columns import histograms, shortlist, source_columns
from newfound.explain.rules import grow_rule


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
    """The classes of the test rows, by newfound or a baseline, as classes of one component each."""
    classes = classes_of(model, task)
    position = classes.component_class[model.predict_component(task.X_test)]
    return position, Classes(classes.names, classes.is_new, np.arange(len(classes)))


def scores(evaluation: Evaluation, classes: Classes) -> dict[str, Any]:
    """Every metric that is put on record, accuracies in per cent."""
    counts, metrics = evaluation.counts, evaluation.metrics
    n_of_known = counts[evaluation.is_known].sum()
    n_in_own = sum(
        counts[row, classes.components(classes.position(evaluation.classes[row]))].sum()
        for row in np.flatnonzero(evaluation.is_known)
    )
    in_known = counts[:, ~classes.is_new[classes.component_class]].sum()
    return {
        "acc_many_to_one": _per_cent(evaluation.many_to_one.all),
        "acc_many_to_one_by_group": by_group(evaluation.many_to_one),
        "acc_one_to_one": by_group(evaluation.one_to_one),
        "acc_one_to_one_macro": _per_cent(macro_accuracy(counts, one_to_one(counts))),
        "acc_own_component": _per_cent(float(n_in_own / n_of_known)) if n_of_known else None,
        "assigned_to_known": _per_cent(float(in_known / counts.sum())),
        "nmi": round(metrics["normalised mutual information"], 4),
        "ari": round(metrics["adjusted Rand index"], 4),
        "non_empty_components": int(metrics["non-empty predicted classes"]),
    }


def by_group(accuracy: Accuracy) -> dict[str, float | None]:
    """Accuracy in per cent; None where there is no such row."""
    return {"all": _per_cent(accuracy.all), "known": _per_cent(accuracy.known), "new": _per_cent(accuracy.new)}


def _per_cent(share: float) -> float | None:
    return None if share != share else round(100 * share, 2)


# ---- From a record back ----


def evaluation_of(record: dict[str, Any]) -> Evaluation:
    """The evaluation that a record's numbers were taken from."""
    counts, classes = np.array(record["counts"]), np.array(record["classes"])
    return Evaluation(classes, np.arange(counts.shape[1]), counts, np.isin(classes, record["known_classes"]))


def recorded_classes(record: dict[str, Any]) -> Classes:
    """The classes that a record's components belong to."""
    known = np.array(record["known_classes"], dtype=str)
    classes = Classes.one_component_each(known, record["n_new"])
    return Classes(classes.names, classes.is_new, np.array(record["component_class"]))


# ---- How many new classes were found, and how reliable the answers are ----

NO_RULE = 0.5  # the fidelity where there is no rule


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


def rules_of(found: Discovered, task: Task) -> list[dict[str, Any]]:
    """The rule of each new class that discovery found, the largest first, and how far it holds."""
    columns = source_columns(task.X, task.columns)
    of_columns = histograms(columns, found.position, len(found.classes))
    rules = []
    for position in np.flatnonzero(found.classes.is_new).tolist():
        chosen = [columns[i] for i in shortlist(of_columns, position, None)]
        grown = grow_rule(chosen, found.position == position, np.ones(len(task.X)))
        rule = {"text": None, "fidelity": NO_RULE} if grown is None else asdict(grown.rule)
        rules.append({"class": str(found.classes.names[position])} | rule)
    return rules
