"""Labels given after a fit: what they say about its classes and rows, and which of them the next fit learns from."""

from typing import Any, NamedTuple

import numpy as np

from newfound._internal.threads import in_batches
from newfound.fitted import Fitted
from newfound.labelling.suggest import Likeness
from newfound.labels import UNLABELLED, Labels

# ---- Labels given after a fit: what they say about its classes, and which of them the next fit learns from ----

AGREEING = 2  # labels that name a class: one may be a row at its edge


class ToLearn(NamedTuple):
    """What the next fit learns from."""

    labels: Labels
    alone: tuple[Any, ...]  # classes with a single label, and nothing else to go by: left out


def called_now(fitted: Fitted, labels: Labels) -> dict[int, str]:
    """By the position of each new class of a fit: what it is called, by a person or by the labels given in it.

    Labels name a class that nobody named, where more than half of those given in it agree on a name that no known class
    has: a row of a known class that was taken for new says that it was, and nothing about the others. Where labels go
    by the name it was found under, that is its name.
    """
    classes, names = fitted.classes, labels.names
    known, used = classes.known.astype(str), set(map(str, labels.observed().classes))
    since = labels.is_labelled & ~fitted.row_is_labelled
    called = {}
    for position in np.flatnonzero(classes.is_new):
        if classes.is_named[position] or str(classes.names[position]) in used:
            called[int(position)] = str(classes.names[position])
            continue
        given, n = np.unique(names[since & (fitted.row_classes == position)], return_counts=True)
        if n.max(initial=0) >= AGREEING and 2 * n.max() > n.sum() and given[n.argmax()] not in known:
            called[int(position)] = str(given[n.argmax()])
    return called


def labels_to_learn(fitted: Fitted, labels: Labels) -> ToLearn:
    """The labels there are, but for the only one of a class that nobody knew: it may be a slip, and tells of no other.

    Where the class was found and a person gave it this name, one is enough.
    """
    known = {*map(str, fitted.classes.names[fitted.classes.is_named]), *called_now(fitted, labels).values()}
    is_alone = (labels.counts == 1) & ~np.isin(labels.classes.astype(str), list(known))
    codes = np.where(np.isin(labels.codes, np.flatnonzero(is_alone)), UNLABELLED, labels.codes)
    return ToLearn(Labels(labels.classes, codes).observed(), tuple(labels.classes[is_alone].tolist()))


# ---- What labels say about a fit: where they disagree with it, rows like them are probably wrong in the same way ----
# What the fit says is the mean of a Gaussian process, and labels are observed:
#
#     P(y | x) = P₀(y | x) + k(x, L) (k(L, L) + σ² I)⁻¹ (Y_L − P₀(y | L))
#
# L are the labelled rows and Y_L their labels, one-hot. A label that agrees changes nothing, and holds its surroundings
# where they are; one that disagrees moves what is near, up to where other labels speak against it.

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
