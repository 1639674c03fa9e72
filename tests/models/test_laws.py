"""What must hold of every model, whatever its parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, D_X, N_KNOWN, K

from newfound.models import log_prior
from newfound.models.objective import (
    UNLABELLED,
    Expectation,
    Extras,
    Weights,
    batch_terms,
    nearest_in_batch,
    roughness,
    row_terms,
)
from newfound.models.randomness import key_of

ALL_TERMS = Extras(has_evidence=True, is_smoothed=True)
pytestmark = [pytest.mark.usefixtures("strict_numbers"), pytest.mark.parametrize("case", CASES, ids=str)]

EXACT = Expectation("exact", n_z_samples=4000)
HALF = jnp.float32(0.5)


def elbo_of(model, x, label, key, temperature, expectation):
    return row_terms(model, x, model.log_q_y(x), label, key, temperature, expectation).elbo


def test_posterior_of_y_sums_to_one(case):
    assert jnp.sum(jnp.exp(case.build().log_q_y(case.row()))) == pytest.approx(1, abs=1e-5)


def test_gumbel_bound_agrees_with_enumeration(case):
    """At a low temperature Gumbel-softmax samples are all but one-hot, so the bound is that of enumeration."""
    model, x, label = case.build(), case.row(), jnp.int32(UNLABELLED)
    sampled = Expectation("gumbel", n_y_samples=400, n_z_samples=1)
    terms = jax.jit(jax.vmap(lambda key: elbo_of(model, x, label, key, jnp.float32(0.01), sampled)))
    elbos = terms(jax.random.split(key_of(0), 400))
    exact = elbo_of(model, x, label, key_of(1), HALF, EXACT)
    error = float(jnp.std(elbos)) / 400**0.5
    assert float(jnp.mean(elbos)) == pytest.approx(float(exact), abs=5 * error + 0.05)


def test_elbo_is_below_the_log_evidence(case):
    """log p(x) by importance sampling: each component's z from its own posterior, many times."""
    model, x = case.build(), case.row()
    epsilon = jax.random.normal(key_of(2), (20_000, model.latent_dim))

    def log_weight(y, epsilon):
        q, p = model.q_z(x, y), model.p_z(y)
        z = q.reparameterise(epsilon)
        log_p_x = model.likelihood.log_prob(x, model.p_x(y, z))
        return log_p_x + _log_normal(z, p) - _log_normal(z, q) + y @ model.log_p_y

    log_weights = jax.vmap(jax.vmap(log_weight, (None, 0)), (0, None))(jnp.eye(K), epsilon)
    log_evidence = jax.nn.logsumexp(log_weights) - jnp.log(20_000.0)
    elbo = elbo_of(model, x, jnp.int32(UNLABELLED), key_of(1), HALF, EXACT)
    assert float(elbo) <= float(log_evidence) + 0.02


def _log_normal(z, gaussian):
    return jnp.sum(jax.scipy.stats.norm.logpdf(z, gaussian.mean, jnp.exp(0.5 * gaussian.log_var)))


def test_labelled_bound_is_the_unlabelled_one_of_a_classifier_that_is_sure(case):
    """With q(y | x) all on one component, L_u(x) is L_l(x, y)."""
    model, x, label = case.build(), case.row(), jnp.int32(1)
    bias = jnp.where(jnp.arange(K) == 1, 1e3, 0.0)
    sure = eqx.tree_at(lambda m: m.classifier.output_biases, model, (bias,))
    labelled = elbo_of(model, x, label, key_of(1), HALF, EXACT)
    unlabelled = elbo_of(sure, x, jnp.int32(UNLABELLED), key_of(1), HALF, EXACT)
    assert float(labelled) == pytest.approx(float(unlabelled), rel=1e-4)


@pytest.mark.parametrize("over_y", ["gumbel", "exact"])
@pytest.mark.parametrize("labels", ["none", "all", "one class is empty"])
def test_gradients_are_finite(case, over_y, labels):
    rows = jnp.stack([case.row(seed) for seed in range(8)])
    codes = {"none": [UNLABELLED] * 8, "all": [0, 1] * 4, "one class is empty": [0] * 4 + [UNLABELLED] * 4}[labels]

    def objective(model):
        codes_of_rows, shares = jnp.array(codes), jnp.full((8, N_KNOWN), 0.3)
        terms = batch_terms(model, rows, codes_of_rows, shares, key_of(3), HALF, HALF, Expectation(over_y), ALL_TERMS)
        return jnp.mean(terms.objective(Weights(*[jnp.float32(1)] * 3)))

    gradient = jax.grad(objective)(case.build())
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(gradient))


def test_roughness_grows_with_reach_and_is_nothing_where_q_is_flat(case):
    nearest, distance = nearest_in_batch(jnp.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    assert nearest.tolist() == [2, 2, 0]
    np.testing.assert_allclose(distance, [1.0, np.sqrt(18), 1.0], rtol=1e-5)
    model, x = case.build(), case.row()
    reaches = [
        float(roughness(model, x, model.log_q_y(x), jnp.ones_like(x), jnp.float32(reach))) for reach in (0.0, 0.1, 1.0)
    ]
    assert reaches[0] == pytest.approx(0, abs=1e-6)
    assert 0 < reaches[1] < reaches[2]
    flat = jax.tree.map(jnp.zeros_like, model)
    assert float(roughness(flat, x, flat.log_q_y(x), jnp.ones_like(x), jnp.float32(1))) == pytest.approx(0, abs=1e-6)


def test_prior_and_fixed_spread_are_not_trained(case):
    gradient = jax.grad(lambda m: elbo_of(m, case.row(), jnp.int32(0), key_of(0), HALF, EXACT))(case.build())
    assert not gradient.log_p_y.any()
    assert not np.any(getattr(gradient.likelihood, "unit", 0))
    if case.likelihood == "gaussian-fixed":
        assert not np.any(gradient.likelihood.sigma)


def test_relabelling_new_components_changes_nothing(case):
    model, x = case.build(), case.row()
    order = jnp.array([*range(N_KNOWN), *reversed(range(N_KNOWN, K))])
    permuted = _permute_components(model, order)
    for label in (UNLABELLED, 0):
        elbo, same = (
            elbo_of(m, x, jnp.int32(label), key_of(1), HALF, Expectation("exact", n_z_samples=8))
            for m in (model, permuted)
        )
        assert float(elbo) == pytest.approx(float(same), rel=1e-5)


def _permute_components(model, order):
    """The same model with its components in another order."""
    permuted = eqx.tree_at(
        lambda m: (m.log_p_y, m.classifier.output_kernels[0], m.classifier.output_biases[0]),
        model,
        (model.log_p_y[order], model.classifier.output_kernels[0][order], model.classifier.output_biases[0][order]),
    )
    for network in ("encoder", "decoder"):
        kernels = getattr(model, network).input_kernels
        if len(kernels) == 2:  # the second reads y
            permuted = eqx.tree_at(lambda m, n=network: getattr(m, n).input_kernels[1], permuted, kernels[1][:, order])
    if hasattr(model, "component_mean"):
        permuted = eqx.tree_at(
            lambda m: (m.component_mean, m.component_log_var),
            permuted,
            (model.component_mean[order], model.component_log_var[order]),
        )
    return permuted


def test_draws_have_the_row_as_their_mean(case):
    likelihood = case.build().likelihood
    x = jnp.linspace(0.0, 1.0, D_X)
    draws = jax.vmap(likelihood.draw, (None, 0))(x, jax.random.split(key_of(4), 4000))
    np.testing.assert_allclose(draws.mean(axis=0), x, atol=0.04)
    if case.likelihood == "bernoulli":
        assert set(np.unique(draws)) == {0.0, 1.0}


def test_samples_have_the_mean_that_is_claimed(case):
    likelihood = case.build().likelihood
    output = jnp.linspace(-1.0, 1.0, D_X)
    samples = jax.vmap(likelihood.sample, (None, 0))(output, jax.random.split(key_of(5), 8000))
    np.testing.assert_allclose(samples.mean(axis=0), likelihood.mean(output), atol=0.06)


def test_prior_gives_known_classes_half_by_their_labels(case):
    prior = np.exp(log_prior(np.array([3, 1]), 4, 0.5))
    np.testing.assert_allclose(prior, [0.375, 0.125, 0.125, 0.125, 0.125, 0.125], rtol=1e-6)
    np.testing.assert_allclose(np.exp(log_prior(np.array([], dtype=int), 4, 0.5)), 0.25, rtol=1e-6)
    np.testing.assert_allclose(np.exp(log_prior(np.array([1, 3]), 0, 0.5)), [0.25, 0.75], rtol=1e-6)
