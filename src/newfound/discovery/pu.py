"""The positive-unlabelled (PU) estimate: P(y | x) of the known classes, from where labels are missing.

Labels are assumed to be selected completely at random within a class (SCAR, Elkan and Noto 2008): each row of class y
carries its label with the same label frequency c_y = P(labelled | y). Labels are then as dense as c_y where all rows
are of class y, thinner where rows of other classes are among them, and absent among rows of a new class:

    P(y | x) = P(labelled as y | x) / c_y

Base models estimate the density P(labelled as y | x), each from labels other than the row's own: forests of two
feature sets, out-of-bag, and label propagation in the graph of neighbours, cross-fitted. A logistic regression also
estimates which of the known classes a row has. A linear opinion pool weighs the base models so that together they
predict the labels best. (Cross-fitting is ours: `cross_val_predict` leaves no prediction for the rows without a label.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from newfound._internal.threads import in_batches
from newfound.config import Initialisation
from newfound.discovery.graph import Graph, propagate
from newfound.labels import UNLABELLED

OWN_CLASS_LABELS = 100  # up to this many labels in all, only those of a class itself count for its label frequency
ANY_CLASS_LABELS = 200  # from this many on, labels of any class count
MIN_SAMPLES_LEAF = 10  # rows in a leaf of a tree: fewer make noisy densities
MIN_LABELS_LEAF = 0.15  # labels in a leaf, on average: if labels are rare, leaves are larger
FOREST_MAX_ROWS = 100_000  # more rows make a forest slower and not more accurate
REGRESSION_MAX_LABELS = 5_000  # the same for the logistic regression
REGRESSION_SCALE = 7.0  # root mean square length of its rows: larger makes its penalty on weights weaker
LABEL_SMOOTHING = 0.01  # of every base model, so that no probability is 0
POOL_PRIOR = 1.0  # Dirichlet prior of the weights of the linear opinion pool
LABEL_FREQUENCY_PRIOR = 30.0  # weight, in labels, of the mean around all rows in a class's label frequency
PREDICT_ROWS = 65_536  # per call, because a call of a hundred trees takes long even for few rows


class FeatureSets(NamedTuple):
    """The same rows in several sets of features."""

    projection: np.ndarray  # principal components
    embedding: np.ndarray  # the spectral embedding of the graph
    graph: Graph

    def of_nodes(self) -> "FeatureSets":
        """The feature sets of the rows of the graph only."""
        sample = self.graph.sample
        return FeatureSets(self.projection[sample], self.embedding[sample], self.graph.of_nodes())


def estimate_class_probabilities(
    features: FeatureSets,
    labels: np.ndarray,
    n_known: int,
    settings: Initialisation,
    seed: int,
    *,
    all_known: bool = False,
) -> np.ndarray:
    """(rows, known classes): P(y | x); with `all_known`, given that y is one of them.

    It is estimated for the rows of the graph; other rows are interpolated.
    """
    graph = features.graph
    if len(graph.sample) == len(labels):
        return _estimate(features, labels, n_known, settings, seed, all_known)
    of_nodes = _estimate(features.of_nodes(), labels[graph.sample], n_known, settings, seed, all_known)
    return graph.interpolation @ of_nodes


def _estimate(
    features: FeatureSets, labels: np.ndarray, n_known: int, settings: Initialisation, seed: int, all_known: bool
) -> np.ndarray:
    targets = np.where(labels == UNLABELLED, n_known, labels)  # "no label" is the last
    both = np.hstack([features.projection, features.embedding])
    densities = [_by_forest(rows, targets, n_known, settings, seed) for rows in (features.embedding, both)]
    densities += [
        _by_propagation(features.graph, targets, n_known, damping, settings, seed)
        for damping in settings.propagation_dampings
    ]
    classifiers = [_class_probabilities(density[:, :n_known], labels) for density in densities]
    if n_known > 1:
        classifiers.append(_by_regression(features, labels, n_known, settings, seed))
    smoothed = [_smooth(_sum_to_one(answer), labels, LABEL_SMOOTHING) for answer in classifiers]
    which = linear_opinion_pool(smoothed, labels, POOL_PRIOR)
    if all_known:
        return which.astype(np.float32)
    density = linear_opinion_pool(densities, targets, POOL_PRIOR)[:, :n_known]
    p_known = np.minimum(_class_probabilities(density, labels).sum(axis=1, keepdims=True), 1.0)
    return (p_known * which).astype(np.float32)


def linear_opinion_pool(answers: Sequence[np.ndarray], targets: np.ndarray, prior: float) -> np.ndarray:
    """The weighted mean of base models that predicts the known targets (not negative) best.

    The weights w maximise Σ_rows log Σ_models w · p(target) + prior · Σ_models log w. With few labels, the Dirichlet
    prior keeps the weights similar.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    rows = np.flatnonzero(targets >= 0)
    predicted = np.array([_sum_to_one(answer[rows])[range(len(rows)), targets[rows]] for answer in answers], float)

    def loss(logits: np.ndarray) -> tuple[float, np.ndarray]:
        weights = softmax(logits)
        together = weights @ predicted
        slope = predicted @ (1 / together) + prior / weights
        value = np.log(together).sum() + prior * np.log(weights).sum()
        return -value, -weights * (slope - weights @ slope)

    logits = minimize(loss, np.zeros(len(answers)), jac=True, method="L-BFGS-B").x
    return np.average(answers, axis=0, weights=softmax(logits))


def _sum_to_one(answer: np.ndarray) -> np.ndarray:
    return answer / np.maximum(answer.sum(axis=1, keepdims=True), 1e-12)


def _smooth(answer: np.ndarray, targets: np.ndarray, smoothing: float) -> np.ndarray:
    """Label smoothing, towards the mean over all rows."""
    averages = np.bincount(targets[targets >= 0], minlength=answer.shape[1]) / np.sum(targets >= 0)
    return (1 - smoothing) * answer + smoothing * averages


def _class_probabilities(density: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """P(y | x) = P(labelled as y | x) / c_y."""
    return density / label_frequencies(density, labels)


def label_frequencies(density: np.ndarray, labels: np.ndarray, prior: float = LABEL_FREQUENCY_PRIOR) -> np.ndarray:
    """c_y, the share of labelled rows of each class: the density of labels around its labelled rows.

    Labels of any class count: where known classes overlap, labels of one class alone are thinner, c_y would be too low
    for all of them, and rows of a new class nearby would look known. With few labels in all, only those of the class
    itself count; c_y is then rather too low than too high, so that known rows stay known. With few labels of a class,
    the estimate is noisy, so the mean around all rows is a prior, weighted by density.
    """
    is_labelled, n_known = labels != UNLABELLED, density.shape[1]
    codes, of_any = labels[is_labelled], density.sum(axis=1, keepdims=True)
    counts = np.bincount(codes, minlength=n_known)
    trust = np.clip((len(codes) - OWN_CLASS_LABELS) / (ANY_CLASS_LABELS - OWN_CLASS_LABELS), 0, 1)
    around = trust * of_any + (1 - trust) * density  # (rows, classes)
    around_labels = np.bincount(codes, around[is_labelled, codes], minlength=n_known)
    around_rows = (around * density).sum(axis=0) / np.maximum(density.sum(axis=0), 1e-12)
    frequencies = (around_labels + prior * around_rows) / (counts + prior)
    return np.maximum(frequencies, np.maximum(counts, 1) / len(labels))  # at least as if all rows were of the class


# ---- base models -----------------------------------------------------------------------------------------------------


def _by_regression(
    features: FeatureSets, labels: np.ndarray, n_known: int, settings: Initialisation, seed: int
) -> np.ndarray:
    """P(y | x, y is known); for a labelled row, from the labels of other folds."""
    scaled = []
    for part in (features.projection, features.embedding):  # scaled, so that both have the same weight
        length = np.sqrt(np.mean(np.sum(np.square(part), axis=1)))
        scaled.append(REGRESSION_SCALE * part / np.maximum(length, 1e-12))
    rows = np.hstack(scaled)
    labelled = np.random.default_rng(seed).permutation(np.flatnonzero(labels != UNLABELLED))
    labelled = labelled[:REGRESSION_MAX_LABELS]
    fold = np.arange(len(labelled)) % settings.n_folds
    answer = _regress(rows, labels, labelled, n_known, rows)
    for i in range(min(settings.n_folds, len(labelled))):
        of_fold = labelled[fold == i]
        answer[of_fold] = _regress(rows, labels, labelled[fold != i], n_known, rows[of_fold])
    return answer


def _regress(
    rows: np.ndarray, labels: np.ndarray, fitted_on: np.ndarray, n_known: int, asked: np.ndarray
) -> np.ndarray:
    """The predictions of a logistic regression for the rows `asked`."""
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(labels[fitted_on])
    if len(classes) == 1:
        return np.tile(np.eye(n_known)[classes[0]], (len(asked), 1))
    regression = LogisticRegression(max_iter=500).fit(rows[fitted_on], labels[fitted_on])
    answer = np.zeros((len(asked), n_known))
    answer[:, regression.classes_] = regression.predict_proba(asked)
    return answer


def _by_propagation(
    graph: Graph, targets: np.ndarray, n_known: int, damping: float, settings: Initialisation, seed: int
) -> np.ndarray:
    """Label propagation from the labelled rows of other folds."""
    n_folds = settings.n_folds
    labelled = np.flatnonzero(targets < n_known)
    fold = np.random.default_rng(seed).permutation(len(labelled)) % n_folds
    sources = np.zeros((len(targets), n_known, n_folds), np.float32)
    sources[labelled, targets[labelled], fold] = 1
    parts = propagate(graph, sources.reshape(len(sources), -1), damping).reshape(sources.shape)
    densities = parts.sum(axis=2)
    densities[labelled] = (densities[labelled] - parts[labelled, :, fold]) * n_folds / (n_folds - 1)
    no_label = np.maximum(1 - densities.sum(axis=1, keepdims=True), 0)
    return _smooth(np.hstack([densities, no_label]), targets, LABEL_SMOOTHING)


def _by_forest(
    features: np.ndarray, targets: np.ndarray, n_known: int, settings: Initialisation, seed: int
) -> np.ndarray:
    """Extremely randomised trees; a row of the training sample is predicted by trees that did not see it."""
    from joblib import parallel_config
    from sklearn.ensemble import ExtraTreesClassifier

    rows = np.random.default_rng(seed).permutation(len(features))[:FOREST_MAX_ROWS]
    label_share = np.mean(targets < n_known)
    forest = ExtraTreesClassifier(
        settings.n_trees,
        min_samples_leaf=max(MIN_SAMPLES_LEAF, int(MIN_LABELS_LEAF / label_share)),
        bootstrap=True,
        oob_score=lambda truth, predicted: 0.0,  # the score is not used, but its densities are
        n_jobs=-1,
        random_state=seed % 2**32,
    )
    densities = np.zeros((len(features), n_known + 1))
    with parallel_config(backend="threading"):  # scikit-learn grows trees without Python's lock
        forest.fit(features[rows], targets[rows])
        if len(rows) < len(features):
            densities[:, forest.classes_] = in_batches(forest.predict_proba, features, PREDICT_ROWS)
    densities[np.ix_(rows, forest.classes_)] = np.nan_to_num(forest.oob_decision_function_)
    return _smooth(densities, targets, LABEL_SMOOTHING)
