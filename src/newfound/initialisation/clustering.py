"""The first clusters: k-means without clusters of a handful of odd rows, and a Gaussian mixture."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


def cluster(
    Z: np.ndarray,
    rows: np.ndarray,
    n_clusters: int,
    settings: Initialisation,
    seed: int,
    *,
    n_init: int = 1,
    min_share: float = 0.0,
    full_covariance: bool = False,
) -> np.ndarray:
    """The cluster of each of the given rows: by k-means and, for full covariances, by a Gaussian mixture."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    most = settings.cluster_max_rows
    sample = rows if len(rows) <= most else np.random.default_rng(seed).choice(rows, most, replace=False)
    n_clusters = min(n_clusters, len(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters, or not quite converged
        clusters = _k_means(Z[sample], n_clusters, seed, n_init, min_share)
        if full_covariance and len(sample) >= settings.rows_per_covariance * Z.shape[1] * n_clusters:
            clusters = GaussianMixture(
                n_clusters, means_init=clusters.cluster_centers_, reg_covar=1e-3, random_state=seed % 2**32
            ).fit(Z[sample])
    return clusters.predict(Z[rows])


def _k_means(points: np.ndarray, n_clusters: int, seed: int, n_init: int, min_share: float) -> "KMeans":
    """Clusters of which none has less than `min_share` of the mean number of points.

    Outliers far from all others would take a cluster for a handful of them, and training would lose it. They are left
    to the nearest of the clusters that the others make.
    """
    from sklearn.cluster import KMeans

    fewest = min_share * len(points) / n_clusters
    while True:
        clusters = KMeans(n_clusters, n_init=n_init, random_state=seed % 2**32).fit(points)
        is_small = np.bincount(clusters.labels_, minlength=n_clusters) < fewest
        if not is_small.any():
            return clusters
        rest = points[~is_small[clusters.labels_]]
        if len(rest) == len(points) or len(np.unique(rest, axis=0)) < n_clusters:  # a cluster can be small and empty
            return clusters
        points = rest
