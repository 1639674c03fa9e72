"""From rows and a few labels to classes of all rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.class_tree import ClassTree, grow_tree, links_between
from newfound.discovery.communities import communities
from newfound.discovery.new_groups import NO_GROUP, Evidence, Nodes, fragments, missing_labels, new_groups
from newfound.discovery.resolution import choose_resolutions
from newfound.discovery.stability import groups_without_labels, numbers_in_samples
from newfound.graph import Graph
from newfound.initialisation import FeatureSets, Rows, estimate_class_probabilities, feature_sets
from newfound.labels import UNLABELLED


class Discovery(NamedTuple):
    """What was found: classes made of fragments, each of which becomes a component of the model."""

    n_new: int
    n_new_range: tuple[int, int]
    tree: ClassTree  # of the fragments of new rows
    labels: np.ndarray  # of every row: a known class's code, or n_known + its fragment
    targets: np.ndarray  # (rows, known classes and fragments): how probable each is for each row
    is_sure: np.ndarray  # of every row: whether it belongs to its class more probably than not
    evidence: Evidence | None  # of each new class, largest first; None without labels

    @property
    def group(self) -> np.ndarray:
        """The new class of each fragment, 0, 1, …, the largest first."""
        return self.tree.cut(self.n_new)


def discover(
    rows: Rows,
    labels: np.ndarray,
    n_known: int,
    settings: Initialisation,
    seed: int,
    *,
    n_new: int | None = None,
    uses_pu: bool = True,
    space: tuple[FeatureSets, Graph] | None = None,
) -> Discovery:
    """From codes of labels (UNLABELLED where there is none, or where it is held out) to classes of all rows.

    `n_new` is obeyed where it is given. Without the PU estimate, for labels that were not selected at random, a missing
    label says nothing: a community is known where labels are at least half as dense as in all the data, and new
    elsewhere. `space` is what `feature_sets` gives, for callers who need it more than once.
    """
    features, graph = space or feature_sets(rows, settings, seed)
    if n_known and uses_pu:
        probabilities = estimate_class_probabilities(features, labels, n_known, settings, seed, all_known=n_new == 0)
    elif n_known:
        probabilities = _by_communities(graph, labels, n_known, settings, seed)
        settings = replace(settings, new_class_p=1.0)
    else:
        probabilities = np.zeros((len(labels), 0), np.float32)
    nodes = Nodes(graph.weights.tocsr(), labels[graph.sample], probabilities[graph.sample])
    fragment, group, n_range = _fragments(nodes, n_new, settings, seed)
    return _discovery(graph, nodes, probabilities, labels, fragment, group, n_range)


def _fragments(
    nodes: Nodes, n_new: int | None, settings: Initialisation, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """The fragment of each node, the new class of each fragment, and the range of the number of classes."""
    n_nodes = len(nodes.labels)
    if n_new == 0:
        return np.full(n_nodes, NO_GROUP), np.zeros(0, int), (0, 0)
    has_labels = nodes.class_probabilities.shape[1] > 0
    if has_labels:
        resolutions = choose_resolutions(nodes.weights, nodes.labels, settings, seed)
        group = new_groups(nodes, resolutions[0], settings, seed)
    else:
        resolutions = [settings.resolution]
        group = groups_without_labels(nodes.weights, settings.resolution, settings, seed)
    if n_new is not None:
        return _obeyed(nodes, group, n_new, resolutions[0], settings, seed)
    if has_labels:
        numbers = [int(new_groups(nodes, r, settings, seed).max()) + 1 for r in resolutions[1:]]
    else:
        numbers = numbers_in_samples(nodes.weights, settings.resolution, settings, seed)
    numbers.append(int(group.max()) + 1)
    fragment = fragments(nodes, group, resolutions[0], settings, seed)
    return fragment, _of_fragments(fragment, group), (min(numbers), max(numbers))


def _obeyed(
    nodes: Nodes, group: np.ndarray, n_new: int, resolution: float, settings: Initialisation, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """As many classes as were asked for: the tree of what was found is cut there, and refined before if need be."""
    if (group != NO_GROUP).sum() < n_new or nodes.class_probabilities.shape[1] == 0:
        group = _least_known(nodes, n_new)
    fragment = fragments(nodes, group, resolution, settings, seed)
    if fragment.max() + 1 >= n_new:
        return fragment, _tree(nodes, fragment, _of_fragments(fragment, group)).cut(n_new), (n_new, n_new)
    fragment = fragments(nodes, group, resolution, settings, seed, at_least=n_new)
    tree = _tree(nodes, fragment, _of_fragments(fragment, group))
    n_new = min(n_new, tree.n_fragments)
    fragment = np.append(tree.cut(n_new), NO_GROUP)[fragment]  # finer than fragments are: the classes are the fragments
    return fragment, np.arange(n_new), (n_new, n_new)


def _least_known(nodes: Nodes, n_rows: int) -> np.ndarray:
    """One group of rows in which new classes could be, where labels say that there are none."""
    is_unlabelled = nodes.labels == UNLABELLED
    is_likely = is_unlabelled & (nodes.class_probabilities.sum(axis=1) < 0.5)
    return np.where(is_likely if is_likely.sum() >= n_rows else is_unlabelled, 0, NO_GROUP)


def _of_fragments(fragment: np.ndarray, group: np.ndarray) -> np.ndarray:
    found = np.zeros(int(fragment.max()) + 1, int)
    found[fragment[fragment != NO_GROUP]] = group[fragment != NO_GROUP]
    return found


def _tree(nodes: Nodes, fragment: np.ndarray, group: np.ndarray) -> ClassTree:
    inside = np.flatnonzero(fragment != NO_GROUP)
    own = nodes.weights[inside][:, inside]
    sizes = np.bincount(fragment[inside], minlength=len(group))
    return grow_tree(links_between(own, fragment[inside], len(group)), sizes, group)


def _discovery(
    graph: Graph,
    nodes: Nodes,
    probabilities: np.ndarray,
    labels: np.ndarray,
    fragment: np.ndarray,
    group: np.ndarray,
    n_range: tuple[int, int],
) -> Discovery:
    """All rows' answers from the nodes' fragments; fragments are numbered class by class, the largest first."""
    n_new = int(group.max(initial=-1)) + 1
    tree = _tree(nodes, fragment, group)
    order = np.lexsort([-tree.sizes, tree.cut(n_new)]) if n_new else np.zeros(0, int)
    rank = np.append(np.argsort(order), NO_GROUP)
    fragment, group = rank[fragment], group[order]
    tree = _tree(nodes, fragment, group)
    targets = _targets(graph, fragment, tree.n_fragments, probabilities)
    n_known = probabilities.shape[1]
    inside = np.flatnonzero(fragment != NO_GROUP)
    evidence = missing_labels(nodes, inside, tree.cut(n_new)[fragment[inside]]) if n_known and n_new else None
    answer = _answer(targets, labels, n_known)
    return Discovery(n_new, n_range, tree, answer, targets, _is_sure(targets, answer, tree.cut(n_new)), evidence)


def _by_communities(graph: Graph, labels: np.ndarray, n_known: int, settings: Initialisation, seed: int) -> np.ndarray:
    """P(y | x) of the known classes: what the labels of a row's community say, if they are dense enough there."""
    weights, of_nodes = graph.weights.tocsr(), labels[graph.sample]
    resolution = choose_resolutions(weights, of_nodes, settings, seed)[0]
    community = communities(weights, resolution, seed)
    is_labelled = of_nodes != UNLABELLED
    counts = np.zeros((community.max() + 1, n_known))
    np.add.at(counts, (community[is_labelled], of_nodes[is_labelled]), 1)
    is_dense = counts.sum(axis=1) >= is_labelled.mean() / 2 * np.bincount(community)
    shares = np.where(is_dense[:, None], counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), 0.0)
    return (graph.interpolation @ shares[community]).astype(np.float32)


def _targets(graph: Graph, fragment: np.ndarray, n_fragments: int, probabilities: np.ndarray) -> np.ndarray:
    """P(y | x) of the known classes, and of the fragments what is left, by the fragments of a row's neighbours.

    A row's own fragment counts like all its edges together; a row of none is spread over the fragments around it, or
    over all of them alike.
    """
    if n_fragments == 0:
        return probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-12)
    own = np.zeros((len(fragment), n_fragments), np.float32)
    own[fragment != NO_GROUP, fragment[fragment != NO_GROUP]] = 1
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


def _is_sure(targets: np.ndarray, answer: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Whether a row's class is more probable than all others together."""
    n_known = targets.shape[1] - len(group)
    of_class = np.append(np.arange(n_known), n_known + group)
    same = of_class[answer][:, None] == of_class
    return (targets * same).sum(axis=1) > 0.5
