"""p(x | ·): what the decoder's output means.

Each likelihood is written for one row x of d_x features and the decoder's output for it.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

Row = Float[Array, " d_x"]


class Likelihood(eqx.Module):
    """The distribution of one row, given the decoder's output."""

    @abstractmethod
    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        """What the networks see of row x in one training step."""

    @abstractmethod
    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        """Log p(x | output), summed over features."""

    @abstractmethod
    def mean(self, output: Row) -> Row:
        """E[x | output]."""

    @abstractmethod
    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        """X ~ p(x | output)."""


class Bernoulli(Likelihood):
    """log p(x) = Σ_d x_d log μ_d + (1 − x_d) log(1 − μ_d),  μ = sigmoid(output).

    For a grey value x in 0..1 that is the expected log-probability of the binary image drawn from it.
    """

    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        """Binarised afresh: each feature is 1 with probability x_d."""
        return jax.random.bernoulli(key, x).astype(x.dtype)

    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        return jnp.sum(x * output - jax.nn.softplus(output))

    def mean(self, output: Row) -> Row:
        return jax.nn.sigmoid(output)

    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        return self.draw(self.mean(output), key)


class FixedGaussian(Likelihood):
    """p(x) = N(x | output, σ² I), σ given and never trained."""

    sigma: Float[Array, ""]

    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        return x

    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        return jnp.sum(norm.logpdf(x, output, jax.lax.stop_gradient(self.sigma)))

    def mean(self, output: Row) -> Row:
        return output

    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        return output + self.sigma * jax.random.normal(key, output.shape)


class LearnedGaussian(Likelihood):
    """p(x) = N(x | output, diag σ²), σ_d = unit · (FLOOR + exp(log_ratio_d)), one ratio learned for each feature.

    The unit, never trained, is the spread of all features together: with a unit for each, features that hardly vary
    (an image's border) would weigh as much as the rest. Without the floor, a feature that the decoder reproduces
    exactly would let its density grow without bound.
    """

    unit: Float[Array, ""]
    log_ratio: Float[Array, " d_x"]

    FLOOR = 0.1

    @property
    def sigma(self) -> Row:
        return jax.lax.stop_gradient(self.unit) * (self.FLOOR + jnp.exp(self.log_ratio))

    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        return x

    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        return jnp.sum(norm.logpdf(x, output, self.sigma))

    def mean(self, output: Row) -> Row:
        return output

    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        return output + self.sigma * jax.random.normal(key, output.shape)


LIKELIHOODS = ("bernoulli", "gaussian", "gaussian-fixed")


def likelihood_of(name: str, d_x: int, sigma: Float[Array, ""]) -> Likelihood:
    """The likelihood called `name`; `sigma` is the fixed σ, or the unit of a learned one."""
    if name == "bernoulli":
        return Bernoulli()
    if name == "gaussian":
        return LearnedGaussian(unit=sigma, log_ratio=jnp.zeros(d_x))
    if name == "gaussian-fixed":
        return FixedGaussian(sigma=sigma)
    raise ValueError(f"likelihood must be one of {', '.join(LIKELIHOODS)}, got {name!r}")
