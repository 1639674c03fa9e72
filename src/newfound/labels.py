"""`Labels`: which row has which label; one rule for files and for Python.

- A label is a whole number, a text or a boolean, and all labels are of one kind. Whole floats are integers, because a
  column of integers with gaps is read as floats. Text is trimmed: " cat" is "cat".
- A row is unlabelled if its label is missing (None, NaN, NaT, NA of pandas), −1 or "-1", empty, or one of the usual
  marks of a missing cell (`MISSING`). A class with such a name needs another one.
- Classes are in the order of their numbers if all are whole numbers ("2" before "10"), otherwise in alphabetical order.
  A source that declares its classes (a published data set, a fitted model) keeps its own order, followed by others.

Readers of files do two more things, because text files have no types: they read 2.0 as 2, and refuse a column of
fractions as labels. In Python a string is used as it is.
"""

import math
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

UNLABELLED = -1
LARGEST = 2**62  # label that is a number: new classes get the numbers that follow, in 64 bits
LARGEST_EXACT = 2**53  # float: beyond it, different whole numbers are equal
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")


@dataclass(frozen=True, eq=False)
class Labels:
    """The labelled classes, and for each row the position of its class, or UNLABELLED."""

    classes: np.ndarray  # integers, strings or booleans, each once
    codes: np.ndarray  # (rows,)
    marks: tuple[tuple[str, int], ...] = ()  # texts other than "" that were read as unlabelled, and how often

    @classmethod
    def read(cls, y: Any, n_rows: int, declared: Sequence[Any] | np.ndarray = ()) -> "Labels":
        """Labels from anything with one entry for each row; y = None means that no row has a label."""
        if y is None:
            return cls.none(n_rows, declared)
        values: np.ndarray = y.codes if isinstance(y, Labels) else _one_dimensional(y)
        if len(values) != n_rows:
            raise ValueError(
                f"X and y must have one entry for each row: X has {n_rows} rows, y has {len(values)}. "
                f"Give y a label for every row, and -1, None or '' for no label."
            )
        return y if isinstance(y, Labels) else cls.of_distinct(*_distinct(values), declared)

    @classmethod
    def of_distinct(
        cls, values: Sequence[Any], positions: np.ndarray, declared: Sequence[Any] | np.ndarray = ()
    ) -> "Labels":
        """Labels from the distinct values, and for each row the position of its value."""
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
        texts = {i: v.strip() for i, v in enumerate(values) if names[i] is None and isinstance(v, str)}
        marks = tuple((text, int(np.sum(positions == i))) for i, text in texts.items() if text)
        return cls(_as_array(classes), codes[positions], marks)

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
        """The number of rows with the label of each class."""
        return np.bincount(self.codes[self.is_labelled], minlength=len(self.classes))

    @property
    def names(self) -> np.ndarray:
        """The label of each row as text; "" for none."""
        return np.array([*map(str, self.classes), ""])[self.codes]  # UNLABELLED is the last position

    @property
    def values(self) -> np.ndarray:
        """The label of each row as it was given; for none −1, "" or, among booleans, None."""
        if self.classes.dtype.kind == "U":
            return self.names
        missing = UNLABELLED if self.classes.dtype.kind == "i" else None
        return np.array([*self.classes.tolist(), missing], dtype=None if missing == UNLABELLED else object)[self.codes]

    def warn_of_marks(self) -> None:
        """Warn which texts were read as unlabelled, in case one of them is a class."""
        if self.marks:
            found = ", ".join(f"{mark!r} ({n} rows)" for mark, n in self.marks)
            warnings.warn(
                f"These labels mean unlabelled: {found}. If one of them is a class, give it another name.",
                stacklevel=5,
            )

    def observed(self) -> "Labels":
        """The same labels, without classes that no row has."""
        used = np.flatnonzero(self.counts)
        position = np.full(len(self.classes) + 1, UNLABELLED)
        position[used] = np.arange(len(used))
        return Labels(self.classes[used], position[self.codes], self.marks)

    def take(self, rows: np.ndarray) -> "Labels":
        """Labels of the given rows, by position or by flag."""
        return Labels(self.classes, self.codes[rows])

    def keep(self, rows: np.ndarray) -> "Labels":
        """The labels of the given rows only; all other rows are unlabelled."""
        codes = np.full_like(self.codes, UNLABELLED)
        codes[rows] = self.codes[rows]
        return Labels(self.classes, codes)


def sorted_names(names: Iterable[Any]) -> list[Any]:
    """In the order of their numbers if all are whole numbers, otherwise in alphabetical order."""
    names = list(names)
    is_whole = all(isinstance(name, str) and name.lstrip("-").isdecimal() for name in names)
    return sorted(names, key=int) if is_whole else sorted(names)


def means_unlabelled(value: Any) -> bool:
    """Whether this value means that a row has no label."""
    return _name(value) is None


def _name(value: Any) -> int | str | bool | None:
    """The class that a value stands for, or None if it means unlabelled."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # missing values of pandas
        return None
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"The label {value[:50]!r} contains a NUL character. Remove it.")
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
        raise ValueError("Labels must be integers or strings, got an infinite number. Give -1 for no label.")
    if not value.is_integer():
        raise ValueError(
            f"Unknown label type: continuous. Labels must be integers or strings, got {value!s}. "
            f"A classifier needs classes: cut a continuous target into ranges first."
        )
    return _within(int(value), LARGEST_EXACT)


def _within(value: int, largest: int) -> int:
    if abs(value) > largest:
        raise ValueError(
            f"Labels that are numbers must lie between -{largest} and {largest}, got {value}: larger ones are not "
            f"exact, or leave no number for a new class. Make them strings, for example with "
            f"[str(label) for label in y]."
        )
    return value


def _kind(name: Any) -> str:
    if isinstance(name, str):
        return "strings"
    return "booleans" if isinstance(name, (bool, np.bool_)) else "numbers"


def _as_array(classes: list[Any]) -> np.ndarray:
    return np.array(classes) if classes else np.array([], dtype=np.int64)


def _one_dimensional(y: Any) -> np.ndarray:
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)  # else None would become "None"
    if values.ndim == 1:
        return values
    from sklearn.utils import column_or_1d

    return column_or_1d(values, warn=True)


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The distinct values, and for each row the position of its value."""
    if values.dtype.kind != "O":
        different, positions = np.unique(values, return_inverse=True)
        return list(different), positions
    position: dict[tuple[type, Any], int] = {}
    keys = ((type(value), value) for value in values)  # 1 == True, but they are different labels
    try:
        positions = np.fromiter((position.setdefault(key, len(position)) for key in keys), int, len(values))
    except TypeError:
        raise ValueError("Unknown label type: not a single value. Labels must be integers or strings.") from None
    return [value for _, value in position], positions


# ---- Counting labels by group ----------------------------------------------------------------------------------------

MIN_LABEL_DENSITY = 0.5  # a group is known if its share of labelled rows is at least this times that of all rows


def contingency(first: np.ndarray, second: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """How often each pair of positions occurs; −1 is the last position."""
    counts = np.zeros(shape, int)
    np.add.at(counts, (first, second), 1)
    return counts


def labels_by_group(group: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """(groups, classes): the number of labels of each class in each group, from the group and the code of each row."""
    is_labelled = codes != UNLABELLED
    return contingency(group[is_labelled], codes[is_labelled], (int(group.max()) + 1, n_classes))


def has_enough_labels(group: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each group, whether labels are at least MIN_LABEL_DENSITY times as dense as in all rows; −1 is no group."""
    is_inside, is_labelled = group >= 0, codes != UNLABELLED
    n_labels = np.bincount(group[is_inside], is_labelled[is_inside])
    return n_labels >= MIN_LABEL_DENSITY * is_labelled.mean() * np.bincount(group[is_inside])


def n_pairs(n: np.ndarray) -> np.ndarray:
    """The number of pairs among n rows."""
    return n * (n - 1) / 2


# ---- Hiding labels: from fully labelled data to some classes with few labels and others with none --------------------


def mask_labels(
    y: Any, hide: Collection[Any] = (), keep: float | int = 1.0, random_state: Any = None, groups: Any = None
) -> np.ndarray:
    """Return `y` with labels hidden: all labels of the classes in `hide`, and all but a share of the others.

    A hidden label is −1 among integers, "" among strings, None among booleans.

    Parameters
    ----------
    y : array of integers, strings or booleans
        The label of each row; rows without one stay unlabelled.
    hide : collection of labels
        Classes without any label in the result.
    keep : float or int
        The share (a float from 0 to 1) or the number (an int) of labels to keep for each other class, at least one.
    random_state : int, RandomState or None
        Makes the choice repeatable.
    groups : array or None
        The group of each row (a person, a site). Labels are then kept for whole groups, drawn one after the other until
        a class has its share.

    Examples
    --------
    >>> mask_labels(["cat", "cat", "dog", "emu"], hide=["emu"]).tolist()
    ['cat', 'cat', 'dog', '']
    """
    return hide_labels(Labels.read(y, len(y)), hide, keep, random_state, groups).values


def hide_labels(
    labels: Labels, hide: Collection[Any] = (), keep: float | int = 1.0, random_state: Any = None, groups: Any = None
) -> Labels:
    """As `mask_labels`, from Labels to Labels; the list of classes does not change."""
    from sklearn.utils import check_random_state

    names = labels.classes.tolist()
    unknown = [label for label in hide if label not in names]
    if unknown:
        raise ValueError(f"Cannot hide {unknown[0]!r}: no row has that label. Labels: {names}.")
    if isinstance(keep, bool) or keep < 0:
        raise ValueError(f"keep must be a share from 0.0 to 1.0 or a number of labels, got {keep!r}.")
    if not isinstance(keep, int) and keep > 1:
        raise ValueError(f"keep as a share must be at most 1.0, got {keep!r}; for a number of labels give an int.")
    rng = check_random_state(random_state)
    kept = [np.array([], dtype=int)]
    for code, name in enumerate(names):
        if name not in hide:
            rows = np.flatnonzero(labels.codes == code)
            if groups is None:
                shuffled = rng.permutation(rows)
            else:  # the rows of one randomly chosen group after the other
                of_rows = np.asarray(groups)[rows]
                shuffled = np.concatenate([rows[of_rows == group] for group in rng.permutation(np.unique(of_rows))])
            share = max(1, round(keep * len(rows))) if keep else 0
            kept.append(shuffled[: keep if isinstance(keep, int) else share])
    return labels.keep(np.concatenate(kept))
