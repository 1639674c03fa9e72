"""The rows as discovery sees them, their feature sets, and the initial component of every row for training."""

import warnings
from typing import NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.features import hog, pca_projection, whitened
from newfound.discovery.graph import Graph, neighbour_graph, spectral_embedding
from newfound.discovery.pu import FeatureSets
from newfound.labels import MIN_LABEL_DENSITY, UNLABELLED, labels_by_group
from newfound.preprocessing.columns import Scaling

# ---- The clusters of init="kmeans": by k-means and a Gaussian mixture ----

KMEANS_N_INIT = 10  # restarts of k-means for the new components, scikit-learn's former default
CLUSTER_MAX_ROWS = 20_000  # to fit clusters on; others are assigned
LABELS_PER_CLUSTER = 3  # expected in a cluster of a known class; fewer may be missing by chance
ROWS_PER_COVARIANCE = 10  # per dimension and cluster, for full covariances


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


# ---- The initial component of every row ----
# If y is free from the first step, most components die before z-space has a shape. So training starts with a component
# for every row: from discovery, or (init="kmeans", for the paper's tables) a known class where labels are dense, else a
# cluster of the other rows.

SPAN_QUANTILE = 0.005  # columns are scaled by the range between this quantile and its opposite
SPAN_MAX_ROWS = 10_000  # for this range
NORMAL_SPAN = 5.15  # standard deviations between these quantiles of a normal distribution


class Images(NamedTuple):
    """All rows as images."""

    pixels: np.ndarray  # (rows, pixels)
    shape: tuple[int, ...]  # (height, width) or (height, width, channels)


class Rows(NamedTuple):
    """All rows as discovery sees them."""

    X: np.ndarray
    scaling: Scaling
    images: Images | None = None  # if rows are images
    latent: np.ndarray | None = None  # E[z | x], after pretraining as a VAE
    is_scaled: np.ndarray | None = None  # for each column, whether it has a scale of its own
    projection: np.ndarray | None = None  # principal components, if needed more than once (`projected`)


class Assignment(NamedTuple):
    """The initial components."""

    labels: np.ndarray  # the component of every row: of its label, or a pseudo-label
    targets: np.ndarray | None = None  # (rows, components): probabilities, if discovered


def initialise(rows: Rows, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> Assignment:
    """A component for every row, from codes of labels (UNLABELLED if there is none, or if it is held out).

    Components 0 to n_known − 1 are those of the known classes, the next n_new are new.
    """
    if rows.latent is None:
        space = rows.scaling.apply(rows.X)
    else:
        space = (rows.latent - rows.latent.mean(axis=0)) / np.maximum(rows.latent.std(axis=0), 1e-6)
    pseudo_labels = _known_where_labels_are_dense(space, labels, n_known, n_new, seed)
    rest = np.flatnonzero(pseudo_labels == UNLABELLED)
    if len(rest) < n_new:  # labels are dense everywhere: new components start among all unlabelled rows
        rest = np.flatnonzero(labels == UNLABELLED)
    if n_new:
        found = cluster(space, rest, n_new, seed, n_init=KMEANS_N_INIT, full_covariance=True)
        pseudo_labels[rest] = n_known + found
    return Assignment(np.where(labels == UNLABELLED, pseudo_labels, labels))


def feature_sets(rows: Rows, labels: np.ndarray, settings: Initialisation, seed: int) -> tuple[FeatureSets, Graph]:
    """The feature sets of the PU estimate, and the graph of neighbours; labels are used for whitening."""
    projection = projected(rows, settings, seed).projection
    assert projection is not None
    points = whitened(projection, labels, settings)
    graph = neighbour_graph([points], settings, seed, labels)
    embedding = spectral_embedding(graph, settings)
    return FeatureSets(points, embedding, graph), graph


def projected(rows: Rows, settings: Initialisation, seed: int) -> Rows:
    """The rows with their principal components: of HOG for images, else of the columns."""
    images = rows.images
    if rows.projection is not None:
        return rows
    if images is None:
        span = _spans(rows, seed)
        projection = pca_projection(rows.X, lambda some: rows.scaling.apply(some) / span, settings, seed)
    else:
        projection = pca_projection(images.pixels, lambda some: hog(some, images.shape), settings, seed)
    return rows._replace(projection=projection)


def _spans(rows: Rows, seed: int) -> np.ndarray:
    """The divisor of each standardised column with which all columns span the same range between two quantiles.

    Scaled by its standard deviation alone, a column that is 0 in most rows would dominate in the other rows. Quantiles
    ignore single outliers. The divisor is 1 for a normal column.
    """
    sample = np.random.default_rng(seed).permutation(len(rows.X))[:SPAN_MAX_ROWS]
    scaled = rows.scaling.apply(rows.X[sample])
    quantiles = (SPAN_QUANTILE, 1 - SPAN_QUANTILE)
    low, high = np.quantile(scaled, quantiles, axis=0, method="nearest")  # between two values is neither
    span = np.where(high > low, high - low, np.ptp(scaled, axis=0)) / NORMAL_SPAN
    is_scaled = rows.is_scaled if rows.is_scaled is not None else False  # binary columns stay as they are
    return np.where(is_scaled & (span > 0), span, 1.0).astype(np.float32)


def _known_where_labels_are_dense(Z: np.ndarray, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> np.ndarray:
    """A known class, or UNLABELLED, for every row. All rows are cut into clusters as small as the labels allow.

    A cluster with at least MIN_LABEL_DENSITY times the usual density of labels belongs to the class of most of them.
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
