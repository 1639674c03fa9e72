"""From rows and a few labels to classes of all rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.communities import communities
from newfound.discovery.new_groups import NO_GROUP, Nodes, new_groups
from newfound.discovery.resolution import choose_resolutions
from newfound.graph import Graph
from newfound.initialisation import FeatureSets, Rows, estimate_class_probabilities, feature_sets
from newfound.labels import UNLABELLED

MIN_CLASSES = 2  # where there are no labels: one group is no partition


class Discovery(NamedTuple):
    """What was found."""

    n_new: int
    n_new_range: tuple[int, int]  # over all resolutions that agree with the labels nearly as well
    labels: np.ndarray  # the class of every row: a known class's code, or n_known, n_known + 1, … for new ones
    targets: np.ndarray  # (rows, classes): how probable each class is for each row
    p_new: np.ndarray  # P(new) of every row, out of fold where it has a label; also where no new class was found


def discover(
    rows: Rows,
    labels: np.ndarray,
    n_known: int,
    settings: Initialisation,
    seed: int,
    *,
    uses_pu: bool = True,
    space: tuple[FeatureSets, Graph] | None = None,
) -> Discovery:
    """From codes of labels (UNLABELLED where there is none, or where it is held out) to classes of all rows.

    `space` is what `feature_sets` gives, where it is known already: it does not depend on the labels.
    Without the PU estimate, for labels that were not selected at random, a missing label says nothing: a community is
    known where labels are at least half as dense as in all the data, and new elsewhere.
    """
    features, graph = space or feature_sets(rows, settings, seed)
    probabilities = np.zeros((len(labels), n_known), np.float32)
    if n_known and uses_pu:
        probabilities = estimate_class_probabilities(features, labels, n_known, settings, seed)
    elif n_known:
        probabilities = _by_communities(graph, labels, n_known, settings, seed)
        settings = replace(settings, new_class_p=1.0)
    nodes = Nodes(graph.weights.tocsr(), labels[graph.sample], probabilities[graph.sample])
    resolutions = choose_resolutions(nodes.weights, nodes.labels, n_known, settings, seed)
    found = [_groups(nodes, resolution, settings, seed) for resolution in resolutions]
    numbers = [int(group.max()) + 1 for group in found]
    targets = _targets(graph, found[0], probabilities)
    answer, p_new = _answer(targets, labels, n_known), 1 - probabilities.sum(axis=1)
    return Discovery(numbers[0], (min(numbers), max(numbers)), answer, targets, p_new)


def _by_communities(graph: Graph, labels: np.ndarray, n_known: int, settings: Initialisation, seed: int) -> np.ndarray:
    """P(y | x) of the known classes: what the labels of a row's community say, if they are dense enough there."""
    weights, of_nodes = graph.weights.tocsr(), labels[graph.sample]
    resolution = choose_resolutions(weights, of_nodes, n_known, settings, seed)[0]
    community = communities(weights, resolution, seed)
    is_labelled = of_nodes != UNLABELLED
    counts = np.zeros((community.max() + 1, n_known))
    np.add.at(counts, (community[is_labelled], of_nodes[is_labelled]), 1)
    is_dense = counts.sum(axis=1) >= is_labelled.mean() / 2 * np.bincount(community)
    shares = np.where(is_dense[:, None], counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), 0.0)
    return (graph.interpolation @ shares[community]).astype(np.float32)


def _groups(nodes: Nodes, resolution: float, settings: Initialisation, seed: int) -> np.ndarray:
    """The new group of each node; without labels, every community is one."""
    if nodes.class_probabilities.shape[1]:
        return new_groups(nodes, resolution, settings, seed)
    while True:
        found = communities(nodes.weights, resolution, seed)
        is_large = _is_large(np.bincount(found), settings.min_new_share)
        if is_large.sum() >= min(MIN_CLASSES, len(found)) or resolution > len(found):
            return np.where(is_large, np.cumsum(is_large) - 1, NO_GROUP)[found]
        resolution *= 2


def _is_large(sizes: np.ndarray, share: float) -> np.ndarray:
    """Which groups are no smaller than a share of the mean size of those that are not."""
    is_large = np.ones(len(sizes), bool)
    while (sizes[is_large] < share * sizes[is_large].mean()).any():
        is_large &= sizes >= share * sizes[is_large].mean()
    return is_large


def _targets(graph: Graph, group: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """P(y | x) of the known classes, and of the new ones what is left, by the groups of a row's neighbours.

    A row's own group counts like all its edges together; a row of no group is spread over the groups around it, or over
    all of them alike.
    """
    n_new = int(group.max()) + 1
    if n_new == 0:
        return probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-12)
    own = np.zeros((len(group), n_new), np.float32)
    own[group != NO_GROUP, group[group != NO_GROUP]] = 1
    degree = np.maximum(np.asarray(graph.weights.sum(axis=1)), 1e-12)[:, None]
    membership = graph.interpolation @ (own + graph.weights @ own / degree) + 1e-6
    membership /= membership.sum(axis=1, keepdims=True)
    p_new = 1 - probabilities.sum(axis=1, keepdims=True)
    return np.hstack([probabilities, p_new * membership]).astype(np.float32)


def _answer(targets: np.ndarray, labels: np.ndarray, n_known: int) -> np.ndarray:
    """A known class where the known ones together are more probable than the new ones; a label is kept."""
    known, new = targets[:, :n_known], targets[:, n_known:]
    is_new = new.sum(axis=1) > 0.5
    best_new = n_known + new.argmax(axis=1) if new.shape[1] else 0
    best_known = known.argmax(axis=1) if n_known else 0
    return np.where(labels == UNLABELLED, np.where(is_new, best_new, best_known), labels)
