"""From fully labelled data to the situation that newfound is for: some classes sparsely labelled, others not at all."""

from collections.abc import Collection
from typing import Any

import numpy as np

from newfound.models.objective import UNLABELLED


def mask_labels(y: Any, hide: Collection[Any] = (), keep: float | int = 1.0, random_state: Any = None) -> np.ndarray:
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
            kept = rng.permutation(rows)[: _number_kept(keep, len(rows))]
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
