"""The class tree: laws of its cuts, and how it grows, against a loop that recounts every edge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from newfound.discovery.tree import ClassTree, grow_tree, links_between


@st.composite
def grown(draw, most=9):
    """Links between fragments (whole numbers: no sum depends on its order), their sizes, and a group for each."""
    n = draw(st.integers(1, most))
    weights = draw(st.lists(st.integers(0, 20), min_size=n * n, max_size=n * n))
    upper = np.triu(np.array(weights).reshape(n, n))
    sizes = np.array(draw(st.lists(st.integers(1, 50), min_size=n, max_size=n)))
    named = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return upper + upper.T, sizes, np.unique(named, return_inverse=True)[1]


def partition(of):
    """The sets of fragments, independent of the numbers of groups."""
    return {frozenset(np.flatnonzero(of == group).tolist()) for group in np.unique(of)}


# ---- cuts ------------------------------------------------------------------------------------------------------------


@given(grown())
def test_a_cut_has_so_many_groups_numbered_by_size(case):
    tree = grow_tree(*case)
    for n in range(1, tree.n_fragments + 1):
        found = tree.cut(n)
        assert set(found) == set(range(n))
        rows = np.bincount(found, tree.sizes)
        assert (np.diff(rows) <= 0).all()


@given(grown())
def test_cuts_are_nested(case):
    """One group fewer is two groups joined, and all others as they were."""
    tree = grow_tree(*case)
    for n in range(2, tree.n_fragments + 1):
        finer, coarser = partition(tree.cut(n)), partition(tree.cut(n - 1))
        (joined,), (a, b) = coarser - finer, finer - coarser
        assert joined == a | b
        assert a.isdisjoint(b)


@given(grown())
def test_as_many_groups_as_were_found_are_those_that_were_found(case):
    _, _, group = case
    tree = grow_tree(*case)
    assert partition(tree.cut(int(group.max()) + 1)) == partition(group)


@pytest.mark.parametrize("n_groups", [-1, 0, 4, 100])
def test_a_number_that_the_tree_cannot_be_cut_into(n_groups):
    tree = grow_tree(np.ones((3, 3)), np.ones(3, int), np.zeros(3, int))
    with pytest.raises(ValueError, match=rf"can be cut into 1 to 3 groups; got {n_groups}. .*fit again with n_new = "):
        tree.cut(n_groups)


def test_a_tree_of_nothing():
    tree = grow_tree(np.zeros((0, 0)), np.zeros(0, int), np.zeros(0, int))
    assert tree.n_fragments == 0
    assert tree.cut(0).tolist() == []
    with pytest.raises(ValueError, match="got 1"):
        tree.cut(1)


def test_one_fragment_is_one_group():
    assert grow_tree(np.ones((1, 1)), np.array([7]), np.array([0])).cut(1).tolist() == [0]


def test_a_cut_by_hand():
    tree = ClassTree(np.array([5, 1, 2, 9]), np.array([[1, 2], [0, 4], [5, 3]]), np.array([3.0, 2.0, 1.0]))
    assert tree.cut(4).tolist() == [1, 3, 2, 0]
    assert tree.cut(3).tolist() == [1, 2, 2, 0]
    assert tree.cut(2).tolist() == [1, 1, 1, 0]
    assert tree.cut(1).tolist() == [0, 0, 0, 0]


# ---- growth ----------------------------------------------------------------------------------------------------------


def slow_tree(weights, sizes, group):
    """Each step recounts all edges between sets of fragments; which sets join, and by how much more than chance."""
    n = len(sizes)
    edges = {(i, j): float(weights[i, j]) for i in range(n) for j in range(n) if i != j}
    sets = [frozenset([i]) for i in range(n)]
    total = sum(max(sum(edges.get((i, j), 0.0) for j in range(n)), 1e-12) for i in range(n))
    joins = []
    while len(sets) > 1:
        pairs = [(a, b) for i, a in enumerate(sets) for b in sets[i + 1 :]]
        of_one = [(a, b) for a, b in pairs if {group[i] for i in a} == {group[i] for i in b}]
        affinity = {}
        for a, b in of_one or pairs:
            between = sum(edges[i, j] for i in a for j in b)
            degrees = [sum(max(sum(edges.get((i, j), 0.0) for j in range(n)), 1e-12) for i in of) for of in (a, b)]
            affinity[a, b] = between * total / (degrees[0] * degrees[1])
        best = max(affinity.values())
        joins.append((best, [a | b for (a, b), by in affinity.items() if by >= best * (1 - 1e-9)]))
        a, b = max(affinity, key=affinity.get)
        sets = [of for of in sets if of not in (a, b)] + [a | b]
    return joins


def is_without_ties(joins):
    return all(len(which) == 1 for _, which in joins)


@settings(max_examples=60)
@given(st.integers(1, 8), st.integers(1, 3), st.integers(0, 10_000))
def test_the_tree_grows_as_a_loop_over_all_edges_says(n, n_groups, seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n)) * (rng.random((n, n)) < 0.9) + 0.01
    weights = weights + weights.T
    group = np.unique(rng.integers(0, n_groups, n), return_inverse=True)[1]
    tree, slow = grow_tree(weights, np.ones(n, int), group), slow_tree(weights, np.ones(n), group)
    assert is_without_ties(slow)
    members = {i: frozenset([i]) for i in range(n)}
    for i, ((a, b), affinity, (expected, which)) in enumerate(zip(tree.children, tree.affinity, slow, strict=True)):
        members[n + i] = members[int(a)] | members[int(b)]
        assert members[n + i] == which[0]
        assert affinity == pytest.approx(expected)


def test_what_a_fragment_holds_within_itself_does_not_say_whom_it_joins():
    weights = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    one, other = (grow_tree(weights + np.diag(d), np.ones(3, int), np.zeros(3, int)) for d in ([0] * 3, [0, 0, 900]))
    np.testing.assert_array_equal(one.children, other.children)
    np.testing.assert_allclose(one.affinity, other.affinity)


def test_fragments_that_nothing_joins_still_make_one_tree():
    tree = grow_tree(np.zeros((4, 4)), np.arange(4), np.array([0, 0, 1, 1]))
    assert partition(tree.cut(2)) == {frozenset([0, 1]), frozenset([2, 3])}
    assert tree.cut(1).tolist() == [0] * 4
    assert np.isfinite(tree.affinity).all()


def test_fragments_that_nothing_joins_go_to_the_nearest():
    """Two and two lie side by side; an edge, however thin, counts for more."""
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.5, 0.0], [9.5, 0.0]])
    sizes, one_group = np.full(4, 10), np.zeros(4, int)
    assert partition(grow_tree(np.zeros((4, 4)), sizes, one_group, centres).cut(2)) == {
        frozenset([0, 2]),
        frozenset([1, 3]),
    }
    links = np.zeros((4, 4))
    links[0, 3] = links[3, 0] = 0.01
    assert grow_tree(links, sizes, one_group, centres).children[0].tolist() == [0, 3]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(0, 1000))
def test_links_are_sums_over_pairs_of_nodes(group, seed):
    group, n = np.array(group), len(group)
    weights = np.random.default_rng(seed).integers(0, 3, (n, n))
    links = links_between(csr_array(weights), group, 4)
    for a in range(4):
        for b in range(4):
            slow = sum(weights[i, j] for i in range(n) for j in range(n) if (group[i], group[j]) == (a, b))
            assert links[a, b] == slow
