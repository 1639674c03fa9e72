"""Where labels are missing: how probable it is, for each row, that it belongs to a known class.

If the rows to label were picked at random among those of the known classes, labels are as dense as anywhere among rows
of a known class only, and absent among rows of a new one. A forest that tells which rows were labelled, and as what,
measures that density; each row is judged by the trees that did not see it. (Elkan and Noto, 2008.)
"""

from collections.abc import Sequence

import numpy as np

from newfound.features import in_batches
from newfound.models.objective import UNLABELLED

N_TREES = 100
ROWS_IN_LEAF = 10  # at least
LABELS_IN_LEAF = 0.15  # on the average, at least: fewer, and the density is a list of where the labelled rows are
ROWS_TO_LEARN_FROM = 100_000
DOUBT = 0.01  # of an answer: the density is taken for that of all rows


def weigh_labels(
    views: Sequence[np.ndarray], labels: np.ndarray, n_known: int, seed: int, *, all_known: bool = False
) -> np.ndarray:
    """(rows, known classes): how probable each is, from the view of the rows that tells best which have a label."""
    outcomes = np.where(labels == UNLABELLED, n_known, labels)
    densities = [_densities(view, outcomes, n_known, seed) for view in views]
    density = max(densities, key=lambda density: _log_score(density, outcomes))[:, :n_known]
    shares = density / _label_rates(density, labels)
    total = shares.sum(axis=1, keepdims=True)
    return (shares / (total if all_known else np.maximum(total, 1.0))).astype(np.float32)


def _densities(view: np.ndarray, outcomes: np.ndarray, n_known: int, seed: int) -> np.ndarray:
    """The probability of each label, and of none, at every row; as far as can be, from trees that did not see it."""
    from joblib import parallel_config
    from sklearn.ensemble import ExtraTreesClassifier

    rows = np.random.default_rng(seed).permutation(len(view))[:ROWS_TO_LEARN_FROM]
    averages = np.bincount(outcomes, minlength=n_known + 1) / len(outcomes)
    forest = ExtraTreesClassifier(
        N_TREES,
        min_samples_leaf=max(ROWS_IN_LEAF, int(LABELS_IN_LEAF / (1 - averages[n_known]))),
        bootstrap=True,
        oob_score=_nothing,
        n_jobs=-1,
        random_state=seed % 2**32,
    )
    densities = np.zeros((len(view), n_known + 1))
    with parallel_config(backend="threading"):  # trees are grown without the interpreter's lock
        forest.fit(view[rows], outcomes[rows])
        if len(rows) < len(view):
            densities[:, forest.classes_] = in_batches(forest.predict_proba, view)
    densities[np.ix_(rows, forest.classes_)] = np.nan_to_num(forest.oob_decision_function_)
    return (1 - DOUBT) * densities + DOUBT * averages


def _nothing(truth: np.ndarray, predicted: np.ndarray) -> float:
    """In place of a score, which nobody reads; the out-of-bag densities come along with it."""
    return 0.0


def _log_score(densities: np.ndarray, outcomes: np.ndarray) -> float:
    total = densities.sum(axis=1)
    return float(np.mean(np.log(densities[np.arange(len(outcomes)), outcomes] / total)))


def _label_rates(density: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The share of each class's rows that have a label: how dense its labels are around its labelled rows.

    Where a class is mixed with others this is too low, never too high: the side on which a known row stays known.
    """
    is_labelled = labels != UNLABELLED
    around = density[is_labelled, labels[is_labelled]]
    counts = np.bincount(labels[is_labelled], minlength=density.shape[1])
    rates = np.bincount(labels[is_labelled], around, minlength=density.shape[1]) / np.maximum(counts, 1)
    return np.maximum(rates, np.maximum(counts, 1) / len(labels))  # the average: as if all rows were of the class
