"""Which groups of rows are new classes: those from which labels are missing beyond chance."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.communities import communities
from newfound.labels import UNLABELLED

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NO_GROUP = -1


class Nodes(NamedTuple):
    """The rows of the graph: how they are joined, their labels, and P(y | x) of the known classes."""

    weights: "csr_array"
    labels: np.ndarray  # codes, UNLABELLED where there is none
    class_probabilities: np.ndarray  # (nodes, known classes)


def new_groups(nodes: Nodes, resolution: float, settings: Initialisation, seed: int) -> np.ndarray:
    """The new group of each node, 0, 1, …, or NO_GROUP where it belongs to a known class.

    Rows that are probably new are partitioned again, on the graph of their own: in the whole graph, known classes with
    many rows decide where groups are cut. A group is a new class if it should hold labels, were it known, and does not.
    Groups that are too small for that join the new class they are linked with most, and are never given back.
    """
    candidates = np.flatnonzero((nodes.class_probabilities.sum(axis=1) < 0.5) & (nodes.labels == UNLABELLED))
    found = np.full(len(nodes.labels), NO_GROUP)
    if len(candidates) == 0:
        return found
    own = nodes.weights[candidates][:, candidates]
    share = float(own.sum()) / max(float(nodes.weights.sum()), 1e-12)
    group = communities(own, resolution * share, seed)
    p = missing_label_p_values(nodes, candidates, group)
    is_large = np.bincount(group) >= settings.min_new_share * _class_size(nodes)
    is_new = (p < settings.new_class_p) & is_large
    if not is_new.any():
        return found
    joined = _join(own, group, is_new, is_known=is_large & ~is_new)
    found[candidates] = joined[group]
    return found


def missing_label_p_values(nodes: Nodes, candidates: np.ndarray, group: np.ndarray) -> np.ndarray:
    """For each group of candidates, the probability of as few labels as it holds if it were of known classes.

    It would hold each class's label frequency. What labels it holds is read off the labelled rows: each belongs to a
    group by the share of its edges that lead there.
    """
    from scipy.stats import binom

    n_groups = group.max() + 1
    membership = np.eye(n_groups)[group]
    labelled = np.flatnonzero(nodes.labels != UNLABELLED)
    degree = np.maximum(nodes.weights[labelled].sum(axis=1), 1e-12)
    held = ((nodes.weights[labelled][:, candidates] @ membership) / degree[:, None]).sum(axis=0)
    likeness = membership.T @ nodes.class_probabilities[candidates] + 1e-9
    frequency = likeness @ _label_frequencies(nodes) / likeness.sum(axis=1)
    n_rows = np.bincount(group) + held
    return binom.cdf(np.floor(held), np.round(n_rows), frequency)


def _label_frequencies(nodes: Nodes) -> np.ndarray:
    """c_y: the labels of each known class, over its expected number of rows."""
    counts = np.bincount(nodes.labels[nodes.labels != UNLABELLED], minlength=nodes.class_probabilities.shape[1])
    return counts / np.maximum(nodes.class_probabilities.sum(axis=0), np.maximum(counts, 1))


def _class_size(nodes: Nodes) -> float:
    return float(np.median(nodes.class_probabilities.sum(axis=0)))


def _join(weights: "csr_array", group: np.ndarray, is_new: np.ndarray, is_known: np.ndarray) -> np.ndarray:
    """For each group, the new class it becomes or joins; NO_GROUP for one that holds its labels after all."""
    from scipy.sparse import csr_array

    n_groups = len(is_new)
    membership = csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), n_groups))
    links = (membership.T @ weights @ membership).toarray()[:, is_new]
    joined = links.argmax(axis=1)
    joined[is_new] = np.arange(is_new.sum())
    joined[is_known] = NO_GROUP
    return joined
