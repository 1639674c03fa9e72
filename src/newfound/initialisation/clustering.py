"""The first clusters of init="kmeans": by k-means, and a Gaussian mixture."""

import warnings

import numpy as np

from newfound.config import Initialisation


def cluster(
    Z: np.ndarray,
    rows: np.ndarray,
    n_clusters: int,
    settings: Initialisation,
    seed: int,
    *,
    n_init: int = 1,
    full_covariance: bool = False,
) -> np.ndarray:
    """The cluster of each of the given rows: by k-means and, for full covariances, by a Gaussian mixture."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    most = settings.cluster_max_rows
    sample = rows if len(rows) <= most else np.random.default_rng(seed).choice(rows, most, replace=False)
    n_clusters = min(n_clusters, len(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters, or not quite converged
        clusters = KMeans(n_clusters, n_init=n_init, random_state=seed % 2**32).fit(Z[sample])
        if full_covariance and len(sample) >= settings.rows_per_covariance * Z.shape[1] * n_clusters:
            clusters = GaussianMixture(
                n_clusters, means_init=clusters.cluster_centers_, reg_covar=1e-3, random_state=seed % 2**32
            ).fit(Z[sample])
    return clusters.predict(Z[rows])
