"""Terms of the objective that need no model, and the prior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from newfound.models import log_prior
from newfound.models.objective import Partition, nearest_in_batch, pu_log_prob


def test_pu_log_prob_is_greatest_at_the_targets_themselves():
    n_new = 3
    targets = jnp.array([0.5, 0.2])

    def at(q):
        return float(pu_log_prob(jnp.log(q), targets, Partition((0, 1), (2, 3, 4))))

    best = jnp.array([0.5, 0.2, *[0.3 / n_new] * n_new])
    entropy = -(0.5 * np.log(0.5) + 0.2 * np.log(0.2) + 0.3 * np.log(0.3))
    assert at(best) == pytest.approx(-entropy, rel=1e-3)
    for worse in ([0.7, 0.1], [0.4, 0.4], [0.05, 0.05]):
        rest = [(1 - sum(worse)) / n_new] * n_new
        assert at(jnp.array([*worse, *rest])) < -entropy


def test_which_components_are_known_is_for_the_partition_to_say():
    """The same components in another order, known ones among the new, give the same number and gradient."""
    log_q, targets = jnp.log(jnp.array([0.4, 0.3, 0.1, 0.15, 0.05])), jnp.array([0.6, 0.3])
    order = np.array([3, 0, 4, 1, 2])
    moved = Partition(tuple(int(np.flatnonzero(order == k)[0]) for k in (0, 1)), (0, 2, 4))
    value, gradient = jax.value_and_grad(pu_log_prob)(log_q, targets, Partition((0, 1), (2, 3, 4)))
    other, other_gradient = jax.value_and_grad(pu_log_prob)(log_q[order], targets, moved)
    assert float(value) == pytest.approx(float(other), rel=1e-6)
    np.testing.assert_allclose(other_gradient, gradient[order], rtol=1e-5)


def test_the_nearest_row_of_a_batch_and_its_distance():
    nearest, distance = nearest_in_batch(jnp.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    assert nearest.tolist() == [2, 2, 0]
    np.testing.assert_allclose(distance, [1.0, np.sqrt(18), 1.0], rtol=1e-5)


@pytest.mark.parametrize(
    ("counts", "n_new", "prior_known", "expected"),
    [
        ([3, 1], 4, 0.5, [0.375, 0.125, 0.125, 0.125, 0.125, 0.125]),
        ([3, 1], 2, 0.8, [0.6, 0.2, 0.1, 0.1]),
        ([], 4, 0.5, [0.25] * 4),
        ([1, 3], 0, 0.5, [0.25, 0.75]),
    ],
)
def test_prior_gives_known_classes_their_share_by_their_labels(counts, n_new, prior_known, expected):
    prior = np.exp(log_prior(np.array(counts, dtype=int), n_new, prior_known))
    np.testing.assert_allclose(prior, expected, rtol=1e-6)
