"""Every model with every likelihood and posterior, small enough to enumerate. A new model is one more line."""

from dataclasses import dataclass
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from newfound.models import MODELS, Architecture, DeepGenerativeModel, log_prior
from newfound.models.likelihoods import LIKELIHOODS
from newfound.models.randomness import key_of

D_X, N_KNOWN, N_NEW = 6, 2, 3
K = N_KNOWN + N_NEW
BLOCKS = (("binary", (2,)), ("category", (3, 4, 5)), ("numeric", (0, 1)))


@dataclass(frozen=True)
class Case:
    model: str
    likelihood: str
    posterior: str

    def __str__(self) -> str:
        return f"{self.model}-{self.likelihood}-{self.posterior}"

    def build(self, seed: int = 0, latent_dim: int = 3) -> DeepGenerativeModel:
        """A model whose parameters are far from their start, so that no term is small by accident."""
        architecture = Architecture(
            self.model, D_X, K, latent_dim, (8, 7), self.likelihood, self.posterior, blocks=BLOCKS
        )
        log_p_y = jnp.asarray(log_prior(np.array([3, 1]), N_NEW, 0.5))
        model = MODELS[self.model].init(key_of(seed), architecture, log_p_y, jnp.float32(0.7))
        leaves, structure = jax.tree.flatten(model)
        keys = jax.random.split(key_of(seed + 1), len(leaves))
        shaken = [leaf + 0.3 * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
        model = jax.tree.unflatten(structure, shaken)
        return _with_fixed_parts(model, log_p_y)

    def row(self, seed: int = 0) -> jax.Array:
        key = key_of(100 + seed)
        if self.likelihood == "bernoulli":
            return jax.random.bernoulli(key, 0.5, (D_X,)).astype(jnp.float32)
        row = jax.random.normal(key, (D_X,))
        return row.at[2:].set(jnp.array([1.0, 0.0, 1.0, 0.0])) if self.likelihood == "mixed" else row


def _with_fixed_parts(model: DeepGenerativeModel, log_p_y: jax.Array) -> DeepGenerativeModel:
    model = eqx.tree_at(lambda m: m.log_p_y, model, log_p_y)
    if hasattr(model.likelihood, "gaussian"):
        return eqx.tree_at(lambda m: m.likelihood.gaussian.unit, model, jnp.float32(0.7))
    if hasattr(model.likelihood, "unit"):
        return eqx.tree_at(lambda m: m.likelihood.unit, model, jnp.float32(0.7))
    if hasattr(model.likelihood, "sigma"):
        return eqx.tree_at(lambda m: m.likelihood.sigma, model, jnp.float32(0.7))
    return model


CASES = [Case(*parts, "structured") for parts in product(MODELS, LIKELIHOODS)]
CASES += [Case(model, "gaussian", "mean-field") for model in MODELS]
