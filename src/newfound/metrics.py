"""Scores for rows of which some carry no label, as functions of labels and answers and as scorers for scikit-learn.

open-set accuracy
    The share of labelled rows that are right, where a row of a class that the model was never told of is right if it is
    called new. This is what `score` gives.
labelled accuracy
    The share of labelled rows whose class is called by its name. A row of a class never seen in training is always
    wrong: the plain accuracy, without the rows that carry no label.

Rows without a label (−1, None, NaN, "") count in neither. How well *new* classes agree with true ones, whatever they
are called, is another question: `newfound.evaluate`.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from newfound.labels import Labels


def open_set_accuracy(y_true: Any, y_pred: Any, *, known: Collection[Any], sample_weight: Any = None) -> float:
    """The share of labelled rows that are right: called by name if their class is in `known`, called new if not.

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
    """The share of labelled rows that are called by the name of their class.

    Examples
    --------
    >>> labelled_accuracy(["cat", "emu", None], ["cat", "new-1", "cat"])
    0.5
    """
    true, predicted, weights = _labelled_rows(y_true, y_pred, sample_weight)
    return float(np.average(true == predicted, weights=weights))


def open_set_accuracy_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """`open_set_accuracy` of a fitted model, or of a pipeline or a search that ends in one: what its `score` gives.

    A class that a person has named is known by that name, also where it was found new.
    """
    classes = _classes(estimator)
    true, known = _called_now(classes, y), classes.names[classes.is_named]
    return open_set_accuracy(true, estimator.predict(X), known=known, sample_weight=sample_weight)


def labelled_accuracy_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """`labelled_accuracy` of a fitted model, or of a pipeline or a search that ends in one."""
    true = _called_now(_classes(estimator), y)
    return labelled_accuracy(true, estimator.predict(X), sample_weight=sample_weight)


def _labelled_rows(y_true: Any, y_pred: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Of the rows with a label: it and the answer as text, and their weights."""
    labels = Labels.read(y_true, len(y_true))
    predicted = Labels.read(y_pred, len(labels))
    rows = labels.is_labelled
    if not rows.any():
        raise ValueError(
            f"None of the {len(labels)} rows has a label, so there is nothing to score. Score rows that have labels; "
            f"in cross-validation, newfound.model_selection.LabelledKFold puts some in every fold."
        )
    return labels.names[rows], predicted.names[rows], None if weights is None else np.asarray(weights)[rows]


def _called_now(classes: Any, y: Any) -> np.ndarray:
    """Labels by the names that their classes have now."""
    if y is None:
        raise ValueError("A score compares answers with labels, but y is None. Give the labels of the rows.")
    return classes.called_now(Labels.read(y, len(y)).names)


def _classes(estimator: Any) -> Any:
    """The `Classes` of a fitted model, wherever it stands."""
    while not hasattr(estimator, "fitted_"):
        inner = getattr(estimator, "best_estimator_", None) or (getattr(estimator, "steps", None) or [(None,)])[-1][-1]
        if inner is None:
            raise ValueError(
                f"This scorer is for a fitted newfound model, alone or at the end of a pipeline or a search; got "
                f"{type(estimator).__name__}. Fit it first, or take a scorer of scikit-learn."
            )
        estimator = inner
    return estimator.fitted_.classes
