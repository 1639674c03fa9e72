"""From fragments of the graph to the answer for each row: probabilities, the class, and whether it is sure."""

import numpy as np

from newfound.discovery.graph import Graph
from newfound.discovery.groups import NO_GROUP, Fragments, Nodes, missing_labels, tree_of
from newfound.discovery.record import Discovery, Selection
from newfound.labels import UNLABELLED


def soft_targets(graph: Graph, fragment: np.ndarray, n_fragments: int, probabilities: np.ndarray) -> np.ndarray:
    """P(y | x) of the known classes; P(new) is shared among the fragments of a row's neighbours.

    A row's own fragment counts like all its edges together. Without an own fragment, the row is spread over the
    fragments around it, or equally over all fragments.
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


def answers(targets: np.ndarray, labels: np.ndarray, n_known: int) -> np.ndarray:
    """The best known class if the known ones together are more probable than the new ones; a label is kept."""
    known, new = targets[:, :n_known], targets[:, n_known:]
    is_new = new.sum(axis=1) > 0.5
    best_new = n_known + new.argmax(axis=1) if new.shape[1] else 0
    best_known = known.argmax(axis=1) if n_known else 0
    return np.where(labels == UNLABELLED, np.where(is_new, best_new, best_known), labels)


def is_sure(targets: np.ndarray, answer: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Whether the class of each row is more probable than all others together."""
    n_known = targets.shape[1] - len(group)
    of_class = np.append(np.arange(n_known), n_known + group)
    same = of_class[answer][:, None] == of_class
    return (targets * same).sum(axis=1) > 0.5


def assembled(
    graph: Graph,
    nodes: Nodes,
    found: Fragments,
    probabilities: np.ndarray,
    labels: np.ndarray,
    selection: Selection | None = None,
) -> Discovery:
    """The answers for all rows; fragments are numbered class by class, the largest first."""
    fragment, group, n_known = found.fragment, found.group, probabilities.shape[1]
    n_new = int(group.max(initial=-1)) + 1
    tree = tree_of(nodes, fragment, group)
    order = np.lexsort([-tree.sizes, tree.cut(n_new)]) if n_new else np.zeros(0, int)
    rank = np.append(np.argsort(order), NO_GROUP)
    fragment, group = rank[fragment], group[order]
    tree = tree_of(nodes, fragment, group)
    targets = soft_targets(graph, fragment, tree.n_fragments, probabilities)
    inside = np.flatnonzero(fragment != NO_GROUP)
    answer = answers(targets, labels, n_known)
    return Discovery(
        n_new=n_new,
        n_new_range=found.n_range,
        tree=tree,
        labels=answer,
        targets=targets,
        p_new=1 - probabilities.sum(axis=1),
        is_sure=is_sure(targets, answer, tree.cut(n_new)),
        evidence=missing_labels(nodes, inside, fragment[inside]) if n_known and n_new else None,
        selection=selection,
    )
