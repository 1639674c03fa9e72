"""What rows look like to discovery, the PU estimate, and a component for every row by k-means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import blobs, some_labels

from newfound.config import Initialisation
from newfound.discovery import pu, rows
from newfound.discovery.features import pca_projection
from newfound.discovery.graph import neighbour_graph, propagate
from newfound.discovery.pu import (
    FeatureSets,
    _by_propagation,
    estimate_class_probabilities,
    label_frequencies,
    linear_opinion_pool,
)
from newfound.discovery.rows import Rows, _spans, cluster, feature_sets, initialise, projected
from newfound.labels import UNLABELLED
from newfound.preprocessing.columns import Scaling, decide

D_X, N_KNOWN, N_NEW = 4, 2, 2
SETTINGS = Initialisation()


def unscaled(d):
    return Scaling(np.zeros(d, "f4"), np.ones(d, "f4"))


def four_blobs(n=200):
    X, truth = blobs(n, d=D_X, distance=3)
    return X, some_labels(truth, share=0.4), truth


@pytest.mark.parametrize("has_latent", [False, True])
def test_labels_are_kept_and_the_other_blobs_found(has_latent):
    X, labels, truth = four_blobs()
    rows = Rows(X, unscaled(D_X), latent=X if has_latent else None)
    found = initialise(rows, labels, N_KNOWN, N_NEW, 0)
    is_labelled = labels != UNLABELLED
    assert (found.labels[is_labelled] == labels[is_labelled]).all()
    assert set(found.labels) == set(range(N_KNOWN + N_NEW))
    assert ((found.labels < N_KNOWN) == (truth < N_KNOWN)).mean() > 0.95
    assert found.targets is None  # nothing was discovered: k-means says where a row is, not how surely
    found = initialise(rows, np.full(len(X), UNLABELLED), 0, 4, 0)
    assert set(found.labels) == set(range(4))


@pytest.mark.parametrize("n_same", [3, 200])
def test_few_or_equal_rows(n_same):
    X = np.repeat(np.array([[0.0, 0.0], [4.0, 4.0]], "f4"), n_same, axis=0)
    labels = np.full(2 * n_same, UNLABELLED)
    labels[0] = 0
    found = initialise(Rows(X, unscaled(2)), labels, 1, 4, 0)
    assert found.labels[0] == 0
    assert ((found.labels >= 0) & (found.labels < 5)).all()


# ---- what rows look like to discovery --------------------------------------------------------------------------------


def projection(X):
    made = decide(X, True, 0.0)
    return projected(Rows(made.select(X), made.scaling, is_scaled=made.is_scaled), SETTINGS, seed=0).projection


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.floats(-4, 4), st.floats(-100, 100), st.booleans()), min_size=D_X, max_size=D_X),
)
def test_units_do_not_matter(units):
    """A column times any number plus any number (as far as its digits survive that) gives the same projection."""
    X, _ = blobs(150, d=D_X)
    factor = np.array([(-1 if flips else 1) * 10.0**exponent for exponent, _, flips in units])
    shift = factor * np.array([by for _, by, _ in units])
    one, other = projection(X), projection(X * factor + shift)
    np.testing.assert_allclose(distances(one), distances(other), atol=0.01)
    signs = np.sign((one * other).sum(axis=0))  # of a principal component, anybody's choice
    leading = np.abs(one).max(axis=0) > 0.5
    np.testing.assert_allclose((one * signs)[:, leading], other[:, leading], atol=0.05)


def test_a_column_whose_mean_is_zero_is_like_any_other():
    X, _ = blobs(150, d=D_X)
    centred = X.copy()
    centred[:, 0] = np.tile([-3.0, -1.0, 0.0, 0.0, 1.0, 3.0], 25)
    np.testing.assert_allclose(distances(projection(centred)), distances(projection(centred + 100)), atol=0.01)


def test_one_odd_cell_hardly_changes_where_the_other_rows_lie():
    X, _ = blobs(600, d=D_X)
    odd = X.copy()
    odd[7, 2] = 1e5
    others = np.arange(600) != 7
    one, other = distances(projection(X)[others]), distances(projection(odd)[others])
    assert np.abs(one - other).max() < 0.1 * one.max()
    plain = pca_projection(odd, lambda rows: (rows - odd.mean(axis=0)) / odd.std(axis=0), SETTINGS, seed=0)
    assert np.abs(one - distances(plain[others])).max() > 0.3 * one.max()  # what it would be without


@pytest.mark.parametrize("n_rare", [1, 2, 3, 4, 12])  # 3 of 600 are as many as the quantile leaves out
def test_a_column_that_is_almost_always_zero_is_not_blown_up(n_rare):
    X, _ = blobs(600, d=D_X)
    rare = np.zeros((600, 1), "f4")
    rare[:n_rare] = 1  # 3 of them, standardised, are 14 standard deviations from the others
    points, without = distances(projection(np.hstack([X, rare]))), distances(projection(X))
    assert points.max() < 1.5 * without.max()
    np.testing.assert_allclose(points[n_rare:, n_rare:], without[n_rare:, n_rare:], atol=0.01)


def test_columns_of_a_few_values_and_those_in_one_unit_keep_their_scale():
    rng = np.random.default_rng(0)
    binary, unit = rng.integers(0, 2, (300, 2)), 0.1 * rng.standard_normal((300, 1))
    rows = Rows(np.hstack([binary, unit]).astype("f4"), unscaled(3))
    np.testing.assert_array_equal(_spans(rows, seed=0), 1)
    grey = rng.integers(0, 256, (300, 3)).astype(np.uint8)
    as_they_are = Rows(grey, decide(grey, "auto", 0.0).scaling)
    np.testing.assert_array_equal(_spans(as_they_are, seed=0), 1)


@pytest.mark.filterwarnings("ignore:invalid value")  # of PCA: no variance to share out
def test_features_of_columns_that_do_not_vary_are_finite():
    X, _, _ = four_blobs()
    features, graph = feature_sets(Rows(np.zeros_like(X), unscaled(D_X)), np.full(len(X), UNLABELLED), SETTINGS, seed=0)
    assert all(np.isfinite(part).all() for part in features[:2])
    assert features.graph is graph


# ---- the PU estimate -------------------------------------------------------------------------------------------------


def estimate(features, labels, n_known):
    return estimate_class_probabilities(features, labels, n_known, SETTINGS, seed=0)


def test_missing_labels_tell_new_classes_from_known_ones():
    X, truth = blobs(2000, d=D_X, distance=3)
    picked = np.random.default_rng(1).random(len(X)) < 0.2
    labels = np.where(picked & (truth < N_KNOWN), truth, UNLABELLED)
    noise = np.random.default_rng(2).standard_normal(X.shape)
    graph = neighbour_graph([noise], SETTINGS, seed=0)
    found = estimate(FeatureSets(noise, X, graph), labels, N_KNOWN)  # the set that tells something is found
    assert (found.sum(axis=1) <= 1 + 1e-6).all()
    for known in range(N_KNOWN):
        assert found[truth == known, known].mean() > 0.9
    assert found[truth >= N_KNOWN].sum(axis=1).mean() < 0.1
    assert found[truth >= N_KNOWN].sum(axis=1).max() < 0.5


def test_a_few_labels_in_each_group_name_all_of_it():
    X, truth = blobs(2000, d=D_X, distance=3)
    labels = some_labels(truth, share=0.01)
    graph = neighbour_graph([X], SETTINGS, seed=0)
    found = estimate(FeatureSets(X, X, graph), labels, N_KNOWN)
    assert (found.argmax(axis=1) == truth)[truth < N_KNOWN].mean() > 0.95
    assert found[truth >= N_KNOWN].sum(axis=1).mean() < 0.1


def test_ambiguous_rows_stay_uncertain():
    """Among equal rows, as many are estimated to be known as there are."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 4000)
    X = np.c_[np.where(truth == 0, rng.random(4000) < 0.5, 1), rng.random(4000)].astype("f4")  # half of 0 is apart
    labels = np.where((truth == 0) & (rng.random(4000) < 0.3), 0, UNLABELLED)
    found = estimate(FeatureSets(X, X, neighbour_graph([X], SETTINGS, seed=0)), labels, 1)[:, 0]
    assert found[X[:, 0] == 0].mean() > 0.9
    assert found[X[:, 0] == 1].mean() == pytest.approx(1 / 3, abs=0.15)


def test_label_frequency_is_the_density_around_labelled_rows_if_labels_are_many():
    density = np.tile([0.25, 0.0], (4000, 1))
    density[2000:] = [0.0, 0.1]
    labels = np.full(4000, UNLABELLED)
    labels[:500], labels[2000:2200] = 0, 1
    np.testing.assert_allclose(label_frequencies(density, labels, prior=30), [0.25, 0.1], rtol=1e-6)


@pytest.mark.parametrize(("n_labels", "expected"), [(50, 0.1), (100, 0.1), (150, 0.2), (200, 0.3), (400, 0.3)])
def test_labels_of_any_class_count_for_a_label_frequency_where_there_are_enough(n_labels, expected):
    n_rows = 10 * n_labels
    labels = np.full(n_rows, UNLABELLED)
    labels[:n_labels] = np.arange(n_labels) % 2
    density = np.tile([0.1, 0.2], (n_rows, 1))  # two classes that are mixed everywhere
    assert label_frequencies(density, labels, prior=0)[0] == pytest.approx(expected)


def test_base_models_are_weighed_by_what_each_adds_to_the_others():
    targets = np.repeat([0, 1, 2], 200)
    knows_0, knows_1, knows_nothing = (np.full((600, 3), 1 / 3) for _ in range(3))
    knows_0[:200], knows_0[200:] = [0.98, 0.01, 0.01], [0.02, 0.49, 0.49]
    knows_1[200:400], knows_1[:200], knows_1[400:] = [0.01, 0.98, 0.01], [0.49, 0.02, 0.49], [0.49, 0.02, 0.49]
    answer = linear_opinion_pool([knows_0, knows_1, knows_nothing], targets, prior=1.0)
    np.testing.assert_allclose(answer.sum(axis=1), 1)
    right = answer[np.arange(600), targets]
    assert (right[:400] > 0.6).all()  # either alone gives half to one of them
    alone = linear_opinion_pool([knows_0, knows_nothing], targets, prior=1.0)
    assert np.abs(alone - knows_0).max() < 0.03


def test_few_labels_do_not_decide_which_base_model_is_right():
    sure, unsure = np.tile([0.9, 0.1], (50, 1)), np.tile([0.6, 0.4], (50, 1))
    targets = np.full(50, UNLABELLED)
    targets[:2] = 0
    answer = linear_opinion_pool([sure, unsure], targets, prior=1.0)
    assert (answer[:, 0] > 0.65).all()
    assert (answer[:, 0] < 0.85).all()


def test_a_labelled_row_is_judged_by_other_labels():
    """Labels that say nothing about the rows are not predicted better than by chance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, D_X)).astype("f4")
    labels = rng.integers(0, 2, 600)
    labels[300:] = UNLABELLED
    graph = neighbour_graph([X], SETTINGS, seed=0)
    found = estimate(FeatureSets(X, X, graph), labels, 2)
    assert (found[:300].argmax(axis=1) == labels[:300]).mean() < 0.6


def test_propagated_labels_are_those_of_the_other_folds():
    """Cross-fitting at once is what propagation from the labels of the other folds gives, fold by fold."""
    X, truth = blobs(200, d=D_X, distance=3)
    labels = some_labels(truth, share=0.4)
    graph = neighbour_graph([X], SETTINGS, seed=0)
    targets = np.where(labels == UNLABELLED, N_KNOWN, labels)
    found = _by_propagation(graph, targets, N_KNOWN, 0.9, SETTINGS, seed=0)
    labelled = np.flatnonzero(labels != UNLABELLED)
    fold = np.random.default_rng(0).permutation(len(labelled)) % SETTINGS.n_folds
    for i in range(SETTINGS.n_folds):
        sources = np.zeros((len(X), N_KNOWN))
        others = labelled[fold != i]
        sources[others, labels[others]] = SETTINGS.n_folds / (SETTINGS.n_folds - 1)
        density = propagate(graph, sources, 0.9)[labelled[fold == i]]
        smoothing = pu.LABEL_SMOOTHING
        averages = np.bincount(targets, minlength=N_KNOWN + 1)[:N_KNOWN] / len(X)
        expected = (1 - smoothing) * density + smoothing * averages
        np.testing.assert_allclose(found[labelled[fold == i], :N_KNOWN], expected, rtol=0.02, atol=1e-3)


# ---- the first clusters ----------------------------------------------------------------------------------------------


def test_rows_that_differ_by_rounding_only_make_fewer_clusters_than_asked_for():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0) + 1e-17 * np.random.default_rng(0).random((100, 2))
    X[::2] += np.finfo(float).eps
    clusters = cluster(X, np.arange(100), 3, 0, n_init=2)
    assert len(clusters) == 100
    assert len(np.unique(clusters[::2])) == len(np.unique(clusters[1::2])) == 2


def test_clusters_are_fitted_on_a_sample_and_told_of_every_row(monkeypatch):
    X, truth = blobs(400, d=D_X, distance=8)
    monkeypatch.setattr(rows, "CLUSTER_MAX_ROWS", 60)
    clusters = cluster(X, np.arange(400), 4, 0, n_init=5)
    assert len(np.unique(np.c_[clusters, truth], axis=0)) == 4


def test_full_covariances_part_long_clusters_that_k_means_cuts_across():
    rng = np.random.default_rng(0)
    truth = np.arange(600) % 2
    X = np.c_[20 * rng.random(600), 2.5 * truth + 0.3 * rng.standard_normal(600)].astype("f4")

    def rightly(full_covariance):
        found = cluster(X, np.arange(600), 2, 0, n_init=5, full_covariance=full_covariance)
        return max((found == truth).mean(), (found != truth).mean())

    assert rightly(False) < 0.7
    assert rightly(True) > rightly(False)
