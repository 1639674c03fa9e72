"""Labels: which classes were named, and which row carries which name. Made once, by one rule."""

import math
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# ---- Labels: which classes were named ----
# And which row carries which name. Made once, by one rule, whatever the labels are. The rule, for files and for Python
# alike:
#
# - A label is a whole number, a text or a boolean, all of one kind. Whole floats are integers (a column of integers
# with
#   gaps comes as floats); text is trimmed, so that " cat" is "cat".
# - A row is unlabelled where its label is missing (None, NaN, NaT, pandas' NA), −1 or "-1", empty, or one of the marks
#   that tables have for a missing cell (`MISSING`). A class that is really called so needs another name.
# - Classes are in the order of their numbers where all are whole numbers ("2" before "10"), else of their letters. A
#   source that declares its classes (a published data set, a fitted model) keeps its own order, and others follow.
#
# Two things only the readers of files do, because a file of text has no types: they read 2.0 as 2, and refuse a column
# of fractions as labels. In Python a string is what its author wrote.

UNLABELLED = -1
LARGEST = 2**62  # of labels that are numbers: new classes are called by the numbers that follow, in 64 bits
LARGEST_EXACT = 2**53  # of floats, beyond which whole numbers are no longer told apart
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")


@dataclass(frozen=True, eq=False)
class Labels:
    """The named classes, and for each row the position of its class, or UNLABELLED."""

    classes: np.ndarray  # integers, strings or booleans, each once
    codes: np.ndarray  # (rows,)
    marks: tuple[tuple[str, int], ...] = ()  # texts other than "" that were read as unlabelled, and how often

    @classmethod
    def read(cls, y: Any, n_rows: int, declared: Sequence[Any] | np.ndarray = ()) -> "Labels":
        """Labels from anything with one entry for each row; y = None means that no row has a label."""
        if y is None:
            return cls.none(n_rows, declared)
        if isinstance(y, Labels):
            values: np.ndarray = y.codes
        else:
            values = _one_dimensional(y)
        if len(values) != n_rows:
            raise ValueError(
                f"X and y must have one entry for each row: X has {n_rows} rows, y has {len(values)}. "
                f"Give y a label for every row, and -1, None or '' where there is none."
            )
        return y if isinstance(y, Labels) else cls.of_distinct(*_distinct(values), declared)

    @classmethod
    def of_distinct(
        cls, values: Sequence[Any], positions: np.ndarray, declared: Sequence[Any] | np.ndarray = ()
    ) -> "Labels":
        """Labels from the different values there are, and for each row the position of its value."""
        names = [_name(value) for value in values]
        kinds = {_kind(name) for name in (*declared, *names) if name is not None}
        if len(kinds) > 1:
            raise ValueError(
                f"Labels must all be of one kind, got {' and '.join(sorted(kinds))}. "
                f"Make them all strings, for example with [str(label) for label in y]."
            )
        known = list(declared)
        classes = [*known, *sorted_names({name for name in names if name is not None} - set(known))]
        position = {name: i for i, name in enumerate(classes)}
        codes = np.array([UNLABELLED if name is None else position[name] for name in names], dtype=np.int64)
        return cls(_as_array(classes), codes[positions], _marks(values, names, positions))

    @classmethod
    def none(cls, n_rows: int, declared: Sequence[Any] | np.ndarray = ()) -> "Labels":
        """No row has a label."""
        return cls(_as_array(list(declared)), np.full(n_rows, UNLABELLED))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_labelled(self) -> np.ndarray:
        return self.codes != UNLABELLED

    @property
    def n_labelled(self) -> int:
        return int(self.is_labelled.sum())

    @property
    def n_unlabelled(self) -> int:
        return len(self) - self.n_labelled

    @property
    def counts(self) -> np.ndarray:
        """How many rows carry the label of each class."""
        return np.bincount(self.codes[self.is_labelled], minlength=len(self.classes))

    @property
    def names(self) -> np.ndarray:
        """The label of each row as text, "" where there is none."""
        return np.array([*map(str, self.classes), ""])[self.codes]  # UNLABELLED is the last position

    @property
    def values(self) -> np.ndarray:
        """The label of each row as it was given: −1, "" or, among booleans, None where there is none."""
        if self.classes.dtype.kind == "U":
            return self.names
        missing = UNLABELLED if self.classes.dtype.kind == "i" else None
        return np.array([*self.classes.tolist(), missing], dtype=None if missing == UNLABELLED else object)[self.codes]

    def warn_of_marks(self) -> None:
        """Tell which texts were read as unlabelled, in case one of them is a class."""
        if self.marks:
            found = ", ".join(f"{mark!r} ({n} rows)" for mark, n in self.marks)
            warnings.warn(
                f"These labels mean unlabelled: {found}. If one of them is a class of yours, give it another name.",
                stacklevel=5,
            )

    def observed(self) -> "Labels":
        """The same labels, and only the classes that some row carries."""
        carried = np.flatnonzero(self.counts)
        position = np.full(len(self.classes) + 1, UNLABELLED)
        position[carried] = np.arange(len(carried))
        return Labels(self.classes[carried], position[self.codes], self.marks)

    def take(self, rows: np.ndarray) -> "Labels":
        """Of the given rows, by position or by flag."""
        return Labels(self.classes, self.codes[rows])

    def keep(self, rows: np.ndarray) -> "Labels":
        """With the labels of the given rows only; all other rows are unlabelled."""
        codes = np.full_like(self.codes, UNLABELLED)
        codes[rows] = self.codes[rows]
        return Labels(self.classes, codes)


def sorted_names(names: Iterable[Any]) -> list[Any]:
    """In the order of their numbers where all are whole numbers, else of their letters."""
    names = list(names)
    is_whole = all(isinstance(name, str) and name.lstrip("-").isdecimal() for name in names)
    return sorted(names, key=int) if is_whole else sorted(names)


def means_unlabelled(value: Any) -> bool:
    """Whether a row with this label has none."""
    return _name(value) is None


def _name(value: Any) -> int | str | bool | None:
    """The class that a value names, or None where it names none."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own missing values
        return None
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"The label {value[:50]!r} holds a NUL character, which is no text. Remove it.")
        text = value.strip()
        return None if text in MISSING or text == str(UNLABELLED) else text
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return _integer(value)
    if isinstance(value, int):
        return None if value == UNLABELLED else _within(value, LARGEST)
    raise ValueError(f"Unknown label type: {type(value).__name__}. Labels must be integers or strings.")


def _integer(value: float) -> int | None:
    if value != value or value == UNLABELLED:
        return None
    if value in (math.inf, -math.inf):
        raise ValueError("Labels must be integers or strings, got an infinite number. Give -1 where there is none.")
    if not value.is_integer():
        raise ValueError(
            f"Unknown label type: continuous. Labels must be integers or strings, got {value!s}. "
            f"A classifier needs classes: cut a continuous target into ranges first."
        )
    return _within(int(value), LARGEST_EXACT)


def _within(value: int, largest: int) -> int:
    if abs(value) > largest:
        raise ValueError(
            f"Labels that are numbers must lie between -{largest} and {largest}, got {value}: larger ones would not be "
            f"told apart, or leave no number for a new class. Make them strings, for example with "
            f"[str(label) for label in y]."
        )
    return value


def _kind(name: Any) -> str:
    if isinstance(name, str):
        return "strings"
    return "booleans" if isinstance(name, (bool, np.bool_)) else "numbers"


def _as_array(classes: list[Any]) -> np.ndarray:
    return np.array(classes) if classes else np.array([], dtype=np.int64)


def _marks(values: Sequence[Any], names: Sequence[Any], positions: np.ndarray) -> tuple[tuple[str, int], ...]:
    marks = {i: str(v).strip() for i, v in enumerate(values) if names[i] is None and isinstance(v, str)}
    if not any(marks.values()):
        return ()
    counts = np.bincount(positions, minlength=len(values))
    return tuple((mark, int(counts[i])) for i, mark in marks.items() if mark)


def _one_dimensional(y: Any) -> np.ndarray:
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)  # else None would become "None"
    if values.ndim == 1:
        return values
    from sklearn.utils import column_or_1d

    return column_or_1d(values, warn=True)


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The different values, and for each row the position of its own."""
    if values.dtype.kind != "O":
        different, positions = np.unique(values, return_inverse=True)
        return list(different), positions
    position: dict[tuple[type, Any], int] = {}
    keys = ((type(value), value) for value in values)  # 1 equals True, but is not the same label
    try:
        positions = np.fromiter((position.setdefault(key, len(position)) for key in keys), int, len(values))
    except TypeError:
        raise ValueError("Unknown label type: not a single value. Labels must be integers or strings.") from None
    return [value for _, value in position], positions


# ---- From fully labelled data to the situation that newfound is for ----
# Some classes sparsely labelled, others not at all.


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
