"""The common part of the two models: the posterior, the parts a model must add, and its arrays by name.

A model is written for one row: x of d_x features, y a point of the K-simplex (one-hot, or a relaxed sample of one),
z of d_z latent dimensions. `jax.vmap` makes the batch.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from newfound.models.architecture import LIKELIHOODS, MODELS, Architecture
from newfound.models.likelihoods import Likelihood
from newfound.models.networks import Mlp, zeros


def vmap_unless_single(f: Callable) -> Callable:
    """`vmap`, but without a batch axis for a single element, which makes XLA's products faster."""

    def mapped(*arrays: PyTree) -> PyTree:
        if len(jax.tree.leaves(arrays)[0]) > 1:
            return jax.vmap(f)(*arrays)
        return jax.tree.map(lambda array: array[None], f(*jax.tree.map(lambda array: array[0], arrays)))

    return mapped


class Gaussian(NamedTuple):
    """N(mean, diag exp(log_var))."""

    mean: Float[Array, " d_z"]
    log_var: Float[Array, " d_z"]

    def reparameterise(self, epsilon: Float[Array, " d_z"]) -> Float[Array, " d_z"]:
        """Z = μ + Σ^½ ε."""
        return self.mean + jnp.exp(0.5 * self.log_var) * epsilon


class DeepGenerativeModel(eqx.Module):
    """p(x, y, z) with the posterior q(z, y | x) = q(z | x, y) q(y | x)."""

    log_p_y: Float[Array, " K"]
    classifier: Mlp
    encoder: Mlp
    decoder: Mlp
    likelihood: Likelihood

    @property
    def latent_dim(self) -> int:
        return self.encoder.output_biases[0].size

    @classmethod
    @abstractmethod
    def init(
        cls,
        rng: np.random.Generator,
        architecture: Architecture,
        log_p_y: Float[Array, " K"],
        sigma: Float[Array, ""],
    ) -> "DeepGenerativeModel":
        """A model with new random parameters; for `sigma` see `Likelihood.init`."""

    @abstractmethod
    def p_z(self, y: Float[Array, " K"]) -> Gaussian:
        """p(z | y)."""

    @abstractmethod
    def p_x(self, y: Float[Array, " K"], z: Float[Array, " d_z"]) -> Float[Array, " d_x"]:
        """p(x | y, z), as the decoder's output, which the likelihood interprets."""

    @abstractmethod
    def place_components(self, mean: Float[Array, "K d_z"], log_var: Float[Array, "K d_z"]) -> "DeepGenerativeModel":
        """After VAE pretraining with the first component only: treat every y like the first, and place p(z | y)."""

    def with_components(self, source: np.ndarray, log_p_y: Float[Array, " K"]) -> "DeepGenerativeModel":
        """The same networks for other components; each starts as a copy of the component in `source`."""
        classifier, encoder = self.classifier.with_outputs(source), self.encoder.with_inputs(1, source)
        return dataclasses.replace(self, log_p_y=log_p_y, classifier=classifier, encoder=encoder)

    def log_q_y(self, x: Float[Array, " d_x"]) -> Float[Array, " K"]:
        """Log q(y | x) = log Cat(y | π(x)), of every component."""
        (logits,) = self.classifier(x)
        return jax.nn.log_softmax(logits)

    def q_z(self, x: Float[Array, " d_x"], y: Float[Array, " K"]) -> Gaussian:
        """q(z | x, y) = N(z | μ(x, y), Σ(x, y)); the mean-field posterior, q(z | x), ignores y."""
        inputs = (x, y)[: len(self.encoder.input_kernels)]
        return Gaussian(*self.encoder(*inputs))


def shared_parts(
    rng: np.random.Generator,
    architecture: Architecture,
    decoder_inputs: tuple[int, ...],
    sigma: Float[Array, ""],
) -> dict:
    """The networks of the paper's Appendix C; only the decoder's inputs differ between models."""
    d_x, n_components, d_z = architecture.n_features, architecture.n_components, architecture.latent_dim
    encoder_inputs = (d_x, n_components) if architecture.posterior == "structured" else (d_x,)
    network = partial(
        Mlp.init,
        hidden_layer_sizes=architecture.hidden_layer_sizes,
        activation=architecture.activation,
        init_scale=architecture.init_scale,
    )
    return {
        "classifier": network(rng, inputs=(d_x,), outputs=(n_components,)),
        "encoder": network(rng, inputs=encoder_inputs, outputs=(d_z, d_z)),
        "decoder": network(rng, inputs=decoder_inputs, outputs=(d_x,)),
        "likelihood": LIKELIHOODS[architecture.likelihood].in_jax.init(d_x, sigma, architecture.blocks),
    }


# ---- The arrays of a model by name, as in a model file and in `in_numpy` ----


def weights_of(model: eqx.Module) -> dict[str, np.ndarray]:
    """Every array by its path in the model, such as ".classifier.input_kernels[0]"."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def model_of(architecture: Architecture, weights: dict[str, np.ndarray]) -> DeepGenerativeModel:
    """The model with these arrays."""
    log_p_y, sigma = zeros(architecture.n_components), jnp.float32(1)
    blank = MODELS[architecture.model].in_jax.init(np.random.default_rng(0), architecture, log_p_y, sigma)
    paths, structure = jax.tree_util.tree_flatten_with_path(blank)
    return jax.tree.unflatten(structure, [weights[jax.tree_util.keystr(path)] for path, _ in paths])
