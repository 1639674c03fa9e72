"""Spectral embedding: the eigenvectors of the graph's normalised Laplacian with the smallest eigenvalues."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.graph.neighbours import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOLERANCE = 1e-3  # of eigenvalues, relative to the greatest


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
    form, is of no use here. Parts of a graph that nothing joins have the same eigenvalue, of which ARPACK would miss
    some in single precision; but their vectors are known, and only the others are left to find.
    """
    from scipy.sparse import diags_array

    degrees = np.maximum(graph.sum(axis=1), 1e-12)
    shrink = diags_array(1 / np.sqrt(degrees))
    normalised = (shrink @ graph @ shrink).tocsr()
    if graph.shape[0] <= dense_max_rows:
        values, vectors = np.linalg.eigh(normalised.astype(float).toarray())
        return vectors[:, np.argsort(-values)[:n]]
    parts = _vectors_of_parts(graph, degrees, n)
    if parts.shape[1] == n:
        return parts
    values, vectors = _greatest(normalised.astype(np.float32), parts, n - parts.shape[1])
    return np.hstack([parts, vectors[:, np.argsort(-values)]])


def _vectors_of_parts(graph: "csr_array", degrees: np.ndarray, n: int) -> np.ndarray:
    """Up to n eigenvectors of eigenvalue 1: √degree within a connected part and 0 elsewhere.

    Where there are more parts than vectors, it is random mixtures of them all, so that no part is left at the origin.
    """
    from scipy.sparse.csgraph import connected_components

    n_parts, part = connected_components(graph, directed=False)
    has_edges = np.bincount(part) > 1
    volume = np.bincount(part, degrees)
    coordinates = (
        np.eye(int(has_edges.sum()), dtype=np.float32) if has_edges.sum() <= n else _mixtures(has_edges.sum(), n)
    )
    of_part = np.zeros((n_parts, coordinates.shape[1]), np.float32)
    of_part[has_edges] = coordinates / np.sqrt(volume[has_edges])[:, None]
    return of_part[part] * np.sqrt(degrees)[:, None].astype(np.float32)


def _mixtures(n_parts: int, n: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(0).standard_normal((n_parts, n)))[0]


def _greatest(matrix: "csr_array", known: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The greatest eigenvalues of a symmetric matrix beside those of known vectors: n, or those that could be found.

    The graph is made of samples and of neighbours that are nearly the nearest: more digits would say nothing.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    def without_known(vector: np.ndarray) -> np.ndarray:
        return matrix @ vector - known @ (known.T @ vector)

    rest = LinearOperator(matrix.shape, without_known, dtype=np.float32)
    start = (
        np.random.default_rng(0).standard_normal(matrix.shape[0]).astype(np.float32)
    )  # ones are a known vector, nearly
    try:
        return eigsh(rest, n, which="LA", v0=start, tol=TOLERANCE)
    except ArpackNoConvergence as some:
        return some.eigenvalues, some.eigenvectors
