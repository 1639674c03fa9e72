"""Where rows lie by who their neighbours are: coordinates in which groups of any shape are round and apart.

Rows that have many near neighbours in common are joined in a graph, and the graph's slowest modes are the coordinates:
spectral clustering (Ng, Jordan, Weiss 2002) on shared nearest neighbours. A sample of the rows makes the graph; every
other row lies where its nearest rows of the sample lie.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from newfound.features import Scaling, in_batches

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROWS_OF_GRAPH = 20_000
NEIGHBOURS = 10
PRINCIPAL_AXES = 50
MODES = 20


def principal_axes(X: np.ndarray, scaling: Scaling, seed: int) -> np.ndarray:
    """Every row's coordinates along the axes in which the scaled columns vary most."""
    from sklearn.decomposition import PCA

    def scaled(rows: np.ndarray) -> np.ndarray:
        return (rows - np.asarray(scaling.shift)) * np.asarray(scaling.scale)

    sample = scaled(X[_sample(len(X), seed)])
    pca = PCA(min(PRINCIPAL_AXES, *sample.shape), random_state=seed % 2**32).fit(sample)
    return in_batches(lambda rows: pca.transform(scaled(rows)), X).astype(np.float32)


def neighbour_coordinates(views: Sequence[np.ndarray], n_modes: int, seed: int) -> np.ndarray:
    """The coordinates of every row, of length 1; each view holds all rows, and adds its own neighbours."""
    n_rows = len(views[0])
    sample = _sample(n_rows, seed)
    nearest = [_nearest(view, sample) for view in views]
    graph = reduce(add, (_graph(near[sample], sample_size=len(sample)) for near in nearest))
    modes = _modes(_by_shared_neighbours(graph), n_modes)
    if len(sample) == n_rows:
        return modes[np.argsort(sample)]
    elsewhere = sum(modes[near].mean(axis=1) for near in nearest)
    elsewhere[sample] = modes
    return _of_length_1(elsewhere)


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


def _modes(graph: "csr_array", n_modes: int) -> np.ndarray:
    """The leading eigenvectors of D^-½ W D^-½, each row scaled to length 1.

    Parts of a graph that nothing joins have the same eigenvalue, 1; all their vectors are found only in double
    precision and to the last digit.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    n_rows = graph.shape[0]
    shrink = diags_array(1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12)))
    normalised = (shrink @ graph @ shrink).astype(float)
    if n_modes >= n_rows - 1:
        return _of_length_1(np.linalg.eigh(normalised.toarray())[1][:, ::-1][:, :n_modes])
    return _of_length_1(eigsh(normalised, n_modes, which="LA", v0=np.ones(n_rows))[1])


def _of_length_1(points: np.ndarray) -> np.ndarray:
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
