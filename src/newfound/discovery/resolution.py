"""At which resolution communities are classes: the one that agrees with the labels there are."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.communities import communities
from newfound.labels import UNLABELLED

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEW_LABELS = 500  # with fewer, agreement is more a matter of chance, and a step must gain more, as its error does
STEP = 0.5  # octaves between two resolutions
MOST_OCTAVES = 3.0  # from the usual resolution, either way


def usual_resolution(n_nodes: int, settings: Initialisation) -> float:
    """The resolution at which communities are usually classes: lower for larger graphs.

    Every row has as many neighbours as ever, so the more rows there are, the nearer these are, and the finer the same
    resolution cuts.
    """
    return settings.resolution * (settings.resolution_rows / n_nodes) ** (1 / 3)


def choose_resolutions(
    weights: "csr_array", labels: np.ndarray, settings: Initialisation, seed: int
) -> dict[float, float]:
    """The resolutions at which communities agree with the labels best or nearly so, best first, and each one's weight.

    Labels cannot tell when a resolution is too low for the classes that have none. So where several agree alike, the
    one nearest to the usual resolution is taken. Resolutions so far from it that whole agreement would not make up for
    the distance are not tried.
    """
    usual = usual_resolution(weights.shape[0], settings)
    doubt = max(FEW_LABELS / max(int((labels != UNLABELLED).sum()), 1), 1.0) ** 0.5
    scores: dict[float, float] = {}
    for octaves in sorted(np.arange(-MOST_OCTAVES, MOST_OCTAVES + STEP, STEP).tolist(), key=abs):
        penalty = doubt * settings.resolution_penalty * abs(octaves)
        if 1 - penalty < max(scores.values(), default=0.0) - settings.resolution_tolerance:
            break
        resolution = usual * 2.0**octaves
        scores[resolution] = agreement(labels, communities(weights, resolution, seed)) - penalty
    least = max(scores.values()) - settings.resolution_tolerance
    order = sorted(scores, key=lambda r: -scores[r])
    return {r: scores[r] - least for r in order if scores[r] > least}


def agreement(labels: np.ndarray, community: np.ndarray) -> float:
    """How well communities agree with labels, by the rows that have one; 1 where each class is a community.

    The mean of three: the adjusted Rand index, the F1 score of each known class with its best community, and the F1
    score of the pairs of rows of each known class. In the last two a rare class counts as much as a common one.
    """
    from sklearn.metrics import adjusted_rand_score

    is_labelled = labels != UNLABELLED
    n_known = labels.max() + 1
    counts = np.zeros((n_known, community.max() + 1))
    np.add.at(counts, (labels[is_labelled], community[is_labelled]), 1)
    of_class, of_community = counts.sum(axis=1), counts.sum(axis=0)
    best = (2 * counts / np.maximum(of_class[:, None] + of_community, 1)).max(axis=1)
    together = _pairs(counts).sum(axis=1)
    predicted, true = (counts * (of_community - 1)).sum(axis=1) / 2, _pairs(of_class)
    pairs = 2 * together / np.maximum(predicted + true, 1e-9)
    rand = adjusted_rand_score(labels[is_labelled], community[is_labelled]) if n_known > 1 else pairs.mean()
    return float(np.mean([rand, best.mean(), pairs.mean()]))


def _pairs(n: np.ndarray) -> np.ndarray:
    return n * (n - 1) / 2
