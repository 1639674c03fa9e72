"""The user's y and the model's components: which labels there are, and what the new classes are called."""

from dataclasses import dataclass

import numpy as np

from newfound.models.objective import UNLABELLED


@dataclass(frozen=True)
class Labels:
    """The known classes, sorted, and the labels of all rows as their positions (UNLABELLED where there is none)."""

    known: np.ndarray
    codes: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """How many rows carry each known label."""
        return np.bincount(self.codes[self.codes != UNLABELLED], minlength=len(self.known))

    @property
    def has_unlabelled(self) -> bool:
        return bool((self.codes == UNLABELLED).any())


def read_labels(y: object, n_rows: int) -> Labels:
    """Labels from integers, strings or booleans; −1, None, NaN and "" mean unlabelled, and so does y = None."""
    if y is None:
        return Labels(known=np.array([], dtype=np.int64), codes=np.full(n_rows, UNLABELLED))
    values = _one_dimensional(y)
    if len(values) != n_rows:
        raise ValueError(
            f"X and y must have one entry for each row: X has {n_rows} rows, y has {len(values)}. "
            f"Give y a label for every row, and -1, None or '' where there is none."
        )
    is_missing = _missing(values)
    known, positions = np.unique(_as_one_kind(values[~is_missing]), return_inverse=True)
    codes = np.full(n_rows, UNLABELLED)
    codes[~is_missing] = positions
    return Labels(known, codes)


def class_names(known: np.ndarray, n_new: int) -> np.ndarray:
    """Known classes first, then the new ones: the next integers, or "new-1", "new-2", …"""
    if n_new == 0:
        return known
    if len(known) == 0 or np.issubdtype(known.dtype, np.integer):
        first = int(known.max()) + 1 if len(known) else 0
        return np.concatenate([known, np.arange(first, first + n_new)]).astype(np.int64)
    names = [str(name) for name in known]
    taken = set(names)
    fresh = (name for i in range(1, n_new + len(names) + 1) if (name := f"new-{i}") not in taken)
    return np.array(names + [next(fresh) for _ in range(n_new)])


def most_probable(probabilities: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """The position of each row's answer: a known class if it is more probable than all new ones together, else new.

    A new class is spread over several components, so that none of them alone could hold its own against a known class.
    """
    new = probabilities[:, is_new].sum(axis=1)
    known = probabilities[:, ~is_new].max(axis=1, initial=0.0)
    return np.where((new > known)[:, None] == is_new, probabilities, -1.0).argmax(axis=1)


def _one_dimensional(y: object) -> np.ndarray:
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)  # else None would become "None"
    if values.ndim == 1:
        return values
    from sklearn.utils import column_or_1d

    return column_or_1d(values, warn=True)


def _missing(values: np.ndarray) -> np.ndarray:
    kind = values.dtype.kind
    if kind == "O":
        return np.fromiter((_is_missing(value) for value in values), dtype=bool, count=len(values))
    if kind == "U":
        return values == ""
    if kind == "b":
        return np.zeros(len(values), dtype=bool)
    return (values == UNLABELLED) | (values != values)  # NaN differs from itself


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":  # pandas' own missing value
        return True
    if isinstance(value, str):
        return value == ""
    return bool(value != value) or (value == UNLABELLED and not isinstance(value, bool))


def _as_one_kind(values: np.ndarray) -> np.ndarray:
    """All labels as integers, or as strings, or as booleans."""
    if values.dtype.kind == "O":
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise ValueError(
                f"Labels must all be of one kind, got {' and '.join(sorted(kinds))}. "
                f"Make them all strings, for example with [str(label) for label in y]."
            )
        values = np.array(list(values))
    if values.dtype.kind in "iu" or len(values) == 0:
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return _as_integers(values)
    if values.dtype.kind in "Ub":
        return values
    raise ValueError(f"Unknown label type: {values.dtype}. Labels must be integers or strings.")


def _as_integers(values: np.ndarray) -> np.ndarray:
    """A column of integers becomes one of floats where some are missing, so whole numbers are integers here."""
    is_whole = np.isfinite(values) & (np.floor(values) == values)
    if not is_whole.all():
        raise ValueError(
            f"Unknown label type: continuous. Labels must be integers or strings, got {values[~is_whole][0]!s}. "
            f"A classifier needs classes: cut a continuous target into ranges first."
        )
    return values.astype(np.int64)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "strings"
    return "booleans" if isinstance(value, (bool, np.bool_)) else "numbers"
