"""How many new classes there are: found on data whose number is known, and none where there is none."""

import numpy as np
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM
from newfound.config import Initialisation
from newfound.discovery import discover
from newfound.discovery.communities import communities
from newfound.discovery.discover import _is_large
from newfound.discovery.new_groups import NO_GROUP, Nodes, missing_label_p_values, new_groups
from newfound.discovery.resolution import agreement, choose_resolutions
from newfound.evaluation import evaluate
from newfound.graph import neighbour_graph
from newfound.initialisation import Rows
from newfound.labels import UNLABELLED
from newfound.preprocessing import Scaling

SETTINGS = Initialisation()


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
    from scipy.sparse import csr_array

    assert communities(csr_array((5, 5)), 1.0, seed=0).tolist() == [0, 1, 2, 3, 4]


def test_a_higher_resolution_makes_more_communities():
    X = np.random.default_rng(0).standard_normal((600, 3)).astype("f4")
    weights = neighbour_graph([X], SETTINGS, seed=0).weights.tocsr()
    numbers = [communities(weights, r, seed=0).max() for r in (0.1, 1.0, 8.0)]
    assert numbers[0] < numbers[1] < numbers[2]


# ---- agreement with the labels ---------------------------------------------------------------------------------------


def test_agreement_is_whole_where_every_class_is_a_community():
    labels = np.array([0, 0, 1, 1, 2, 2, UNLABELLED])
    assert agreement(labels, np.array([5, 5, 3, 3, 0, 0, 1]), 3) == pytest.approx(1)
    halves, merged = np.array([0, 1, 2, 3, 4, 5, 6]), np.array([0, 0, 0, 0, 1, 1, 2])
    assert agreement(labels, halves, 3) < agreement(labels, merged, 3) < 1


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
    assert agreement(labels, community, 3) == pytest.approx(expected)


def test_without_labels_there_is_one_resolution():
    weights = neighbour_graph([blobs(100)[0]], SETTINGS, seed=0).weights.tocsr()
    assert choose_resolutions(weights, np.full(100, UNLABELLED), 0, SETTINGS, 0) == [SETTINGS.resolution]


# ---- labels that are missing -----------------------------------------------------------------------------------------


def nodes_of(X, labels, truth, n_known, seed=0):
    """Nodes whose class probabilities are those of a perfect estimate, except that `truth` ≥ n_known is new."""
    graph = neighbour_graph([X], SETTINGS, seed=seed)
    probabilities = np.eye(truth.max() + 1)[truth][:, :n_known].astype("f4")
    return Nodes(graph.weights.tocsr(), labels[graph.sample], probabilities[graph.sample]), truth[graph.sample]


def test_a_group_is_new_where_it_should_hold_labels_and_does_not():
    X, truth = blobs(800)
    nodes, truth = nodes_of(X, labelled_at_random(truth, (0, 1)), truth, 2)
    found = new_groups(nodes, 0.25, SETTINGS, seed=0)
    assert (found[truth < 2] == NO_GROUP).all()
    assert len(np.unique(np.c_[found, truth][truth >= 2], axis=0)) == 2


def test_missing_labels_are_no_surprise_where_few_are_expected():
    """Of ten rows with one label in five, none is no reason to believe in a class; of a hundred, it is."""
    X, truth = blobs(240, k=3)
    labels = labelled_at_random(truth, (0, 1))
    nodes, truth = nodes_of(X, labels, truth, 2)
    candidates = np.flatnonzero(truth == 2)
    few, many = candidates[:10], candidates
    p_few = missing_label_p_values(nodes, few, np.zeros(len(few), int))[0]
    p_many = missing_label_p_values(nodes, many, np.zeros(len(many), int))[0]
    assert p_many < SETTINGS.new_class_p < p_few
    frequency = np.sum(labels >= 0) / np.sum(truth < 2)
    assert p_few == pytest.approx((1 - frequency) ** 10, rel=0.3)


# ---- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("known", "k"), [((0, 1), 4), ((0, 1, 2), 4), ((0, 1, 2, 3), 4), ((0, 1), 7)])
def test_the_number_of_new_classes_is_found(known, k):
    X, truth = blobs(1200, d=8, k=k)
    labels = labelled_at_random(truth, known)
    found = discover(rows_of(X), labels, len(known), SETTINGS, seed=0)
    assert found.n_new == k - len(known)
    assert found.n_new_range[0] <= found.n_new <= found.n_new_range[1]
    assert evaluate(truth, found.labels, known).one_to_one.all > 0.98
    assert (found.labels[labels >= 0] == labels[labels >= 0]).all()
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
    assert evaluate(truth, found.labels, []).one_to_one.all > 0.98


def test_a_handful_of_odd_rows_is_no_class_where_nothing_says_so():
    assert _is_large(np.array([300, 280, 310, 40, 12, 3]), 1 / 3).tolist() == [True] * 3 + [False] * 3
    assert _is_large(np.array([5]), 1 / 3).tolist() == [True]


def test_labels_that_were_not_picked_at_random_can_be_said_to_be_so():
    """Labels of one corner of a class only: by missing labels the rest of it is new, by communities it is not."""
    rng = np.random.default_rng(0)
    X, truth = blobs(900, d=4, k=3, distance=8)
    X = (X + rng.standard_normal(X.shape)).astype("f4")
    corner = X[:, 3] > 0.8
    labels = np.where(corner & (truth < 2) & (rng.random(900) < 0.8), truth, UNLABELLED)
    found = discover(rows_of(X), labels, 2, SETTINGS, seed=0, uses_pu=False)
    assert found.n_new == 1
    assert evaluate(truth, found.labels, [0, 1]).one_to_one.all > 0.95


def test_the_graph_is_of_a_sample_in_random_order_and_rows_outside_follow():
    X, truth = blobs(900)
    settings = Initialisation(graph_max_rows=300)
    found = discover(rows_of(X), labelled_at_random(truth, (0, 1)), 2, settings, seed=3)
    assert found.n_new == 2
    assert evaluate(truth, found.labels, [0, 1]).one_to_one.all > 0.98


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


def test_a_number_is_obeyed():
    X, truth = blobs(200)
    model = GMDGM(3, **quick(max_epochs=1, pretrain_epochs=1)).fit(X, some_labels(truth))
    assert (model.n_new_, model.n_new_range_) == (3, (3, 3))
    labelled = some_labels(truth) >= 0
    np.testing.assert_array_equal(model.labels_[~labelled], model.predict(X)[~labelled])
