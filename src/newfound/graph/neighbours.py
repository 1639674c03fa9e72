"""The graph of shared nearest neighbours. A sample of the rows makes it; every other row is interpolated."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.graph.projection import sample_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
