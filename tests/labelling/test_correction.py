"""What labels say about rows that are like those labelled."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from newfound.labelling.given import MAX_LABELS, corrected, used_labels
from newfound.labelling.suggest import Likeness, joined, neighbour_distance
from newfound.labels import UNLABELLED


def clouds(seed=0, n=100):
    """Four clouds; two of them were taken for one class, one row in five of which is thought of as unsure."""
    rng = np.random.default_rng(seed)
    cloud = np.arange(n) % 4
    places = 10 * np.eye(4)[cloud] + rng.normal(size=(n, 4))
    before = np.eye(4)[[0, 1, 2, 2]][cloud]
    return cloud, Likeness.of(places, 3.0), before


def codes_of(cloud, rows):
    return np.where(np.isin(np.arange(len(cloud)), rows), cloud, UNLABELLED)


def test_a_few_labels_part_what_was_taken_for_one_class():
    cloud, likeness, before = clouds()
    codes = codes_of(cloud, np.flatnonzero(cloud == 3)[:3])
    after = corrected(before, likeness, codes, codes != UNLABELLED)
    assert (before.argmax(axis=1) == cloud).mean() == 0.75
    assert (after.argmax(axis=1) == cloud).mean() == 1


def test_labels_that_agree_change_nothing():
    cloud, likeness, before = clouds()
    codes = codes_of(cloud, np.flatnonzero(cloud < 3)[:20])
    after = corrected(before, likeness, codes, codes != UNLABELLED)
    np.testing.assert_allclose(after, before, atol=1e-4)
    nothing = np.full(len(cloud), UNLABELLED)
    np.testing.assert_array_equal(corrected(before, likeness, nothing, nothing != UNLABELLED), before)


def test_it_is_what_a_gaussian_process_says():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    cloud, likeness, before = clouds()
    before = 0.2 * before + 0.2  # far from 0 and 1, where nothing is cut off
    rows = np.arange(12)
    codes = codes_of(cloud, rows)
    process = GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None)
    process.fit(likeness.places[rows], np.eye(4)[cloud[rows]] - before[rows])
    expected = np.maximum(before + process.predict(likeness.places), 1e-6)
    expected /= expected.sum(axis=1, keepdims=True)
    found = corrected(before, likeness, codes, codes != UNLABELLED)
    np.testing.assert_allclose(found[12:], expected[12:], atol=1e-4)
    np.testing.assert_array_equal(found[rows], np.eye(4)[cloud[rows]])


@given(st.integers(0, 10_000))
def test_probabilities_sum_to_one_and_a_label_is_kept(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    before = rng.dirichlet(np.full(3, 0.3), n)
    codes = rng.integers(-1, 3, n)
    likeness = Likeness.of(rng.integers(0, 3, (n, 2)).astype(float), 1.5)  # many rows at one place
    after = corrected(before, likeness, codes, rng.random(n) < 0.5)
    np.testing.assert_allclose(after.sum(axis=1), 1)
    labelled = np.flatnonzero(codes != UNLABELLED)
    np.testing.assert_array_equal(after[labelled].argmax(axis=1), codes[labelled])


def test_of_many_labels_those_given_since_are_used_first():
    codes, is_given = np.zeros(2 * MAX_LABELS, int), np.arange(2 * MAX_LABELS) < 100
    used = used_labels(codes, is_given, seed=0)
    assert len(used) == MAX_LABELS
    assert set(range(100)) <= set(used.tolist())


def test_no_set_of_features_outweighs_another_and_rows_that_are_alike_have_a_distance():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(50, 3)), 1_000 * rng.normal(size=(50, 8)) + 7
    parts = np.square(joined(one, other))
    np.testing.assert_allclose(parts[:, :3].sum(axis=1).mean(), parts[:, 3:].sum(axis=1).mean())
    assert neighbour_distance(np.zeros((5, 2))) == 1
