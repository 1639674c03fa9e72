"""Where labels are missing: how probable it is, for each row, that it belongs to a known class, and to which.

If the rows to label were picked at random among those of the known classes, labels are as dense as anywhere among rows
of a known class only, and absent among rows of a new one (Elkan and Noto, 2008). Two kinds of judges measure that
density, each from labels other than the row's own: forests that tell which rows were labelled, and as what; and walks
among neighbours, by the labels they end on. Which of the known classes a row is like is judged by a logistic regression
as well. What a judge is worth is what it adds to the others in foretelling the labels there are.
"""

from typing import NamedTuple

import numpy as np

from newfound.features import in_batches
from newfound.models.objective import UNLABELLED
from newfound.training.neighbours import Graph, averages_of_walks

N_TREES = 100
ROWS_IN_LEAF = 10  # at least
LABELS_IN_LEAF = 0.15  # on the average, at least: fewer, and the density is a list of where the labelled rows are
ROWS_TO_LEARN_FROM = 100_000
ROWS_TO_JUDGE = 65_536  # at a time: to call a hundred trees takes long, however few the rows
STAYING = (0.9, 0.99)  # shorter and longer walks
FOLDS = 5  # of labels, so that a labelled row is judged by others
LABELS_TO_REGRESS_ON = 5_000
LENGTH = 7.0  # of a row to be regressed on, against a penalty of 1
DOUBT = 0.01  # of an answer: it is taken for that of all rows
TRUST = 1.0  # in each judge beforehand: as if it had foretold so many rows that no other did
LABELS_OF_ALL_ROWS = 30.0  # what all rows say of a class's rate of labels counts like so many of its labels


class Views(NamedTuple):
    """The same rows, seen in several ways."""

    columns: np.ndarray
    axes: np.ndarray
    space: np.ndarray  # where a row lies among the others
    graph: Graph | None


def weigh_labels(views: Views, labels: np.ndarray, n_known: int, seed: int, *, all_known: bool = False) -> np.ndarray:
    """(rows, known classes): how probable each is."""
    outcomes = np.where(labels == UNLABELLED, n_known, labels)
    both = np.hstack([views.axes, views.space])
    densities = [_by_forest(view, outcomes, n_known, seed) for view in (views.space, both, views.columns)]
    if views.graph is not None:
        densities += [_by_walks(views.graph, outcomes, n_known, staying, seed) for staying in STAYING]
    classes = [_shares(density[:, :n_known], labels) for density in densities]
    if n_known > 1:
        classes.append(_by_regression(views, labels, n_known, seed))
    which = pooled([_with_doubt(_normalised(shares), labels) for shares in classes], labels)
    if all_known:
        return which.astype(np.float32)
    density = pooled(densities, outcomes)[:, :n_known]
    is_known = np.minimum(_shares(density, labels).sum(axis=1, keepdims=True), 1.0)
    return (is_known * which).astype(np.float32)


def pooled(answers: list[np.ndarray], outcomes: np.ndarray) -> np.ndarray:
    """The mean over judges, weighed so that together they foretell the known outcomes (not negative) best.

    The weights w maximise Σ_rows log Σ_judges w · p(outcome) + TRUST Σ_judges log w: with many labels a judge counts
    for what it adds to the others; with few, all have a say.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    rows = np.flatnonzero(outcomes >= 0)
    foretold = np.array([_normalised(answer[rows])[range(len(rows)), outcomes[rows]] for answer in answers], float)

    def loss(logits: np.ndarray) -> tuple[float, np.ndarray]:
        weights = softmax(logits)
        together = weights @ foretold
        slope = foretold @ (1 / together) + TRUST / weights
        value = np.log(together).sum() + TRUST * np.log(weights).sum()
        return -value, -weights * (slope - weights @ slope)

    logits = minimize(loss, np.zeros(len(answers)), jac=True, method="L-BFGS-B").x
    return np.average(answers, axis=0, weights=softmax(logits))


def _normalised(answer: np.ndarray) -> np.ndarray:
    return answer / np.maximum(answer.sum(axis=1, keepdims=True), 1e-12)


def _with_doubt(answer: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    averages = np.bincount(outcomes[outcomes >= 0], minlength=answer.shape[1]) / np.sum(outcomes >= 0)
    return (1 - DOUBT) * answer + DOUBT * averages


def _shares(density: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The share of each known class among the rows at a place: its label's density, over that where all are of it."""
    return density / _label_rates(density, labels)


def _by_regression(views: Views, labels: np.ndarray, n_known: int, seed: int) -> np.ndarray:
    """The probability of each known class if it is one of them; of a labelled row, from the labels of other folds."""
    from sklearn.linear_model import LogisticRegression

    rows = np.hstack([_of_mean_length(views.axes), _of_mean_length(views.space)])
    labelled = np.random.default_rng(seed).permutation(np.flatnonzero(labels != UNLABELLED))[:LABELS_TO_REGRESS_ON]
    fold = np.arange(len(labelled)) % FOLDS

    def learn_and_judge(learned: np.ndarray, judged: np.ndarray) -> np.ndarray:
        answer = np.zeros((len(judged), n_known))
        classes = np.unique(labels[learned])
        if len(classes) == 1:
            answer[:, classes[0]] = 1.0
        else:
            regression = LogisticRegression(max_iter=500).fit(rows[learned], labels[learned])
            answer[:, regression.classes_] = regression.predict_proba(judged)
        return answer

    answer = learn_and_judge(labelled, rows)
    for i in range(min(FOLDS, len(labelled))):
        answer[labelled[fold == i]] = learn_and_judge(labelled[fold != i], rows[labelled[fold == i]])
    return answer


def _of_mean_length(rows: np.ndarray) -> np.ndarray:
    """All rows by one factor: their mean square length is LENGTH², so that two views are given the same say."""
    return LENGTH * rows / np.maximum(np.sqrt(np.mean(np.sum(np.square(rows), axis=1))), 1e-12)


def _by_walks(graph: Graph, outcomes: np.ndarray, n_known: int, staying: float, seed: int) -> np.ndarray:
    """The probability of each label, and of none, at every row: where walks end, other than on rows of its fold."""
    labelled = np.flatnonzero(outcomes < n_known)
    fold = np.random.default_rng(seed).permutation(len(labelled)) % FOLDS
    ends = np.zeros((len(outcomes), n_known, FOLDS), np.float32)
    ends[labelled, outcomes[labelled], fold] = 1
    parts = averages_of_walks(graph, ends.reshape(len(ends), -1), staying).reshape(ends.shape)
    densities = parts.sum(axis=2)
    densities[labelled] = (densities[labelled] - parts[labelled, :, fold]) * FOLDS / (FOLDS - 1)
    none = np.maximum(1 - densities.sum(axis=1, keepdims=True), 0)
    return _with_doubt(np.hstack([densities, none]), outcomes)


def _by_forest(view: np.ndarray, outcomes: np.ndarray, n_known: int, seed: int) -> np.ndarray:
    """The probability of each label, and of none, at every row; as far as can be, from trees that did not see it."""
    from joblib import parallel_config
    from sklearn.ensemble import ExtraTreesClassifier

    rows = np.random.default_rng(seed).permutation(len(view))[:ROWS_TO_LEARN_FROM]
    label_share = np.mean(outcomes < n_known)
    forest = ExtraTreesClassifier(
        N_TREES,
        min_samples_leaf=max(ROWS_IN_LEAF, int(LABELS_IN_LEAF / label_share)),
        bootstrap=True,
        oob_score=_nothing,
        n_jobs=-1,
        random_state=seed % 2**32,
    )
    densities = np.zeros((len(view), n_known + 1))
    with parallel_config(backend="threading"):  # trees are grown without the interpreter's lock
        forest.fit(view[rows], outcomes[rows])
        if len(rows) < len(view):
            densities[:, forest.classes_] = in_batches(forest.predict_proba, view, ROWS_TO_JUDGE)
    densities[np.ix_(rows, forest.classes_)] = np.nan_to_num(forest.oob_decision_function_)
    return _with_doubt(densities, outcomes)


def _nothing(truth: np.ndarray, predicted: np.ndarray) -> float:
    """In place of a score, which nobody reads; the out-of-bag densities come along with it."""
    return 0.0


def _label_rates(density: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The share of each class's rows that have a label: how dense its labels are around its labelled rows.

    Where labels are few, which rows have one is chance; so the mean around all rows is taken in, each as probably
    labelled as the density says. Where a class is mixed with others both are too low, never too high: the side on which
    a known row stays known.
    """
    is_labelled = labels != UNLABELLED
    around = density[is_labelled, labels[is_labelled]]
    counts = np.bincount(labels[is_labelled], minlength=density.shape[1])
    around_labels = np.bincount(labels[is_labelled], around, minlength=density.shape[1])
    around_rows = np.square(density).sum(axis=0) / np.maximum(density.sum(axis=0), 1e-12)
    rates = (around_labels + LABELS_OF_ALL_ROWS * around_rows) / (counts + LABELS_OF_ALL_ROWS)
    return np.maximum(rates, np.maximum(counts, 1) / len(labels))  # the average: as if all rows were of the class
