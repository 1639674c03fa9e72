"""How good the answers of a run are: against true classes, and by the labels that training did not see."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from newfound.classes import Classes
from newfound.errors import DataError
from newfound.evaluation import Certainty, Evaluation, Match, evaluate, expected_calibration_error, reliability
from newfound.runs.columnar import Columns
from newfound.runs.folder import Run
from newfound.runs.listener import ignore
from newfound.runs.predictions import Counted, predict_batches


def evaluate_answers(table: Columns, truth: np.ndarray, classes: Classes) -> Evaluation:
    """True classes against predicted ones, by name, on the rows whose true class is not ""."""
    rows = truth != ""
    truth, predicted = classes.called_now(truth[rows].astype(str)), table["class"][rows].astype(str)
    known = classes.known.astype(str)
    certainty = Certainty(
        probability=table["probability"][rows],
        is_right=predicted == truth,
        entropy=table["entropy"][rows],
        is_known=np.isin(truth, known),
        p_new=table["p_new"][rows],
    )
    return replace(evaluate(truth, predicted, known, classes.names.astype(str)), certainty=certainty)


def evaluate_run(run: Run) -> Evaluation | None:
    """Against the labels that were hidden on purpose, if any were, on the rows whose label the model did not see."""
    table = run.predictions
    if "true_class" not in table:
        return None
    truth = np.where(table["observed_label"] == "", table["true_class"], "")
    return evaluate_answers(table, truth, run.class_map) if (truth != "").any() else None


def evaluate_file(
    run: Run,
    source: str,
    label: str | None = None,
    features: str | None = None,
    note: Callable[[str], None] = ignore,
) -> Evaluation:
    """Compare the predictions for a file, or for a named set's test part, with its labels."""
    counted = Counted()
    batches = list(predict_batches(run, source, label, features=features, counted=counted))
    for sentence in counted.sentences():
        note(sentence)
    if not batches:
        raise DataError(f"{source!r} holds no rows, so there is nothing to compare. Give a file with rows.")
    table = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0] if name != "row_id"}
    if not (table["observed_label"] != "").any():
        column = label or run.schema.label_column
        where = f" in column {column!r}" if column else ""
        raise DataError(
            f"{source!r} has no label{where} to compare with. Name the column that holds them with --label."
        )
    return evaluate_answers(table, table["observed_label"], run.class_map)


def which_is_which(evaluation: Evaluation, classes: Classes) -> list[Match]:
    """What each new class is in truth, the largest first."""
    new = set(classes.names[classes.is_new].astype(str).tolist())
    return sorted((match for match in evaluation.matches if match.predicted in new), key=lambda match: -match.n_all)


def validation_calibration(model: Any, table: Columns) -> dict[str, Any] | None:
    """Reliability of the known classes' probabilities, on the labels of the validation rows."""
    rows = model.validation_indices_[table["observed_label"][model.validation_indices_] != ""]
    if len(rows) == 0:
        return None
    probability = table["probability"][rows]
    is_right = table["class"][rows] == table["observed_label"][rows]
    mean, accuracy, n_rows = reliability(probability, is_right)
    return {
        "bin_probability": mean.tolist(),
        "bin_accuracy": accuracy.tolist(),
        "bin_rows": n_rows.tolist(),
        "expected_calibration_error": expected_calibration_error(probability, is_right),
        "accuracy": float(is_right.mean()),
        "n_labels": len(rows),
        "temperature": model.temperature_,
    }
