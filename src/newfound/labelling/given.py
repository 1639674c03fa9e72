"""Labels given after a fit: which the next fit learns from, and how they correct what was found."""

from typing import Any, NamedTuple

import numpy as np

from newfound._internal.threads import in_batches
from newfound.fitted import Fitted
from newfound.labelling.suggest import Likeness
from newfound.labels import UNLABELLED, Labels

MIN_AGREEING = 2  # labels that name a class: a single one may be a row at its edge


class LearnedLabels(NamedTuple):
    """What the next fit learns from."""

    labels: Labels
    alone: tuple[Any, ...]  # classes with a single label and no other support: left out


def with_current_names(fitted: Fitted, labels: Labels) -> Labels:
    """Labels by the names that classes have now; their source may still use the names from before a `rename`."""
    classes = fitted.classes
    pairs = zip(classes.ids.tolist(), classes.names.tolist(), strict=True)
    now = {old: new for old, new in pairs if old not in classes.names.tolist()}
    if not now:
        return labels
    names = [now.get(name, name) for name in labels.classes.tolist()]
    return Labels.of_distinct([*names, None], labels.codes)  # UNLABELLED is the last position


def new_class_names(fitted: Fitted, labels: Labels) -> dict[int, str]:
    """By the position of a new class: its name, given by a person or by the labels of its rows.

    A class without a name from a person takes the name on which more than half of the labels given in it agree, unless
    a known class has it: a row of a known class that was taken for new only shows that this row was wrong. If labels
    use the name under which the class was found, it keeps that name.
    """
    classes, names = fitted.classes, labels.names
    known, used = classes.known.astype(str), set(map(str, labels.observed().classes))
    since = labels.is_labelled & ~fitted.row_is_labelled
    found = {}
    for position in np.flatnonzero(classes.is_new).tolist():
        if classes.is_named[position] or str(classes.names[position]) in used:
            found[position] = str(classes.names[position])
            continue
        given, n = np.unique(names[since & (fitted.row_classes == position)], return_counts=True)
        if n.max(initial=0) >= MIN_AGREEING and 2 * n.max() > n.sum() and given[n.argmax()] not in known:
            found[position] = str(given[n.argmax()])
    return found


def labels_to_learn(fitted: Fitted, labels: Labels) -> LearnedLabels:
    """All labels except the only one of a class: it may be a slip, and does not describe other rows.

    A single label is enough for a class that was found and has this name from a person.
    """
    supported = {*map(str, fitted.classes.names[fitted.classes.is_named]), *new_class_names(fitted, labels).values()}
    is_alone = (labels.counts == 1) & ~np.isin(labels.classes.astype(str), list(supported))
    codes = np.where(np.isin(labels.codes, np.flatnonzero(is_alone)), UNLABELLED, labels.codes)
    return LearnedLabels(Labels(labels.classes, codes).observed(), tuple(labels.classes[is_alone].tolist()))


# ---- Corrections: where labels contradict the fit, similar rows are probably wrong in the same way ----
# The answer of the fit is the mean of a Gaussian process, and labels are observations of it:
#
#     P(y | x) = P₀(y | x) + k(x, L) (k(L, L) + σ² I)⁻¹ (Y_L − P₀(y | L))
#
# L are the labelled rows and Y_L their labels, one-hot. A label that agrees changes nothing and keeps its neighbourhood
# unchanged; one that disagrees moves the rows near it, as far as no other label contradicts.

N_LENGTHS = 1.5  # length scale of a correction, in distances to a neighbour
MAX_LABELS = 3_000  # more are sampled, those given since the fit first
BATCH_ROWS = 4_096
MIN_PROBABILITY = 1e-6  # of any class


def corrected(
    before: np.ndarray, likeness: Likeness, codes: np.ndarray, is_given: np.ndarray, seed: int = 0
) -> np.ndarray:
    """P(y | x) of each row, from what it was before and from labels: codes of its columns, or UNLABELLED."""
    labelled = np.flatnonzero(codes != UNLABELLED)
    if len(labelled) == 0:
        return before
    used = used_labels(codes, is_given, seed)
    residual = np.eye(before.shape[1])[codes[used]] - before[used]
    slopes = np.linalg.solve(likeness.among(used), residual)
    change = in_batches(lambda rows: likeness.between(rows, used) @ slopes, np.arange(len(before)), BATCH_ROWS)
    after = np.maximum(before + change, MIN_PROBABILITY)
    after[labelled] = np.eye(before.shape[1])[codes[labelled]]
    return after / after.sum(axis=1, keepdims=True)


def used_labels(codes: np.ndarray, is_given: np.ndarray, seed: int) -> np.ndarray:
    """The labelled rows that a correction uses: at most MAX_LABELS."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(codes != UNLABELLED))
    return np.sort(rows[np.argsort(~is_given[rows], kind="stable")][:MAX_LABELS])
