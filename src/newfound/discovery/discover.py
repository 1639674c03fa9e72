"""From rows and a few labels to classes of all rows."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.graph import Graph
from newfound.discovery.groups import (
    NO_GROUP,
    Nodes,
    Say,
    centres_of,
    choose_resolutions,
    fragments,
    groups_without_labels,
    missing_labels,
    new_groups,
    numbers_in_samples,
    usual_resolution,
)
from newfound.discovery.mixture import fit_mixture, prefers_mixture
from newfound.discovery.pu import FeatureSets, estimate_class_probabilities
from newfound.discovery.record import Discovery, Evidence
from newfound.discovery.rows import Rows, feature_sets
from newfound.discovery.selection import label_selection
from newfound.discovery.tree import ClassTree, grow_tree, links_between
from newfound.labels import UNLABELLED, has_enough_labels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# ---- What discovery says of every row ----
# How probable each class and fragment is, which is the answer, how sure it is.


def soft_targets(graph: Graph, fragment: np.ndarray, n_fragments: int, probabilities: np.ndarray) -> np.ndarray:
    """P(y | x) of the known classes, and of the fragments what is left, by the fragments of a row's neighbours.

    A row's own fragment counts like all its edges together; a row of none is spread over the fragments around it, or
    over all of them alike.
    """
    if n_fragments == 0:
        return probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-12)
    own = np.zeros((len(fragment), n_fragments), np.float32)
    own[fragment != NO_GROUP, fragment[fragment != NO_GROUP]] = 1
    degree = np.maximum(np.asarray(graph.weights.sum(axis=1)), 1e-12)[:, None]
    membership = graph.interpolation @ (own + graph.weights @ own / degree) + 1e-6
    membership /= membership.sum(axis=1, keepdims=True)
    p_new = 1 - probabilities.sum(axis=1, keepdims=True)
    return np.hstack([probabilities, p_new * membership]).astype(np.float32)


def answers(targets: np.ndarray, labels: np.ndarray, n_known: int) -> np.ndarray:
    """A known class where the known ones together are more probable than the new ones; a label is kept."""
    known, new = targets[:, :n_known], targets[:, n_known:]
    is_new = new.sum(axis=1) > 0.5
    best_new = n_known + new.argmax(axis=1) if new.shape[1] else 0
    best_known = known.argmax(axis=1) if n_known else 0
    return np.where(labels == UNLABELLED, np.where(is_new, best_new, best_known), labels)


def is_sure(targets: np.ndarray, answer: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Whether a row's class is more probable than all others together."""
    n_known = targets.shape[1] - len(group)
    of_class = np.append(np.arange(n_known), n_known + group)
    same = of_class[answer][:, None] == of_class
    return (targets * same).sum(axis=1) > 0.5


MIN_GAUSSIAN_ROWS = 20  # of each class that is asked for: smaller ones are no Gaussians, but fragments
RANGE_SHARE = 0.1  # of the votes: a number with as many is in the range


def discover(
    rows: Rows,
    labels: np.ndarray,
    n_known: int,
    settings: Initialisation,
    seed: int,
    *,
    n_new: int | None = None,
    uses_pu: bool | None = None,
    groups: np.ndarray | None = None,
    space: tuple[FeatureSets, Graph] | None = None,
) -> Discovery:
    """From codes of labels (UNLABELLED where there is none, or where it is held out) to classes of all rows.

    `n_new` is obeyed where it is given. The PU estimate is used unless labels look as if they were not selected at
    random (`uses_pu=None`), always or never. Without it a missing label says nothing, and labels do not say what a
    class looks like elsewhere: communities are found as if there were none, and one is known where labels are at least
    half as dense as in all the data. `groups` are the user's own (people, sites), one for each row. `space` is what
    `feature_sets` gives for these rows and labels, where it is there already.
    """
    features, graph = space or feature_sets(rows, labels, settings, seed)
    weights, of_nodes = graph.weights.tocsr(), labels[graph.sample]
    resolutions: dict[float, Say] = {}
    selection = None
    probabilities = np.zeros((len(labels), n_known), np.float32)
    if n_known:
        resolutions = choose_resolutions(weights, of_nodes, settings, seed)
        of_groups = None if groups is None else groups[graph.sample]
        coarse = next(iter(resolutions)) / usual_resolution(len(of_nodes), settings) * settings.resolution
        selection = label_selection(weights, of_nodes, of_groups, coarse, settings, seed)
        uses_pu = not selection.is_biased if uses_pu is None else uses_pu
    if uses_pu is not False and (by_mixture := _by_mixture(rows, labels, n_known, n_new, settings, seed)):
        return by_mixture._replace(selection=selection)
    if n_known and not uses_pu and n_new != 0:
        return _by_communities(rows, labels, n_known, n_new, settings, seed)._replace(selection=selection)
    if n_known:
        probabilities = estimate_class_probabilities(features, labels, n_known, settings, seed, all_known=n_new == 0)
    nodes = Nodes(weights, of_nodes, probabilities[graph.sample], features.projection[graph.sample])
    fragment, group, n_range = _fragments(nodes, n_new, resolutions, settings, seed)
    return _discovery(graph, nodes, probabilities, labels, fragment, group, n_range)._replace(selection=selection)


def _by_mixture(
    rows: Rows, labels: np.ndarray, n_known: int, n_new: int | None, settings: Initialisation, seed: int
) -> Discovery | None:
    """What a mixture of Gaussians finds, if it is the better judge of these rows."""
    is_fine = (n_new or 0) * MIN_GAUSSIAN_ROWS > len(rows.X)
    if rows.images is not None or n_new == 0 or is_fine or not prefers_mixture(rows.X.shape, settings):
        return None
    points = rows.scaling.apply(rows.X)
    found = fit_mixture(points, labels, n_known, settings, seed, n_new)
    if not found.n_new or not prefers_mixture(points.shape, settings, found):
        return None  # a class that is no Gaussian, the graph may still find
    targets = found.probabilities
    new = targets[:, n_known:]
    order = np.append(np.arange(n_known), n_known + np.argsort(-new.sum(axis=0), kind="stable"))
    targets, new = targets[:, order], targets[:, order[n_known:]]
    group = np.arange(found.n_new)
    tree = grow_tree(new.T @ new, new.sum(axis=0), group)
    answer = answers(targets, labels, n_known)
    return Discovery(
        found.n_new,
        found.n_new_range,
        tree,
        answer,
        targets.astype(np.float32),
        found.p_new,
        is_sure(targets, answer, group),
        found.evidence and Evidence(*(entry[order[n_known:] - n_known] for entry in found.evidence)),
        None,
        method="mixture",
    )


def _fragments(
    nodes: Nodes, n_new: int | None, resolutions: dict[float, Say], settings: Initialisation, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """The fragment of each node, the new class of each fragment, and the range of the number of classes."""
    n_nodes, has_labels = len(nodes.labels), nodes.class_probabilities.shape[1] > 0
    if n_new == 0:
        return np.full(n_nodes, NO_GROUP), np.zeros(0, int), (0, 0)
    if not has_labels:
        resolution = usual_resolution(n_nodes, settings)
        group = groups_without_labels(nodes.weights, resolution, settings, seed)
        numbers = numbers_in_samples(nodes.weights, resolution, settings, seed) if n_new is None else []
        n_range = min([*numbers, int(group.max()) + 1]), max([*numbers, int(group.max()) + 1])
    else:
        group, resolution, n_range = _most_agreed(nodes, resolutions, settings, seed, is_given=n_new is not None)
    return _cut_up(nodes, group, n_new, resolution, n_range, settings, seed)


def _cut_up(
    nodes: Nodes,
    group: np.ndarray,
    n_new: int | None,
    resolution: float,
    n_range: tuple[int, int],
    settings: Initialisation,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """The groups that were found, or as many as were asked for, in fragments."""
    if n_new is not None:
        return _obeyed(nodes, group, n_new, resolution, settings, seed)
    fragment = fragments(nodes, group, resolution, seed)
    return fragment, _of_fragments(fragment, group), n_range


def _most_agreed(
    nodes: Nodes, resolutions: dict[float, Say], settings: Initialisation, seed: int, *, is_given: bool = False
) -> tuple[np.ndarray, float, tuple[int, int]]:
    """The groups of the number that most resolutions find, by weight; the best such resolution; the range.

    A number that holds over many resolutions hangs on none of them. Where known classes are in several pieces at a
    resolution, so are the new ones: its groups are joined, the closest first, until there are that many fewer.
    """
    found = {r: new_groups(nodes, r, settings, seed, keeps_pieces=is_given) for r in resolutions}
    numbers = {r: _n_classes(nodes, found[r], say.pieces) for r, say in resolutions.items()}
    weight = np.bincount(list(numbers.values()), [say.weight for say in resolutions.values()])
    best = next(r for r in resolutions if numbers[r] == weight.argmax())
    likely = np.flatnonzero(weight >= RANGE_SHARE * weight.sum())
    return _joined(nodes, found[best], numbers[best]), best, (int(likely.min()), int(likely.max()))


def _n_classes(nodes: Nodes, group: np.ndarray, pieces: float) -> int:
    """How many classes these groups are, if known ones are in so many pieces: not fewer than of the usual size."""
    n_groups, n_rows = int(group.max()) + 1, int((group != NO_GROUP).sum())
    fewest = min(max(int(n_rows / nodes.class_size), 1), n_groups)
    return max(round(n_groups / pieces), fewest)


def _joined(nodes: Nodes, group: np.ndarray, n: int) -> np.ndarray:
    """The groups, or so many if that is fewer: the tree of groups is cut there."""
    n_groups = int(group.max()) + 1
    if n >= n_groups:
        return group
    return np.append(_tree(nodes, group, np.arange(n_groups)).cut(n), NO_GROUP)[group]


def _obeyed(
    nodes: Nodes, group: np.ndarray, n_new: int, resolution: float, settings: Initialisation, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """As many classes as were asked for: the tree of what was found is cut there, and refined before if need be."""
    if (group != NO_GROUP).sum() < n_new or nodes.class_probabilities.shape[1] == 0:
        group = _least_known(nodes, n_new)
    fragment = fragments(nodes, group, resolution, seed)
    if fragment.max() + 1 >= n_new:
        return fragment, _tree(nodes, fragment, _of_fragments(fragment, group)).cut(n_new), (n_new, n_new)
    fragment = fragments(nodes, group, resolution, seed, at_least=n_new)
    tree = _tree(nodes, fragment, _of_fragments(fragment, group))
    n_new = min(n_new, tree.n_fragments)
    fragment = np.append(tree.cut(n_new), NO_GROUP)[fragment]  # finer than fragments are: the classes are the fragments
    return fragment, np.arange(n_new), (n_new, n_new)


def _least_known(nodes: Nodes, n_rows: int) -> np.ndarray:
    """One group of rows in which new classes could be, where labels say that there are none."""
    is_unlabelled = nodes.labels == UNLABELLED
    is_likely = is_unlabelled & (nodes.class_probabilities.sum(axis=1) < 0.5)
    return np.where(is_likely if is_likely.sum() >= n_rows else is_unlabelled, 0, NO_GROUP)


def _of_fragments(fragment: np.ndarray, group: np.ndarray) -> np.ndarray:
    found = np.zeros(int(fragment.max()) + 1, int)
    found[fragment[fragment != NO_GROUP]] = group[fragment != NO_GROUP]
    return found


def _tree(nodes: Nodes, fragment: np.ndarray, group: np.ndarray) -> ClassTree:
    inside = np.flatnonzero(fragment != NO_GROUP)
    own = nodes.weights[inside][:, inside]
    sizes = np.bincount(fragment[inside], minlength=len(group))
    centres = centres_of(nodes.points[inside], fragment[inside])
    return grow_tree(links_between(own, fragment[inside], len(group)), sizes, group, centres)


def _discovery(
    graph: Graph,
    nodes: Nodes,
    probabilities: np.ndarray,
    labels: np.ndarray,
    fragment: np.ndarray,
    group: np.ndarray,
    n_range: tuple[int, int],
) -> Discovery:
    """All rows' answers from the nodes' fragments; fragments are numbered class by class, the largest first."""
    n_new = int(group.max(initial=-1)) + 1
    tree = _tree(nodes, fragment, group)
    order = np.lexsort([-tree.sizes, tree.cut(n_new)]) if n_new else np.zeros(0, int)
    rank = np.append(np.argsort(order), NO_GROUP)
    fragment, group = rank[fragment], group[order]
    tree = _tree(nodes, fragment, group)
    targets = soft_targets(graph, fragment, tree.n_fragments, probabilities)
    n_known = probabilities.shape[1]
    inside = np.flatnonzero(fragment != NO_GROUP)
    evidence = missing_labels(nodes, inside, fragment[inside]) if n_known and n_new else None
    answer = answers(targets, labels, n_known)
    sure = is_sure(targets, answer, tree.cut(n_new))
    p_new = 1 - probabilities.sum(axis=1)
    return Discovery(n_new, n_range, tree, answer, targets, p_new, sure, evidence, None)


def _by_communities(
    rows: Rows, labels: np.ndarray, n_known: int, n_new: int | None, settings: Initialisation, seed: int
) -> Discovery:
    """Where labels were selected: communities that hold hardly any of them are new.

    The number is by a resolution that is the same for few rows as for many, lest classes be cut up that nothing holds
    together; its range is by half and twice as high ones.
    """
    features, graph = feature_sets(rows, np.full_like(labels, UNLABELLED), settings, seed)
    weights, of_nodes = graph.weights.tocsr(), labels[graph.sample]
    coarse = settings.resolution
    found = {r: _without_labels(weights, of_nodes, r, settings, seed) for r in (coarse, coarse / 2, coarse * 2)}
    numbers = [int(group.max()) + 1 for group in found.values()]
    which = estimate_class_probabilities(features, labels, n_known, settings, seed, all_known=True)
    p_known = graph.interpolation @ (found[coarse] == NO_GROUP).astype(np.float32)
    probabilities = p_known[:, None] * which
    nodes = Nodes(weights, of_nodes, probabilities[graph.sample], features.projection[graph.sample])
    fragment, group, n_range = _cut_up(
        nodes, found[coarse], n_new, coarse, (min(numbers), max(numbers)), settings, seed
    )
    return _discovery(graph, nodes, probabilities, labels, fragment, group, n_range)


def _without_labels(
    weights: "csr_array", labels: np.ndarray, resolution: float, settings: Initialisation, seed: int
) -> np.ndarray:
    """The community of each node, 0, 1, …, or NO_GROUP where it holds labels, or is none."""
    community = groups_without_labels(weights, resolution, settings, seed)
    is_known = has_enough_labels(community, labels)
    number = np.append(np.where(is_known, NO_GROUP, np.cumsum(~is_known) - 1), NO_GROUP)
    return number[community]
