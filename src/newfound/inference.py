"""What a trained model says of rows: the posterior of y, the mean of z, the ELBO; and the rows it generates.

Each function is called on rows in fixed-size batches (`batching.in_batches`).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from newfound.models import DeepGenerativeModel
from newfound.models.objective import terms_given_y
from newfound.models.randomness import key_of
from newfound.preprocessing import Scaling

ELBO_SAMPLES = 4  # draws of z for each row and component


@jax.jit
def component_probabilities(
    model: DeepGenerativeModel, rows: Array, scaling: Scaling, temperature: Float[Array, ""] | float = 1.0
) -> Float[Array, "batch K"]:
    """q(y | x)^(1/T), which the caller norms: at T = 1, to the last digit, q(y | x)."""
    return jnp.exp(jax.vmap(model.log_q_y)(scaling.apply(rows)) / temperature)


def normed(probabilities: np.ndarray) -> np.ndarray:
    """Each row of them as a distribution, in double precision."""
    probabilities = probabilities.astype(float)
    return probabilities / probabilities.sum(axis=1, keepdims=True)


@jax.jit
def component_log_probabilities(model: DeepGenerativeModel, rows: Array, scaling: Scaling) -> Float[Array, "batch K"]:
    """log q(y | x)."""
    return jax.vmap(model.log_q_y)(scaling.apply(rows))


@jax.jit
def latent_means(model: DeepGenerativeModel, rows: Array, scaling: Scaling) -> Float[Array, "batch d_z"]:
    """E_{q(z, y | x)} z = Σ_k q(k | x) μ(x, k)."""

    def mean_of(x: Float[Array, " d_x"]) -> Float[Array, " d_z"]:
        means = jax.vmap(lambda y: model.q_z(x, y).mean)(jnp.eye(model.log_p_y.size))
        return jnp.exp(model.log_q_y(x)) @ means

    return jax.vmap(mean_of)(scaling.apply(rows))


@jax.jit
def elbos(
    model: DeepGenerativeModel, rows: Array, scaling: Scaling, epsilon: Float[Array, "n_z d_z"]
) -> Float[Array, " batch"]:
    """L_u(x), exact over y; over z by the same `epsilon` for every row, so that equal rows score equally."""

    def elbo(x: Float[Array, " d_x"]) -> Float[Array, ""]:
        log_q = model.log_q_y(x)
        one_hots = jnp.eye(log_q.size)
        reconstruction, kl_z = jax.vmap(lambda y: terms_given_y(model, x, y, epsilon))(one_hots)
        return jnp.sum(jnp.exp(log_q) * (reconstruction - kl_z + model.log_p_y - log_q))

    return jax.lax.map(elbo, scaling.apply(rows), batch_size=32)


def shared_noise(model: DeepGenerativeModel) -> Float[Array, "n_z d_z"]:
    """The draws of N(0, I) that `elbos` uses for every row."""
    return jax.random.normal(key_of(0), (ELBO_SAMPLES, model.latent_dim))


@partial(jax.jit, static_argnames="mean")
def generated(
    model: DeepGenerativeModel,
    ys: Float[Array, "n K"],
    epsilon: Float[Array, "n d_z"],
    key: Key[Array, ""],
    *,
    mean: bool,
) -> Float[Array, "n d_x"]:
    """A row of p(x | y, z) at z = μ(y) + Σ(y)^½ ε for each y and ε: its mean, or a draw."""

    def one(y: Float[Array, " K"], epsilon: Float[Array, " d_z"], key: Key[Array, ""]) -> Float[Array, " d_x"]:
        output = model.p_x(y, model.p_z(y).reparameterise(epsilon))
        return model.likelihood.mean(output) if mean else model.likelihood.sample(output, key)

    return jax.vmap(one)(ys, epsilon, jax.random.split(key, len(ys)))
