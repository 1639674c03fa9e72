"""Terms of the objective that need no model, and the prior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from newfound.models.architecture import log_prior
from newfound.models.objective import pu_log_prob


def test_pu_log_prob_is_greatest_at_the_targets_themselves():
    targets = jnp.array([0.5, 0.2, 0.2, 0.1])

    def at(*q):
        return float(pu_log_prob(jnp.log(jnp.array(q)), targets))

    entropy = -float(jnp.sum(targets * jnp.log(targets)))
    assert at(*targets) == pytest.approx(-entropy, rel=1e-5)
    for worse in ((0.7, 0.1, 0.1, 0.1), (0.4, 0.4, 0.1, 0.1), (0.05, 0.05, 0.5, 0.4), (0.5, 0.2, 0.1, 0.2)):
        assert at(*worse) < -entropy


def test_the_gradient_of_pu_log_prob_draws_the_logits_to_the_targets():
    """∂/∂logits Σ t log softmax = t − softmax where t sums to 1: nothing to learn once they are the same."""
    targets, logits = jnp.array([0.6, 0.3, 0.1]), jnp.array([0.5, -1.0, 2.0])
    gradient = jax.grad(lambda logits: pu_log_prob(jax.nn.log_softmax(logits), targets))(logits)
    np.testing.assert_allclose(gradient, targets - jax.nn.softmax(logits), atol=1e-6)


def test_targets_that_are_nothing_teach_nothing():
    """As in VAE pretraining, which runs in the same program."""
    logits = jnp.array([0.5, -1.0, 2.0])
    value, gradient = jax.value_and_grad(lambda logits: pu_log_prob(jax.nn.log_softmax(logits), jnp.zeros(3)))(logits)
    assert float(value) == 0
    assert not np.any(gradient)


def test_the_order_of_the_components_does_not_matter():
    log_q, targets = jnp.log(jnp.array([0.4, 0.3, 0.1, 0.15, 0.05])), jnp.array([0.5, 0.2, 0.1, 0.1, 0.1])
    order = np.array([3, 0, 4, 1, 2])
    assert float(pu_log_prob(log_q, targets)) == pytest.approx(float(pu_log_prob(log_q[order], targets[order])))


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
