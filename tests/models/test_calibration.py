"""Temperature scaling: a known distortion is undone, and few labels undo nothing."""

import numpy as np
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM, load
from newfound._internal.words import if_few_labels
from newfound.models.in_numpy import HIGHEST, LOWEST, MIN_LABELS, fit_temperature, negative_log_likelihood


def honest(n: int, classes: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log probabilities of components, and classes drawn from just these."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(len(classes), 0.4), n)
    component = np.array([rng.choice(len(classes), p=row) for row in q])
    return np.log(np.maximum(q, 1e-300)), classes[component]


@pytest.mark.parametrize("distortion", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("classes", [[0, 1, 2, 3], [0, 1, 2, 2]], ids=["one component each", "two in one"])
def test_a_known_distortion_is_undone(distortion, classes):
    """q^(1/distortion) is what an over- or underconfident network says; T = 1/distortion gives q back."""
    log_q, labels = honest(4_000, np.array(classes))
    assert fit_temperature(log_q / distortion, np.array(classes), labels) == pytest.approx(1 / distortion, rel=0.06)


def test_norms_do_not_matter():
    log_q, labels = honest(100, np.arange(4))
    shifted = log_q - np.linspace(0, 50, 100)[:, None]
    assert fit_temperature(shifted, np.arange(4), labels) == pytest.approx(fit_temperature(log_q, np.arange(4), labels))


def test_likelihood_by_the_slow_way():
    log_q, labels = honest(20, np.array([0, 1, 1]))
    slow = 0.0
    for row, label in zip(log_q / 1.7, labels, strict=True):
        p = np.exp(row) / np.exp(row).sum()
        slow -= np.log(p[0] if label == 0 else p[1] + p[2])
    is_true = np.array([0, 1, 1]) == labels[:, None]
    assert negative_log_likelihood(log_q / 1.7, is_true) == pytest.approx(slow)


def test_few_labels_leave_the_network_as_it_is():
    log_q, labels = honest(MIN_LABELS, np.arange(3))
    assert fit_temperature(3 * log_q[:-1], np.arange(3), labels[:-1]) == 1
    assert fit_temperature(3 * log_q, np.arange(3), labels) > 1.01
    assert fit_temperature(np.empty((0, 3)), np.arange(3), np.empty(0, dtype=int)) == 1


@pytest.mark.parametrize("n", [MIN_LABELS, 30, 1_000])
def test_labels_that_are_all_right_or_all_wrong_do_not_run_away(n):
    """Thirty labels, all right at 90 %, are no reason to call every row certain; ten are less of one."""
    log_q = np.log(np.tile([0.9, 0.05, 0.05], (n, 1)))
    right = fit_temperature(log_q, np.arange(3), np.zeros(n, dtype=int))
    wrong = fit_temperature(log_q, np.arange(3), np.ones(n, dtype=int))
    assert LOWEST < right < 1 < wrong <= HIGHEST
    assert n > 30 or right > 0.5
    assert n > MIN_LABELS or right > 0.7


def test_a_row_that_the_network_holds_for_impossible_is_no_end():
    log_q = np.log(np.maximum(np.tile([1.0, 0.0], (40, 1)), 1e-30))
    assert 1 < fit_temperature(log_q, np.arange(2), np.array([0] * 39 + [1])) <= HIGHEST


def test_it_is_fitted_on_held_out_labels_and_kept(tmp_path):
    X, truth = blobs(400, distance=0.8)
    model = GMDGM(n_new=1, **quick(validation_fraction=0.3)).fit(X, some_labels(truth, (0, 1, 2), 0.9))
    assert model.fitted_.n_held_out_labels == 81
    assert model.temperature_ != 1
    model.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.temperature_ == model.temperature_
    assert loaded.fitted_.n_held_out_labels == 81
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(model.predict_component_proba(X), at_temperature(model, X), atol=1e-6)


def at_temperature(model, X):
    """The slow way: what the network says at T = 1, to the power of 1/T."""
    from dataclasses import replace

    T, model.fitted_ = model.temperature_, replace(model.fitted_, temperature=1.0)
    powers = model.predict_component_proba(X) ** (1 / T)
    model.fitted_ = replace(model.fitted_, temperature=T)
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_with_few_held_out_labels_it_is_one_and_their_number_is_kept(fraction):
    X, truth = blobs()
    model = GMDGM(n_new=2, **quick(max_epochs=1, validation_fraction=fraction)).fit(X, some_labels(truth))
    assert model.temperature_ == 1
    assert model.fitted_.n_held_out_labels == (2 if fraction else 0)


def test_few_labels_are_told():
    assert if_few_labels(29) == " (from 29 labels only)"
    assert if_few_labels(1) == " (from 1 label only)"
    assert if_few_labels(30) == ""
