"""Whether labels were selected at random within each class, as the PU estimate assumes.

A class is cut into small parts, by the graph of neighbours or by the user's own groups (people, sites). If which rows
of it carry a label is chance, two rows of one part are both labelled as often as any two rows of the class. If labels
come from one site, or from the easy cases, labels are gathered in some of the parts, and two rows of one part are both
labelled more often:

    ratio = Σ_parts l (l − 1) / Σ_classes L (L − 1) · Σ_parts n (n − 1) / (N (N − 1))

with l labels among the n rows of a part, and L among the N rows of its class. It is 1 by chance, 2 where one half of
every class was labelled and the parts show it, 7 for three people of 21. The number of rows is not in it: what grows
with the labels is how sure it is.

Which rows are of a class is not known. Communities at the resolution of classes stand for them; one without a label,
which may be a new class, drops out of both sums. So a hidden class raises the ratio only where it shares a community
with a known one. That is why labels are called not at random only if they are gathered in most classes; where they are
in one or two, that is said, and a new class beside these is as good an explanation.
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

ERRORS = 2  # standard errors below the ratio is where it is at least
MIN_PAIRS = 5  # of labels by chance: with fewer, the standard error says nothing
N_WORST = 3
FINENESS = 32.0  # resolution at which classes are cut into parts, relative to that of classes
DOUBT = 1.08  # the ratio from which on it is doubtful that labels were selected at random
MIN_LABELS = 30  # with fewer, nothing is said


def describe(selection: Selection, known: np.ndarray) -> str:
    """In a sentence, with the names of the classes."""
    if selection.grade == TOO_FEW:
        return f"{count(selection.n_labels, 'label')} are too few to tell whether they were picked at random."
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
    """Pairs of labelled rows within a part, of each known class."""

    observed: np.ndarray
    expected: np.ndarray  # by chance

    @property
    def ratio(self) -> float:
        return float(self.observed.sum() / max(self.expected.sum(), 1e-12))

    @property
    def of_median_class(self) -> float:
        """The ratio of the median class, of those for which it can be told."""
        is_told = self.expected >= 1
        return float(np.median(self.observed[is_told] / self.expected[is_told])) if is_told.any() else self.ratio

    def surely(self, ratio: float) -> float:
        """Two standard errors below: pairs of rare labels are nearly a Poisson number, of deviation √expected."""
        return float(ratio / (1 + ERRORS / np.sqrt(max(self.expected.sum(), 1e-12))))

    @property
    def at_least(self) -> float:
        return self.surely(self.ratio)

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
    """From the graph of some rows, their labels and groups, and the resolution at which communities are classes."""
    n_labels = int((labels != UNLABELLED).sum())
    if n_labels < MIN_LABELS:
        return Selection(TOO_FEW, 1.0, 0.0, n_labels, "neighbours", ())
    coarse = max(resolution, settings.resolution)  # a coarser one joins new classes to known ones
    territory = communities(weights, coarse, seed)
    parts = {"neighbours": communities(weights, coarse * FINENESS, seed)}
    if groups is not None:
        parts["groups"] = np.unique(groups, return_inverse=True)[1]
    pairs = {name: labelled_pairs(territory, part, labels) for name, part in parts.items()}
    name = max(pairs, key=lambda name: pairs[name].at_least)
    found = pairs[name]
    return Selection(_grade(found, settings), found.ratio, found.at_least, n_labels, name, found.worst)


def labelled_pairs(territory: np.ndarray, part: np.ndarray, labels: np.ndarray) -> Pairs:
    """How many pairs of labelled rows are of one part of one territory, and how many would be by chance.

    A territory counts for the class that most of its labels name.
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


def _grade(pairs: Pairs, settings: Initialisation) -> str:
    if pairs.expected.sum() < MIN_PAIRS:
        return TOO_FEW
    if pairs.surely(min(pairs.ratio, pairs.of_median_class)) > settings.selection_ratio:
        return NOT_RANDOM
    return DOUBTFUL if pairs.at_least > DOUBT else RANDOM
