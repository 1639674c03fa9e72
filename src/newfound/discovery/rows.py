"""A component for every row, to train on before the objective is set free: a known class, or one of the new ones."""

import warnings
from typing import NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.features import hog, pca_projection, whitened
from newfound.discovery.graph import Graph, neighbour_graph, spectral_embedding
from newfound.discovery.pu import FeatureSets
from newfound.labels import MIN_LABEL_DENSITY, UNLABELLED, labels_by_group
from newfound.preprocessing.columns import Scaling

# ---- The first clusters of init="kmeans": by k-means, and a Gaussian mixture ----

KMEANS_N_INIT = 10  # restarts of k-means for the new components, scikit-learn's former default
CLUSTER_MAX_ROWS = 20_000  # that clusters are fitted on; others are assigned
LABELS_PER_CLUSTER = 3  # expected in a cluster of a known class: fewer may all be missing by chance
ROWS_PER_COVARIANCE = 10  # per dimension and cluster, that full covariances need


def cluster(
    Z: np.ndarray,
    rows: np.ndarray,
    n_clusters: int,
    seed: int,
    *,
    n_init: int = 1,
    full_covariance: bool = False,
) -> np.ndarray:
    """The cluster of each of the given rows: by k-means and, for full covariances, by a Gaussian mixture."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    sample = rows
    if len(rows) > CLUSTER_MAX_ROWS:
        sample = np.random.default_rng(seed).choice(rows, CLUSTER_MAX_ROWS, replace=False)
    n_clusters = min(n_clusters, len(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters, or not quite converged
        clusters = KMeans(n_clusters, n_init=n_init, random_state=seed % 2**32).fit(Z[sample])
        if full_covariance and len(sample) >= ROWS_PER_COVARIANCE * Z.shape[1] * n_clusters:
            clusters = GaussianMixture(
                n_clusters, means_init=clusters.cluster_centers_, reg_covar=1e-3, random_state=seed % 2**32
            ).fit(Z[sample])
    return clusters.predict(Z[rows])


# ---- A component for every row, to train on before the objective is set free ----
# A known class, or one of the new ones. If y is free from the first step, components die before z-space has any shape:
# few survive, and the new classes share them. So every row is first given a component: by discovery on the graph of
# neighbours (`newfound.discovery`), for which the features are here, or (init="kmeans", as in the experiments of the
# paper's tables) a known class where labels are dense, else one of the clusters of the other rows.

SPAN_QUANTILE = 0.005  # columns are scaled by the range between this quantile and its opposite
SPAN_MAX_ROWS = 10_000  # that this range is taken from
NORMAL_SPAN = 5.15  # standard deviations between these quantiles of a normal distribution


class Images(NamedTuple):
    """All rows as images, with every pixel."""

    pixels: np.ndarray  # (rows, pixels)
    shape: tuple[int, ...]  # (height, width) or (height, width, channels)


class Rows(NamedTuple):
    """All rows, as far as they are known before components are."""

    X: np.ndarray
    scaling: Scaling
    images: Images | None = None  # if that is what rows are
    latent: np.ndarray | None = None  # E[z | x], if a VAE was trained before
    is_scaled: np.ndarray | None = None  # of each column, whether its scale is its own
    projection: np.ndarray | None = None  # their principal components, where these are needed more than once


class Assignment(NamedTuple):
    """What training begins with."""

    labels: np.ndarray  # a component for every row: its label's, or a pseudo-label
    targets: np.ndarray | None = None  # (rows, components): how probable each is, where that was discovered


def initialise(rows: Rows, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> Assignment:
    """A component for every row, from codes of labels (UNLABELLED where there is none, or where it is held out).

    Components 0 to n_known − 1 are those of the known classes, the next n_new are new.
    """
    space = rows.scaling.apply(rows.X) if rows.latent is None else _standardised(rows.latent)
    pseudo_labels = _known_where_labels_are_dense(space, labels, n_known, n_new, seed)
    rest = np.flatnonzero(pseudo_labels == UNLABELLED)
    if len(rest) < n_new:  # labels everywhere: the new components begin among all rows without one
        rest = np.flatnonzero(labels == UNLABELLED)
    if n_new:
        found = cluster(space, rest, n_new, seed, n_init=KMEANS_N_INIT, full_covariance=True)
        pseudo_labels[rest] = n_known + found
    return Assignment(np.where(labels == UNLABELLED, pseudo_labels, labels))


def feature_sets(rows: Rows, labels: np.ndarray, settings: Initialisation, seed: int) -> tuple[FeatureSets, Graph]:
    """The feature sets of the PU estimate, and the graph of neighbours; labels say which directions count less."""
    projection = _projection(rows, settings, seed) if rows.projection is None else rows.projection
    points = whitened(projection, labels, settings)
    graph = neighbour_graph([points], settings, seed, labels)
    embedding = spectral_embedding(graph, settings)
    return FeatureSets(points, embedding, graph), graph


def projected(rows: Rows, settings: Initialisation, seed: int) -> Rows:
    """With their principal components, for callers who try several sets of labels."""
    return rows._replace(projection=_projection(rows, settings, seed))


def _projection(rows: Rows, settings: Initialisation, seed: int) -> np.ndarray:
    """The principal components of HOG for images, else of the columns."""
    images = rows.images
    if images is None:
        span = _spans(rows, seed)
        return pca_projection(rows.X, lambda some: rows.scaling.apply(some) / span, settings, seed)
    return pca_projection(images.pixels, lambda some: hog(some, images.shape), settings, seed)


def _spans(rows: Rows, seed: int) -> np.ndarray:
    """By how much each standardised column is divided, so that all span the same range, whatever their shape.

    By its standard deviation alone, a column that is 0 in most rows would outweigh all others in the few where it is
    not. The range is that between two quantiles, so that one odd cell changes nothing; it is 1 for a normal column.
    """
    sample = np.random.default_rng(seed).permutation(len(rows.X))[:SPAN_MAX_ROWS]
    scaled = rows.scaling.apply(rows.X[sample])
    quantiles = (SPAN_QUANTILE, 1 - SPAN_QUANTILE)
    low, high = np.quantile(scaled, quantiles, axis=0, method="nearest")  # between two values is neither
    span = np.where(high > low, high - low, np.ptp(scaled, axis=0)) / NORMAL_SPAN
    is_scaled = rows.is_scaled if rows.is_scaled is not None else False  # binary columns stay as they are
    return np.where(is_scaled & (span > 0), span, 1.0).astype(np.float32)


def _standardised(Z: np.ndarray) -> np.ndarray:
    return (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-6)


def _known_where_labels_are_dense(Z: np.ndarray, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> np.ndarray:
    """A known class, or UNLABELLED, for every row; all rows are cut into clusters as small as the labels allow.

    A cluster in which labelled rows are at least half as common as in all the data belongs to the class most of them
    name.
    """
    if n_known == 0:
        return np.full(len(labels), UNLABELLED)
    is_labelled = labels != UNLABELLED
    n_components = n_known + n_new
    n_clusters = min(max(int(is_labelled.sum()) // LABELS_PER_CLUSTER, n_components), 4 * n_components)
    clusters = cluster(Z, np.arange(len(Z)), n_clusters, seed)
    counts = labels_by_group(clusters, labels, n_known)
    density = counts.sum(axis=1) / np.maximum(np.bincount(clusters), 1)
    return np.where(density >= MIN_LABEL_DENSITY * is_labelled.mean(), counts.argmax(axis=1), UNLABELLED)[clusters]
