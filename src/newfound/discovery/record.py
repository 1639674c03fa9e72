"""What discovery finds: plain records that a fit keeps and a model file holds."""

from typing import NamedTuple

import numpy as np
from msgspec.structs import astuple

from newfound._internal.records import Count, Record
from newfound.discovery.tree import ClassTree

RANDOM, DOUBTFUL, NOT_RANDOM, TOO_FEW = "random", "doubtful", "not at random", "too few labels"


class Evidence(Record, frozen=True):
    """Why groups of rows are probably new, one entry for each group; for several groups together, the sum."""

    n_rows: np.ndarray
    labels_expected: np.ndarray  # if the group were of known classes
    labels_held: np.ndarray

    @property
    def p_value(self) -> np.ndarray:
        """The probability of at most this many labels if the group were of known classes."""
        from scipy.stats import binom

        n = np.round(self.n_rows + self.labels_held)
        return binom.cdf(np.floor(self.labels_held), n, np.clip(self.labels_expected / np.maximum(n, 1), 0, 1))

    def take(self, groups: np.ndarray) -> "Evidence":
        """The evidence of the given groups, by position or by flag."""
        return Evidence(*(entry[groups] for entry in astuple(self)))

    def together(self, group: np.ndarray, n_groups: int = 0) -> "Evidence":
        """The evidence of groups of these groups, at least `n_groups` of them."""
        return Evidence(*(np.bincount(group, entry, n_groups) for entry in astuple(self)))


class Selection(Record, frozen=True):
    """Whether labels look selected at random within each class."""

    grade: str  # RANDOM, DOUBTFUL, NOT_RANDOM or TOO_FEW
    ratio: float  # how many times as often as by chance two rows of a part of a class are both labelled
    at_least: float  # the same, two standard errors below
    n_labels: Count  # labels that this is computed from
    parts: str  # the parts of classes: "neighbours" or "groups"
    worst: tuple[Count, ...]  # codes of the known classes with the largest excess of pairs, the largest first

    @property
    def is_biased(self) -> bool:
        return self.grade == NOT_RANDOM


class Discovery(NamedTuple):
    """Classes of all rows. A new class consists of fragments, and each fragment becomes a component of the model."""

    n_new: int
    n_new_range: tuple[int, int]
    tree: ClassTree  # of the fragments of new rows
    labels: np.ndarray  # for each row: the code of a known class, or n_known + its fragment
    targets: np.ndarray  # (rows, known classes and fragments): probabilities
    p_new: np.ndarray  # P(new) of each row, out of fold if it has a label; also where no new class was found
    is_sure: np.ndarray  # for each row: whether its class is more probable than all others together
    evidence: Evidence | None  # of each fragment; None without labels
    selection: Selection | None  # None without labels
    method: str = "graph"  # or "mixture", for small tables

    @property
    def group(self) -> np.ndarray:
        """The new class of each fragment, 0, 1, …, the largest first."""
        return self.tree.cut(self.n_new)

    @property
    def classes(self) -> np.ndarray:
        """For each row: the code of a known class, or n_known + its new class."""
        n_known = self.targets.shape[1] - self.tree.n_fragments
        return np.append(np.arange(n_known), n_known + self.group)[self.labels]
