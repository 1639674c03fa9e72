"""What discovery says of every row: how probable each class and fragment is, which is the answer, how sure it is."""

import numpy as np

from newfound.discovery.new_groups import NO_GROUP
from newfound.graph import Graph
from newfound.labels import UNLABELLED


def soft_targets(graph: Graph, fragment: np.ndarray, n_fragments: int, probabilities: np.ndarray) -> np.ndarray:
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


def answers(targets: np.ndarray, labels: np.ndarray, n_known: int) -> np.ndarray:
    """A known class where the known ones together are more probable than the new ones; a label is kept."""
    known, new = targets[:, :n_known], targets[:, n_known:]
    is_new = new.sum(axis=1) > 0.5
    best_new = n_known + new.argmax(axis=1) if new.shape[1] else 0
    best_known = known.argmax(axis=1) if n_known else 0
    return np.where(labels == UNLABELLED, np.where(is_new, best_new, best_known), labels)


def is_sure(targets: np.ndarray, answer: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Whether a row's class is more probable than all others together."""
    n_known = targets.shape[1] - len(group)
    of_class = np.append(np.arange(n_known), n_known + group)
    same = of_class[answer][:, None] == of_class
    return (targets * same).sum(axis=1) > 0.5
