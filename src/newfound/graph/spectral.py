"""Spectral embedding: the eigenvectors of the graph's normalised Laplacian with the smallest eigenvalues."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.graph.neighbours import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def spectral_embedding(graph: Graph, settings: Initialisation) -> np.ndarray:
    """Every row's coordinates in the first eigenvectors, at distance 1 from the origin.

    Groups that touch leave no gap between eigenvalues, and the first eigenvectors are taken up by a few odd rows: so
    there are more of them than one expects groups.
    """
    n_vectors = max(min(settings.n_eigenvectors, graph.weights.shape[0] // settings.rows_per_eigenvector), 1)
    eigenvectors = _eigenvectors(graph.weights, n_vectors, settings.dense_max_rows)
    return normalise(graph.interpolation @ normalise(eigenvectors))


def normalise(points: np.ndarray) -> np.ndarray:
    """Every point moved to distance 1 from the origin."""
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)


def _eigenvectors(graph: "csr_array", n: int, dense_max_rows: int) -> np.ndarray:
    """The eigenvectors of the Laplacian 1 − D^-½ W D^-½ with the n smallest eigenvalues, smallest first.

    They are found as the greatest of D^-½ W D^-½, which ARPACK does best; so `csgraph.laplacian`, which gives the other
    form, is of no use here. Parts of a graph that nothing joins have the same eigenvalue; all their vectors are found
    only in double precision and to the last digit. Where there are very many such parts, some may still be missing.
    """
    from scipy.sparse import diags_array

    shrink = diags_array(1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12)))
    normalised = (shrink @ graph @ shrink).astype(float)
    if graph.shape[0] <= dense_max_rows:
        values, vectors = np.linalg.eigh(normalised.toarray())
    else:
        values, vectors = _greatest(normalised, n)
    return vectors[:, np.argsort(-values)[:n]]


def _greatest(matrix: "csr_array", n: int) -> tuple[np.ndarray, np.ndarray]:
    """The greatest eigenvalues of a symmetric matrix and their vectors: n of them, or those that could be found."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n_rows = matrix.shape[0]
    try:
        return eigsh(matrix, n, which="LA", v0=np.ones(n_rows))
    except ArpackNoConvergence as some:
        if len(some.eigenvalues):
            return some.eigenvalues, some.eigenvectors
        return np.ones(1), np.ones((n_rows, 1))
