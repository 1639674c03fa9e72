"""Communities of the graph of neighbours: groups of rows with more edges among them than to others (Leiden)."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
