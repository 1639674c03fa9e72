"""Scores for partly labelled rows, as functions of labels and predictions and as scorers for scikit-learn.

open-set accuracy
    The share of labelled rows that are right; a row of a class without labels in training is right if it is predicted
    as any new class. `score` of the estimators returns this.
labelled accuracy
    The share of labelled rows that are predicted by name. A row of a class without labels in training is always wrong:
    the plain accuracy, without unlabelled rows.

Unlabelled rows (−1, None, NaN, "") count in neither. How well *new* classes agree with true ones, independent of their
names, is another question: `newfound.evaluate`.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from newfound.labels import Labels


def open_set_accuracy(y_true: Any, y_pred: Any, *, known: Collection[Any], sample_weight: Any = None) -> float:
    """Return the share of labelled rows that are right: by name if their class is in `known`, otherwise if new.

    No answer (−1, "" or None in `y_pred`) is never right.

    Examples
    --------
    >>> open_set_accuracy(["cat", "emu", None], ["cat", "new-1", "cat"], known=["cat"])
    1.0
    """
    true, predicted, weights = _labelled_rows(y_true, y_pred, sample_weight)
    known = [str(name) for name in known]
    is_called_new = ~np.isin(predicted, known) & (predicted != "")
    is_right = np.where(np.isin(true, known), true == predicted, is_called_new)
    return float(np.average(is_right, weights=weights))


def labelled_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of labelled rows that are predicted by the name of their class.

    Examples
    --------
    >>> labelled_accuracy(["cat", "emu", None], ["cat", "new-1", "cat"])
    0.5
    """
    true, predicted, weights = _labelled_rows(y_true, y_pred, sample_weight)
    return float(np.average(true == predicted, weights=weights))


def open_set_accuracy_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the `open_set_accuracy` of a fitted model, or of a pipeline or a search that ends in one.

    A new class with a name from a person counts as known by that name.
    """
    classes = _classes(estimator)
    true, known = _true_names(classes, y), classes.names[classes.is_named]
    return open_set_accuracy(true, estimator.predict(X), known=known, sample_weight=sample_weight)


def labelled_accuracy_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the `labelled_accuracy` of a fitted model, or of a pipeline or a search that ends in one."""
    true = _true_names(_classes(estimator), y)
    return labelled_accuracy(true, estimator.predict(X), sample_weight=sample_weight)


def _labelled_rows(y_true: Any, y_pred: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """For the labelled rows: label and prediction as text, and weight."""
    labels = Labels.read(y_true, len(y_true))
    predicted = Labels.read(y_pred, len(labels))
    rows = labels.is_labelled
    if not rows.any():
        raise ValueError(
            f"None of the {len(labels)} rows has a label, so there is nothing to score. Score rows that have labels; "
            f"in cross-validation, newfound.model_selection.LabelledKFold puts some in every fold."
        )
    return labels.names[rows], predicted.names[rows], None if weights is None else np.asarray(weights)[rows]


def _true_names(classes: Any, y: Any) -> np.ndarray:
    """Labels by the present names of their classes."""
    if y is None:
        raise ValueError("A score compares predictions with labels, but y is None. Give the labels of the rows.")
    return classes.called_now(Labels.read(y, len(y)).names)


def _classes(estimator: Any) -> Any:
    """The `Classes` of a fitted model, also inside a pipeline or a search."""
    while not hasattr(estimator, "fitted_"):
        inner = getattr(estimator, "best_estimator_", None) or (getattr(estimator, "steps", None) or [(None,)])[-1][-1]
        if inner is None:
            raise ValueError(
                f"This scorer is for a fitted newfound model, alone or at the end of a pipeline or a search; got "
                f"{type(estimator).__name__}. Fit it first, or use a scorer of scikit-learn."
            )
        estimator = inner
    return estimator.fitted_.classes
