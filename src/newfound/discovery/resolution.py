"""At which resolution communities are classes: the one that agrees with the labels there are."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.communities import communities
from newfound.labels import UNLABELLED

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEW_LABELS = 500  # with fewer, agreement is more a matter of chance, and a step must gain more, as its error does
STEP = 0.5  # octaves between two resolutions
MOST_OCTAVES = 3.0  # from the usual resolution, either way


class Say(NamedTuple):
    """What a resolution has to say about the number of new classes."""

    weight: float  # the more, the better its communities agree with the labels
    pieces: float  # communities that a known class consists of, in the median over classes


def usual_resolution(n_nodes: int, settings: Initialisation) -> float:
    """The resolution at which communities are usually classes: lower for larger graphs.

    Every row has as many neighbours as ever, so the more rows there are, the nearer these are, and the finer the same
    resolution cuts.
    """
    return settings.resolution * (settings.resolution_rows / n_nodes) ** (1 / 3)


def choose_resolutions(
    weights: "csr_array", labels: np.ndarray, settings: Initialisation, seed: int
) -> dict[float, Say]:
    """The resolutions at which communities agree with the labels best or nearly so, best first, and each one's say.

    Labels cannot tell when a resolution is too low for the classes that have none. So where several agree alike, the
    one nearest to the usual resolution is taken. Resolutions so far from it that whole agreement would not make up for
    the distance are not tried.
    """
    usual = usual_resolution(weights.shape[0], settings)
    doubt = max(FEW_LABELS / max(int((labels != UNLABELLED).sum()), 1), 1.0) ** 0.5
    scores: dict[float, float] = {}
    pieces: dict[float, float] = {}
    for octaves in sorted(np.arange(-MOST_OCTAVES, MOST_OCTAVES + STEP, STEP).tolist(), key=abs):
        penalty = doubt * settings.resolution_penalty * abs(octaves)
        if 1 - penalty < max(scores.values(), default=0.0) - settings.resolution_tolerance:
            break
        resolution = usual * 2.0**octaves
        community = communities(weights, resolution, seed)
        scores[resolution] = agreement(labels, community) - penalty
        pieces[resolution] = pieces_of_a_class(labels, community)
    least = max(scores.values()) - settings.resolution_tolerance
    order = sorted(scores, key=lambda r: -scores[r])
    return {r: Say(scores[r] - least, pieces[r]) for r in order if scores[r] > least}


def labels_in(labels: np.ndarray, community: np.ndarray) -> np.ndarray:
    """(known classes, communities): how many labels of each class each community holds."""
    is_labelled = labels != UNLABELLED
    counts = np.zeros((labels.max() + 1, community.max() + 1))
    np.add.at(counts, (labels[is_labelled], community[is_labelled]), 1)
    return counts


def pieces_of_a_class(labels: np.ndarray, community: np.ndarray) -> float:
    """How many communities a known class consists of: the median over classes of 1 / P(two of its rows are in one).

    Two of its labelled rows, in communities where no class has more labels: a row among those of another class is a
    confusion, and no piece. A new class will be in as many pieces as known ones usually are, if they are not whole.
    """
    counts = labels_in(labels, community)
    own = np.where(counts == counts.max(axis=0), counts, 0)
    together, pairs = _pairs(own).sum(axis=1), _pairs(own.sum(axis=1))
    is_told = together > 0
    return max(float(np.median(pairs[is_told] / together[is_told])), 1.0) if is_told.any() else 1.0


def agreement(labels: np.ndarray, community: np.ndarray) -> float:
    """How well communities agree with labels, by the rows that have one; 1 where each class is a community.

    The mean of three: the adjusted Rand index, the F1 score of each known class with its best community, and the F1
    score of the pairs of rows of each known class. In the last two a rare class counts as much as a common one.
    """
    from sklearn.metrics import adjusted_rand_score

    is_labelled = labels != UNLABELLED
    counts = labels_in(labels, community)
    of_class, of_community = counts.sum(axis=1), counts.sum(axis=0)
    best = (2 * counts / np.maximum(of_class[:, None] + of_community, 1)).max(axis=1)
    together = _pairs(counts).sum(axis=1)
    predicted, true = (counts * (of_community - 1)).sum(axis=1) / 2, _pairs(of_class)
    pairs = 2 * together / np.maximum(predicted + true, 1e-9)
    rand = adjusted_rand_score(labels[is_labelled], community[is_labelled]) if len(counts) > 1 else pairs.mean()
    return float(np.mean([rand, best.mean(), pairs.mean()]))


def _pairs(n: np.ndarray) -> np.ndarray:
    return n * (n - 1) / 2
