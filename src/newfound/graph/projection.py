"""The features in which neighbours are found, in few dimensions."""

from collections.abc import Callable

import numpy as np

from newfound.batching import in_batches
from newfound.config import Initialisation
from newfound.labels import UNLABELLED


def pca_projection(
    X: np.ndarray, features: Callable[[np.ndarray], np.ndarray], settings: Initialisation, seed: int
) -> np.ndarray:
    """Every row's coordinates along the principal components of its features."""
    from sklearn.decomposition import PCA

    sample = in_batches(features, X[sample_rows(len(X), settings, seed)])
    pca = PCA(min(settings.pca_components, *sample.shape), random_state=seed % 2**32).fit(sample)
    return in_batches(lambda rows: pca.transform(features(rows)), X).astype(np.float32)


def sample_rows(n_rows: int, settings: Initialisation, seed: int, labels: np.ndarray | None = None) -> np.ndarray:
    """The rows that make the graph, in random order; among too many, those with a label for up to half of them.

    Both kinds are drawn at random, so that labels are as dense in one class as in another.
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    most = settings.graph_max_rows
    if labels is None or n_rows <= most:
        return order[:most]
    is_labelled = labels[order] != UNLABELLED
    n_labelled = min(int(is_labelled.sum()), max(most // 2, most - int((~is_labelled).sum())))
    is_taken = np.where(is_labelled, np.cumsum(is_labelled) <= n_labelled, np.cumsum(~is_labelled) <= most - n_labelled)
    return order[is_taken]


def whitened(points: np.ndarray, labels: np.ndarray, settings: Initialisation) -> np.ndarray:
    """Points in which known classes are rounder: P Σ^-½, with Σ = (1 − w) 1 + w · the covariance within classes / σ².

    Directions in which rows of one class differ much count less for who is near whom: new classes differ within
    themselves much as known ones do. σ² is the mean variance within classes. Only as many of the leading principal
    components are whitened as there are labels for, or labelled rows would be drawn to one another.
    """
    rows = np.flatnonzero(labels != UNLABELLED)
    n_dims = min(len(rows) // settings.whitening_labels, points.shape[1])
    if n_dims == 0 or settings.whitening == 0:
        return points
    around = points[rows] - _class_means(points[rows], labels[rows])[labels[rows]]
    variance = float(np.mean(np.square(around)))
    if variance == 0:  # no two labelled rows of a class differ
        return points
    within = around[:, :n_dims].T.astype(float) @ around[:, :n_dims] / len(rows) / variance
    values, vectors = np.linalg.eigh(settings.whitening * within + (1 - settings.whitening) * np.eye(n_dims))
    found = points.copy()
    found[:, :n_dims] = points[:, :n_dims] @ (vectors / np.sqrt(np.maximum(values, 1e-12)))
    return found


def _class_means(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    sums = np.zeros((labels.max() + 1, points.shape[1]))
    np.add.at(sums, labels, points)
    return sums / np.maximum(np.bincount(labels), 1)[:, None]
