"""The graph of shared nearest neighbours: edges, eigenvectors, label propagation and communities."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.features import sample_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# ---- The graph of a sample of the rows; other rows are interpolated ----

INDEX_MIN_ROWS = 10_000  # fewer rows are all compared
N_PROBES = 16  # cells of the index that are searched for the neighbours of a row


class Graph(NamedTuple):
    """The edges between rows of a sample, and the interpolation of all rows from the sample."""

    weights: "csr_array"  # (sample, sample)
    interpolation: "csr_array"  # (rows, sample); each row's weights sum to 1
    sample: np.ndarray  # the row of each node, in random order

    def of_nodes(self) -> "Graph":
        """The same graph for its own rows only, in the order of the sample."""
        from scipy.sparse import eye_array

        n = len(self.sample)
        return Graph(self.weights, eye_array(n, dtype=np.float32, format="csr"), np.arange(n))


def neighbour_graph(
    feature_sets: Sequence[np.ndarray], settings: Initialisation, seed: int, labels: np.ndarray | None = None
) -> Graph:
    """The graph of the rows; each feature set adds its own neighbours."""
    from scipy.sparse import csr_array

    sample = sample_rows(len(feature_sets[0]), settings, seed, labels)
    nearest = [_nearest(features, sample, settings.n_neighbors) for features in feature_sets]
    adjacency = reduce(add, (_adjacency(near[sample], len(sample)) for near in nearest))
    near = np.hstack(nearest)
    near[sample] = np.arange(len(sample))[:, None]  # a row of the sample is itself
    weight = np.full(near.size, 1 / near.shape[1], np.float32)
    starts = np.arange(0, near.size + 1, near.shape[1])
    interpolation = csr_array((weight, near.ravel(), starts), shape=(len(near), len(sample)))
    shared = (adjacency @ adjacency).multiply(adjacency > 0) + adjacency  # 1 + the number of common neighbours
    return Graph(shared, interpolation, sample)


def _nearest(features: np.ndarray, sample: np.ndarray, n_neighbors: int) -> np.ndarray:
    """For every row, the positions in the sample of its nearest rows, itself included."""
    features = np.ascontiguousarray(features, np.float32)
    n_nearest = min(n_neighbors + 1, len(sample))
    if len(sample) < INDEX_MIN_ROWS:
        return _by_comparison(features, features[sample], n_nearest)
    try:
        return _by_index(features, features[sample], n_nearest)
    except ImportError:  # no wheel for this machine
        return _by_comparison(features, features[sample], n_nearest)


def _by_comparison(rows: np.ndarray, among: np.ndarray, n_nearest: int) -> np.ndarray:
    """The nearest rows, by comparison with all of them."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=n_nearest, algorithm="brute").fit(among).kneighbors(rows)[1]


def _by_index(rows: np.ndarray, among: np.ndarray, n_nearest: int) -> np.ndarray:
    """The nearest rows in the cells around each row (faiss), several times as fast; a few in a thousand are missed."""
    import faiss

    n_cells = int(2 * len(among) ** 0.5)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(among.shape[1]), among.shape[1], n_cells)
    index.train(among)
    index.add(among)
    index.nprobe = N_PROBES
    found = index.search(rows, n_nearest)[1]
    is_short = (found < 0).any(axis=1)  # too few rows in the cells around
    if is_short.any():
        found[is_short] = _by_comparison(rows[is_short], among, n_nearest)
    return found


def _adjacency(nearest: np.ndarray, n_rows: int) -> "csr_array":
    """1 for two rows if one is among the nearest rows of the other.

    (scikit-learn's `kneighbors_graph` would search a second time; interpolation needs the neighbours of all rows.)
    """
    from scipy.sparse import csr_array

    starts = np.arange(0, nearest.size + 1, nearest.shape[1])
    graph = csr_array((np.ones(nearest.size, np.float32), nearest.ravel(), starts), shape=(n_rows, n_rows))
    graph = graph.maximum(graph.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


# ---- Spectral embedding: the eigenvectors of the graph's normalised Laplacian with the smallest eigenvalues ----

TOLERANCE = 1e-3  # of eigenvalues, relative to the greatest
ROWS_PER_EIGENVECTOR = 50  # with fewer rows, further eigenvectors are noise
DENSE_MAX_ROWS = 1_000  # graphs up to this size are decomposed completely, which is exact and fast enough


def spectral_embedding(graph: Graph, settings: Initialisation) -> np.ndarray:
    """The coordinates of each row in the first eigenvectors, at distance 1 from the origin.

    There are more eigenvectors than expected groups, because groups that touch leave no gap between eigenvalues and a
    few outlying rows occupy the first eigenvectors.
    """
    n_vectors = max(min(settings.n_eigenvectors, graph.weights.shape[0] // ROWS_PER_EIGENVECTOR), 1)
    eigenvectors = _eigenvectors(graph.weights, n_vectors)
    return normalise(graph.interpolation @ normalise(eigenvectors))


def normalise(points: np.ndarray) -> np.ndarray:
    """Every point moved to distance 1 from the origin."""
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)


def _eigenvectors(graph: "csr_array", n: int) -> np.ndarray:
    """The eigenvectors of the Laplacian 1 − D^-½ W D^-½ with the n smallest eigenvalues, smallest first.

    They are computed as the largest of D^-½ W D^-½, which suits ARPACK best (`csgraph.laplacian` has the other form).
    The connected parts of a graph all have eigenvalue 1, and ARPACK would miss some of these in single precision. Their
    vectors are known, so ARPACK computes only the others.
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

    If there are more parts than vectors, the vectors are random mixtures of all parts, so that none is at the origin.
    """
    from scipy.sparse.csgraph import connected_components

    n_parts, part = connected_components(graph, directed=False)
    has_edges = np.bincount(part) > 1
    volume = np.bincount(part, degrees)
    if has_edges.sum() > n:
        coordinates = np.linalg.qr(np.random.default_rng(0).standard_normal((has_edges.sum(), n)))[0]
    else:
        coordinates = np.eye(int(has_edges.sum()), dtype=np.float32)
    of_part = np.zeros((n_parts, coordinates.shape[1]), np.float32)
    of_part[has_edges] = coordinates / np.sqrt(volume[has_edges])[:, None]
    return of_part[part] * np.sqrt(degrees)[:, None].astype(np.float32)


def _greatest(matrix: "csr_array", known: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The n largest eigenvalues of a symmetric matrix except those of known vectors, or fewer if ARPACK stops early.

    The graph is approximate, so a low tolerance is enough.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    def without_known(vector: np.ndarray) -> np.ndarray:
        return matrix @ vector - known @ (known.T @ vector)

    rest = LinearOperator(matrix.shape, without_known, dtype=np.float32)
    # A random start, because ones are nearly a known vector.
    start = np.random.default_rng(0).standard_normal(matrix.shape[0]).astype(np.float32)
    try:
        return eigsh(rest, n, which="LA", v0=start, tol=TOLERANCE)
    except ArpackNoConvergence as some:
        return some.eigenvalues, some.eigenvectors


# ---- Label propagation with damping, on the graph of neighbours (Zhou et al. 2004) ----


PROPAGATION_MAX_ITER = 500  # of conjugate gradients, which usually stop much earlier
PROPAGATION_TOL = 1e-3  # relative residual: the labels are noisier than this


def propagate(graph: Graph, values: np.ndarray, damping: float) -> np.ndarray:
    """For every row, the mean of the values (rows, columns) at the ends of random walks that start near it.

    A walk continues with probability `damping` after each step: (D − damping · W) u = v, solved for the values and for
    a column of ones. Each row counts by its interpolation weights.
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

LEIDEN_ITERATIONS = 2


def communities(weights: "csr_array", resolution: float, seed: int) -> np.ndarray:
    """The community of each node, 0, 1, …; a higher resolution makes more. A node without edges is one by itself."""
    from graspologic_native import leiden_csr

    n_nodes = weights.shape[0]
    found = np.arange(n_nodes)
    if weights.nnz:  # leiden_csr panics on a graph without edges
        graph = (weights.indptr.astype(np.int64), weights.indices.astype(np.int32), weights.data.astype(np.float64))
        _, of_node = leiden_csr(*graph, n_nodes, resolution=resolution, iterations=LEIDEN_ITERATIONS, seed=seed)
        found = n_nodes + found
        found[list(of_node)] = list(of_node.values())
    return np.unique(found, return_inverse=True)[1]
