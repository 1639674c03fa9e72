"""Labels given after a fit: what they say about its classes, and which rows the next fit learns from as labelled.

A fit takes labels to be as frequent in one class as in the next. A class that a person has just begun to label is not:
three labels among 135 rows say that nearly all of its rows lack one, and what is left of it looks new again. But the
person has said more than that: the class that was found there has a name now. So where a class has few labels, some of
the rows that were surely in it count as labelled, too: drawn at random, and as many as known classes have.
"""

from typing import Any, NamedTuple

import numpy as np

from newfound.fitted import Fitted
from newfound.labels import UNLABELLED, Labels

FEW = 8  # labels: with as many, a class speaks for itself
AGREEING = 2  # labels that name a class: one may be a row at its edge
USUAL_SHARE = 0.2  # of a class's rows, where no class was known


class ToLearn(NamedTuple):
    """What the next fit learns from."""

    labels: Labels
    added: dict[Any, int]  # rows of each class that count as labelled, beside those that are
    alone: tuple[Any, ...]  # classes with a single label, and nothing else to go by: left out


def called_now(fitted: Fitted, labels: Labels) -> dict[int, str]:
    """By the position of each new class of a fit: what it is called, by a person or by the labels given in it.

    Labels name a class that nobody named, where more than half of those given in it agree on a name that no known class
    has: a row of a known class that was taken for new says that it was, and nothing about the others.
    """
    classes, names = fitted.classes, labels.names
    known = classes.known.astype(str)
    since = labels.is_labelled & ~fitted.row_is_labelled
    called = {}
    for position in np.flatnonzero(classes.is_new):
        if classes.is_named[position]:
            called[int(position)] = str(classes.names[position])
            continue
        given, n = np.unique(names[since & (fitted.row_classes == position)], return_counts=True)
        if n.max(initial=0) >= AGREEING and 2 * n.max() > n.sum() and given[n.argmax()] not in known:
            called[int(position)] = str(given[n.argmax()])
    return called


def labels_to_learn(fitted: Fitted, labels: Labels, seed: int = 0) -> ToLearn:
    """The labels there are, and rows that count as labelled in classes that have only a few."""
    share, called = label_share(fitted), called_now(fitted, labels)
    known = set(map(str, fitted.classes.known))
    codes, added, rng = labels.codes.copy(), {}, np.random.default_rng(seed)
    for code, name in enumerate(labels.classes.tolist()):
        n_labels = int((labels.codes == code).sum())
        if str(name) in known or not 0 < n_labels < FEW:
            continue
        own = [position for position, called_so in called.items() if called_so == str(name)]
        is_own = np.isin(fitted.row_classes, own)
        sure = rng.permutation(np.flatnonzero(is_own & fitted.row_is_sure & (labels.codes == UNLABELLED)))
        more = sure[: max(round(share * is_own.sum()) - n_labels, 2 - n_labels, 0)]
        codes[more] = code
        if len(more):
            added[name] = len(more)
    is_alone = (Labels(labels.classes, codes).counts == 1) & ~np.isin(labels.classes.astype(str), list(known))
    codes[np.isin(codes, np.flatnonzero(is_alone))] = UNLABELLED
    return ToLearn(Labels(labels.classes, codes).observed(), added, tuple(labels.classes[is_alone].tolist()))


def label_share(fitted: Fitted) -> float:
    """The share of rows with a label in the known classes of a fit: the median."""
    known = np.flatnonzero(~fitted.classes.is_new)
    shares = [fitted.row_is_labelled[fitted.row_classes == position].mean() for position in known]
    return float(np.median(shares)) if shares else USUAL_SHARE
