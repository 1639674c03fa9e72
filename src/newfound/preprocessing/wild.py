"""Wild cells in words: how many there are, and what became of them."""

from collections.abc import Callable

import numpy as np

from newfound.preprocessing.scaling import Preprocessing
from newfound.wording import count


def about_wild(X: np.ndarray, preprocessing: Preprocessing, name: Callable[[int], str]) -> str:
    """Nothing where there are none; `name` is that of a column of X."""
    n_wild = preprocessing.n_wild(X) if np.isfinite(preprocessing.fences).any() else np.zeros(1, int)
    if not n_wild.any():
        return ""
    worst, n = int(n_wild.argmax()), int(n_wild.sum())
    column = name(int(np.flatnonzero(preprocessing.is_kept)[worst]))
    low, high = preprocessing.fences[:, worst]
    where = f"in {column}" if n == n_wild[worst] else f"most of them in {column}"
    return (
        f"{count(n, 'cell')} in {count(int((n_wild > 0).sum()), 'column')} {'lies' if n == 1 else 'lie'} far away from "
        f"nearly all others and {'counts' if n == 1 else 'count'} like the nearest value that does not: {where}, where "
        f"values from {low:.4g} to {high:.4g} are taken as they are."
    )
