"""What is asked of a trained model in JAX: the ELBO of rows, and rows of models that `decoding` does not know."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from newfound._internal.threads import in_batches
from newfound.fitted import Fitted
from newfound.models.base import DeepGenerativeModel, model_of
from newfound.models.networks import key_of
from newfound.models.objective import terms_given_y
from newfound.preprocessing.columns import Scaling

ELBO_SAMPLES = 4  # draws of z for each row and component


def elbos(fitted: Fitted, X: np.ndarray) -> np.ndarray:
    """L_u(x) of every row, in fixed-size batches, so that how many there are is in no compiled shape."""
    model, preprocessing = model_of(fitted.architecture, fitted.restart.weights), fitted.preprocessing
    epsilon = jax.random.normal(key_of(0), (ELBO_SAMPLES, model.latent_dim))
    return in_batches(lambda rows: batch_elbos(model, preprocessing.select(rows), preprocessing.scaling, epsilon), X)


@jax.jit
def batch_elbos(
    model: DeepGenerativeModel, rows: Array, scaling: Scaling, epsilon: Float[Array, "n_z d_z"]
) -> Float[Array, " batch"]:
    """L_u(x), exact over y; over z by the same `epsilon` for every row, so that equal rows score equally."""

    def elbo(x: Float[Array, " d_x"]) -> Float[Array, ""]:
        log_q = model.log_q_y(x)
        one_hots = jnp.eye(log_q.size)
        reconstruction, kl_z = jax.vmap(lambda y: terms_given_y(model, x, y, epsilon))(one_hots)
        return jnp.sum(jnp.exp(log_q) * (reconstruction - kl_z + model.log_p_y - log_q))

    return jax.lax.map(elbo, scaling.apply(rows), batch_size=32)


def generated_rows(
    fitted: Fitted, components: np.ndarray, epsilon: np.ndarray, rng: np.random.RandomState, *, mean: bool
) -> np.ndarray:
    """A row of p(x | y, z) at z = μ(y) + Σ(y)^½ ε for each component y and ε: its mean, or a draw."""
    model = model_of(fitted.architecture, fitted.restart.weights)
    ys = np.eye(fitted.architecture.n_components, dtype=np.float32)[components]
    key = key_of(int(rng.randint(2**31 - 1)))
    return np.asarray(batch_generated(model, ys, epsilon.astype(np.float32), key, mean=mean))


@partial(jax.jit, static_argnames="mean")
def batch_generated(
    model: DeepGenerativeModel,
    ys: Float[Array, "n K"],
    epsilon: Float[Array, "n d_z"],
    key: Key[Array, ""],
    *,
    mean: bool,
) -> Float[Array, "n d_x"]:
    """For every y and ε."""

    def one(y: Float[Array, " K"], epsilon: Float[Array, " d_z"], key: Key[Array, ""]) -> Float[Array, " d_x"]:
        output = model.p_x(y, model.p_z(y).reparameterise(epsilon))
        return model.likelihood.mean(output) if mean else model.likelihood.sample(output, key)

    return jax.vmap(one)(ys, epsilon, jax.random.split(key, len(ys)))
