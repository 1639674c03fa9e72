"""The PU estimate, the first clusters, and a component for every row."""

import numpy as np
import pytest
from small import blobs, some_labels

from newfound.config import Initialisation
from newfound.graph import neighbour_graph, propagate
from newfound.initialisation import FeatureSets, Rows, cluster, estimate_class_probabilities, initialise
from newfound.initialisation.pu import _by_propagation, label_frequencies, linear_opinion_pool
from newfound.labels import UNLABELLED
from newfound.preprocessing import Scaling

D_X, N_KNOWN, N_NEW = 4, 2, 2
SETTINGS = Initialisation()


def unscaled(d):
    return Scaling(np.zeros(d, "f4"), np.ones(d, "f4"))


def four_blobs(n=200):
    X, truth = blobs(n, d=D_X, distance=3)
    return X, some_labels(truth, share=0.4), truth


@pytest.mark.parametrize("init", ["spectral", "kmeans"])
@pytest.mark.parametrize("uses_pu", [True, False])
def test_labels_are_kept_and_the_other_blobs_found(init, uses_pu):
    X, labels, truth = four_blobs()
    settings = Initialisation(init=init)
    found = initialise(Rows(X, unscaled(D_X)), labels, N_KNOWN, N_NEW, settings, 0, uses_pu=uses_pu)
    is_labelled = labels != UNLABELLED
    assert (found.labels[is_labelled] == labels[is_labelled]).all()
    assert set(found.labels) == set(range(N_KNOWN + N_NEW))
    assert ((found.labels < N_KNOWN) == (truth < N_KNOWN)).mean() > 0.95
    if uses_pu:
        assert found.class_probabilities.shape == (len(X), N_KNOWN)
    else:
        assert found.class_probabilities is None
    no_labels = np.full(len(X), UNLABELLED)
    found = initialise(Rows(X, unscaled(D_X), latent=X), no_labels, 0, 4, settings, 0, uses_pu=uses_pu)
    assert set(found.labels) == set(range(4))


@pytest.mark.parametrize("n_same", [3, 200])
def test_few_or_equal_rows(n_same):
    X = np.repeat(np.array([[0.0, 0.0], [4.0, 4.0]], "f4"), n_same, axis=0)
    labels = np.full(2 * n_same, UNLABELLED)
    labels[0] = 0
    found = initialise(Rows(X, unscaled(2)), labels, 1, 4, SETTINGS, 0, uses_pu=True)
    assert np.isfinite(found.class_probabilities).all()
    assert found.labels[0] == 0
    assert ((found.labels >= 0) & (found.labels < 5)).all()


def test_columns_that_do_not_vary():
    X, labels, _ = four_blobs()
    found = initialise(Rows(np.zeros_like(X), unscaled(D_X)), labels, N_KNOWN, N_NEW, SETTINGS, 0, uses_pu=True)
    assert np.isfinite(found.class_probabilities).all()


# ---- the PU estimate -------------------------------------------------------------------------------------------------


def estimate(features, labels, n_known):
    return estimate_class_probabilities(features, labels, n_known, SETTINGS, seed=0)


def test_missing_labels_tell_new_classes_from_known_ones():
    X, truth = blobs(2000, d=D_X, distance=3)
    picked = np.random.default_rng(1).random(len(X)) < 0.2
    labels = np.where(picked & (truth < N_KNOWN), truth, UNLABELLED)
    noise = np.random.default_rng(2).standard_normal(X.shape)
    found = estimate(FeatureSets(noise, noise, X, None), labels, N_KNOWN)  # the set that tells something is found
    assert (found.sum(axis=1) <= 1 + 1e-6).all()
    for known in range(N_KNOWN):
        assert found[truth == known, known].mean() > 0.9
    assert found[truth >= N_KNOWN].sum(axis=1).mean() < 0.1
    assert found[truth >= N_KNOWN].sum(axis=1).max() < 0.5


def test_a_few_labels_in_each_group_name_all_of_it():
    X, truth = blobs(2000, d=D_X, distance=3)
    labels = some_labels(truth, share=0.01)
    graph = neighbour_graph([X], SETTINGS, seed=0)
    found = estimate(FeatureSets(X, X, X, graph), labels, N_KNOWN)
    assert (found.argmax(axis=1) == truth)[truth < N_KNOWN].mean() > 0.95
    assert found[truth >= N_KNOWN].sum(axis=1).mean() < 0.1


def test_ambiguous_rows_stay_uncertain():
    """Among rows that cannot be told apart, as many are thought known as there are."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 4000)
    X = np.c_[np.where(truth == 0, rng.random(4000) < 0.5, 1), rng.random(4000)].astype("f4")  # half of 0 is apart
    labels = np.where((truth == 0) & (rng.random(4000) < 0.3), 0, UNLABELLED)
    found = estimate(FeatureSets(X, X, X, None), labels, 1)[:, 0]
    assert found[X[:, 0] == 0].mean() > 0.9
    assert found[X[:, 0] == 1].mean() == pytest.approx(1 / 3, abs=0.15)


def test_label_frequency_is_the_density_around_labelled_rows_if_labels_are_many():
    density = np.tile([0.25, 0.0], (4000, 1))
    density[2000:] = [0.0, 0.1]
    labels = np.full(4000, UNLABELLED)
    labels[:500], labels[2000:2200] = 0, 1
    np.testing.assert_allclose(label_frequencies(density, labels, prior=30), [0.25, 0.1], rtol=1e-6)


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
    found = estimate(FeatureSets(X, X, X, graph), labels, 2)
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
        density = propagate(graph, sources, 0.9, SETTINGS)[labelled[fold == i]]
        smoothing = SETTINGS.label_smoothing
        averages = np.bincount(targets, minlength=N_KNOWN + 1)[:N_KNOWN] / len(X)
        expected = (1 - smoothing) * density + smoothing * averages
        np.testing.assert_allclose(found[labelled[fold == i], :N_KNOWN], expected, rtol=0.02, atol=1e-3)


# ---- the first clusters ----------------------------------------------------------------------------------------------


def test_no_cluster_is_spent_on_a_handful_of_odd_rows():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0, 0], [4, 0], [200, 200], [-300, 0]], [500, 500, 3, 1], axis=0)
    X = (centres + rng.standard_normal(centres.shape)).astype("f4")
    every = np.arange(len(X))
    clusters = cluster(X, every, 2, SETTINGS, 0, n_init=3, min_share=0.1)
    assert np.bincount(clusters).min() > 400
    assert len(clusters) == len(X)
    assert np.bincount(cluster(X, every, 2, SETTINGS, 0)).min() < 10  # what it would be without


def test_an_odd_row_has_a_cluster_where_there_is_nothing_else_to_cut():
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], [50, 1], axis=0).astype("f4")
    clusters = cluster(X, np.arange(51), 2, SETTINGS, 0, min_share=0.5)
    assert np.bincount(clusters).tolist() in ([50, 1], [1, 50])


def test_clusters_that_nothing_is_left_for_stay_empty():
    """Rows that differ only by rounding make fewer clusters than asked for, and leave nothing to cluster again."""
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0) + 1e-17 * np.random.default_rng(0).random((100, 2))
    X[::2] += np.finfo(float).eps
    clusters = cluster(X, np.arange(100), 3, SETTINGS, 0, n_init=2, min_share=0.1)
    assert len(clusters) == 100
