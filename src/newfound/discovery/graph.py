"""The graph of shared nearest neighbours: its edges, its eigenvectors, labels that propagate, communities."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.features import sample_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# ---- The graph of shared nearest neighbours. A sample of the rows makes it; every other row is interpolated ----

INDEX_MIN_ROWS = 10_000  # fewer are compared one by one
N_PROBES = 16  # cells of the index in which a row's neighbours are sought


class Graph(NamedTuple):
    """Which rows of a sample are joined, and how all rows are interpolated between those of the sample."""

    weights: "csr_array"  # (sample, sample)
    interpolation: "csr_array"  # (rows, sample); each row's weights sum to 1
    sample: np.ndarray  # the row of each node, in random order

    def of_nodes(self) -> "Graph":
        """The same graph as if there were no rows but its own, in the order of the sample."""
        from scipy.sparse import eye_array

        n = len(self.sample)
        return Graph(self.weights, eye_array(n, dtype=np.float32, format="csr"), np.arange(n))


def neighbour_graph(
    feature_sets: Sequence[np.ndarray], settings: Initialisation, seed: int, labels: np.ndarray | None = None
) -> Graph:
    """The graph of the rows; each feature set holds all of them, and adds its own neighbours."""
    from scipy.sparse import csr_array

    sample = sample_rows(len(feature_sets[0]), settings, seed, labels)
    nearest = [_nearest(features, sample, settings.n_neighbors) for features in feature_sets]
    adjacency = reduce(add, (_adjacency(near[sample], len(sample)) for near in nearest))
    near = np.hstack(nearest)
    near[sample] = np.arange(len(sample))[:, None]  # a row of the sample is itself
    weight = np.full(near.size, 1 / near.shape[1], np.float32)
    starts = np.arange(0, near.size + 1, near.shape[1])
    interpolation = csr_array((weight, near.ravel(), starts), shape=(len(near), len(sample)))
    return Graph(_shared_neighbours(adjacency), interpolation, sample)


def _nearest(features: np.ndarray, sample: np.ndarray, n_neighbors: int) -> np.ndarray:
    """For every row, the positions in the sample of its nearest rows (itself, if it is there, among them)."""
    features = np.ascontiguousarray(features, np.float32)
    n_nearest = min(n_neighbors + 1, len(sample))
    if len(sample) < INDEX_MIN_ROWS:
        return _by_comparison(features, features[sample], n_nearest)
    try:
        return _by_index(features, features[sample], n_nearest)
    except ImportError:  # no wheel for this machine
        return _by_comparison(features, features[sample], n_nearest)


def _by_comparison(rows: np.ndarray, among: np.ndarray, n_nearest: int) -> np.ndarray:
    """The nearest rows, with all of them looked at."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=n_nearest, algorithm="brute").fit(among).kneighbors(rows)[1]


def _by_index(rows: np.ndarray, among: np.ndarray, n_nearest: int) -> np.ndarray:
    """The nearest rows in the cells around each row (faiss), some times as fast; a few in a thousand are missed."""
    import faiss

    n_cells = int(2 * len(among) ** 0.5)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(among.shape[1]), among.shape[1], n_cells)
    index.train(among)
    index.add(among)
    index.nprobe = N_PROBES
    found = index.search(rows, n_nearest)[1]
    is_short = (found < 0).any(axis=1)  # hardly a row in the cells around
    if is_short.any():
        found[is_short] = _by_comparison(rows[is_short], among, n_nearest)
    return found


def _adjacency(nearest: np.ndarray, n_rows: int) -> "csr_array":
    """1 where one row is among the nearest of the other.

    (scikit-learn's `kneighbors_graph` would search a second time: interpolation needs the neighbours of all rows.)
    """
    from scipy.sparse import csr_array

    starts = np.arange(0, nearest.size + 1, nearest.shape[1])
    graph = csr_array((np.ones(nearest.size, np.float32), nearest.ravel(), starts), shape=(n_rows, n_rows))
    graph = graph.maximum(graph.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def _shared_neighbours(graph: "csr_array") -> "csr_array":
    """An edge weighs one, and one more for every neighbour its two ends have in common."""
    return (graph @ graph).multiply(graph > 0) + graph


# ---- Spectral embedding: the eigenvectors of the graph's normalised Laplacian with the smallest eigenvalues ----

TOLERANCE = 1e-3  # of eigenvalues, relative to the greatest
ROWS_PER_EIGENVECTOR = 50  # a hundred rows with 20 eigenvectors have 20 dimensions of noise
DENSE_MAX_ROWS = 1_000  # graphs up to this size are decomposed completely, which is exact and fast enough


def spectral_embedding(graph: Graph, settings: Initialisation) -> np.ndarray:
    """Every row's coordinates in the first eigenvectors, at distance 1 from the origin.

    Groups that touch leave no gap between eigenvalues, and the first eigenvectors are taken up by a few odd rows: so
    there are more of them than one expects groups.
    """
    n_vectors = max(min(settings.n_eigenvectors, graph.weights.shape[0] // ROWS_PER_EIGENVECTOR), 1)
    eigenvectors = _eigenvectors(graph.weights, n_vectors)
    return normalise(graph.interpolation @ normalise(eigenvectors))


def normalise(points: np.ndarray) -> np.ndarray:
    """Every point moved to distance 1 from the origin."""
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)


def _eigenvectors(graph: "csr_array", n: int) -> np.ndarray:
    """The eigenvectors of the Laplacian 1 − D^-½ W D^-½ with the n smallest eigenvalues, smallest first.

    They are found as the greatest of D^-½ W D^-½, which ARPACK does best; so `csgraph.laplacian`, which gives the other
    form, is of no use here. Parts of a graph that nothing joins have the same eigenvalue, of which ARPACK would miss
    some in single precision; but their vectors are known, and only the others are left to find.
    """
    from scipy.sparse import diags_array

    degrees = np.maximum(graph.sum(axis=1), 1e-12)
    shrink = diags_array(1 / np.sqrt(degrees))
    normalised = (shrink @ graph @ shrink).tocsr()
    if graph.shape[0] <= DENSE_MAX_ROWS:
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


# ---- Label propagation with damping, on the graph of neighbours (Zhou et al. 2004) ----


PROPAGATION_MAX_ITER = 500  # of conjugate gradients; they stop much earlier
PROPAGATION_TOL = 1e-3  # relative residual: the labels are noisier than this


def propagate(graph: Graph, values: np.ndarray, damping: float) -> np.ndarray:
    """For every row, the mean of the values (rows, columns) where random walks that begin near it end.

    A walk goes on with probability `damping` after each step: (D − damping · W) u = v, solved for the values and for a
    column of ones. Each row counts by its interpolation weights.
    """
    ones = np.ones((len(values), 1), values.dtype)
    ends = _solve(graph.weights, graph.interpolation.T @ np.hstack([values, ones]), damping)
    return graph.interpolation @ (ends[:, :-1] / ends[:, -1:])


def _solve(weights: "csr_array", right: np.ndarray, damping: float) -> np.ndarray:
    """Conjugate gradients for all columns at once, preconditioned by D (SciPy's solves one column at a time)."""
    degrees = np.maximum(weights.sum(axis=1), 1e-6)[:, None]
    solution = np.zeros_like(right, dtype=float)
    residual = right.astype(float)
    preconditioned = residual / degrees
    direction = preconditioned
    size = np.sum(residual * preconditioned, axis=0)
    enough = PROPAGATION_TOL**2 * size
    for _ in range(PROPAGATION_MAX_ITER):
        if np.all(size <= enough):
            break
        image = degrees * direction - damping * (weights @ direction)
        step = size / np.maximum(np.sum(direction * image, axis=0), 1e-300)
        solution = solution + step * direction
        residual = residual - step * image
        preconditioned = residual / degrees
        size, before = np.sum(residual * preconditioned, axis=0), size
        direction = preconditioned + size / np.maximum(before, 1e-300) * direction
    return np.maximum(solution, 0.0)


# ---- Communities of the graph of neighbours: groups of rows with more edges among them than to others (Leiden) ----

ITERATIONS = 2


def communities(weights: "csr_array", resolution: float, seed: int) -> np.ndarray:
    """The community of each node, 0, 1, …; a higher resolution makes more of them. A node without edges is alone."""
    from graspologic_native import leiden_csr

    n_nodes = weights.shape[0]
    found = np.arange(n_nodes)
    if weights.nnz:  # it panics on a graph without edges
        graph = (weights.indptr.astype(np.int64), weights.indices.astype(np.int32), weights.data.astype(np.float64))
        _, of_node = leiden_csr(*graph, n_nodes, resolution=resolution, iterations=ITERATIONS, seed=seed)
        found = n_nodes + found
        found[list(of_node)] = list(of_node.values())
    return np.unique(found, return_inverse=True)[1]
