"""Which groups of rows are new classes: those from which labels are missing beyond chance; how many there are."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.graph import communities
from newfound.discovery.record import Evidence
from newfound.discovery.tree import links_between, nearness
from newfound.labels import UNLABELLED, contingency, labels_by_group, n_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# ---- Which groups of rows are new classes: those from which labels are missing beyond chance; and their fragments ----

NO_GROUP = -1
P_BESIDE = 0.1  # of so few labels in a group, where another is surely new
TIMES_A_PIECE = 2.0  # the largest that is seen of a known class, and hardly the largest that there can be
MIN_ISOLATED_SHARE = 0.1  # of the size of a known class: a group as large as this is a class if it is isolated
MAX_EXTERNAL_EDGES = 0.05  # share of the edges of an isolated group that may lead out of it
FRAGMENT_RESOLUTION = 4.0  # times the resolution of classes: that of the fragments a new class consists of
MIN_FRAGMENT_SHARE = 0.1  # of its class: smaller fragments join another
REFINEMENTS = 12  # doublings of the resolution, at the most, until there are as many fragments as asked for


class Nodes(NamedTuple):
    """The rows of the graph: how they are joined, their labels, and P(y | x) of the known classes."""

    weights: "csr_array"
    labels: np.ndarray  # codes, UNLABELLED where there is none
    class_probabilities: np.ndarray  # (nodes, known classes)
    points: np.ndarray  # where they lie, for groups that no edge joins

    @property
    def class_size(self) -> float:
        """The median of the known classes' expected numbers of rows."""
        return float(np.median(self.class_probabilities.sum(axis=0)))

    @property
    def label_frequencies(self) -> np.ndarray:
        """c_y: the labels of each known class, over its expected number of rows."""
        counts = np.bincount(self.labels[self.labels != UNLABELLED], minlength=self.class_probabilities.shape[1])
        return counts / np.maximum(self.class_probabilities.sum(axis=0), np.maximum(counts, 1))


class Parts(NamedTuple):
    """Groups of some nodes: how they hang together, and how large they are."""

    links: np.ndarray  # the sums of edge weights between them, and within each
    size: np.ndarray  # in sizes of a known class
    is_apart: np.ndarray  # whether hardly an edge leads out

    def is_small_class(self, settings: Initialisation) -> np.ndarray:
        """Whether it would be a class if it is one of few rows: it lies apart, and is not of a fair size."""
        is_small = (self.size < settings.min_new_share) & (self.size >= MIN_ISOLATED_SHARE)
        return is_small & self.is_apart


def new_groups(
    nodes: Nodes, resolution: float, settings: Initialisation, seed: int, *, keeps_pieces: bool = False
) -> np.ndarray:
    """The new group of each node, 0, 1, …, or NO_GROUP where it belongs to a known class.

    Rows that are probably new are partitioned again, on the graph of their own: in the whole graph, known classes with
    many rows decide where groups are cut. A group is new if it should hold labels, were it known, and does not. It is a
    class if it is of a fair size, or if it lies apart and is twice as large as what parts from known classes: styles of
    one digit lie apart, too. All others join the class they are linked with most; but one that could hold labels
    enough to prove that it is new, and does not prove it, is known. `keeps_pieces` is for who is told the number of
    classes: then the tree of groups joins them.
    """
    candidates = np.flatnonzero((nodes.class_probabilities.sum(axis=1) < 0.5) & (nodes.labels == UNLABELLED))
    found = np.full(len(nodes.labels), NO_GROUP)
    if len(candidates) == 0:
        return found
    group, parts = _parts(nodes, candidates, resolution, settings, seed)
    evidence = missing_labels(nodes, candidates, group)
    is_small = parts.is_small_class(settings)
    is_large = (parts.size >= settings.min_new_share) | is_small
    is_new = (evidence.p_value < settings.new_class_p) & is_large
    if not is_new.any():
        return found
    is_class = is_large & ~is_small
    if is_small.any() and not keeps_pieces:
        is_class |= is_small & (parts.size > TIMES_A_PIECE * _largest_piece(nodes, resolution, settings, seed))
    if keeps_pieces or not (is_new & is_class).any():  # or what there is that is new is small
        is_class = is_large
    is_new |= (evidence.p_value < P_BESIDE) & is_class  # there are new classes: another need not prove it anew
    could_prove = evidence._replace(labels_held=np.zeros_like(evidence.labels_held)).p_value < settings.new_class_p
    near = parts.links + nearness(centres_of(nodes.points[candidates], group), parts.size)
    found[candidates] = join(near, is_new & is_class, is_large & ~is_new & could_prove)[group]
    return found


def _largest_piece(nodes: Nodes, resolution: float, settings: Initialisation, seed: int) -> float:
    """The size of the largest small group that lies apart and is a minor part of a known class; 0 for none."""
    known = np.flatnonzero((nodes.class_probabilities.sum(axis=1) >= 0.5) | (nodes.labels != UNLABELLED))
    if len(known) == 0:
        return 0.0
    group, parts = _parts(nodes, known, resolution, settings, seed)
    likely = nodes.class_probabilities[known].argmax(axis=1)
    counts = contingency(group, likely, (len(parts.size), nodes.class_probabilities.shape[1]))
    of_class = nodes.class_probabilities.sum(axis=0)[counts.argmax(axis=1)]
    is_piece = parts.is_small_class(settings) & (parts.size * nodes.class_size < of_class / 2)
    return float(parts.size[is_piece].max(initial=0.0))


def _parts(
    nodes: Nodes, members: np.ndarray, resolution: float, settings: Initialisation, seed: int
) -> tuple[np.ndarray, Parts]:
    """The community of each of these nodes in their own graph."""
    own, group = partition(nodes.weights, members, resolution, seed)
    links = links_between(own, group, int(group.max()) + 1)
    leads_out = 1 - links.diagonal() / np.maximum(links.sum(axis=1), 1e-12)
    return group, Parts(links, np.bincount(group) / nodes.class_size, leads_out < MAX_EXTERNAL_EDGES)


def partition(weights: "csr_array", nodes: np.ndarray, resolution: float, seed: int) -> tuple["csr_array", np.ndarray]:
    """Some nodes' own graph, and their communities in it, as finely cut as at this resolution of the whole graph."""
    own = weights[nodes][:, nodes]
    share = float(own.sum()) / max(float(weights.sum()), 1e-12)
    return own, communities(own, resolution * share, seed)


def missing_labels(nodes: Nodes, candidates: np.ndarray, group: np.ndarray) -> Evidence:
    """For each group of candidates, the labels it would hold if it were of known classes, and those it holds.

    It would hold each class's label frequency. What it holds are labelled rows that would be candidates themselves,
    asked without their own label, each by the share of its edges that lead to the group. Labels of other rows nearby do
    not count: candidates were chosen for having few of them around, so by those any group would hold too few.
    """
    n_groups = int(group.max()) + 1
    membership = np.eye(n_groups)[group]
    is_labelled = nodes.labels != UNLABELLED
    alike = np.flatnonzero(is_labelled & (nodes.class_probabilities.sum(axis=1) < 0.5))
    links = nodes.weights[alike][:, candidates] @ membership
    held = (links / np.maximum(links.sum(axis=1, keepdims=True), 1e-12)).sum(axis=0)
    likeness = membership.T @ nodes.class_probabilities[candidates] + 1e-9
    frequency = likeness @ nodes.label_frequencies / likeness.sum(axis=1)
    n_rows = np.bincount(group, minlength=n_groups)
    return Evidence(n_rows, (n_rows + held) * frequency, held)


def centres_of(points: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The mean of the points of each group."""
    from scipy.sparse import csr_array

    sizes = np.bincount(group)
    membership = csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(len(sizes), len(group)))
    return (membership @ points) / np.maximum(sizes, 1)[:, None]


def join(links: np.ndarray, is_kept: np.ndarray, is_out: np.ndarray) -> np.ndarray:
    """For each group, its number among those that are kept, or that of the one it is linked with most; or NO_GROUP."""
    joined = links[:, is_kept].argmax(axis=1)
    joined[is_kept] = np.arange(is_kept.sum())
    joined[is_out] = NO_GROUP
    return joined


def fragments(nodes: Nodes, group: np.ndarray, resolution: float, seed: int, at_least: int = 1) -> np.ndarray:
    """The fragment of each node, NO_GROUP where it has no group: every group cut more finely, on its own graph.

    The resolution is doubled until there are as many as asked for, or as rows allow. Rows that are all alike fall apart
    into single ones at once, which no fragment of a fair size is made of: then any size will do.
    """
    n_rows, n_groups = int((group != NO_GROUP).sum()), int(group.max()) + 1
    fewest = MIN_FRAGMENT_SHARE * n_rows / max(at_least, n_groups, 1)
    for size in (fewest, 1.0):
        for i in range(REFINEMENTS):
            found = _cut(nodes, group, resolution * FRAGMENT_RESOLUTION * 2**i, size, seed)
            if found.max() + 1 >= min(at_least, n_rows):
                return found
    return found


def _cut(nodes: Nodes, group: np.ndarray, resolution: float, fewest: float, seed: int) -> np.ndarray:
    found = np.full_like(group, NO_GROUP)
    for of in range(int(group.max()) + 1):
        members = np.flatnonzero(group == of)
        found[members] = found.max() + 1 + _fragments_of(nodes.weights, members, resolution, fewest, seed)
    return found


def _fragments_of(weights: "csr_array", members: np.ndarray, resolution: float, fewest: float, seed: int) -> np.ndarray:
    """Fragments of one group; one with fewer rows joins the one it is linked with most."""
    own, fragment = partition(weights, members, resolution, seed)
    sizes = np.bincount(fragment)
    is_large = sizes >= fewest
    is_large[sizes.argmax()] = True
    joined = join(links_between(own, fragment, len(sizes)), is_large, np.zeros_like(is_large))
    return joined[fragment]


# ---- At which resolution communities are classes: the one that agrees with the labels there are ----

FEW_LABELS = 500  # with fewer, agreement is more a matter of chance, and a step must gain more, as its error does
RESOLUTION_ROWS = 12_000  # nodes of the graph that `settings.resolution` is for
PENALTY = 0.05  # agreement with the labels that a step of an octave must gain
TOLERANCE = 0.1  # resolutions within this of the best agreement vote on the number
STEP = 0.5  # octaves between two resolutions
MOST_OCTAVES = 3.0  # from the usual resolution, either way


class Say(NamedTuple):
    """What a resolution has to say about the number of new classes."""

    weight: float  # the more, the better its communities agree with the labels
    pieces: float  # communities that a known class consists of, in the median over classes


def usual_resolution(n_nodes: int, settings: Initialisation) -> float:
    """The resolution at which communities are usually classes: lower for larger graphs.

    Every row has as many neighbours as ever, so the more rows there are, the nearer these are, and the finer the same
    resolution cuts.
    """
    return settings.resolution * (RESOLUTION_ROWS / n_nodes) ** (1 / 3)


def choose_resolutions(
    weights: "csr_array", labels: np.ndarray, settings: Initialisation, seed: int
) -> dict[float, Say]:
    """The resolutions at which communities agree with the labels best or nearly so, best first, and each one's say.

    Labels cannot tell when a resolution is too low for the classes that have none. So where several agree alike, the
    one nearest to the usual resolution is taken. Resolutions so far from it that whole agreement would not make up for
    the distance are not tried.
    """
    usual = usual_resolution(weights.shape[0], settings)
    doubt = max(FEW_LABELS / max(int((labels != UNLABELLED).sum()), 1), 1.0) ** 0.5
    scores: dict[float, float] = {}
    pieces: dict[float, float] = {}
    for octaves in sorted(np.arange(-MOST_OCTAVES, MOST_OCTAVES + STEP, STEP).tolist(), key=abs):
        penalty = doubt * PENALTY * abs(octaves)
        if 1 - penalty < max(scores.values(), default=0.0) - TOLERANCE:
            break
        resolution = usual * 2.0**octaves
        community = communities(weights, resolution, seed)
        scores[resolution] = agreement(labels, community) - penalty
        pieces[resolution] = pieces_of_a_class(labels, community)
    least = max(scores.values()) - TOLERANCE
    order = sorted(scores, key=lambda r: -scores[r])
    return {r: Say(scores[r] - least, pieces[r]) for r in order if scores[r] > least}


def pieces_of_a_class(labels: np.ndarray, community: np.ndarray) -> float:
    """How many communities a known class consists of: the median over classes of 1 / P(two of its rows are in one).

    Two of its labelled rows, in communities where no class has more labels: a row among those of another class is a
    confusion, and no piece. A new class will be in as many pieces as known ones usually are, if they are not whole.
    """
    counts = labels_by_group(community, labels, int(labels.max()) + 1).T
    own = np.where(counts == counts.max(axis=0), counts, 0)
    together, pairs = n_pairs(own).sum(axis=1), n_pairs(own.sum(axis=1))
    is_told = together > 0
    return max(float(np.median(pairs[is_told] / together[is_told])), 1.0) if is_told.any() else 1.0


def agreement(labels: np.ndarray, community: np.ndarray) -> float:
    """How well communities agree with labels, by the rows that have one; 1 where each class is a community.

    The mean of three: the adjusted Rand index, the F1 score of each known class with its best community, and the F1
    score of the pairs of rows of each known class. In the last two a rare class counts as much as a common one.
    """
    from sklearn.metrics import adjusted_rand_score

    is_labelled = labels != UNLABELLED
    counts = labels_by_group(community, labels, int(labels.max()) + 1).T
    of_class, of_community = counts.sum(axis=1), counts.sum(axis=0)
    best = (2 * counts / np.maximum(of_class[:, None] + of_community, 1)).max(axis=1)
    together = n_pairs(counts).sum(axis=1)
    predicted, true = (counts * (of_community - 1)).sum(axis=1) / 2, n_pairs(of_class)
    pairs = 2 * together / np.maximum(predicted + true, 1e-9)
    rand = adjusted_rand_score(labels[is_labelled], community[is_labelled]) if len(counts) > 1 else pairs.mean()
    return float(np.mean([rand, best.mean(), pairs.mean()]))


# ---- Groups where no row has a label ----
# Communities at a fixed resolution, and how many there are in samples of the rows.

STABILITY_SAMPLES = 5  # of the rows, for the range of the number
STABILITY_SHARE = 0.8  # of the rows in each of them
MIN_CLASSES = 2  # one group is no partition


def groups_without_labels(weights: "csr_array", resolution: float, settings: Initialisation, seed: int) -> np.ndarray:
    """The group of each node: every large community is one; a small one joins the group it is linked with, if any."""
    while True:
        found = communities(weights, resolution, seed)
        is_large = large_groups(np.bincount(found), settings.min_new_share)
        if is_large.sum() >= min(MIN_CLASSES, len(found)) or resolution > len(found):
            links = links_between(weights, found, len(is_large))
            is_lone = ~is_large & (links[:, is_large].sum(axis=1) == 0)
            return join(links, is_large, is_lone)[found]
        resolution *= 2


def large_groups(sizes: np.ndarray, share: float) -> np.ndarray:
    """Which groups are no smaller than a share of the mean size of those that are not."""
    is_large = np.ones(len(sizes), bool)
    while (sizes[is_large] < share * sizes[is_large].mean()).any():
        is_large &= sizes >= share * sizes[is_large].mean()
    return is_large


def numbers_in_samples(weights: "csr_array", resolution: float, settings: Initialisation, seed: int) -> list[int]:
    """How many groups there are in random samples of the nodes: what is found in all of them does not hang on a few."""
    rng = np.random.default_rng(seed)
    n_nodes = weights.shape[0]
    n_kept = max(int(STABILITY_SHARE * n_nodes), 1)
    samples = (np.sort(rng.permutation(n_nodes)[:n_kept]) for _ in range(STABILITY_SAMPLES))
    found = [partition(weights, sample, resolution, seed)[1] for sample in samples]
    return [int(large_groups(np.bincount(group), settings.min_new_share).sum()) for group in found]
