"""Labels to start from: where a row has none, a guess that training can improve on.

If y is set free from the first step, the components die before z-space has any shape: few survive, and the new classes
share them. Training first as if every row had a label, then with the real objective, keeps them alive.
"""

import warnings

import numpy as np

from newfound.features import ROWS_AT_A_TIME, Scaling
from newfound.models.objective import UNLABELLED

LABELS_PER_CLUSTER = 3  # expected in a cluster of a known class: enough to tell it from a new one
ROWS_TO_CLUSTER = 10_000  # centres are found on a sample of so many rows
KMEANS_STARTS = 10


def pseudo_labels(
    X: np.ndarray, labels: np.ndarray, n_known: int, n_new: int, scaling: Scaling, seed: int
) -> np.ndarray:
    """Each row's label, or a component guessed by k-means: known where labels gather, new elsewhere.

    All rows are cut into clusters as small as the labels allow. A cluster in which labelled rows are at least half as
    common as in all the data belongs to the class most of them name. The rows of all other clusters are cut again,
    into the new components.
    """
    guesses = np.full(len(labels), UNLABELLED)
    if n_known:
        n_components = n_known + n_new
        n_wanted = int((labels != UNLABELLED).sum()) // LABELS_PER_CLUSTER
        n_clusters = min(max(n_wanted, n_components), 4 * n_components)
        clusters = _cluster(X, np.arange(len(X)), n_clusters, scaling, seed, starts=1)
        guesses = _class_of_cluster(clusters, labels, n_known)[clusters]
    rest = np.flatnonzero(guesses == UNLABELLED)
    if len(rest) < n_new:  # labels everywhere: the new components begin among all rows without one
        rest = np.flatnonzero(labels == UNLABELLED)
    guesses[rest] = n_known + _cluster(X, rest, n_new, scaling, seed, starts=KMEANS_STARTS)
    return np.where(labels == UNLABELLED, guesses, labels)


def _class_of_cluster(clusters: np.ndarray, labels: np.ndarray, n_known: int) -> np.ndarray:
    """The known class each cluster belongs to, or UNLABELLED."""
    is_labelled = labels != UNLABELLED
    n_clusters = clusters.max() + 1
    counts = np.zeros((n_clusters, n_known))
    np.add.at(counts, (clusters[is_labelled], labels[is_labelled]), 1)
    share = counts.sum(axis=1) / np.maximum(np.bincount(clusters, minlength=n_clusters), 1)
    return np.where(share >= is_labelled.mean() / 2, counts.argmax(axis=1), UNLABELLED)


def _cluster(X: np.ndarray, rows: np.ndarray, n_clusters: int, scaling: Scaling, seed: int, starts: int) -> np.ndarray:
    """The k-means cluster of each of the given rows."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    rng = np.random.default_rng(seed)
    sample = rows if len(rows) <= ROWS_TO_CLUSTER else rng.choice(rows, ROWS_TO_CLUSTER, replace=False)
    scaled = (X[sample] - scaling.shift) * scaling.scale
    kmeans = KMeans(min(n_clusters, len(sample)), n_init=starts, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters: the rest stay empty
        kmeans.fit(scaled)
    blocks = [rows[i : i + ROWS_AT_A_TIME] for i in range(0, len(rows), ROWS_AT_A_TIME)]
    return np.concatenate([kmeans.predict((X[block] - scaling.shift) * scaling.scale) for block in blocks])
