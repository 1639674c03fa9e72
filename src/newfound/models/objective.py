"""The objective: evidence lower bounds for rows with and without a label, and the terms of the classifier.

    maximise  E_labelled [ L_l(x, y) + α log q(y | x) ]  +  E_unlabelled [ L_u(x) + α ρ pu_log_prob(x) ]

    L_l(x, y) = E_{z ~ q(z|x,y)} log [ p(x, y, z) / q(z | x, y) ]
    L_u(x)    = E_{z,y ~ q(z,y|x)} log [ p(x, y, z) / q(z, y | x) ]

(The paper prints −α; a classifier is to be rewarded for log q(y | x), so the sign here is +.)

Both bounds are one formula. Let w be one-hot for a row with a label, and q(y | x) for a row without.

    L(x) = E_{y ~ w} [ E_{z ~ q(z|x,y)} log p(x | y, z) − KL(q(z | x, y) ‖ p(z | y)) ] − KL(w ‖ p(y))

With w one-hot the last term is −log p(y), and L is L_l; with w = q(y | x) it is L_u. So every row carries a label or
−1, and one pass serves both kinds.

The paper's objective is the one with ρ = 0. `pu_log_prob` explains the other term.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from newfound.labels import UNLABELLED
from newfound.models.base import DeepGenerativeModel, Gaussian, vmap_unless_single


class Expectation(NamedTuple):
    """How the expectations over y and z are taken. Hashable: it is part of what is compiled."""

    over_y: str = "gumbel"  # or "exact", by enumeration
    n_y_samples: int = 1
    n_z_samples: int = 1


class Terms(NamedTuple):
    """The objective's terms, for each row, or weighted over a batch."""

    reconstruction: Float[Array, "*batch"]
    kl_z: Float[Array, "*batch"]
    kl_y: Float[Array, "*batch"]
    log_q_label: Float[Array, "*batch"]  # 0 without a label
    pu_log_prob: Float[Array, "*batch"]  # 0 with a label

    @property
    def elbo(self) -> Float[Array, "*batch"]:
        return self.reconstruction - self.kl_z - self.kl_y

    def objective(self, weights: "Weights") -> Float[Array, "*batch"]:
        classified = self.log_q_label + weights.pu * self.pu_log_prob
        return self.elbo + weights.label * classified


class Weights(NamedTuple):
    """The weights of the objective's terms beside the bounds."""

    label: Float[Array, ""]  # α, of log q(y | x)
    pu: Float[Array, ""]  # ρ, of pu_log_prob relative to log q(y | x)


def row_terms(
    model: DeepGenerativeModel,
    x: Float[Array, " d_x"],
    log_q: Float[Array, " K"],
    label: Int[Array, ""],
    key: Key[Array, ""],
    temperature: Float[Array, ""],
    expectation: Expectation,
) -> Terms:
    """The terms of L(x), and log q(label | x), for one row with its log q(y | x) and its label or −1; others are 0."""
    y_key, z_key = jax.random.split(key)
    log_p = jax.lax.stop_gradient(model.log_p_y)
    is_labelled = label != UNLABELLED
    one_hot = jax.nn.one_hot(label, log_q.size)  # all zeros without a label
    w = jnp.where(is_labelled, one_hot, jnp.exp(log_q))
    log_w = jnp.where(is_labelled, 0.0, log_q)  # only read where w > 0

    if expectation.over_y == "exact":
        ys, weights = jnp.eye(log_q.size), w
    else:
        relaxed = gumbel_softmax(log_q, y_key, temperature, expectation.n_y_samples)
        ys = jnp.where(is_labelled, one_hot[None], relaxed)
        weights = jnp.full(expectation.n_y_samples, 1 / expectation.n_y_samples)

    # All y share the noise, so that everything that does not depend on y is computed only once.
    epsilon = jax.random.normal(z_key, (expectation.n_z_samples, model.latent_dim))
    reconstruction, kl_z = vmap_unless_single(lambda y: terms_given_y(model, x, y, epsilon))(ys)
    return Terms(
        reconstruction=weights @ reconstruction,
        kl_z=weights @ kl_z,
        kl_y=jnp.sum(w * (log_w - log_p)),
        log_q_label=jnp.sum(one_hot * log_q),
        pu_log_prob=jnp.zeros(()),
    )


def terms_given_y(
    model: DeepGenerativeModel,
    x: Float[Array, " d_x"],
    y: Float[Array, " K"],
    epsilon: Float[Array, "n_z d_z"],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """E_{z ~ q(z|x,y)} log p(x | y, z), by samples, and KL(q(z | x, y) ‖ p(z | y)), in closed form."""
    q_z = model.q_z(x, y)

    def log_p_x(epsilon: Float[Array, " d_z"]) -> Float[Array, ""]:
        return model.likelihood.log_prob(x, model.p_x(y, q_z.reparameterise(epsilon)))

    return jnp.mean(vmap_unless_single(log_p_x)(epsilon)), gaussian_kl(q_z, model.p_z(y))


def gaussian_kl(q: Gaussian, p: Gaussian) -> Float[Array, ""]:
    """KL(q ‖ p) = ½ Σ [ log σ_p² − log σ_q² − 1 + (σ_q² + (μ_q − μ_p)²) / σ_p² ]."""
    squared = jnp.exp(q.log_var) + jnp.square(q.mean - p.mean)
    return 0.5 * jnp.sum(p.log_var - q.log_var - 1.0 + squared * jnp.exp(-p.log_var))


def gumbel_softmax(
    log_q: Float[Array, " K"], key: Key[Array, ""], temperature: Float[Array, ""], n_samples: int
) -> Float[Array, "n K"]:
    """Relaxed samples of y ~ q(y | x):  softmax((log q + Gumbel noise) / temperature)."""
    gumbel = jax.random.gumbel(key, (n_samples, log_q.size))
    return jax.nn.softmax((log_q[None] + gumbel) / temperature)


def pu_log_prob(log_q: Float[Array, " K"], targets: Float[Array, " K"]) -> Float[Array, ""]:
    """Σ_y t_y log q(y | x), with t_y = P(y | x) from discovery (`newfound.discovery.pu`).

    Labels show where the known classes are, and missing labels show where they are not; t is estimated from both.
    Without this term a classifier learns from labelled rows alone and confuses new classes with similar known ones.
    """
    return targets @ log_q


def batch_terms(
    model: DeepGenerativeModel,
    rows: Float[Array, "batch d_x"],
    labels: Int[Array, " batch"],
    targets: Float[Array, "batch K"] | None,
    key: Key[Array, ""],
    temperature: Float[Array, ""],
    expectation: Expectation,
) -> Terms:
    """The terms of each row of a training batch; each row is a new draw from its likelihood."""
    keys = jax.vmap(jax.random.split)(jax.random.split(key, len(rows)))
    drawn = jax.vmap(model.likelihood.draw)(rows, keys[:, 0])
    log_q = jax.vmap(model.log_q_y)(drawn)  # computed once for both terms, so the classifier has one backward pass

    def bounds(x: Float[Array, " d_x"], log_q: Float[Array, " K"], label: Int[Array, ""], key: Key[Array, ""]) -> Terms:
        return row_terms(model, x, log_q, label, key, temperature, expectation)

    computed = jax.vmap(bounds)(drawn, log_q, labels, keys[:, 1])
    if targets is not None:
        pu = jax.vmap(pu_log_prob)(log_q, targets)
        computed = computed._replace(pu_log_prob=jnp.where(labels == UNLABELLED, pu, 0.0))
    return computed
