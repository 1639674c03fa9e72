"""Terms of the objective that need no model."""

import jax.numpy as jnp
import numpy as np
import pytest

from newfound.models.objective import log_q_evidence


def test_evidence_is_best_met_by_the_shares_themselves():
    n_new = 3
    shares = jnp.array([0.5, 0.2])

    def evidence_at(q):
        return log_q_evidence(jnp.log(q), shares)

    best = jnp.array([0.5, 0.2, *[0.3 / n_new] * n_new])
    entropy = -(0.5 * np.log(0.5) + 0.2 * np.log(0.2) + 0.3 * np.log(0.3))
    assert float(evidence_at(best)) == pytest.approx(-entropy, rel=1e-3)
    for worse in ([0.7, 0.1], [0.4, 0.4], [0.05, 0.05]):
        rest = [(1 - sum(worse)) / n_new] * n_new
        assert float(evidence_at(jnp.array([*worse, *rest]))) < -entropy
