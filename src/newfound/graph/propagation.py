"""Label propagation with damping, on the graph of neighbours (Zhou et al. 2004)."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.graph.neighbours import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def propagate(graph: Graph, values: np.ndarray, damping: float, settings: Initialisation) -> np.ndarray:
    """For every row, the mean of the values (rows, columns) where random walks that begin near it end.

    A walk goes on with probability `damping` after each step: (D − damping · W) u = v, solved for the values and for a
    column of ones. Each row counts by its interpolation weights.
    """
    ones = np.ones((len(values), 1), values.dtype)
    ends = _solve(graph.weights, graph.interpolation.T @ np.hstack([values, ones]), damping, settings)
    return graph.interpolation @ (ends[:, :-1] / ends[:, -1:])


def _solve(weights: "csr_array", right: np.ndarray, damping: float, settings: Initialisation) -> np.ndarray:
    """Conjugate gradients for all columns at once, preconditioned by D (SciPy's solves one column at a time)."""
    degrees = np.maximum(weights.sum(axis=1), 1e-6)[:, None]
    solution = np.zeros_like(right, dtype=float)
    residual = right.astype(float)
    preconditioned = residual / degrees
    direction = preconditioned
    size = np.sum(residual * preconditioned, axis=0)
    enough = settings.propagation_tol**2 * size
    for _ in range(settings.propagation_max_iter):
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
