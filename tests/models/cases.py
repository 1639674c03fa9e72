"""Every model with every likelihood and posterior, small enough to enumerate. A new model is one more line."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from newfound.models.architecture import LIKELIHOODS, MODELS, Architecture, log_prior
from newfound.models.base import DeepGenerativeModel
from newfound.models.networks import key_of

D_X, N_KNOWN, N_NEW = 6, 2, 3
K = N_KNOWN + N_NEW
BLOCKS = (("binary", (2,)), ("categorical", (3, 4, 5)), ("numeric", (0, 1)))
SIGMA = 0.7


@dataclass(frozen=True)
class Case:
    model: str
    likelihood: str
    posterior: str

    def __str__(self) -> str:
        return f"{self.model}-{self.likelihood}-{self.posterior}"

    @cache  # noqa: B019 - as many as there are cases
    def build(self, latent_dim: int = 3) -> DeepGenerativeModel:
        """A model with parameters far from their start, so that no term is small by accident."""
        architecture = Architecture(
            self.model, D_X, K, latent_dim, (8, 7), self.likelihood, self.posterior, blocks=BLOCKS
        )
        log_p_y = jnp.asarray(log_prior(np.array([3, 1]), N_NEW, 0.5))

        rng = np.random.default_rng(0)
        model = MODELS[self.model].in_jax.init(rng, architecture, log_p_y, jnp.float32(SIGMA))
        moved = jax.tree.map(lambda leaf: jax.device_put(leaf + 0.3 * rng.normal(size=leaf.shape).astype("f4")), model)
        return eqx.tree_at(_fixed_parts, moved, _fixed_parts(model))

    @cache  # noqa: B019
    def row(self, seed: int = 0) -> jax.Array:
        key = key_of(100 + seed)
        if self.likelihood == "bernoulli":
            return jax.random.bernoulli(key, 0.5, (D_X,)).astype(jnp.float32)
        row = jax.random.normal(key, (D_X,))
        return row.at[2:].set(jnp.array([1.0, 0.0, 1.0, 0.0])) if self.likelihood == "mixed" else row


def _fixed_parts(model: DeepGenerativeModel) -> tuple[jax.Array, ...]:
    """What training never changes: the prior, and the σ or the unit that a likelihood was given."""
    return (model.log_p_y, *fixed_scales(model.likelihood))


def fixed_scales(likelihood) -> tuple[jax.Array, ...]:
    """Every given σ or unit in a likelihood, however deep."""
    if hasattr(likelihood, "gaussian"):
        return fixed_scales(likelihood.gaussian)
    name = next((name for name in ("unit", "sigma") if name in vars(likelihood)), None)
    return () if name is None else (getattr(likelihood, name),)


CASES = [Case(*parts, "structured") for parts in product(MODELS, LIKELIHOODS)]
CASES += [Case(model, "gaussian", "mean-field") for model in MODELS]
