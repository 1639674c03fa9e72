"""From rows and a few labels to classes of all rows: the order of the steps."""

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.answers import answers, assembled, is_sure
from newfound.discovery.graph import Graph
from newfound.discovery.groups import (
    NO_GROUP,
    Groups,
    Nodes,
    ResolutionVote,
    choose_resolutions,
    communities_without_known,
    cut_into_fragments,
    groups_of_all_rows,
    usual_resolution,
    voted_groups,
)
from newfound.discovery.mixture import fit_mixture, prefers_mixture
from newfound.discovery.pu import FeatureSets, estimate_class_probabilities
from newfound.discovery.record import Discovery
from newfound.discovery.rows import Rows, feature_sets
from newfound.discovery.selection import label_selection
from newfound.discovery.tree import grow_tree
from newfound.labels import UNLABELLED

MIN_GAUSSIAN_ROWS = 20  # per class of a given number: with fewer, the mixture is not asked


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
    """From codes of labels (UNLABELLED if there is none, or if it is held out) to classes of all rows.

    `n_new` is the number of new classes; None finds it. `uses_pu` is whether missing labels are a sign of new classes;
    None decides it from whether labels look selected at random. Without it, labels do not show what a class looks like
    elsewhere, so communities of all rows are found first, and those in which labels are rare are new. `groups` are the
    user's own (people, sites), one for each row. `space` is the result of `feature_sets` for these rows and labels.
    """
    features, graph = space or feature_sets(rows, labels, settings, seed)
    weights, of_nodes = graph.weights.tocsr(), labels[graph.sample]
    resolutions: dict[float, ResolutionVote] = {}
    selection = None
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
    probabilities = np.zeros((len(labels), n_known), np.float32)
    if n_known:
        probabilities = estimate_class_probabilities(features, labels, n_known, settings, seed, all_known=n_new == 0)
    nodes = Nodes(weights, of_nodes, probabilities[graph.sample], features.projection[graph.sample])
    if n_new == 0:
        found = Groups(np.full(len(of_nodes), NO_GROUP), settings.resolution, (0, 0))
    elif n_known == 0:
        found = groups_of_all_rows(weights, settings, seed, n_new)
    else:
        found = voted_groups(nodes, resolutions, settings, seed, is_given=n_new is not None)
    fragments = cut_into_fragments(nodes, found, n_new, seed)
    return assembled(graph, nodes, fragments, probabilities, labels, selection)


def _by_mixture(
    rows: Rows, labels: np.ndarray, n_known: int, n_new: int | None, settings: Initialisation, seed: int
) -> Discovery | None:
    """The result of a mixture of Gaussians for a small table; None if the graph should answer instead."""
    has_few_rows = (n_new or 0) * MIN_GAUSSIAN_ROWS > len(rows.X)
    if rows.images is not None or n_new == 0 or has_few_rows or not prefers_mixture(rows.X.shape, settings):
        return None
    points = rows.scaling.apply(rows.X)
    found = fit_mixture(points, labels, n_known, settings, seed, n_new)
    if not found.n_new or not prefers_mixture(points.shape, settings, found):
        return None  # the graph may still find a class that is not Gaussian
    targets = found.probabilities
    by_size = np.argsort(-targets[:, n_known:].sum(axis=0), kind="stable")
    targets, new = targets[:, np.append(np.arange(n_known), n_known + by_size)], targets[:, n_known + by_size]
    group = np.arange(found.n_new)
    answer = answers(targets, labels, n_known)
    return Discovery(
        n_new=found.n_new,
        n_new_range=found.n_new_range,
        tree=grow_tree(new.T @ new, new.sum(axis=0), group),
        labels=answer,
        targets=targets.astype(np.float32),
        p_new=found.p_new,
        is_sure=is_sure(targets, answer, group),
        evidence=found.evidence and found.evidence.take(by_size),
        selection=None,
        method="mixture",
    )


def _by_communities(
    rows: Rows, labels: np.ndarray, n_known: int, n_new: int | None, settings: Initialisation, seed: int
) -> Discovery:
    """Labels were not selected at random: communities of all rows in which labels are rare are new."""
    features, graph = feature_sets(rows, np.full_like(labels, UNLABELLED), settings, seed)
    weights, of_nodes = graph.weights.tocsr(), labels[graph.sample]
    found = communities_without_known(weights, of_nodes, settings, seed)
    which = estimate_class_probabilities(features, labels, n_known, settings, seed, all_known=True)
    p_known = graph.interpolation @ (found.group == NO_GROUP).astype(np.float32)
    probabilities = p_known[:, None] * which
    nodes = Nodes(weights, of_nodes, probabilities[graph.sample], features.projection[graph.sample])
    return assembled(graph, nodes, cut_into_fragments(nodes, found, n_new, seed), probabilities, labels)
