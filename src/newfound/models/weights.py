"""A model and its arrays by name: what training leaves, what is stored, and what `inference` reads."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from newfound.models import MODELS
from newfound.models.architecture import Architecture
from newfound.models.base import DeepGenerativeModel
from newfound.models.networks import zeros


def weights_of(model: eqx.Module) -> dict[str, np.ndarray]:
    """Every array by its place in the model, such as ".classifier.input_kernels[0]"."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def model_of(architecture: Architecture, weights: dict[str, np.ndarray]) -> DeepGenerativeModel:
    """The model that has these arrays."""
    log_p_y, sigma = zeros(architecture.n_components), jnp.float32(1)
    blank = MODELS[architecture.model].init(np.random.default_rng(0), architecture, log_p_y, sigma)
    paths, structure = jax.tree_util.tree_flatten_with_path(blank)
    return jax.tree.unflatten(structure, [weights[jax.tree_util.keystr(path)] for path, _ in paths])
