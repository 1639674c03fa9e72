import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newfound.evaluation import METRICS, Certainty, evaluate, expected_calibration_error, posterior_entropy, reliability

TRUTH = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 2)
COMPONENT = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3])


def test_by_hand():
    """Many-to-one: 0→a, 1→b, 2→b, 3→c. One-to-one: 0→a, and b has 1 or 2, not both; c has 3."""
    evaluation = evaluate(TRUTH, COMPONENT, known=["a"], predicted=range(5))
    assert evaluation.many_to_one.all == pytest.approx((3 + 4 + 1) / 10)
    assert evaluation.many_to_one.known == pytest.approx(3 / 4)
    assert evaluation.many_to_one.new == pytest.approx(5 / 6)
    assert evaluation.one_to_one.all == pytest.approx((3 + 2 + 1) / 10)
    assert evaluation.one_to_one.new == pytest.approx(3 / 6)
    assert evaluation.majority.tolist() == [0, 1, 1, 2, -1]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=60))
def test_one_to_one_is_at_most_many_to_one_and_at_best_one(pairs):
    truth, component = np.array(pairs).T
    evaluation = evaluate(truth, component, known=[0, 1], predicted=range(6))
    assert 0 < evaluation.one_to_one.all <= evaluation.many_to_one.all <= 1
    assert evaluation.counts.sum() == len(pairs)


@given(st.permutations(range(6)))
def test_names_of_components_do_not_matter(order):
    rng = np.random.default_rng(0)
    truth, component = rng.integers(0, 4, 80), rng.integers(0, 6, 80)
    one = evaluate(truth, component, known=[0], predicted=range(6))
    other = evaluate(truth, np.array(order)[component], known=[0], predicted=range(6))
    assert one.many_to_one == other.many_to_one
    assert one.one_to_one.all == other.one_to_one.all


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=60))
def test_information_and_rand_index_are_scikit_learns(pairs):
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    truth, component = np.array(pairs).T
    metrics = evaluate(truth, component, known=[0], predicted=range(6)).metrics
    nmi, ari = normalized_mutual_info_score(truth, component), adjusted_rand_score(truth, component)
    assert metrics["normalised mutual information"] == pytest.approx(nmi, abs=1e-9)
    assert metrics["adjusted Rand index"] == pytest.approx(ari, abs=1e-9)


def test_calibration_by_hand():
    probability, is_right = np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False])
    assert expected_calibration_error(probability, is_right) == pytest.approx(0.05)
    mean, accuracy, n_rows = reliability(probability, is_right)
    assert (mean.tolist(), accuracy.tolist(), n_rows.tolist()) == ([0.55, 0.95], [0.5, 1.0], [2, 2])


def test_names_need_not_agree_and_empty_classes_are_seen():
    found = evaluate(["cat", "cat", "emu"], ["cat", "cat", "new-2"], ["cat"], ["cat", "new-1", "new-2"])
    assert found.counts.tolist() == [[2, 0, 0], [0, 0, 1]]
    assert found.one_to_one.all == 1
    assert found.metrics["non-empty predicted classes"] == 2


def test_every_metric_has_a_name_and_is_printed_in_its_own_way():
    found = evaluate(TRUTH, COMPONENT, known=["a"])
    assert found.metrics.keys() == {name for name, metric in METRICS.items() if not metric.of_certainty}
    shown = dict(evaluate(np.tile(TRUTH, 8), np.tile(COMPONENT, 8), known=["a"]).shown)
    assert shown.keys() == found.metrics.keys()
    assert shown["many-to-one accuracy (purity), all"] == "80.0%"
    assert shown["non-empty predicted classes"] == "4"
    assert METRICS["adjusted Rand index"].show(float("nan"), 0) == "–"


def test_a_metric_of_few_labels_says_so():
    """Of 40 rows 16 are known and 24 new: only what is of all of them rests on 30 labels."""
    found = evaluate(np.tile(TRUTH, 4), np.tile(COMPONENT, 4), known=["a"])
    assert found.n_labels == {"all": 40, "known": 16, "new": 24, "both": 16}
    shown = dict(found.shown)
    assert shown["many-to-one accuracy (purity), all"] == "80.0%"
    assert shown["many-to-one accuracy (purity), known"] == "75.0% (from 16 labels only)"
    assert shown["one-to-one accuracy, mean over new classes"] == "50.0% (from 24 labels only)"
    assert {metric.of for metric in METRICS.values()} == found.n_labels.keys()


def test_means_over_classes_by_hand():
    """One-to-one: a 3 of 4, b 2 of 4, c 1 of 2. Many-to-one: a 3 of 4, b 4 of 4, c 1 of 2."""
    metrics = evaluate(TRUTH, COMPONENT, known=["a", "c"]).metrics
    assert metrics["one-to-one accuracy, mean over classes"] == pytest.approx((3 / 4 + 2 / 4 + 1 / 2) / 3)
    assert metrics["one-to-one accuracy, mean over known classes"] == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert metrics["one-to-one accuracy, mean over new classes"] == pytest.approx(2 / 4)
    assert metrics["many-to-one accuracy, mean over known classes"] == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert metrics["many-to-one accuracy, mean over new classes"] == 1
    all_known = evaluate(TRUTH, COMPONENT, known=["a", "b", "c"]).metrics
    assert np.isnan(all_known["one-to-one accuracy, mean over new classes"])


def test_metrics_of_certainty_are_added_where_it_is_known():
    from dataclasses import replace

    is_known = TRUTH == "a"
    p_new = np.array([0.1, 0.2, 0.3, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 0.2])
    certainty = Certainty(np.full(10, 0.95), is_known, np.where(is_known, 0.1, 0.3), is_known, p_new)
    metrics = replace(evaluate(TRUTH, COMPONENT, known=["a"]), certainty=certainty).metrics
    assert metrics["expected calibration error, known classes"] == pytest.approx(0.05)
    assert metrics["mean entropy of q(y|x), new classes"] == pytest.approx(0.3)
    pairs = [(p > q) + (p == q) / 2 for p in p_new[~is_known] for q in p_new[is_known]]
    assert metrics["AUROC of P(new)"] == pytest.approx(np.mean(pairs))
    one_kind = replace(evaluate(TRUTH, COMPONENT, known=[]), certainty=certainty._replace(is_known=np.zeros(10, bool)))
    assert np.isnan(one_kind.metrics["AUROC of P(new)"])
    assert np.isnan(one_kind.metrics["expected calibration error, known classes"])


def test_entropy_of_a_posterior():
    np.testing.assert_allclose(posterior_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])), [np.log(2), 0])
