"""Groups where no row has a label: communities at a fixed resolution, and how many there are in samples of the rows."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.class_tree import links_between
from newfound.discovery.communities import communities
from newfound.discovery.new_groups import join, partition

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
    n_kept = max(int(settings.stability_share * n_nodes), 1)
    samples = (np.sort(rng.permutation(n_nodes)[:n_kept]) for _ in range(settings.stability_samples))
    found = [partition(weights, sample, resolution, seed)[1] for sample in samples]
    return [int(large_groups(np.bincount(group), settings.min_new_share).sum()) for group in found]
