"""Which groups of rows are new classes: those with fewer labels than chance explains; and how many there are."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.graph import communities
from newfound.discovery.record import Evidence
from newfound.discovery.tree import ClassTree, grow_tree, links_between, nearness
from newfound.labels import UNLABELLED, contingency, has_enough_labels, labels_by_group, n_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# ---- Which groups of rows are new classes ----

NO_GROUP = -1
P_SECOND_GROUP = 0.1  # limit of p for further groups, once one group is new
MIN_PIECE_RATIO = 2.0  # a small new group must be this much larger than any isolated piece of a known class
MIN_ISOLATED_SHARE = 0.1  # of the size of a known class: an isolated group may be a class from this size on
MAX_EXTERNAL_EDGES = 0.05  # share of external edges of an isolated group
FRAGMENT_RESOLUTION = 4.0  # resolution of fragments, relative to that of classes
MIN_FRAGMENT_SHARE = 0.1  # of its class: smaller fragments join another
MAX_REFINEMENTS = 12  # doublings of the resolution until there are enough fragments


class Nodes(NamedTuple):
    """The rows of the graph: their edges, their labels, and P(y | x) of the known classes."""

    weights: "csr_array"
    labels: np.ndarray  # codes, UNLABELLED for none
    class_probabilities: np.ndarray  # (nodes, known classes)
    points: np.ndarray  # positions, for groups that no edge joins

    @property
    def class_size(self) -> float:
        """The median over known classes of the expected number of rows."""
        return float(np.median(self.class_probabilities.sum(axis=0)))

    @property
    def label_frequencies(self) -> np.ndarray:
        """c_y: the labels of each known class divided by its expected number of rows."""
        counts = np.bincount(self.labels[self.labels != UNLABELLED], minlength=self.class_probabilities.shape[1])
        return counts / np.maximum(self.class_probabilities.sum(axis=0), np.maximum(counts, 1))


class Groups(NamedTuple):
    """The groups that become classes, and how they were found."""

    group: np.ndarray  # of each node, 0, 1, …, or NO_GROUP
    resolution: float
    n_range: tuple[int, int]  # of the number of classes


class Fragments(NamedTuple):
    """The fragments that classes consist of."""

    fragment: np.ndarray  # of each node, 0, 1, …, or NO_GROUP
    group: np.ndarray  # the class of each fragment
    n_range: tuple[int, int]  # of the number of classes


class Parts(NamedTuple):
    """Groups of some nodes: their links and sizes."""

    links: np.ndarray  # sums of edge weights between groups, and within each
    size: np.ndarray  # relative to a known class
    is_isolated: np.ndarray  # whether at most MAX_EXTERNAL_EDGES of the edges are external

    def is_small_class(self, settings: Initialisation) -> np.ndarray:
        """Whether a group is isolated but smaller than a class usually is."""
        is_small = (self.size < settings.min_new_share) & (self.size >= MIN_ISOLATED_SHARE)
        return is_small & self.is_isolated


def new_groups(
    nodes: Nodes, resolution: float, settings: Initialisation, seed: int, *, keeps_pieces: bool = False
) -> np.ndarray:
    """The new group of each node, 0, 1, …, or NO_GROUP for nodes of known classes.

    Rows that are probably new are partitioned again on their own graph; in the whole graph, large known classes decide
    where groups are cut. A group is new if it holds significantly fewer labels than a known class of its size would. It
    is a class of its own if it has at least `min_new_share` of the size of a known class, or if it is isolated and
    MIN_PIECE_RATIO times as large as the isolated pieces of known classes. All other groups join the class they are
    linked with most; but a group is known if it is large enough to prove that it is new and does not. With a given
    number of classes (`keeps_pieces`), the tree of groups joins small ones later.
    """
    candidates = np.flatnonzero((nodes.class_probabilities.sum(axis=1) < 0.5) & (nodes.labels == UNLABELLED))
    found = np.full(len(nodes.labels), NO_GROUP)
    if len(candidates) == 0:
        return found
    group, parts = _parts(nodes, candidates, resolution, seed)
    evidence = missing_labels(nodes, candidates, group)
    is_small = parts.is_small_class(settings)
    is_large = (parts.size >= settings.min_new_share) | is_small
    is_new = (evidence.p_value < settings.new_class_p) & is_large
    if not is_new.any():
        return found
    is_class = is_large & ~is_small
    if is_small.any() and not keeps_pieces:
        is_class |= is_small & (parts.size > MIN_PIECE_RATIO * _largest_piece(nodes, resolution, settings, seed))
    if keeps_pieces or not (is_new & is_class).any():  # or all new groups are small
        is_class = is_large
    is_new |= (evidence.p_value < P_SECOND_GROUP) & is_class  # one group is new: others need less evidence
    could_prove = evidence.replace(labels_held=np.zeros_like(evidence.labels_held)).p_value < settings.new_class_p
    near = parts.links + nearness(centres_of(nodes.points[candidates], group), parts.size)
    found[candidates] = join(near, is_new & is_class, is_large & ~is_new & could_prove)[group]
    return found


def _largest_piece(nodes: Nodes, resolution: float, settings: Initialisation, seed: int) -> float:
    """The size of the largest small isolated group that is less than half of a known class; 0 for none."""
    known = np.flatnonzero((nodes.class_probabilities.sum(axis=1) >= 0.5) | (nodes.labels != UNLABELLED))
    if len(known) == 0:
        return 0.0
    group, parts = _parts(nodes, known, resolution, seed)
    likely = nodes.class_probabilities[known].argmax(axis=1)
    counts = contingency(group, likely, (len(parts.size), nodes.class_probabilities.shape[1]))
    of_class = nodes.class_probabilities.sum(axis=0)[counts.argmax(axis=1)]
    is_piece = parts.is_small_class(settings) & (parts.size * nodes.class_size < of_class / 2)
    return float(parts.size[is_piece].max(initial=0.0))


def _parts(nodes: Nodes, members: np.ndarray, resolution: float, seed: int) -> tuple[np.ndarray, Parts]:
    """The community of each of these nodes in their own graph, and the links and sizes of communities."""
    own, group = partition(nodes.weights, members, resolution, seed)
    links = links_between(own, group, int(group.max()) + 1)
    external_edges = 1 - links.diagonal() / np.maximum(links.sum(axis=1), 1e-12)
    return group, Parts(links, np.bincount(group) / nodes.class_size, external_edges < MAX_EXTERNAL_EDGES)


def partition(weights: "csr_array", nodes: np.ndarray, resolution: float, seed: int) -> tuple["csr_array", np.ndarray]:
    """The graph of some nodes, and their communities in it, as fine as at this resolution of the whole graph."""
    own = weights[nodes][:, nodes]
    share = float(own.sum()) / max(float(weights.sum()), 1e-12)
    return own, communities(own, resolution * share, seed)


def missing_labels(nodes: Nodes, candidates: np.ndarray, group: np.ndarray) -> Evidence:
    """For each group of candidates, the labels expected if it were of known classes, and the labels it holds.

    Expected are the label frequencies of the classes. It holds labelled rows that would be candidates without their own
    label, each by the share of its edges that lead to the group. Other labels nearby do not count: candidates were
    chosen because they have few of these around.
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
    """For each group, its number among the kept ones, or that of the kept one with most links; NO_GROUP if out."""
    joined = links[:, is_kept].argmax(axis=1)
    joined[is_kept] = np.arange(is_kept.sum())
    joined[is_out] = NO_GROUP
    return joined


def fragments(nodes: Nodes, group: np.ndarray, resolution: float, seed: int, at_least: int = 1) -> np.ndarray:
    """The fragment of each node (NO_GROUP without a group): every group is cut more finely, on its own graph.

    The resolution is doubled until there are `at_least` fragments, or one per row. Equal rows fall apart into single
    ones, which are below the minimal size; then any size is allowed.
    """
    n_rows, n_groups = int((group != NO_GROUP).sum()), int(group.max()) + 1
    fewest = MIN_FRAGMENT_SHARE * n_rows / max(at_least, n_groups, 1)
    for size in (fewest, 1.0):
        for i in range(MAX_REFINEMENTS):
            found = _cut(nodes, group, resolution * FRAGMENT_RESOLUTION * 2**i, size, seed)
            if found.max() + 1 >= min(at_least, n_rows):
                return found
    return found


def _cut(nodes: Nodes, group: np.ndarray, resolution: float, fewest: float, seed: int) -> np.ndarray:
    """Fragments of every group; one with fewer than `fewest` rows joins the one it is linked with most."""
    found = np.full_like(group, NO_GROUP)
    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group == number)
        own, fragment = partition(nodes.weights, members, resolution, seed)
        sizes = np.bincount(fragment)
        is_large = sizes >= fewest
        is_large[sizes.argmax()] = True
        joined = join(links_between(own, fragment, len(sizes)), is_large, np.zeros_like(is_large))
        found[members] = found.max() + 1 + joined[fragment]
    return found


# ---- The number of classes: the vote of the resolutions that agree with the labels ----

RESOLUTION_LABELS = 500  # with fewer labels, a step must gain more agreement, in proportion to its standard error
RESOLUTION_ROWS = 12_000  # nodes of the graph that `settings.resolution` is for
PENALTY = 0.05  # agreement with the labels that a step of an octave must gain
TOLERANCE = 0.1  # resolutions within this of the best agreement vote on the number
STEP = 0.5  # octaves between two resolutions
MAX_OCTAVES = 3.0  # from the usual resolution, in both directions
RANGE_SHARE = 0.1  # of the votes: a number with at least this share is in the range


class ResolutionVote(NamedTuple):
    """The vote of a resolution on the number of new classes."""

    weight: float  # grows with the agreement of its communities with the labels
    pieces: float  # communities per known class, in the median over classes


def usual_resolution(n_nodes: int, settings: Initialisation) -> float:
    """The resolution at which communities are usually classes: lower for larger graphs.

    The number of neighbours is fixed, so in a larger graph they are nearer and the same resolution cuts more finely.
    """
    return settings.resolution * (RESOLUTION_ROWS / n_nodes) ** (1 / 3)


def choose_resolutions(
    weights: "csr_array", labels: np.ndarray, settings: Initialisation, seed: int
) -> dict[float, ResolutionVote]:
    """The votes of all resolutions with an agreement with the labels within TOLERANCE of the best, best first.

    Labels do not show whether a resolution is too low for the classes without labels, so distance from the usual
    resolution costs a penalty. Resolutions that could not win even with full agreement are not tried.
    """
    usual = usual_resolution(weights.shape[0], settings)
    doubt = max(RESOLUTION_LABELS / max(int((labels != UNLABELLED).sum()), 1), 1.0) ** 0.5
    scores: dict[float, float] = {}
    pieces: dict[float, float] = {}
    for octaves in sorted(np.arange(-MAX_OCTAVES, MAX_OCTAVES + STEP, STEP).tolist(), key=abs):
        penalty = doubt * PENALTY * abs(octaves)
        if 1 - penalty < max(scores.values(), default=0.0) - TOLERANCE:
            break
        resolution = usual * 2.0**octaves
        community = communities(weights, resolution, seed)
        scores[resolution] = agreement(labels, community) - penalty
        pieces[resolution] = pieces_of_a_class(labels, community)
    least = max(scores.values()) - TOLERANCE
    order = sorted(scores, key=lambda r: -scores[r])
    return {r: ResolutionVote(scores[r] - least, pieces[r]) for r in order if scores[r] > least}


def pieces_of_a_class(labels: np.ndarray, community: np.ndarray) -> float:
    """Communities per known class: the median over classes of 1 / P(two of its rows are in one community).

    Only communities in which the class has most labels count: elsewhere its rows are errors, not pieces. New classes
    are assumed to be in as many pieces as known ones.
    """
    counts = labels_by_group(community, labels, int(labels.max()) + 1).T
    own = np.where(counts == counts.max(axis=0), counts, 0)
    together, pairs = n_pairs(own).sum(axis=1), n_pairs(own.sum(axis=1))
    has_pairs = together > 0
    return max(float(np.median(pairs[has_pairs] / together[has_pairs])), 1.0) if has_pairs.any() else 1.0


def agreement(labels: np.ndarray, community: np.ndarray) -> float:
    """The agreement of communities with labels, 1 if each class is a community.

    The mean of the adjusted Rand index, the F1 score of each known class with its best community, and the F1 score of
    pairs of rows of each known class. In the last two, a rare class counts as much as a common one.
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


def voted_groups(
    nodes: Nodes, resolutions: dict[float, ResolutionVote], settings: Initialisation, seed: int, *, is_given: bool
) -> Groups:
    """The groups of the number with most votes, at the best resolution that finds it; the range of the number.

    If known classes are in several pieces at a resolution, the new ones are, too: the number of groups is divided by
    the number of pieces, and groups are joined, the closest first. There are at least as many classes as known classes
    of median size would fit into the new rows.
    """
    found = {r: new_groups(nodes, r, settings, seed, keeps_pieces=is_given) for r in resolutions}
    numbers = {}
    for r, vote in resolutions.items():
        n_groups, n_rows = int(found[r].max()) + 1, int((found[r] != NO_GROUP).sum())
        fewest = min(max(int(n_rows / nodes.class_size), 1), n_groups)
        numbers[r] = max(round(n_groups / vote.pieces), fewest)
    weight = np.bincount(list(numbers.values()), [vote.weight for vote in resolutions.values()])
    best = next(r for r in resolutions if numbers[r] == weight.argmax())
    likely = np.flatnonzero(weight >= RANGE_SHARE * weight.sum())
    group, n_groups = found[best], int(found[best].max()) + 1
    if numbers[best] < n_groups:
        group = np.append(tree_of(nodes, group, np.arange(n_groups)).cut(numbers[best]), NO_GROUP)[group]
    return Groups(group, best, (int(likely.min()), int(likely.max())))


# ---- From groups to fragments, and to a given number of classes ----


def cut_into_fragments(nodes: Nodes, found: Groups, n_new: int | None, seed: int) -> Fragments:
    """The fragments of the groups, joined or refined to a given number of classes."""
    if n_new == 0:
        return Fragments(found.group, np.zeros(0, int), (0, 0))
    if n_new is not None:
        return _cut_to_number(nodes, found.group, n_new, found.resolution, seed)
    fragment = fragments(nodes, found.group, found.resolution, seed)
    return Fragments(fragment, _group_of_fragments(fragment, found.group), found.n_range)


def _cut_to_number(nodes: Nodes, group: np.ndarray, n_new: int, resolution: float, seed: int) -> Fragments:
    """Exactly `n_new` classes: the tree of fragments is cut there; if there are too few, they are refined first."""
    if (group != NO_GROUP).sum() < n_new or nodes.class_probabilities.shape[1] == 0:
        group = _least_known_rows(nodes, n_new)
    fragment = fragments(nodes, group, resolution, seed)
    if fragment.max() + 1 >= n_new:
        tree = tree_of(nodes, fragment, _group_of_fragments(fragment, group))
        return Fragments(fragment, tree.cut(n_new), (n_new, n_new))
    fragment = fragments(nodes, group, resolution, seed, at_least=n_new)
    tree = tree_of(nodes, fragment, _group_of_fragments(fragment, group))
    n_new = min(n_new, tree.n_fragments)
    fragment = np.append(tree.cut(n_new), NO_GROUP)[fragment]  # now each class is one fragment
    return Fragments(fragment, np.arange(n_new), (n_new, n_new))


def _least_known_rows(nodes: Nodes, n_rows: int) -> np.ndarray:
    """One group of the unlabelled rows with P(new) > ½, or of all unlabelled rows if these are fewer than `n_rows`."""
    is_unlabelled = nodes.labels == UNLABELLED
    is_likely = is_unlabelled & (nodes.class_probabilities.sum(axis=1) < 0.5)
    return np.where(is_likely if is_likely.sum() >= n_rows else is_unlabelled, 0, NO_GROUP)


def _group_of_fragments(fragment: np.ndarray, group: np.ndarray) -> np.ndarray:
    found = np.zeros(int(fragment.max()) + 1, int)
    found[fragment[fragment != NO_GROUP]] = group[fragment != NO_GROUP]
    return found


def tree_of(nodes: Nodes, fragment: np.ndarray, group: np.ndarray) -> ClassTree:
    """The class tree of the fragments of nodes; fragments of one group join first."""
    inside = np.flatnonzero(fragment != NO_GROUP)
    own = nodes.weights[inside][:, inside]
    sizes = np.bincount(fragment[inside], minlength=len(group))
    centres = centres_of(nodes.points[inside], fragment[inside])
    return grow_tree(links_between(own, fragment[inside], len(group)), sizes, group, centres)


# ---- Without labels, or without the use of missing labels: communities at a fixed resolution ----

STABILITY_SAMPLES = 5  # samples of the rows, for the range of the number
STABILITY_SHARE = 0.8  # of the rows in each sample
MIN_CLASSES = 2  # of a partition


def groups_of_all_rows(weights: "csr_array", settings: Initialisation, seed: int, n_new: int | None) -> Groups:
    """The groups if no row has a label; the range is that of samples of the rows."""
    resolution = usual_resolution(weights.shape[0], settings)
    group = groups_without_labels(weights, resolution, settings, seed)
    numbers = numbers_in_samples(weights, resolution, settings, seed) if n_new is None else []
    numbers.append(int(group.max()) + 1)
    return Groups(group, resolution, (min(numbers), max(numbers)))


def communities_without_known(weights: "csr_array", labels: np.ndarray, settings: Initialisation, seed: int) -> Groups:
    """The communities in which labels are rare.

    The resolution does not depend on the number of rows, so that coherent classes are not cut. The range of the number
    is from half and twice the resolution.
    """
    found = []
    for resolution in (settings.resolution, settings.resolution / 2, settings.resolution * 2):
        community = groups_without_labels(weights, resolution, settings, seed)
        is_known = has_enough_labels(community, labels)
        found.append(np.append(np.where(is_known, NO_GROUP, np.cumsum(~is_known) - 1), NO_GROUP)[community])
    numbers = [int(group.max()) + 1 for group in found]
    return Groups(found[0], settings.resolution, (min(numbers), max(numbers)))


def groups_without_labels(weights: "csr_array", resolution: float, settings: Initialisation, seed: int) -> np.ndarray:
    """The group of each node: large communities; small ones join the group they are linked with, if any."""
    while True:
        found = communities(weights, resolution, seed)
        is_large = large_groups(np.bincount(found), settings.min_new_share)
        if is_large.sum() >= min(MIN_CLASSES, len(found)) or resolution > len(found):
            links = links_between(weights, found, len(is_large))
            is_lone = ~is_large & (links[:, is_large].sum(axis=1) == 0)
            return join(links, is_large, is_lone)[found]
        resolution *= 2


def large_groups(sizes: np.ndarray, share: float) -> np.ndarray:
    """Whether each group has at least this share of the mean size of all such groups."""
    is_large = np.ones(len(sizes), bool)
    while (sizes[is_large] < share * sizes[is_large].mean()).any():
        is_large &= sizes >= share * sizes[is_large].mean()
    return is_large


def numbers_in_samples(weights: "csr_array", resolution: float, settings: Initialisation, seed: int) -> list[int]:
    """The number of groups in random samples of the nodes."""
    rng = np.random.default_rng(seed)
    n_nodes = weights.shape[0]
    n_kept = max(int(STABILITY_SHARE * n_nodes), 1)
    samples = (np.sort(rng.permutation(n_nodes)[:n_kept]) for _ in range(STABILITY_SAMPLES))
    found = [partition(weights, sample, resolution, seed)[1] for sample in samples]
    return [int(large_groups(np.bincount(group), settings.min_new_share).sum()) for group in found]
