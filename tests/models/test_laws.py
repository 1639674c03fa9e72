"""Laws of every model, for any parameters. Each law is one compiled program per case."""

from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, D_X, N_KNOWN, K, fixed_scales

from newfound.labels import UNLABELLED
from newfound.models.networks import key_of
from newfound.models.objective import Expectation, Weights, batch_terms, row_terms

pytestmark = [pytest.mark.usefixtures("strict_numbers"), pytest.mark.parametrize("case", CASES, ids=str)]

EXACT = Expectation("exact", n_z_samples=4000)
HALF = jnp.float32(0.5)


@partial(jax.jit, static_argnames="expectation")
def elbo_of(model, x, label, key, temperature, expectation):
    return row_terms(model, x, model.log_q_y(x), label, key, temperature, expectation).elbo


def test_posterior_of_y_sums_to_one(case):
    log_q = jax.jit(lambda model, x: model.log_q_y(x))(case.build(), case.row())
    assert np.exp(np.asarray(log_q)).sum() == pytest.approx(1, abs=1e-5)


def test_gumbel_bound_agrees_with_enumeration(case):
    """At a low temperature Gumbel-softmax samples are all but one-hot, so the bound is that of enumeration."""
    model, x, label = case.build(), case.row(), jnp.int32(UNLABELLED)
    sampled = Expectation("gumbel", n_y_samples=400, n_z_samples=1)
    bounds = jax.jit(
        jax.vmap(lambda key: elbo_of(model, x, label, key, jnp.float32(0.01), sampled))
    )  # closed over: one program
    elbos = np.asarray(bounds(jax.random.split(key_of(0), 400)))
    exact = elbo_of(model, x, label, key_of(1), HALF, EXACT)
    error = float(elbos.std()) / 400**0.5
    assert float(elbos.mean()) == pytest.approx(float(exact), abs=5 * error + 0.05)


def test_elbo_is_below_the_log_evidence(case):
    """log p(x) by importance sampling: each component's z from its own posterior, many times."""
    model, x = case.build(), case.row()

    @jax.jit
    def log_evidence(model, x):
        epsilon = jax.random.normal(key_of(2), (20_000, model.latent_dim))

        def log_weight(y, epsilon):
            q, p = model.q_z(x, y), model.p_z(y)
            z = q.reparameterise(epsilon)
            log_p_x = model.likelihood.log_prob(x, model.p_x(y, z))
            return log_p_x + _log_normal(z, p) - _log_normal(z, q) + y @ model.log_p_y

        log_weights = jax.vmap(jax.vmap(log_weight, (None, 0)), (0, None))(jnp.eye(K), epsilon)
        return jax.nn.logsumexp(log_weights) - jnp.log(20_000.0)

    elbo = elbo_of(model, x, jnp.int32(UNLABELLED), key_of(1), HALF, EXACT)
    assert float(elbo) <= float(log_evidence(model, x)) + 0.02


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


@cache
def gradient_of(case, over_y):
    """Of the objective of eight rows, by the model and their labels; compiled once for both tests that follow."""
    rows = jnp.stack([case.row(seed) for seed in range(8)])

    def objective(model, labels):
        targets = jnp.full((8, K), 1 / K)
        terms = batch_terms(model, rows, labels, targets, key_of(3), HALF, Expectation(over_y))
        return jnp.mean(terms.objective(Weights(*[jnp.float32(1)] * 2)))

    return jax.jit(jax.grad(objective))


@pytest.mark.parametrize("over_y", ["gumbel", "exact"])
def test_gradients_are_finite(case, over_y):
    """Without labels, with all, and with a class of which none is in the batch."""
    for labels in ([UNLABELLED] * 8, [0, 1] * 4, [0] * 4 + [UNLABELLED] * 4):
        gradient = gradient_of(case, over_y)(case.build(), jnp.array(labels))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_prior_and_given_scales_are_not_trained(case):
    gradient = gradient_of(case, "exact")(case.build(), jnp.zeros(8, int))
    assert not np.any(gradient.log_p_y)
    assert not np.any(fixed_scales(gradient.likelihood))
    assert len(fixed_scales(gradient.likelihood)) == (case.likelihood in ("gaussian", "gaussian-fixed", "mixed"))
    assert np.any(gradient.decoder.output_biases[0])  # what is trained has a gradient


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
    x = jnp.linspace(0.0, 1.0, D_X)
    draw = jax.jit(lambda model, keys: jax.vmap(model.likelihood.draw, (None, 0))(x, keys))
    draws = np.asarray(draw(case.build(), jax.random.split(key_of(4), 4000)))
    np.testing.assert_allclose(draws.mean(axis=0), x, atol=0.04)
    if case.likelihood == "bernoulli":
        assert set(np.unique(draws)) == {0.0, 1.0}


def test_samples_have_the_mean_that_is_claimed(case):
    output = jnp.linspace(-1.0, 1.0, D_X)
    sample = jax.jit(lambda model, keys: jax.vmap(model.likelihood.sample, (None, 0))(output, keys))
    samples = np.asarray(sample(case.build(), jax.random.split(key_of(5), 8000)))
    mean = jax.jit(lambda model: model.likelihood.mean(output))(case.build())
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.06)
