"""Whether labels were selected at random within each class, as the PU estimate assumes.

A class is cut into small parts, by the graph of neighbours or by the user's own groups (people, sites). If labels are
random, two rows of one part are both labelled as often as any two rows of the class. If labels come from one site, or
from the easy cases, they are gathered in some of the parts, and two rows of one part are both labelled more often:

    ratio = Σ_parts l (l − 1) / Σ_classes L (L − 1) · Σ_parts n (n − 1) / (N (N − 1))

with l labels among the n rows of a part, and L among the N rows of its class. It is 1 by chance, 2 if one half of every
class was labelled and the parts show it, 7 for three people of 21. It does not depend on the number of labels; only its
standard error does.

The class of unlabelled rows is not known, so communities at the resolution of classes stand for classes. A community
without labels, which may be a new class, drops out of both sums. A hidden class raises the ratio only if it shares a
community with a known one. Therefore labels are called not at random only if they are gathered in most classes; if they
are gathered in one or two, a new class beside these explains it as well.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound._internal.words import count, quoted_list
from newfound.config import Initialisation
from newfound.discovery.graph import communities
from newfound.discovery.record import DOUBTFUL, NOT_RANDOM, RANDOM, TOO_FEW, Selection
from newfound.labels import UNLABELLED, labels_by_group, n_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

N_STANDARD_ERRORS = 2  # below the ratio, for its lower limit
MIN_PAIRS = 5  # of labels by chance, for the standard error
N_WORST = 3  # classes that are named
PART_RESOLUTION = 32.0  # of the parts of classes, relative to the resolution of classes
DOUBTFUL_RATIO = 1.08  # above this, it is doubtful that labels were selected at random
MIN_LABELS = 30  # with fewer, the grade is TOO_FEW


def describe(selection: Selection, known: np.ndarray) -> str:
    """In a sentence, with the names of the classes."""
    if selection.grade == TOO_FEW:
        return f"{count(selection.n_labels, 'label')} are too few to test whether they were picked at random."
    if selection.grade == RANDOM:
        return "The labels look as if they were picked at random within each class."
    doubt = "may not be" if selection.grade == DOUBTFUL else "do not look"
    part = "similar rows" if selection.parts == "neighbours" else "rows of one group"
    worst = quoted_list(known[list(selection.worst)])
    return (
        f"The labels {doubt} picked at random within each class: two {part} of a class are both labelled "
        f"{selection.ratio:.1f} times as often as by chance, most of all in {worst}."
    )


class Pairs(NamedTuple):
    """Pairs of labelled rows within a part, for each known class."""

    observed: np.ndarray
    expected: np.ndarray  # by chance

    @property
    def ratio(self) -> float:
        return float(self.observed.sum() / max(self.expected.sum(), 1e-12))

    @property
    def of_median_class(self) -> float:
        """The median ratio of the classes with at least one pair by chance."""
        has_pairs = self.expected >= 1
        return float(np.median(self.observed[has_pairs] / self.expected[has_pairs])) if has_pairs.any() else self.ratio

    def lower_limit(self, ratio: float) -> float:
        """Two standard errors below: pairs of rare labels are nearly Poisson, with deviation √expected."""
        return float(ratio / (1 + N_STANDARD_ERRORS / np.sqrt(max(self.expected.sum(), 1e-12))))

    @property
    def at_least(self) -> float:
        return self.lower_limit(self.ratio)

    @property
    def worst(self) -> tuple[int, ...]:
        excess = self.observed - self.expected
        order = np.argsort(-excess, kind="stable")[:N_WORST]
        return tuple(int(k) for k in order if excess[k] > 0)


def label_selection(
    weights: "csr_array",
    labels: np.ndarray,
    groups: np.ndarray | None,
    resolution: float,
    settings: Initialisation,
    seed: int,
) -> Selection:
    """From the graph, the labels and groups of its rows, and the resolution at which communities are classes."""
    n_labels = int((labels != UNLABELLED).sum())
    if n_labels < MIN_LABELS:
        return Selection(TOO_FEW, 1.0, 0.0, n_labels, "neighbours", ())
    coarse = max(resolution, settings.resolution)  # at a lower one, new classes join known ones
    territory = communities(weights, coarse, seed)
    parts = {"neighbours": communities(weights, coarse * PART_RESOLUTION, seed)}
    if groups is not None:
        parts["groups"] = np.unique(groups, return_inverse=True)[1]
    pairs = {name: labelled_pairs(territory, part, labels) for name, part in parts.items()}
    name = max(pairs, key=lambda name: pairs[name].at_least)
    found = pairs[name]
    if found.expected.sum() < MIN_PAIRS:
        grade = TOO_FEW
    elif found.lower_limit(min(found.ratio, found.of_median_class)) > settings.selection_ratio:
        grade = NOT_RANDOM
    else:
        grade = DOUBTFUL if found.at_least > DOUBTFUL_RATIO else RANDOM
    return Selection(grade, found.ratio, found.at_least, n_labels, name, found.worst)


def labelled_pairs(territory: np.ndarray, part: np.ndarray, labels: np.ndarray) -> Pairs:
    """The number of pairs of labelled rows in one part of one territory, and that by chance.

    A territory belongs to the class of most of its labels.
    """
    is_labelled = labels != UNLABELLED
    fine = np.unique(territory * (int(part.max()) + 1) + part, return_inverse=True)[1]
    territory_of = np.zeros(fine.max() + 1, int)
    territory_of[fine] = territory
    rows, n_labels = np.bincount(territory), np.bincount(territory[is_labelled], minlength=territory.max() + 1)
    within = np.bincount(territory_of, n_pairs(np.bincount(fine)))
    observed = np.bincount(territory_of, n_pairs(np.bincount(fine[is_labelled], minlength=len(territory_of))))
    expected = n_pairs(n_labels) * within / np.maximum(n_pairs(rows), 1)
    n_classes = int(labels.max()) + 1
    of_class = labels_by_group(territory, labels, n_classes).argmax(axis=1)
    return Pairs(*(np.bincount(of_class, number, n_classes) for number in (observed, expected)))
