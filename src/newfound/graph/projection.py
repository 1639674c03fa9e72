"""The features in which neighbours are found, in few dimensions."""

from collections.abc import Callable

import numpy as np

from newfound.batching import in_batches
from newfound.config import Initialisation


def pca_projection(
    X: np.ndarray, features: Callable[[np.ndarray], np.ndarray], settings: Initialisation, seed: int
) -> np.ndarray:
    """Every row's coordinates along the principal components of its features."""
    from sklearn.decomposition import PCA

    sample = in_batches(features, X[sample_rows(len(X), settings, seed)])
    pca = PCA(min(settings.pca_components, *sample.shape), random_state=seed % 2**32).fit(sample)
    return in_batches(lambda rows: pca.transform(features(rows)), X).astype(np.float32)


def sample_rows(n_rows: int, settings: Initialisation, seed: int) -> np.ndarray:
    """The rows that make the graph, in random order."""
    return np.random.default_rng(seed).permutation(n_rows)[: settings.graph_max_rows]
