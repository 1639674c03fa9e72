"""Regimes in which the number of new classes is not given: which labels are hidden, and of which rows.

A regime is a word, such as "half-hidden" or "class-2-hidden". The paper's own regimes are in `tasks`.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from newfound.labels import Labels
from newfound.masking import hide_labels

NOVEL = {"har": ("LAYING", "WALKING", "WALKING_DOWNSTAIRS")}  # of TabularNCD; elsewhere the second half
N_PEOPLE = 3


class Hidden(NamedTuple):
    """What a regime leaves of fully labelled rows."""

    labels: Labels
    rows: np.ndarray  # that are learned from
    is_novel_only: bool = False  # only test rows of hidden classes count


class Rows(NamedTuple):
    """What a regime may look at."""

    dataset: str
    labels: Labels
    groups: np.ndarray | None
    keep: float
    seed: int

    def hide(self, positions: Iterable[int]) -> Labels:
        names = [self.labels.classes.tolist()[i] for i in positions]
        return hide_labels(self.labels, hide=names, keep=self.keep, random_state=self.seed)


def one_by_seed(n_classes: int, seed: int) -> int:
    """The class that a seed hides: four seeds hide four different ones."""
    return (1 + seed * max(n_classes // 4, 1)) % n_classes


def _hiding(positions: Callable[[int, int], Iterable[int]]) -> Callable[[Rows], Hidden]:
    def regime(rows: Rows) -> Hidden:
        return Hidden(rows.hide(positions(len(rows.labels.classes), rows.seed)), np.arange(len(rows.labels)))

    return regime


def _novel_only(rows: Rows) -> Hidden:
    """TabularNCD: every row of a known class is labelled, and rows without a label are of novel classes only."""
    names = rows.labels.classes.tolist()
    novel = NOVEL.get(rows.dataset, names[len(names) // 2 :])
    return Hidden(hide_labels(rows.labels, hide=novel), np.arange(len(rows.labels)), is_novel_only=True)


def _rare(one_in: int) -> Callable[[Rows], Hidden]:
    """Half hidden; every other class, known and hidden alike, has one row in so many only."""

    def regime(rows: Rows) -> Hidden:
        n, codes = len(rows.labels.classes), rows.labels.codes
        order = np.random.default_rng(rows.seed).permutation(len(codes))
        is_rare = np.isin(codes[order], np.arange(1, n, 2))
        kept = np.sort(np.concatenate([order[~is_rare], *(_share(order, codes, k, one_in) for k in range(1, n, 2))]))
        left = rows._replace(labels=rows.labels.take(kept))
        return Hidden(left.hide(range(n // 2, n)), kept)

    return regime


def _share(order: np.ndarray, codes: np.ndarray, k: int, one_in: int) -> np.ndarray:
    of_class = order[codes[order] == k]
    return of_class[: max(len(of_class) // one_in, 1)]


def _of_three_people(rows: Rows, hidden: range) -> Hidden:
    """All labels of three people, and no others."""
    assert rows.groups is not None
    people = np.random.default_rng(rows.seed).permutation(np.unique(rows.groups))[:N_PEOPLE]
    labels = rows._replace(keep=1.0).hide(hidden)
    return Hidden(labels.keep(np.flatnonzero(np.isin(rows.groups, people))), np.arange(len(rows.labels)))


REGIMES: dict[str, Callable[[Rows], Hidden]] = {
    "half-hidden": _hiding(lambda n, seed: range(n // 2, n)),
    "odd-hidden": _hiding(lambda n, seed: range(1, n, 2)),
    "one-hidden": _hiding(lambda n, seed: [one_by_seed(n, seed)]),
    "none-hidden": _hiding(lambda n, seed: []),
    "novel-only": _novel_only,
    "rare-10": _rare(10),
    "rare-50": _rare(50),
    "three-people": lambda rows: _of_three_people(rows, range(0)),
    "three-people-half-hidden": lambda rows: _of_three_people(
        rows, range(len(rows.labels.classes) // 2, len(rows.labels.classes))
    ),
}
ONE_CLASS = re.compile(r"class-(\d+)-hidden")


def regime_named(name: str) -> Callable[[Rows], Hidden] | None:
    """What hides labels in a regime; None where it is one of the paper's."""
    one = ONE_CLASS.fullmatch(name)
    return _hiding(lambda n, seed: [int(one[1])]) if one else REGIMES.get(name)
