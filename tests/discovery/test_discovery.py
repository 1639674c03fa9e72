"""The number of new classes: right on made data, and 0 if nothing is hidden."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple
from scipy.sparse import csr_array
from small import blobs, quick, some_labels

from newfound import GMDGM
from newfound.config import Initialisation
from newfound.discovery import groups
from newfound.discovery.answers import answers, is_sure
from newfound.discovery.discover import discover
from newfound.discovery.features import sample_rows
from newfound.discovery.graph import communities, neighbour_graph
from newfound.discovery.groups import (
    NO_GROUP,
    Nodes,
    ResolutionVote,
    agreement,
    choose_resolutions,
    fragments,
    groups_without_labels,
    large_groups,
    missing_labels,
    new_groups,
    numbers_in_samples,
    pieces_of_a_class,
    usual_resolution,
    voted_groups,
)
from newfound.discovery.record import Evidence
from newfound.discovery.rows import Images, Rows
from newfound.evaluation import evaluate
from newfound.labels import UNLABELLED
from newfound.preprocessing.columns import Scaling

SETTINGS = Initialisation()
GRAPH = Initialisation(mixture_max_rows=1)  # however small the table


def rows_of(X):
    return Rows(X, Scaling(np.zeros(X.shape[1], "f4"), np.ones(X.shape[1], "f4")))


def labelled_at_random(truth, known, share=0.2, seed=0):
    picked = np.random.default_rng(seed).random(len(truth)) < share
    return np.where(picked & np.isin(truth, known), truth, UNLABELLED)


# ---- communities -----------------------------------------------------------------------------------------------------


def test_groups_that_nothing_joins_are_communities():
    X, truth = blobs(400)
    graph = neighbour_graph([X], SETTINGS, seed=0)
    found = communities(graph.weights.tocsr(), 0.25, seed=0)
    assert len(np.unique(found)) == len(np.unique(np.c_[found, truth[graph.sample]], axis=0)) == 4


def test_a_graph_without_edges_is_of_lone_nodes():
    assert communities(csr_array((5, 5)), 1.0, seed=0).tolist() == [0, 1, 2, 3, 4]


def test_a_higher_resolution_makes_more_communities():
    X = np.random.default_rng(0).standard_normal((600, 3)).astype("f4")
    weights = neighbour_graph([X], SETTINGS, seed=0).weights.tocsr()
    numbers = [communities(weights, r, seed=0).max() for r in (0.1, 1.0, 8.0)]
    assert numbers[0] < numbers[1] < numbers[2]


# ---- agreement with the labels ---------------------------------------------------------------------------------------


def test_agreement_is_whole_where_every_class_is_a_community():
    labels = np.array([0, 0, 1, 1, 2, 2, UNLABELLED])
    assert agreement(labels, np.array([5, 5, 3, 3, 0, 0, 1])) == pytest.approx(1)
    halves, merged = np.array([0, 1, 2, 3, 4, 5, 6]), np.array([0, 0, 0, 0, 1, 1, 2])
    assert agreement(labels, halves) < agreement(labels, merged) < 1


def test_pairs_are_counted_as_a_loop_counts_them():
    rng = np.random.default_rng(0)
    labels, community = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    of_class, best = [], []
    for known in range(3):
        rows = np.flatnonzero(labels == known)
        true = {(i, j) for i in rows for j in rows if i < j}
        predicted = [(i, j) for i in rows for j in range(40) if i != j and community[i] == community[j]]
        hits = sum(community[i] == community[j] for i, j in true)
        of_class.append(2 * hits / (len(true) + len(predicted) / 2))
        sizes = [(np.sum(community[rows] == k), np.sum(community == k)) for k in range(4)]
        best.append(max(2 * both / (len(rows) + size) for both, size in sizes))
    from sklearn.metrics import adjusted_rand_score

    expected = np.mean([adjusted_rand_score(labels, community), np.mean(best), np.mean(of_class)])
    assert agreement(labels, community) == pytest.approx(expected)


def test_the_usual_resolution_is_lower_for_larger_graphs():
    numbers = [groups.RESOLUTION_ROWS // 8, groups.RESOLUTION_ROWS, 8 * groups.RESOLUTION_ROWS]
    usual = [usual_resolution(n, SETTINGS) / SETTINGS.resolution for n in numbers]
    assert usual == pytest.approx([2.0, 1.0, 0.5])


def counted_agreements(monkeypatch, by_resolution):
    """What each resolution agrees with the labels is given; which were tried is counted."""
    tried = []
    monkeypatch.setattr(groups, "communities", lambda weights, r, seed: tried.append(r) or np.array([r]))
    monkeypatch.setattr(groups, "agreement", lambda labels, community: by_resolution(float(community[0])))
    monkeypatch.setattr(groups, "pieces_of_a_class", lambda labels, community: 1.0)
    weights = csr_array((groups.RESOLUTION_ROWS,) * 2)  # of as many rows as the usual resolution is for
    labels = np.zeros(groups.RESOLUTION_LABELS, int)  # as many as there must be
    return tried, choose_resolutions(weights, labels, SETTINGS, seed=0)


def test_no_resolution_is_tried_that_cannot_win(monkeypatch):
    """If the usual one agrees fully, those with a penalty above the tolerance are left out."""
    tried, found = counted_agreements(monkeypatch, lambda r: 1.0)
    most_octaves = groups.TOLERANCE / groups.PENALTY
    assert tried[0] == SETTINGS.resolution
    assert len(tried) == len(set(tried)) == 1 + 2 * most_octaves / groups.STEP
    assert np.abs(np.log2(np.array(tried) / SETTINGS.resolution)).max() <= most_octaves
    assert set(found) <= set(tried)
    tried, _ = counted_agreements(monkeypatch, lambda r: 0.0)
    assert len(tried) == 1 + 2 * groups.MAX_OCTAVES / groups.STEP  # nothing to beat: all of them


def test_few_labels_must_agree_better_to_leave_the_usual_resolution(monkeypatch):
    monkeypatch.setattr(groups, "communities", lambda weights, r, seed: r)
    monkeypatch.setattr(groups, "agreement", lambda labels, r: 0.9 + 0.1 * (r > SETTINGS.resolution))
    monkeypatch.setattr(groups, "pieces_of_a_class", lambda labels, r: 1.0)
    weights = np.empty((groups.RESOLUTION_ROWS, 0))
    many, few = (choose_resolutions(weights, np.zeros(n, int), SETTINGS, 0) for n in (groups.RESOLUTION_LABELS, 20))
    assert next(iter(many)) > SETTINGS.resolution
    assert next(iter(few)) == SETTINGS.resolution


@given(st.integers(0, 10_000))
def test_resolutions_are_those_of_trying_all_best_first_with_positive_weights(seed):
    octaves = np.arange(-groups.MAX_OCTAVES, groups.MAX_OCTAVES + groups.STEP, groups.STEP)
    every = SETTINGS.resolution * 2.0**octaves
    agreements = dict(zip(every.tolist(), np.random.default_rng(seed).uniform(0.3, 1, len(every)), strict=True))
    with pytest.MonkeyPatch.context() as monkeypatch:
        _, found = counted_agreements(monkeypatch, agreements.get)
    scores = {r: agreements[r] - groups.PENALTY * abs(np.log2(r / SETTINGS.resolution)) for r in agreements}
    least = max(scores.values()) - groups.TOLERANCE
    expected = sorted((r for r in scores if scores[r] > least), key=lambda r: -scores[r])
    assert list(found) == expected
    assert [vote.weight for vote in found.values()] == pytest.approx([scores[r] - least for r in expected])
    assert min(vote.weight for vote in found.values()) > 0


def test_the_pieces_of_a_class_are_counted_where_it_has_most_labels():
    community = np.repeat([0, 1, 2, 3, 4], 10)
    labels = np.repeat([0, 0, 1, 1, 2], 10)
    assert pieces_of_a_class(labels, community) == pytest.approx(190 / 90)  # two halves, but for pairs of a row itself
    astray = labels.copy()
    astray[:2] = 2  # among those of class 0
    assert pieces_of_a_class(astray, community) == pytest.approx(153 / 73)
    assert pieces_of_a_class(labels, np.repeat([0, 0, 1, 1, 2], 10)) == 1
    assert pieces_of_a_class(np.array([0, 1, UNLABELLED]), np.array([0, 0, 0])) == 1  # no pair tells anything


# ---- labels that are missing -----------------------------------------------------------------------------------------


def nodes_of(X, labels, truth, n_known, seed=0):
    """Nodes with the class probabilities of a perfect estimate, except that `truth` ≥ n_known is new."""
    graph = neighbour_graph([X], SETTINGS, seed=seed)
    probabilities = np.eye(truth.max() + 1)[truth][:, :n_known].astype("f4")
    return (
        Nodes(graph.weights.tocsr(), labels[graph.sample], probabilities[graph.sample], X[graph.sample]),
        truth[graph.sample],
    )


def test_a_group_is_new_where_it_should_hold_labels_and_does_not():
    X, truth = blobs(800)
    nodes, truth = nodes_of(X, labelled_at_random(truth, (0, 1)), truth, 2)
    found = new_groups(nodes, 0.25, SETTINGS, seed=0)
    assert (found[truth < 2] == NO_GROUP).all()
    assert len(np.unique(np.c_[found, truth][truth >= 2], axis=0)) == 2


def test_a_small_group_that_no_edge_joins_goes_to_the_nearest_new_class():
    """Two large new groups far apart, and a few rows beside the second of them, without links."""
    rng = np.random.default_rng(0)
    at = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 400.0], [200.0, 400.0], [200.0, 430.0]])
    truth = np.repeat(np.arange(5), [200, 200, 200, 200, 15])
    X = (at[truth] + rng.normal(size=(len(truth), 2))).astype("f4")
    nodes, truth = nodes_of(X, labelled_at_random(truth, (0, 1)), truth, 2)
    found = new_groups(nodes, 0.25, SETTINGS, seed=0)
    (second,) = np.unique(found[truth == 3])
    assert (found[truth == 4] == second).all()


def some_apart(n_small, n_piece, label_share=0.2):
    """Two known classes and a large new one of 200 rows each, a small new one, and a piece of the first known class."""
    rng = np.random.default_rng(0)
    at = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 400.0], [200.0, 400.0], [400.0, 0.0]])
    place = np.repeat(np.arange(5), [200 - n_piece, 200, 200, n_small, n_piece])
    truth = np.where(place == 4, 0, place)
    X = (at[place] + rng.normal(size=(len(place), 2))).astype("f4")
    labels = np.where((truth < 2) & (rng.random(len(truth)) < label_share), truth, UNLABELLED)
    nodes, truth = nodes_of(X, labels, truth, 2)
    return new_groups(nodes, 0.1, SETTINGS, seed=0), truth


@pytest.mark.parametrize(
    ("n_small", "n_piece", "is_class"),
    [(40, 0, True), (40, 30, False), (64, 30, True), (30, 64, False)],
    ids=["whole classes", "a piece like it", "twice the piece", "a larger piece"],
)
def test_a_small_isolated_group_is_no_class_if_pieces_of_known_ones_are_isolated(n_small, n_piece, is_class):
    found, truth = some_apart(n_small, n_piece)
    (large,), (small,) = np.unique(found[truth == 2]), np.unique(found[truth == 3])
    assert (found[truth < 2] == NO_GROUP).all()
    assert NO_GROUP not in (large, small)
    assert (small != large) == is_class


def test_a_small_group_with_too_few_labels_to_tell_is_not_given_back_to_known_classes():
    """Of thirty rows with one label in twenty, none proves nothing; the large group is new beyond doubt."""
    found, truth = some_apart(30, 0, label_share=0.05)
    (large,), (small,) = np.unique(found[truth == 2]), np.unique(found[truth == 3])
    assert small == large != NO_GROUP


def test_missing_labels_are_no_surprise_where_few_are_expected():
    """Of ten rows with one label in five, none is no reason to believe in a class; of a hundred, it is."""
    X, truth = blobs(240, k=3)
    labels = labelled_at_random(truth, (0, 1))
    nodes, truth = nodes_of(X, labels, truth, 2)
    candidates = np.flatnonzero(truth == 2)
    few, many = candidates[:10], candidates
    p_few = missing_labels(nodes, few, np.zeros(len(few), int)).p_value[0]
    p_many = missing_labels(nodes, many, np.zeros(len(many), int)).p_value[0]
    assert p_many < SETTINGS.new_class_p < p_few
    frequency = np.sum(labels >= 0) / np.sum(truth < 2)
    assert p_few == pytest.approx((1 - frequency) ** 10, rel=0.3)


def test_labels_around_a_group_are_not_held_by_it():
    """Labelled rows at its border are not in it, unless they would be called new themselves, without their label."""
    X, truth = blobs(240, k=3)
    nodes, truth = nodes_of(X, labelled_at_random(truth, (0, 1)), truth, 2)
    border, labelled = np.flatnonzero(truth == 2), np.flatnonzero(nodes.labels == 0)[:10]
    weights = nodes.weights.tolil()
    weights[np.ix_(labelled, border[:10])] = 1.0
    nodes, group = nodes._replace(weights=weights.tocsr()), np.zeros(len(border), int)
    assert missing_labels(nodes, border, group).labels_held[0] == 0
    nodes.class_probabilities[labelled] = 0.1
    assert missing_labels(nodes, border, group).labels_held[0] == pytest.approx(10)


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.floats(0, 20), st.floats(0, 5), st.integers(0, 2)), min_size=1, max_size=6
    )
)
def test_evidence_adds_up_and_its_p_is_the_binomials(entries):
    from math import comb

    n_rows, expected, held, named = (np.array(part) for part in zip(*entries, strict=True))
    group = np.unique(named, return_inverse=True)[1]
    together = Evidence(n_rows, expected, held).together(group)
    for i in range(group.max() + 1):
        for whole, parts in zip(astuple(together), (n_rows, expected, held), strict=True):
            assert whole[i] == pytest.approx(sum(part for part, of in zip(parts, group, strict=True) if of == i))
    for rows, of_expected, of_held, p in zip(*astuple(together), together.p_value, strict=True):
        n = round(rows + of_held)
        share = min(of_expected / n, 1)
        slow = sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(int(of_held) + 1))
        assert p == pytest.approx(min(slow, 1), abs=1e-9)


def test_evidence_of_a_class_is_that_of_all_its_rows():
    """Fragments' evidence, summed, is what one would find for the class in one piece."""
    X, truth = blobs(800)
    nodes, truth = nodes_of(X, labelled_at_random(truth, (0, 1)), truth, 2)
    inside = np.flatnonzero(truth == 2)
    fragment = np.arange(len(inside)) % 3
    whole = missing_labels(nodes, inside, np.zeros(len(inside), int))
    parts = missing_labels(nodes, inside, fragment).together(np.zeros(3, int))
    np.testing.assert_allclose(astuple(whole), astuple(parts), rtol=0.05)
    assert whole.n_rows[0] == len(inside)


# ---- fragments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_least", [1, 5, 30])
def test_fragments_are_nested_in_groups_and_as_many_as_asked_for(at_least):
    X, truth = blobs(600, k=3, distance=2)
    nodes, truth = nodes_of(X, labelled_at_random(truth, (0,)), truth, 1)
    group = np.where(truth == 0, NO_GROUP, truth - 1)
    found = fragments(nodes, group, 0.25, seed=0, at_least=at_least)
    assert ((found == NO_GROUP) == (group == NO_GROUP)).all()
    numbers = np.unique(found[found != NO_GROUP])
    assert numbers.tolist() == list(range(len(numbers)))
    assert len(numbers) >= max(at_least, 2)
    assert all(len(np.unique(group[found == number])) == 1 for number in numbers)


# ---- answers ---------------------------------------------------------------------------------------------------------


@st.composite
def targets_of_rows(draw):
    n_known, n_fragments, n_rows = draw(st.integers(0, 3)), draw(st.integers(0, 4)), draw(st.integers(1, 6))
    n_fragments = max(n_fragments, 1 - n_known)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    labels = rng.integers(UNLABELLED, n_known, n_rows) if n_known else np.full(n_rows, UNLABELLED)
    group = np.unique(rng.integers(0, 3, n_fragments), return_inverse=True)[1]
    return rng.dirichlet(np.ones(n_known + n_fragments), n_rows), labels, group, n_known


@given(targets_of_rows())
def test_laws_of_answers(case):
    targets, labels, group, n_known = case
    found = answers(targets, labels, n_known)
    for row, label, answer in zip(targets, labels, found, strict=True):
        if label != UNLABELLED:
            assert answer == label
        elif row[n_known:].sum() > 0.5:
            assert answer == n_known + row[n_known:].argmax()
        else:
            assert answer == row[:n_known].argmax()
    sure = is_sure(targets, found, group)
    for row, answer, is_row_sure in zip(targets, found, sure, strict=True):
        own = [answer] if answer < n_known else n_known + np.flatnonzero(group == group[answer - n_known])
        assert is_row_sure == (row[own].sum() > 0.5)


def test_fragments_of_one_class_are_sure_together():
    targets, group = np.array([[0.2, 0.4, 0.4]]), np.array([0, 0])
    answer = answers(targets, np.array([UNLABELLED]), 1)
    assert is_sure(targets, answer, group).all()
    assert not is_sure(targets, answer, np.array([0, 1])).any()


# ---- the number that most resolutions agree on -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "weights", "expected", "n_range"),
    [
        ([3, 2, 2], [0.1, 0.08, 0.07], 2, (2, 3)),  # two agree against the best
        ([3, 2], [0.1, 0.01], 3, (3, 3)),  # a number with few votes is not in the range
        ([0, 1, 0], [0.1, 0.05, 0.02], 0, (0, 1)),
        ([5], [0.1], 5, (5, 5)),
    ],
)
def test_the_number_is_the_one_that_most_resolutions_agree_on(monkeypatch, numbers, weights, expected, n_range):
    resolutions = {float(i + 1): ResolutionVote(weight, 1.0) for i, weight in enumerate(weights)}
    found = {r: np.arange(n) if n else np.array([NO_GROUP]) for r, n in zip(resolutions, numbers, strict=True)}
    monkeypatch.setattr(groups, "new_groups", lambda nodes, r, settings, seed, **_: found[r])
    nodes = Nodes(csr_array((1, 1)), np.zeros(1, int), np.ones((1, 1)), np.zeros((1, 1)))  # a known class of one row
    voted = voted_groups(nodes, resolutions, SETTINGS, seed=0, is_given=False)
    assert voted.group.max() + 1 == expected
    assert voted.resolution == 1.0 + numbers.index(expected)  # the best of those with this number
    assert voted.n_range == n_range


def test_where_known_classes_are_in_two_pieces_so_are_new_ones():
    """Every class is two groups that a few rows join: of four new groups, two classes are made, of the right halves."""
    rng = np.random.default_rng(1)
    truth, half = np.arange(2400) % 4, rng.random(2400) < 0.5
    X = rng.standard_normal((2400, 6)) + 40 * np.eye(4, 6)[truth]
    X[:, 5] += 9 * half
    labels = labelled_at_random(truth, (0, 1))
    found = discover(rows_of(X.astype("f4")), labels, 2, SETTINGS, seed=0)
    assert found.n_new == 2
    assert evaluate(truth, found.classes, (0, 1)).one_to_one.all > 0.98


# ---- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("known", "k"), [((0, 1), 4), ((0, 1, 2), 4), ((0, 1, 2, 3), 4), ((0, 1), 7)])
def test_the_number_of_new_classes_is_found(known, k):
    X, truth = blobs(1200, d=8, k=k)
    labels = labelled_at_random(truth, known)
    found = discover(rows_of(X), labels, len(known), SETTINGS, seed=0)
    assert found.n_new == k - len(known)
    assert found.n_new_range[0] <= found.n_new <= found.n_new_range[1]
    assert evaluate(truth, found.classes, known).one_to_one.all > 0.98
    assert (found.labels[labels >= 0] == labels[labels >= 0]).all()
    np.testing.assert_allclose(found.targets.sum(axis=1), 1, atol=1e-5)
    assert_is_whole(found, labels, len(known))


def assert_is_whole(found, labels, n_known):
    """What must hold of every discovery."""
    n_fragments, n_rows = found.tree.n_fragments, len(labels)
    assert found.targets.shape == (n_rows, n_known + n_fragments)
    assert set(found.labels) <= set(range(n_known + n_fragments))
    assert len(np.unique(found.group)) == found.n_new
    np.testing.assert_array_equal(found.group, np.sort(found.group))  # fragments are numbered class by class
    of_fragment = found.labels >= n_known
    np.testing.assert_array_equal(found.classes[~of_fragment], found.labels[~of_fragment])
    np.testing.assert_array_equal(
        found.classes[of_fragment], n_known + found.group[found.labels[of_fragment] - n_known]
    )
    assert found.is_sure.dtype == bool
    assert ((found.p_new >= -1e-6) & (found.p_new <= 1 + 1e-6)).all()
    if found.evidence is not None:
        assert len(found.evidence.n_rows) == n_fragments


@pytest.mark.parametrize("labels_say", ["two", "none", "nothing"])
@pytest.mark.parametrize("n_new", [1, 2, 3, 7, 20])
def test_a_given_number_is_used_by_discovery(n_new, labels_say):
    """Where the labels say that two blobs are new, where they say that none is, and where there are no labels."""
    X, truth = blobs(400)
    known = {"two": (0, 1), "none": (0, 1, 2, 3), "nothing": ()}[labels_say]
    labels = labelled_at_random(truth, known)
    found = discover(rows_of(X), labels, len(known), GRAPH, seed=0, n_new=n_new)
    assert (found.n_new, found.n_new_range, found.method) == (n_new, (n_new, n_new), "graph")
    assert_is_whole(found, labels, len(known))
    sizes = np.bincount(found.classes, minlength=len(known) + n_new)
    if labels_say != "none":  # there, P(new) is almost everywhere below one half
        assert (sizes[len(known) :] > 0).all()
    if (labels_say, n_new) == ("two", 2):
        assert evaluate(truth, found.classes, known).one_to_one.all > 0.98


@pytest.mark.parametrize("n_new", [2, 4])
@pytest.mark.parametrize("n_same", [4, 100])
def test_a_given_number_is_used_where_rows_are_few_or_equal(n_new, n_same):
    X = np.repeat(np.array([[0.0, 0.0], [4.0, 4.0]], "f4"), n_same, axis=0)
    labels = np.full(2 * n_same, UNLABELLED)
    labels[0] = 0
    found = discover(rows_of(X), labels, 1, GRAPH, seed=0, n_new=n_new)
    assert found.n_new == n_new
    assert found.labels[0] == 0
    assert np.isfinite(found.targets).all()


def test_no_new_class_is_found_where_none_is_asked_for():
    X, truth = blobs(400)
    labels = labelled_at_random(truth, (0, 1))
    found = discover(rows_of(X), labels, 2, GRAPH, seed=0, n_new=0)
    assert (found.n_new, found.n_new_range, found.tree.n_fragments) == (0, (0, 0), 0)
    assert set(found.labels) == {0, 1}
    np.testing.assert_allclose(found.targets.sum(axis=1), 1, atol=1e-5)


def test_nothing_is_found_where_nothing_is_hidden():
    """Six draws of labels; nowhere a new class."""
    for seed in range(6):
        X, truth = blobs(600, seed=seed)
        labels = labelled_at_random(truth, (0, 1, 2, 3), seed=seed)
        assert discover(rows_of(X), labels, 4, SETTINGS, seed).n_new == 0


def test_without_labels_the_groups_are_counted():
    X, truth = blobs(600, d=6, k=6)
    found = discover(rows_of(X), np.full(600, UNLABELLED), 0, SETTINGS, seed=0)
    assert found.n_new == 6
    assert found.n_new_range[0] <= 6 <= found.n_new_range[1]
    assert (found.evidence, found.selection) == (None, None)
    assert evaluate(truth, found.classes, []).one_to_one.all > 0.98


def test_the_number_in_samples_of_clear_blobs_is_theirs():
    X, _ = blobs(400)
    weights = neighbour_graph([X], SETTINGS, seed=0).weights.tocsr()
    numbers = numbers_in_samples(weights, usual_resolution(400, SETTINGS), SETTINGS, seed=0)
    assert len(numbers) == groups.STABILITY_SAMPLES
    assert min(numbers) <= 4 <= max(numbers)


def test_without_labels_there_are_at_least_two_groups_and_odd_rows_have_none():
    X, _ = blobs(300, k=1)
    lone = np.array([[50.0] * 5, [-90.0] * 5], "f4") + np.random.default_rng(0).standard_normal((2, 1)).astype("f4")
    weights = neighbour_graph([np.concatenate([X, lone])], SETTINGS, seed=0).weights.tocsr()
    found = groups_without_labels(weights, 0.01, SETTINGS, seed=0)
    assert found.max() + 1 >= 2
    assert np.bincount(found[found != NO_GROUP]).min() > 20


def test_a_handful_of_odd_rows_is_no_class_where_nothing_says_so():
    assert large_groups(np.array([300, 280, 310, 40, 12, 3]), 1 / 3).tolist() == [True] * 3 + [False] * 3
    assert large_groups(np.array([5]), 1 / 3).tolist() == [True]


def test_labels_that_were_not_picked_at_random_can_be_said_to_be_so():
    """Labels of one corner of a class only: by missing labels the rest of it is new, by communities it is not."""
    rng = np.random.default_rng(0)
    X, truth = blobs(900, d=4, k=3, distance=8)
    X = (X + rng.standard_normal(X.shape)).astype("f4")
    corner = X[:, 3] > 0.8
    labels = np.where(corner & (truth < 2) & (rng.random(900) < 0.8), truth, UNLABELLED)
    found = discover(rows_of(X), labels, 2, SETTINGS, seed=0, uses_pu=False)
    assert found.n_new == 1
    assert evaluate(truth, found.classes, [0, 1]).one_to_one.all > 0.95


def test_the_graph_is_of_a_sample_in_random_order_and_rows_outside_follow():
    X, truth = blobs(900)
    settings = Initialisation(graph_max_rows=300, mixture_max_rows=1)
    found = discover(rows_of(X), labelled_at_random(truth, (0, 1)), 2, settings, seed=3)
    assert found.n_new == 2
    assert evaluate(truth, found.classes, [0, 1]).one_to_one.all > 0.98


# ---- which method ----------------------------------------------------------------------------------------------------


def test_a_small_gaussian_table_is_given_to_the_mixture_images_and_many_columns_are_not():
    X, truth = blobs(200, d=9)
    labels = labelled_at_random(truth, (0, 1))
    table = discover(rows_of(X), labels, 2, SETTINGS, seed=0)
    assert (table.method, table.n_new) == ("mixture", 2)
    assert_is_whole(table, labels, 2)
    assert evaluate(truth, table.classes, [0, 1]).one_to_one.all > 0.98
    images = discover(rows_of(X)._replace(images=Images(X, (3, 3))), labels, 2, SETTINGS, seed=0)
    assert images.method == "graph"
    wide = np.hstack([X, np.random.default_rng(0).standard_normal((200, 40))]).astype("f4")
    assert discover(rows_of(wide), labels, 2, SETTINGS, seed=0).method == "graph"
    assert discover(rows_of(X), labels, 2, GRAPH, seed=0).method == "graph"


@pytest.mark.parametrize("n_new", [2, 3])
def test_a_given_number_is_used_by_the_mixture(n_new):
    X, truth = blobs(200)
    labels = labelled_at_random(truth, (0, 1))
    found = discover(rows_of(X), labels, 2, SETTINGS, seed=0, n_new=n_new)
    assert (found.method, found.n_new, found.n_new_range) == ("mixture", n_new, (n_new, n_new))
    assert_is_whole(found, labels, 2)


# ---- the estimator ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, truth = blobs(600)
    y = np.where(labelled_at_random(truth, (0, 1)) >= 0, np.array(["cat", "dog", "", ""])[truth], "")
    return GMDGM(**quick(max_epochs=20, pretrain_epochs=20)).fit(X, y), X, y


def test_a_fit_finds_the_number_and_the_model_keeps_it(fitted, tmp_path):
    from newfound import load

    model, X, y = fitted
    assert model.classes_.tolist() == ["cat", "dog", "new-1", "new-2"]
    assert (model.n_new_, model.n_new_range_) == (2, (2, 2))
    assert (model.predict(X) == model.labels_).mean() > 0.98
    assert (model.labels_[y != ""] == y[y != ""]).all()
    model.save(tmp_path)
    loaded = load(tmp_path)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.n_new_range_ == (2, 2)


@pytest.mark.parametrize("mixture_max_rows", [1, 1000])
def test_a_number_is_used(mixture_max_rows):
    X, truth = blobs(200)
    labels = some_labels(truth)
    how = quick(max_epochs=1, pretrain_epochs=1, mixture_max_rows=mixture_max_rows)
    model = GMDGM(3, **how).fit(X, labels)
    assert (model.n_new_, model.n_new_range_) == (3, (3, 3))
    is_labelled = labels >= 0
    np.testing.assert_array_equal(model.labels_[is_labelled], labels[is_labelled])
    found = model.fitted_.discovery
    np.testing.assert_array_equal(model.labels_[~is_labelled], model.classes_[found.classes[~is_labelled]])


def test_where_no_new_class_is_found_the_rows_are_the_networks():
    X, truth = blobs(400)
    y = labelled_at_random(truth, (0, 1, 2, 3))
    model = GMDGM(**quick(max_epochs=2, pretrain_epochs=1)).fit(X, y)
    assert (model.n_new_, model.evidence_) == (0, {})
    np.testing.assert_array_equal(model.labels_[y < 0], model.predict(X)[y < 0])
    np.testing.assert_array_equal(model.is_sure_[y < 0], model.predict_proba(X)[y < 0].max(axis=1) > 0.5)


# ---- more rows than the graph has ------------------------------------------------------------------------------------


def test_a_sample_of_too_many_rows_holds_all_labels_and_is_in_random_order():
    labels = np.where(np.arange(1000) % 20 == 0, 0, UNLABELLED)  # 50 of them
    sample = sample_rows(1000, Initialisation(graph_max_rows=200), 0, labels)
    assert len(np.unique(sample)) == 200
    assert np.isin(np.flatnonzero(labels == 0), sample).all()
    assert (np.diff(sample) < 0).any()
    many = sample_rows(1000, Initialisation(graph_max_rows=60), 0, labels)
    assert (len(many), (labels[many] == 0).sum()) == (60, 30)
    assert len(sample_rows(1000, Initialisation(graph_max_rows=60), 0, np.zeros(1000, int))) == 60
    all_rows = sample_rows(1000, SETTINGS, 0, labels)
    np.testing.assert_array_equal(all_rows, sample_rows(1000, SETTINGS, 0))


def test_few_labels_among_many_rows_are_not_lost_by_the_sample():
    """Of 4,000 rows the graph has 600: 60 labels would be 9 of its nodes."""
    X, truth = blobs(4000, k=4)
    labels = labelled_at_random(truth, (0, 1), share=0.03)
    found = discover(rows_of(X), labels, 2, Initialisation(graph_max_rows=600, mixture_max_rows=1), seed=0)
    assert found.n_new == 2
    assert evaluate(truth, found.classes, (0, 1)).one_to_one.all > 0.98
