"""Who the neighbours of a row are: a graph of rows, coordinates in which groups are round and apart, and walks.

Rows that have many near neighbours in common are joined in a graph, and the graph's slowest modes are coordinates:
spectral clustering (Ng, Jordan, Weiss 2002) on shared nearest neighbours. A sample of the rows makes the graph; every
other row belongs to its nearest rows of the sample in equal parts.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.features import in_batches

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROWS_OF_GRAPH = 60_000
NEIGHBOURS = 10
PRINCIPAL_AXES = 50
MODES = 20  # in so many, groups that touch lie apart, however few they are
MOST_MODES = 40
ROWS_PER_MODE = 50  # at least: what fewer rows make up beyond the number of groups is noise
GAP = 1.5  # between the speeds of two modes: groups as many as the slower ones are then apart in these alone
MOST_ROUNDS = 500  # of solving for where walks end
PRECISION = 1e-3
TINY = 1e-6  # a speed that is none
ROWS_TO_SOLVE_AT_ONCE = 1_000  # a matrix of so many takes no longer whole


class Graph(NamedTuple):
    """Which rows of a sample are joined, and how much each of all rows belongs to each of the sample."""

    weights: "csr_array"  # (sample, sample)
    belonging: "csr_array"  # (rows, sample); each row's sum is 1


def principal_axes(X: np.ndarray, features: Callable[[np.ndarray], np.ndarray], seed: int) -> np.ndarray:
    """Every row's coordinates along the axes in which its features vary most."""
    from sklearn.decomposition import PCA

    sample = in_batches(features, X[_sample(len(X), seed)])
    pca = PCA(min(PRINCIPAL_AXES, *sample.shape), random_state=seed % 2**32).fit(sample)
    return in_batches(lambda rows: pca.transform(features(rows)), X).astype(np.float32)


def join_neighbours(views: Sequence[np.ndarray], seed: int) -> Graph:
    """The graph of the rows; each view holds all of them, and adds its own neighbours."""
    from scipy.sparse import csr_array

    sample = _sample(len(views[0]), seed)
    nearest = [_nearest(view, sample) for view in views]
    weights = reduce(add, (_graph(near[sample], sample_size=len(sample)) for near in nearest))
    near = np.hstack(nearest)
    near[sample] = np.arange(len(sample))[:, None]  # a row of the sample belongs to itself
    share = np.full(near.size, 1 / near.shape[1], np.float32)
    starts = np.arange(0, near.size + 1, near.shape[1])
    belonging = csr_array((share, near.ravel(), starts), shape=(len(near), len(sample)))
    return Graph(_by_shared_neighbours(weights), belonging)


def coordinates(graph: Graph, n_groups: int) -> np.ndarray:
    """Every row's place along the slowest modes of the graph, slowest first, at distance 1 from the origin.

    Where there is a gap after as many modes as there are groups, these tell them apart, whatever their shape. Where
    there is none, groups touch and the first modes are taken up by a few odd rows: then it takes more of them.
    """
    n_useful = min(MODES, graph.weights.shape[0] // ROWS_PER_MODE)
    n_modes = min(max(n_groups, n_useful), MOST_MODES)
    speeds, modes = _modes(graph.weights, n_modes)
    if n_groups < len(speeds) and speeds[n_groups] > GAP * speeds[n_groups - 1]:
        modes = modes[:, :n_groups]
    return of_length_1(graph.belonging @ of_length_1(modes))


def averages_of_walks(graph: Graph, values: np.ndarray, staying: float) -> np.ndarray:
    """For every row, the mean of the values (rows, columns) where random walks that begin near it end.

    A walk goes on with the probability `staying` after each of its steps: (D − staying · W) u = v, solved for the
    values and for a column of ones, by conjugate gradients. Each row counts as much as it belongs to rows of the graph.
    """
    ones = np.ones((len(values), 1), values.dtype)
    ends = _solve_walks(graph.weights, graph.belonging.T @ np.hstack([values, ones]), staying)
    return graph.belonging @ (ends[:, :-1] / ends[:, -1:])


def _solve_walks(weights: "csr_array", mass: np.ndarray, staying: float) -> np.ndarray:
    degrees = np.maximum(weights.sum(axis=1), 1e-6)[:, None]
    solution = np.zeros_like(mass, dtype=float)
    residual = mass.astype(float)
    preconditioned = residual / degrees
    direction = preconditioned
    size = np.sum(residual * preconditioned, axis=0)
    enough = PRECISION**2 * size
    for _ in range(MOST_ROUNDS):
        if np.all(size <= enough):
            break
        image = degrees * direction - staying * (weights @ direction)
        step = size / np.maximum(np.sum(direction * image, axis=0), 1e-300)
        solution = solution + step * direction
        residual = residual - step * image
        preconditioned = residual / degrees
        size, before = np.sum(residual * preconditioned, axis=0), size
        direction = preconditioned + size / np.maximum(before, 1e-300) * direction
    return np.maximum(solution, 0.0)


def _sample(n_rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n_rows)[:ROWS_OF_GRAPH]


def _nearest(view: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """For every row, the positions in the sample of its nearest rows (itself, if it is there, among them)."""
    from sklearn.neighbors import NearestNeighbors

    view = np.ascontiguousarray(view, np.float32)
    n_nearest = min(NEIGHBOURS + 1, len(sample))
    return NearestNeighbors(n_neighbors=n_nearest, algorithm="brute").fit(view[sample]).kneighbors(view)[1]


def _graph(nearest: np.ndarray, sample_size: int) -> "csr_array":
    """1 where one row is among the nearest of the other."""
    from scipy.sparse import csr_array

    n_nearest = nearest.shape[1]
    starts = np.arange(0, nearest.size + 1, n_nearest)
    graph = csr_array((np.ones(nearest.size, np.float32), nearest.ravel(), starts), shape=(sample_size, sample_size))
    graph = graph.maximum(graph.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def _by_shared_neighbours(graph: "csr_array") -> "csr_array":
    """An edge weighs one, and one more for every neighbour its two ends have in common."""
    return (graph @ graph).multiply(graph > 0) + graph


def _modes(graph: "csr_array", n_modes: int) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvectors of D^-½ W D^-½ with the greatest eigenvalues λ, greatest first, and 1 − λ, how fast each decays.

    Parts of a graph that nothing joins have the same eigenvalue, 1; all their vectors are found only in double
    precision and to the last digit. Where there are very many such parts, some vectors may still be missing.
    """
    from scipy.sparse import diags_array

    shrink = diags_array(1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12)))
    normalised = (shrink @ graph @ shrink).astype(float)
    if graph.shape[0] <= ROWS_TO_SOLVE_AT_ONCE:
        eigenvalues, modes = np.linalg.eigh(normalised.toarray())
    else:
        eigenvalues, modes = _greatest(normalised, n_modes)
    slowest = np.argsort(-eigenvalues)[:n_modes]
    return np.maximum(1 - eigenvalues[slowest], TINY), modes[:, slowest]


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


def of_length_1(points: np.ndarray) -> np.ndarray:
    """Every point moved to distance 1 from the origin."""
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
