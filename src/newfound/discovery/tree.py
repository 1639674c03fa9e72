"""The class tree: how fragments of new rows join into classes, and classes into coarser groups."""

from typing import TYPE_CHECKING

import numpy as np

from newfound._internal.records import Record

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NO_EDGE = 1e-9  # the affinity of the nearest pair if no edge joins any


class ClassTree(Record, frozen=True):
    """Fragments 0, 1, …, and the pairs that join, closest first; the i-th pair becomes node n_fragments + i."""

    sizes: np.ndarray  # rows of each fragment
    children: np.ndarray  # (joins, 2)
    affinity: np.ndarray  # of each pair: its edges relative to those by chance

    @property
    def n_fragments(self) -> int:
        return len(self.sizes)

    def check(self, n_components: int) -> None:
        """Refuse a stored tree whose joins are not of its fragments, each node once."""
        n = self.n_fragments
        n_joins = max(n - 1, 0)
        if (
            n > n_components
            or self.sizes.shape != (n,)
            or self.children.size != 2 * n_joins
            or self.affinity.shape != (n_joins,)
        ):
            raise ValueError(f"a tree of {n} fragments must have {n_joins} joins, each of two nodes")
        children = self.children.reshape(n_joins, 2)
        is_there = (children >= 0) & (children < n + np.arange(n_joins)[:, None])
        if not (is_there.all() and len(np.unique(children.astype(int))) == 2 * n_joins):
            raise ValueError("the joins of a tree must be of nodes that are there, each once")

    def cut(self, n_groups: int) -> np.ndarray:
        """The group of each fragment if there are `n_groups` groups, the largest first."""
        if not 0 <= n_groups <= self.n_fragments or (n_groups == 0) != (self.n_fragments == 0):
            raise ValueError(
                f"The class tree can be cut into 1 to {self.n_fragments} groups; got {n_groups}. "
                f"For more groups fit again with n_new = {n_groups}."
            )
        members = {i: [i] for i in range(self.n_fragments)}
        for i, (a, b) in enumerate(self.children[: self.n_fragments - n_groups].tolist()):
            members[self.n_fragments + i] = members.pop(a) + members.pop(b)
        by_size = sorted(members.values(), key=lambda group: (-int(self.sizes[group].sum()), group[0]))
        found = np.zeros(self.n_fragments, int)
        for position, group in enumerate(by_size):
            found[group] = position
        return found

    def among(self, fragments: np.ndarray) -> "ClassTree":
        """The tree of some of the fragments, without the joins of the others."""
        node = {int(fragment): i for i, fragment in enumerate(fragments)}  # the new number of each node that remains
        joins = []
        for i, (a, b) in enumerate(self.children.tolist()):
            if a in node and b in node:
                joins.append(i)
                node[self.n_fragments + i] = len(fragments) + len(joins) - 1
            elif a in node or b in node:
                node[self.n_fragments + i] = node[a if a in node else b]
        children = [[node[a], node[b]] for a, b in self.children[joins].tolist()]
        return ClassTree(self.sizes[fragments], np.array(children, int).reshape(-1, 2), self.affinity[joins])


def grow_tree(links: np.ndarray, sizes: np.ndarray, group: np.ndarray, centres: np.ndarray | None = None) -> ClassTree:
    """The tree of fragments with these sums of edge weights between them; those of one group join first.

    The pair with the largest links · total / (degree · degree) joins, the ratio of its edges to those by chance (Bonald
    et al. 2018). If no edge is left, the pair with the nearest centres joins (Ward).
    """
    links = links.astype(float).copy()
    centres = np.zeros((len(sizes), 1)) if centres is None else centres.astype(float)
    counts = sizes.astype(float)
    np.fill_diagonal(links, 0.0)  # edges within a fragment do not count
    node, group = np.arange(len(sizes)), group.copy()
    degree = np.maximum(links.sum(axis=1), 1e-12)
    total = degree.sum()
    children, affinities = [], []
    for i in range(len(sizes) - 1):
        affinity = links * total / np.outer(degree, degree) + nearness(centres, counts)
        a, b = _closest(affinity, group)
        children.append((node[a], node[b]))
        affinities.append(affinity[a, b])
        links[a] += links[b]
        links[:, a] += links[:, b]
        links[a, a] = 0.0
        degree[a] += degree[b]
        centres[a] = np.average(centres[[a, b]], axis=0, weights=np.maximum(counts[[a, b]], 1e-12))
        counts[a] += counts[b]
        node[a] = len(sizes) + i
        links = np.delete(np.delete(links, b, axis=0), b, axis=1)
        degree, node, group, counts = (np.delete(of, b) for of in (degree, node, group, counts))
        centres = np.delete(centres, b, axis=0)
    return ClassTree(sizes, np.array(children, int).reshape(-1, 2), np.array(affinities, float))


def _closest(affinity: np.ndarray, group: np.ndarray) -> tuple[int, int]:
    """The pair to join next: within a group, while any group has two fragments."""
    together = group[:, None] == group
    np.fill_diagonal(together, False)
    allowed = together if together.any() else ~np.eye(len(group), dtype=bool)
    a, b = divmod(int(np.where(allowed, affinity, -1.0).argmax()), len(group))
    return min(a, b), max(a, b)


def nearness(centres: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Less than the weight of any edge, and larger for nearer groups (Ward's increase of variance)."""
    apart = np.square(centres[:, None] - centres).sum(axis=2)
    added = apart * counts * counts[:, None] / np.maximum(counts + counts[:, None], 1e-12)
    return NO_EDGE / (1 + added / max(float(np.mean(added)), 1e-300))


def links_between(weights: "csr_array", group: np.ndarray, n_groups: int) -> np.ndarray:
    """The sums of edge weights between groups of nodes, and within each."""
    from scipy.sparse import csr_array

    membership = csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), n_groups))
    return (membership.T @ weights @ membership).toarray()
