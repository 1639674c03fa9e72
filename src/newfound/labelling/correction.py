"""What labels say about a fit: where they disagree with it, rows like them are probably wrong in the same way.

What the fit says is the mean of a Gaussian process, and labels are observed:

    P(y | x) = P₀(y | x) + k(x, L) (k(L, L) + σ² I)⁻¹ (Y_L − P₀(y | L))

L are the labelled rows and Y_L their labels, one-hot. A label that agrees changes nothing, and holds its surroundings
where they are; one that disagrees moves what is near, up to where other labels speak against it.
"""

import numpy as np

from newfound.batching import in_batches
from newfound.labelling.likeness import Likeness
from newfound.labels import UNLABELLED

N_LENGTHS = 1.5  # of the distance to a neighbour: the length scale of a correction
MAX_LABELS = 3_000  # more are sampled, those given since the fit first
BATCH_ROWS = 4_096
LEAST = 1e-6  # of any class


def corrected(
    before: np.ndarray, likeness: Likeness, codes: np.ndarray, is_given: np.ndarray, seed: int = 0
) -> np.ndarray:
    """P(y | x) of each row by what it was before, and by labels: codes of columns, UNLABELLED where there is none."""
    labelled = np.flatnonzero(codes != UNLABELLED)
    if len(labelled) == 0:
        return before
    heard = heard_labels(codes, is_given, seed)
    residual = np.eye(before.shape[1])[codes[heard]] - before[heard]
    slopes = np.linalg.solve(likeness.among(heard), residual)
    change = in_batches(lambda rows: likeness.between(rows, heard) @ slopes, np.arange(len(before)), BATCH_ROWS)
    after = np.maximum(before + change, LEAST)
    after[labelled] = np.eye(before.shape[1])[codes[labelled]]
    return after / after.sum(axis=1, keepdims=True)


def heard_labels(codes: np.ndarray, is_given: np.ndarray, seed: int) -> np.ndarray:
    """The labelled rows, or as many as can be computed with."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(codes != UNLABELLED))
    return np.sort(rows[np.argsort(~is_given[rows], kind="stable")][:MAX_LABELS])
