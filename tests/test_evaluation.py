import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newfound.evaluation import evaluate, expected_calibration_error, reliability
from newfound.masking import mask_labels

TRUTH = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 2)
COMPONENT = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3])


def test_by_hand():
    """Many-to-one: 0→a, 1→b, 2→b, 3→c. One-to-one: 0→a, and b has 1 or 2, not both; c has 3."""
    evaluation = evaluate(TRUTH, COMPONENT, 5, known=np.array(["a"]))
    assert evaluation.many_to_one.all == pytest.approx((3 + 4 + 1) / 10)
    assert evaluation.many_to_one.known == pytest.approx(3 / 4)
    assert evaluation.many_to_one.new == pytest.approx(5 / 6)
    assert evaluation.one_to_one.all == pytest.approx((3 + 2 + 1) / 10)
    assert evaluation.one_to_one.new == pytest.approx(3 / 6)
    assert evaluation.many_to_one_class.tolist() == [0, 1, 1, 2, -1]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=60))
def test_one_to_one_is_at_most_many_to_one_and_at_best_one(pairs):
    truth, component = np.array(pairs).T
    evaluation = evaluate(truth, component, 6, known=np.array([0, 1]))
    assert 0 < evaluation.one_to_one.all <= evaluation.many_to_one.all <= 1
    assert evaluation.counts.sum() == len(pairs)


@given(st.permutations(range(6)))
def test_names_of_components_do_not_matter(order):
    rng = np.random.default_rng(0)
    truth, component = rng.integers(0, 4, 80), rng.integers(0, 6, 80)
    one = evaluate(truth, component, 6, known=np.array([0]))
    other = evaluate(truth, np.array(order)[component], 6, known=np.array([0]))
    assert one.many_to_one == other.many_to_one
    assert one.one_to_one.all == other.one_to_one.all


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=60))
def test_information_and_rand_index_are_scikit_learns(pairs):
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    truth, component = np.array(pairs).T
    metrics = evaluate(truth, component, 6, known=np.array([0])).metrics
    nmi, ari = normalized_mutual_info_score(truth, component), adjusted_rand_score(truth, component)
    assert metrics["normalised mutual information"] == pytest.approx(nmi, abs=1e-9)
    assert metrics["adjusted Rand index"] == pytest.approx(ari, abs=1e-9)


def test_calibration_by_hand():
    probability, is_right = np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False])
    assert expected_calibration_error(probability, is_right) == pytest.approx(0.05)
    mean, accuracy, n_rows = reliability(probability, is_right)
    assert (mean.tolist(), accuracy.tolist(), n_rows.tolist()) == ([0.55, 0.95], [0.5, 1.0], [2, 2])


def test_mask_hides_classes_and_keeps_a_share_of_the_others():
    y = np.repeat(np.arange(4), 50)
    masked = mask_labels(y, hide=(2, 3), keep=0.2, random_state=0)
    assert np.bincount(masked[masked >= 0]).tolist() == [10, 10]
    assert (masked[masked >= 0] == y[masked >= 0]).all()
    assert (mask_labels(y, keep=3, random_state=0) >= 0).sum() == 12
    assert np.array_equal(masked, mask_labels(y, hide=(2, 3), keep=0.2, random_state=0))
    assert set(mask_labels(y.astype(str), hide=("0",))) == {"", "1", "2", "3"}


def test_mask_refuses_nonsense():
    with pytest.raises(ValueError, match="Cannot hide 9: no row has that label"):
        mask_labels(np.arange(3), hide=[9])
    with pytest.raises(ValueError, match="share must be at most 1.0, got 20.0; for a number of labels give an int"):
        mask_labels(np.arange(3), keep=20.0)
    with pytest.raises(ValueError, match="keep must be"):
        mask_labels(np.arange(3), keep=-1)
