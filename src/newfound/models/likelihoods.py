"""p(x | ·): the distribution of one row x of d_x features. `architecture.LIKELIHOODS` lists them."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from newfound.models.architecture import SIGMA_FLOOR
from newfound.models.networks import zeros
from newfound.preprocessing.columns import Blocks

Row = Float[Array, " d_x"]


class Likelihood(eqx.Module):
    """The distribution of one row, given the decoder's output."""

    @classmethod
    @abstractmethod
    def init(cls, d_x: int, sigma: Float[Array, ""], blocks: Blocks) -> "Likelihood":
        """For d_x columns; `sigma` is the fixed σ, or the unit of a learned one; `blocks` are the feature types."""

    @abstractmethod
    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        """The input of the networks for row x in one training step."""

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

    @classmethod
    def init(cls, d_x: int, sigma: Float[Array, ""], blocks: Blocks) -> "Bernoulli":
        return cls()

    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        """A new binary row each time: feature d is 1 with probability x_d."""
        return jax.random.bernoulli(key, x).astype(x.dtype)

    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        return jnp.sum(x * output - jax.nn.softplus(output))

    def mean(self, output: Row) -> Row:
        return jax.nn.sigmoid(output)

    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        return self.draw(self.mean(output), key)


class AnyGaussian(Likelihood):
    """p(x) = N(x | output, diag σ²)."""

    @property
    @abstractmethod
    def scale(self) -> Float[Array, "*d_x"]:
        """σ, one for all features or one for each."""

    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        return x

    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        variance = jnp.square(self.scale)  # `jax.scipy.stats` would take a tenth of a second to import
        return -jnp.sum(jnp.log(2 * jnp.pi * variance) + jnp.square(x - output) / variance) / 2

    def mean(self, output: Row) -> Row:
        return output

    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        return output + self.scale * jax.random.normal(key, output.shape)


class FixedGaussian(AnyGaussian):
    """σ is given and never trained."""

    sigma: Float[Array, ""]

    @classmethod
    def init(cls, d_x: int, sigma: Float[Array, ""], blocks: Blocks) -> "FixedGaussian":
        return cls(sigma=sigma)

    @property
    def scale(self) -> Float[Array, ""]:
        return jax.lax.stop_gradient(self.sigma)


class LearnedGaussian(AnyGaussian):
    """σ_d = unit · (SIGMA_FLOOR + exp(log_ratio_d)), one ratio learned for each feature.

    The unit, never trained, is the spread of all features together: with a unit for each, features of little variance
    (an image's border) would weigh as much as the rest. Without the floor, the density of a feature that the decoder
    reproduces exactly would grow without bound.
    """

    unit: Float[Array, ""]
    log_ratio: Float[Array, " d_x"]

    @classmethod
    def init(cls, d_x: int, sigma: Float[Array, ""], blocks: Blocks) -> "LearnedGaussian":
        return cls(unit=sigma, log_ratio=zeros(d_x))

    @property
    def scale(self) -> Row:
        return jax.lax.stop_gradient(self.unit) * (SIGMA_FLOOR + jnp.exp(self.log_ratio))


class Mixed(Likelihood):
    """log p(x) = Σ over blocks of columns: Gaussian for numbers, Bernoulli for booleans, categorical for groups."""

    gaussian: LearnedGaussian  # over the numeric columns
    blocks: Blocks = eqx.field(static=True)

    @classmethod
    def init(cls, d_x: int, sigma: Float[Array, ""], blocks: Blocks) -> "Mixed":
        n_numeric = sum(len(columns) for name, columns in blocks if name == "numeric")
        return cls(LearnedGaussian.init(n_numeric, sigma, ()), blocks)

    def _positions(self, feature_type: str) -> np.ndarray:
        return np.array([i for name, columns in self.blocks if name == feature_type for i in columns], dtype=int)

    @property
    def _groups(self) -> list[np.ndarray]:
        return [np.array(columns) for name, columns in self.blocks if name == "categorical"]

    def draw(self, x: Row, key: Key[Array, ""]) -> Row:
        return x

    def log_prob(self, x: Row, output: Row) -> Float[Array, ""]:
        numeric, binary = self._positions("numeric"), self._positions("binary")
        total = self.gaussian.log_prob(x[numeric], output[numeric]) + Bernoulli().log_prob(x[binary], output[binary])
        return total + sum(jnp.sum(x[group] * jax.nn.log_softmax(output[group])) for group in self._groups)

    def mean(self, output: Row) -> Row:
        binary = self._positions("binary")
        mean = output.at[binary].set(jax.nn.sigmoid(output[binary]))
        for group in self._groups:
            mean = mean.at[group].set(jax.nn.softmax(output[group]))
        return mean

    def sample(self, output: Row, key: Key[Array, ""]) -> Row:
        numeric, binary = self._positions("numeric"), self._positions("binary")
        numeric_key, binary_key, *group_keys = jax.random.split(key, 2 + len(self._groups))
        row = output.at[numeric].set(self.gaussian.sample(output[numeric], numeric_key))
        row = row.at[binary].set(Bernoulli().sample(output[binary], binary_key))
        for group, group_key in zip(self._groups, group_keys, strict=True):
            row = row.at[group].set(jax.nn.one_hot(jax.random.categorical(group_key, output[group]), len(group)))
        return row
