"""How alike two rows are: the kernel of a Gaussian process, by which a label says something about other rows, too."""

from typing import NamedTuple

import numpy as np

NEIGHBOUR = 10  # the length scale is the distance to this neighbour, in the median of some rows,
N_SAMPLED = 500
NOISE = 0.1  # variance of what a label says, relative to that of what it may say


class Likeness(NamedTuple):
    """k(a, b) = exp(−½ |a − b|²), with the rows in units of the length scale."""

    places: np.ndarray  # (rows, dimensions)

    @classmethod
    def of(cls, places: np.ndarray, n_lengths: float, seed: int = 0) -> "Likeness":
        """With a length scale of so many times the distance to a neighbour."""
        return cls((places / (n_lengths * neighbour_distance(places, seed))).astype(np.float32))

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(rows a, rows b), by the numbers of rows."""
        from scipy.spatial.distance import cdist

        return np.exp(-0.5 * cdist(self.places[a], self.places[b], "sqeuclidean"))

    def among(self, rows: np.ndarray) -> np.ndarray:
        """Between labelled rows, each of which may be wrong by itself."""
        return self.between(rows, rows) + NOISE * np.eye(len(rows))


def joined(*features: np.ndarray) -> np.ndarray:
    """Several sets of features as one, each given the same say."""
    return np.hstack([_of_unit_length(of) for of in features])


def _of_unit_length(rows: np.ndarray) -> np.ndarray:
    rows = rows - rows.mean(axis=0)
    return rows / max(float(np.sqrt(np.mean(np.sum(np.square(rows), axis=1)))), 1e-12)


def neighbour_distance(places: np.ndarray, seed: int = 0) -> float:
    """The distance of a row to its 10th neighbour: the median; 1 where all rows are alike."""
    from scipy.spatial.distance import cdist

    some = np.random.default_rng(seed).permutation(len(places))[:N_SAMPLED]
    distances = cdist(places[some], places)
    nearest = np.partition(distances, min(NEIGHBOUR, len(places) - 1), axis=1)[:, min(NEIGHBOUR, len(places) - 1)]
    return float(np.median(nearest)) or float(distances.mean()) or 1.0
