"""From fully labelled data to the situation that newfound is for: some classes sparsely labelled, others not at all."""

from collections.abc import Collection
from typing import Any

import numpy as np

from newfound.labels import Labels


def mask_labels(
    y: Any, hide: Collection[Any] = (), keep: float | int = 1.0, random_state: Any = None, groups: Any = None
) -> np.ndarray:
    """`y` with labels hidden: of every row of the classes in `hide`, and of most rows of the others.

    A hidden label is −1 among integers, "" among strings, None among booleans.

    Parameters
    ----------
    y : array of integers, strings or booleans
        A label for every row; rows without one stay so.
    hide : collection of labels
        Classes whose every label is hidden.
    keep : float or int
        The share (a float from 0 to 1) or the number (an int) of labels kept of each other class, at least one.
    random_state : int, RandomState or None
        Makes the choice repeatable.
    groups : array or None
        The group of each row (a person, a site): labels are then kept for whole groups, drawn one after the other
        until a class has its share.

    Examples
    --------
    >>> mask_labels(["cat", "cat", "dog", "emu"], hide=["emu"]).tolist()
    ['cat', 'cat', 'dog', '']
    """
    return hide_labels(Labels.read(y, len(y)), hide, keep, random_state, groups).values


def hide_labels(
    labels: Labels, hide: Collection[Any] = (), keep: float | int = 1.0, random_state: Any = None, groups: Any = None
) -> Labels:
    """As `mask_labels`, from Labels to Labels; all classes stay in the list."""
    from sklearn.utils import check_random_state

    names = labels.classes.tolist()
    unknown = [label for label in hide if label not in names]
    if unknown:
        raise ValueError(f"Cannot hide {unknown[0]!r}: no row has that label. Labels: {names}.")
    rng = check_random_state(random_state)
    kept = [np.array([], dtype=int)]
    for code, name in enumerate(names):
        if name not in hide:
            rows = np.flatnonzero(labels.codes == code)
            shuffled = rng.permutation(rows) if groups is None else _by_group(rows, np.asarray(groups), rng)
            kept.append(shuffled[: _number_kept(keep, len(rows))])
    return labels.keep(np.concatenate(kept))


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
