"""The mixture for small tables: its mathematics against slow, obvious computations, then the numbers it finds."""

import numpy as np
import pytest
from small import blobs, some_labels

from newfound.config import Initialisation
from newfound.discovery import mixture
from newfound.discovery.mixture import (
    Prior,
    Table,
    _valley_between,
    best_known,
    fit_mixture,
    from_clusters,
    missing_labels,
    prefers_mixture,
)
from newfound.evaluation import evaluate
from newfound.labels import UNLABELLED

SETTINGS = Initialisation()


def a_table(n=60, d=3, n_known=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) < 12, np.arange(n) % n_known, UNLABELLED)
    points = rng.standard_normal((n, d)) + 3 * (np.arange(n) % 3)[:, None]
    return mixture.make_table(points, labels, n_known, rows_per_dim=10)


def random_responsibilities(table, n_new, seed=0):
    found = np.random.default_rng(seed).dirichlet(np.ones(table.n_known + n_new), len(table.labels))
    rows = np.flatnonzero(table.labels != UNLABELLED)
    found[rows] = np.eye(found.shape[1])[table.labels[rows]]
    return found


def correlated(n=200, k=3, d=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    shapes = rng.standard_normal((k, d, d)) / 2 + np.eye(d)
    return 7 * np.eye(max(k, d))[truth, :d] + np.einsum("nij,nj->ni", shapes[truth], rng.standard_normal((n, d))), truth


def one_to_one(truth, fit, known):
    return evaluate(truth, fit.probabilities.argmax(axis=1), known=known).one_to_one.all


# ---- the mathematics -------------------------------------------------------------------------------------------------


def test_the_marginal_is_the_product_of_predictions_of_one_row_after_the_other():
    from scipy.stats import multivariate_t

    Z, prior = np.random.default_rng(0).standard_normal((7, 2)), Prior(6.0, 0.3, np.array([[1.0, 0.2], [0.2, 0.5]]))
    slow, scale, mean, nu, kappa = 0.0, prior.nu * prior.covariance, np.zeros(2), prior.nu, prior.kappa
    for z in Z:
        df = nu - 1
        slow += multivariate_t(mean, scale * (kappa + 1) / (kappa * df), df).logpdf(z)
        scale = scale + kappa / (kappa + 1) * np.outer(z - mean, z - mean)
        mean, nu, kappa = (kappa * mean + z) / (kappa + 1), nu + 1, kappa + 1
    table = Table(Z, np.ones(2), np.zeros((2, 2)), np.full(7, UNLABELLED), 0)
    assert mixture.log_marginal(mixture.statistics(table, np.ones((7, 1))), prior) == pytest.approx(slow)


def test_sums_over_rows_are_those_of_a_loop():
    table = a_table()
    weights = random_responsibilities(table, 1)
    of = mixture.statistics(table, weights)
    for y in range(3):
        mean = sum(w * z for w, z in zip(weights[:, y], table.Z, strict=True)) / weights[:, y].sum()
        scatter = sum(
            w * (np.outer(z - mean, z - mean) + table.blur) for w, z in zip(weights[:, y], table.Z, strict=True)
        )
        np.testing.assert_allclose(of.means[y], mean, atol=1e-8)
        np.testing.assert_allclose(of.scatter[y], scatter, atol=1e-6)


def test_the_e_step_is_that_of_a_loop_over_rows_and_classes():
    from scipy.special import digamma

    table, d = a_table(), 3
    weights = random_responsibilities(table, 1)
    of, prior = mixture.statistics(table, weights), Prior(8.0, 0.2, np.eye(3))
    labelled, unlabelled = mixture.label_counts(table, weights)
    found = mixture.e_step(table, weights, of, prior)
    for n in np.flatnonzero(table.labels == UNLABELLED):
        log_weights = []
        for y, (count, mean) in enumerate(zip(of.counts, of.means, strict=True)):
            nu, kappa = prior.nu + count, prior.kappa + count
            scale = (
                prior.nu * prior.covariance
                + of.scatter[y]
                + prior.kappa * count / (prior.kappa + count) * np.outer(mean, mean)
            )
            inverse, away = np.linalg.inv(scale), table.Z[n] - count / kappa * mean
            log_det = sum(digamma((nu - i) / 2) for i in range(d)) + d * np.log(2) - np.log(np.linalg.det(scale))
            distance = d / kappa + nu * (away @ inverse @ away + np.trace(inverse @ table.blur))
            no_label = digamma(1 + unlabelled[y]) - digamma(2 + labelled[y] + unlabelled[y]) if y < 2 else 0.0
            log_weights.append(digamma(1 + count) + no_label + (log_det - distance) / 2)
        slow = np.exp(np.array(log_weights) - max(log_weights))
        np.testing.assert_allclose(found[n], slow / slow.sum(), atol=1e-8)
    rows = np.flatnonzero(table.labels != UNLABELLED)
    np.testing.assert_array_equal(found[rows], np.eye(3)[table.labels[rows]])


def test_no_step_lowers_the_bound():
    table = a_table()
    weights, prior = random_responsibilities(table, 2), Prior(8.0, 0.1, np.eye(3))
    bounds = []
    for _ in range(12):
        of = mixture.statistics(table, weights)
        bounds.append(mixture.evidence_bound(table, weights, of, prior))
        prior = mixture.update_prior(of, prior)
        bounds.append(mixture.evidence_bound(table, weights, of, prior))
        weights = mixture.e_step(table, weights, of, prior)
    assert (np.diff(bounds) > -1e-6).all()
    assert bounds[-1] > bounds[0] + 1


def test_units_do_not_matter():
    X, truth = correlated(90)
    labels = some_labels(truth)
    one = fit_mixture(X, labels, 2, SETTINGS, seed=0)
    other = fit_mixture(X * [1e3, 1e-2, -5] + [7, -1, 3], labels, 2, SETTINGS, seed=0)
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-4)


def test_a_valley_is_deep_between_groups_far_apart_and_none_within_one():
    counts, covariance = np.array([50.0, 50.0]), np.stack([np.eye(2)] * 2)
    depths = [_valley_between(counts, np.array([[0.0, 0.0], [apart, 0.0]]), covariance) for apart in (0.5, 3.0, 8.0)]
    assert depths[0] == pytest.approx(1, abs=0.05)
    assert depths[0] > depths[1] > depths[2]
    assert depths[2] < 0.01


def test_missing_labels_tell_a_new_class_from_a_part_of_a_known_one():
    X, truth = blobs(240, k=3)
    labels = np.where(np.random.default_rng(0).random(240) < 0.3, truth, UNLABELLED)
    a_hidden_class = np.where(truth == 2, UNLABELLED, labels)
    a_part_of_a_class = np.where(labels == 2, 0, labels)
    assert _p_of_third_group(X, truth, a_hidden_class) < SETTINGS.new_class_p
    assert _p_of_third_group(X, truth, a_part_of_a_class) > SETTINGS.new_class_p


def _p_of_third_group(X, truth, labels):
    table = mixture.make_table(X, labels, 2, 10)
    rows = np.flatnonzero(labels != UNLABELLED)
    start = np.eye(3)[truth]
    start[rows] = np.eye(3)[labels[rows]]
    fit = mixture.iterate(table, start, Prior(15.0, 0.1, np.eye(table.Z.shape[1])))
    return missing_labels(table, fit, SETTINGS, seed=0).p_value[0]


# ---- the number ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_known", [1, 2, 3, 4])
def test_the_number_of_new_classes_is_found_also_if_it_is_0(n_known):
    X, truth = correlated(240, k=4, d=4)
    fit = fit_mixture(X, some_labels(truth, tuple(range(n_known))), n_known, SETTINGS, seed=0)
    low, high = fit.n_new_range
    assert low <= fit.n_new == 4 - n_known <= high
    assert one_to_one(truth, fit, range(n_known)) > 0.97


def test_without_labels_it_is_a_mixture():
    X, truth = correlated(240, k=3)
    fit = fit_mixture(X, np.full(240, UNLABELLED), 0, SETTINGS, seed=0)
    assert fit.n_new == 3
    assert one_to_one(truth, fit, []) > 0.97


@pytest.mark.parametrize("n_new", [0, 1, 3])
def test_a_given_number_is_used(n_new):
    X, truth = correlated(150)
    fit = fit_mixture(X, some_labels(truth), 2, SETTINGS, seed=0, n_new=n_new)
    assert (fit.n_new, fit.n_new_range) == (n_new, (n_new, n_new))
    assert fit.probabilities.shape == (150, 2 + n_new)
    np.testing.assert_allclose(fit.probabilities.sum(axis=1), 1)


def test_labelled_rows_keep_their_labels():
    X, truth = correlated(150)
    labels = some_labels(truth)
    rows = np.flatnonzero(labels != UNLABELLED)
    fit = fit_mixture(X, labels, 2, SETTINGS, seed=0)
    np.testing.assert_array_equal(fit.probabilities[rows], np.eye(2 + fit.n_new)[labels[rows]])


def test_categories_do_not_make_classes_of_their_own():
    """Three groups, and beside them a category that has nothing to do with them, one-hot, and a constant column."""
    X, truth = correlated(240)
    category = np.eye(3)[np.random.default_rng(1).integers(0, 3, 240)]
    fit = fit_mixture(np.hstack([X, category, np.ones((240, 1))]), some_labels(truth), 2, SETTINGS, seed=0)
    assert fit.n_new == 1
    assert one_to_one(truth, fit, [0, 1]) > 0.97


def test_rows_that_are_all_equal_are_no_new_class():
    labels = np.where(np.arange(40) < 10, np.arange(40) % 2, UNLABELLED)
    fit = fit_mixture(np.ones((40, 3)), labels, 2, SETTINGS, seed=0)
    assert fit.n_new == 0
    assert np.isfinite(fit.probabilities).all()
    assert fit_mixture(np.ones((40, 3)), labels, 2, SETTINGS, seed=0, n_new=2).probabilities.shape == (40, 4)


def test_more_columns_than_rows():
    X = np.random.default_rng(0).standard_normal((30, 80))
    fit = fit_mixture(X, some_labels(np.arange(30) % 2), 2, SETTINGS, seed=0)
    assert np.isfinite(fit.probabilities).all()


def test_the_same_seed_gives_the_same_answer():
    X, truth = correlated(120)
    one, other = (fit_mixture(X, some_labels(truth), 2, SETTINGS, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_no_class_at_all_cannot_be_asked_for():
    with pytest.raises(ValueError, match="no class"):
        fit_mixture(np.eye(5), np.full(5, UNLABELLED), 0, SETTINGS, seed=0, n_new=0)


def test_small_tables_of_few_columns_are_the_mixtures():
    assert prefers_mixture((200, 5), SETTINGS)
    assert not prefers_mixture((200, 64), SETTINGS)
    assert not prefers_mixture((5_000, 5), SETTINGS)


def test_known_classes_that_are_no_gaussians_are_left_to_the_graph():
    X, truth = correlated(200, k=2)
    X[truth == 0] *= np.where(np.arange(100) % 3, 0.05, 1.0)[:, None]  # two thirds of a class in one point, nearly
    fit = fit_mixture(X, some_labels(truth, (0, 1)), 2, SETTINGS, seed=0)
    smooth = fit_mixture(correlated(200, k=2)[0], some_labels(truth, (0, 1)), 2, SETTINGS, seed=0)
    assert not prefers_mixture(X.shape, SETTINGS, fit)
    assert prefers_mixture(X.shape, SETTINGS, smooth)


def test_statistics_of_an_empty_class_are_finite():
    table = a_table()
    of = mixture.statistics(table, np.hstack([random_responsibilities(table, 0), np.zeros((60, 1))]))
    assert all(np.isfinite(part).all() for part in of)


def test_labels_by_chance_at_one_end_do_not_lead_the_mixture_astray():
    """Two long classes side by side, labelled at opposite ends: only starts at clusters separate them."""
    rng = np.random.default_rng(0)
    truth = np.arange(160) % 2
    points = rng.standard_normal((160, 2)) * [6.0, 0.5] + 4.0 * truth[:, None] * [0.0, 1.0]
    along = np.where(truth == 0, points[:, 0], -points[:, 0])
    labels = np.where(np.isin(np.arange(160), np.argsort(-along)[:8]), truth, UNLABELLED)
    table = mixture.make_table(points, labels, 2, rows_per_dim=10)
    from_labels, best = mixture.known_only(table), best_known(table, seed=0)
    assert best.bound >= from_labels.bound - 1e-6
    assert np.mean(best.responsibilities.argmax(axis=1) == truth) > 0.95


def test_fits_begun_afresh_keep_labels_and_have_as_many_classes_as_asked_for():
    table = a_table()
    rows = np.flatnonzero(table.labels != UNLABELLED)
    for fit in from_clusters(table, 3, seed=0):
        assert fit.responsibilities.shape == (60, 3)
        np.testing.assert_array_equal(fit.responsibilities[rows].argmax(axis=1), table.labels[rows])
    same = table._replace(Z=np.zeros_like(table.Z))
    assert from_clusters(same, 3, seed=0) == []
