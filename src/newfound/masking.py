"""From fully labelled data to the situation that newfound is for: some classes sparsely labelled, others not at all."""

from collections.abc import Collection
from typing import Any

import numpy as np

UNLABELLED = -1  # as in newfound.models.objective, which would bring JAX along
NEW_COMPONENTS = 40  # the paper's n_aug


SETUPS = ("unsupervised", "semi-supervised", "semi-unsupervised", "accidental")


def paper_setup(name: str, y: Any, keep: float | int = 0.2, random_state: Any = None) -> tuple[np.ndarray, int]:
    """Masked labels and the number of new components for one of the paper's set-ups.

    "unsupervised" hides every label; "semi-supervised" keeps a share of every class; "semi-unsupervised" keeps a share
    of the first half of the classes and offers 40 new components for the others; "accidental" has the same labels but
    offers none, as someone would who does not know that classes are missing. Unsupervised learning gets as many
    components as semi-unsupervised learning of the same data.
    """
    if name not in SETUPS:
        raise ValueError(f"The set-up must be one of {', '.join(SETUPS)}; got {name!r}.")
    classes = np.unique(y)
    first_half, second_half = classes[: len(classes) // 2], classes[len(classes) // 2 :]
    if name == "unsupervised":
        return mask_labels(y, hide=classes, random_state=random_state), len(first_half) + NEW_COMPONENTS
    if name == "semi-supervised":
        return mask_labels(y, keep=keep, random_state=random_state), 0
    masked = mask_labels(y, hide=second_half, keep=keep, random_state=random_state)
    return masked, NEW_COMPONENTS if name == "semi-unsupervised" else 0


def mask_labels(
    y: Any, hide: Collection[Any] = (), keep: float | int = 1.0, random_state: Any = None, groups: Any = None
) -> np.ndarray:
    """`y` with -1 (or "") where a label is hidden: for every row of the classes in `hide`, and for most of the others.

    Parameters
    ----------
    y : array of integers or strings
        A label for every row.
    hide : collection of labels
        Classes whose every label is hidden.
    keep : float or int
        The share (a float from 0 to 1) or the number (an int) of labels kept of each other class, at least one.
    random_state : int, RandomState or None
        Makes the choice repeatable.
    groups : array or None
        The group of each row (a person, a site): labels are then kept for whole groups, drawn one after the other
        until a class has its share.
    """
    from sklearn.utils import check_random_state

    y = np.asarray(y)
    unknown = [label for label in hide if label not in y]
    if unknown:
        raise ValueError(f"Cannot hide {unknown[0]!r}: no row has that label. Labels: {np.unique(y).tolist()}.")
    rng = check_random_state(random_state)
    masked = np.full_like(y, "" if y.dtype.kind == "U" else UNLABELLED)
    for label in np.unique(y):
        if label not in hide:
            rows = np.flatnonzero(y == label)
            shuffled = rng.permutation(rows) if groups is None else _by_group(rows, np.asarray(groups), rng)
            kept = shuffled[: _number_kept(keep, len(rows))]
            masked[kept] = label
    return masked


def _number_kept(keep: float | int, n_rows: int) -> int:
    if isinstance(keep, bool) or keep < 0:
        raise ValueError(f"keep must be a share from 0.0 to 1.0 or a number of labels, got {keep!r}.")
    if isinstance(keep, int):
        return min(keep, n_rows)
    if keep > 1:
        raise ValueError(f"keep as a share must be at most 1.0, got {keep!r}; for a number of labels give an int.")
    return max(1, round(keep * n_rows)) if keep else 0


def _by_group(rows: np.ndarray, groups: np.ndarray, rng: Any) -> np.ndarray:
    """The rows of one randomly chosen group after the other."""
    order = rng.permutation(np.unique(groups[rows]))
    return np.concatenate([rows[groups[rows] == group] for group in order])
