"""At which resolution communities are classes: the one that agrees with the labels there are."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.communities import communities
from newfound.labels import UNLABELLED

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OCTAVES = np.arange(-3, 3.5, 0.5)  # around the usual resolution


def choose_resolutions(
    weights: "csr_array", labels: np.ndarray, n_known: int, settings: Initialisation, seed: int
) -> list[float]:
    """The resolution at which communities agree best with the labels, then those that agree nearly as well.

    Labels cannot tell when a resolution is too low for the classes that have none. So where several agree alike, the
    one nearest to the usual resolution is taken; without labels, that one alone.
    """
    resolutions = settings.resolution * 2.0**OCTAVES
    if n_known == 0:
        return [settings.resolution]
    scores = np.array([agreement(labels, communities(weights, r, seed), n_known) for r in resolutions])
    scores -= settings.resolution_penalty * np.abs(OCTAVES)
    order = np.argsort(-scores, kind="stable")
    return [float(resolutions[i]) for i in order if scores[i] >= scores[order[0]] - settings.resolution_tolerance]


def agreement(labels: np.ndarray, community: np.ndarray, n_known: int) -> float:
    """How well communities agree with labels, by the rows that have one; 1 where each class is a community.

    The mean of three: the adjusted Rand index, the F1 score of each known class with its best community, and the F1
    score of the pairs of rows of each known class. In the last two a rare class counts as much as a common one.
    """
    from sklearn.metrics import adjusted_rand_score

    is_labelled = labels != UNLABELLED
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
