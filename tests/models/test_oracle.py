"""The ELBO against an independent, slow computation: NumPy and SciPy only, z integrated on a grid, y enumerated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, K
from scipy.stats import bernoulli, norm

from newfound.labels import UNLABELLED
from newfound.models.networks import key_of
from newfound.models.objective import Expectation, row_terms


def forward(mlp, *inputs):
    joined = np.concatenate(inputs)
    h = np.concatenate([np.asarray(kernel, float) for kernel in mlp.input_kernels], axis=1) @ joined
    h = np.maximum(h + mlp.hidden_biases[0], 0)
    for kernel, bias in zip(mlp.hidden_kernels, mlp.hidden_biases[1:], strict=True):
        h = np.maximum(np.asarray(kernel, float) @ h + bias, 0)
    return [np.asarray(v, float) @ h + c for v, c in zip(mlp.output_kernels, mlp.output_biases, strict=True)]


def log_likelihood(case, model, x, output):
    if case.likelihood == "bernoulli":
        return bernoulli.logpmf(x, 1 / (1 + np.exp(-output))).sum()
    if case.likelihood == "mixed":
        sigma = 0.7 * (0.1 + np.exp(np.asarray(model.likelihood.gaussian.log_ratio, float)))
        odds = np.exp(output[3:])
        return (
            norm.logpdf(x[:2], output[:2], sigma).sum()
            + bernoulli.logpmf(x[2], 1 / (1 + np.exp(-output[2])))
            + np.log(odds / odds.sum())[x[3:] == 1].sum()
        )
    sigma = {
        "gaussian": lambda: 0.7 * (0.1 + np.exp(np.asarray(model.likelihood.log_ratio, float))),
        "gaussian-fixed": lambda: 0.7,
    }[case.likelihood]()
    return norm.logpdf(x, output, sigma).sum()


def labelled_bound(case, model, x, k):
    """L_l(x, k) = ∫ q(z|x,k) [ log p(x|k,z) + log p(z|k) + log p(k) − log q(z|x,k) ] dz, on a grid."""
    y = np.eye(K)[k]
    mean, log_var = forward(model.encoder, *((x, y) if case.posterior == "structured" else (x,)))
    q = norm(mean[0], np.exp(log_var[0] / 2))
    if case.model == "gmdgm":
        p = norm(model.component_mean[k, 0], np.exp(model.component_log_var[k, 0] / 2))
    else:
        p = norm(0, 1)
    z = np.linspace(q.mean() - 8 * q.std(), q.mean() + 8 * q.std(), 801)
    outputs = [forward(model.decoder, *(([v], y) if case.model == "ssvae" else ([v],)))[0] for v in z]
    log_p_x = np.array([log_likelihood(case, model, x, output) for output in outputs])
    integrand = q.pdf(z) * (log_p_x + p.logpdf(z) + float(model.log_p_y[k]) - q.logpdf(z))
    return np.trapezoid(integrand, z)


def unlabelled_bound(case, model, x):
    """L_u(x) = Σ_k q(k|x) [ L_l(x, k) − log q(k|x) ]."""
    (logits,) = forward(model.classifier, x)
    q = np.exp(logits - logits.max())
    q /= q.sum()
    return sum(q[k] * (labelled_bound(case, model, x, k) - np.log(q[k])) for k in range(K))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_elbo_agrees_with_the_oracle(case):
    model, x = case.build(latent_dim=1), case.row()
    model_64 = jax.tree.map(lambda a: np.asarray(a, float), model)
    many = Expectation("exact", n_z_samples=25_000)
    bound = jax.jit(lambda m, x, y, key: row_terms(m, x, m.log_q_y(x), y, key, jnp.float32(0.5), many).elbo)
    for label, oracle in (
        (1, labelled_bound(case, model_64, np.asarray(x, float), 1)),
        (UNLABELLED, unlabelled_bound(case, model_64, np.asarray(x, float))),
    ):
        ours = bound(model, x, jnp.int32(label), key_of(0))
        assert float(ours) == pytest.approx(oracle, rel=0.01, abs=0.02)
