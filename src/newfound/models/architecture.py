"""The lists of models and likelihoods, and the shape of a model: plain records and NumPy, without JAX.

A new model or likelihood is its class, written in JAX, and one line here. Equations are imported with JAX when a fit
first needs them: predictions (`in_numpy`) read a model's arrays by name.
"""

from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from newfound._internal.activations import ACTIVATIONS
from newfound._internal.records import Meta, Record
from newfound._internal.words import shortened
from newfound.preprocessing.columns import Blocks


class ModelKind(NamedTuple):
    """The properties of a model that need no JAX."""

    title: str  # as people write it
    where: str  # the class with its equations, "module:name" within this package
    pretrains: bool  # by default
    p_z: str | None = None  # how NumPy reads p(z | y): "mixture" or "standard normal"; None leaves sampling to JAX

    @property
    def in_jax(self) -> Any:
        """The class, a `models.base.DeepGenerativeModel`."""
        return _imported(self.where)


class LikelihoodKind(NamedTuple):
    """The properties of a likelihood that need no JAX."""

    where: str  # its class, "module:name" within this package
    decodes_as: str | None = None  # how NumPy samples all columns: "binary" or "numeric"; None leaves it to JAX
    needs_unit_interval: bool = False  # columns must lie within 0..1, and are not standardised
    sigma_is_given: bool = False  # by the user, instead of measured on the columns
    needs_feature_types: bool = False  # used if, and only if, these are given; they decide how columns are sampled

    @property
    def in_jax(self) -> Any:
        """The class, a `models.likelihoods.Likelihood`."""
        return _imported(self.where)


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(f"newfound.models.{module}"), name)


MODELS = {
    "gmdgm": ModelKind("GM-DGM", "gmdgm:GaussianMixtureDGM", pretrains=True, p_z="mixture"),
    "ssvae": ModelKind("SSVAE", "ssvae:SemiSupervisedVAE", pretrains=False, p_z="standard normal"),
}
LIKELIHOODS = {
    "bernoulli": LikelihoodKind("likelihoods:Bernoulli", decodes_as="binary", needs_unit_interval=True),
    "gaussian": LikelihoodKind("likelihoods:LearnedGaussian", decodes_as="numeric"),
    "gaussian-fixed": LikelihoodKind("likelihoods:FixedGaussian", decodes_as="numeric", sigma_is_given=True),
    "mixed": LikelihoodKind("likelihoods:Mixed", needs_feature_types=True),
}
SIGMA_FLOOR = 0.1  # of a learned σ, relative to its unit (`models.likelihoods.LearnedGaussian`)


MAX_COMPONENTS = 100_000
MAX_FEATURES = 100_000_000
Width = Annotated[int, Meta(ge=1, le=100_000)]


class Architecture(Record, frozen=True):
    """Everything that decides the shape of a model. Hashable: fits of the same architecture share compiled code."""

    model: str  # a name in `MODELS`
    n_features: Annotated[int, Meta(ge=1, le=MAX_FEATURES)]  # d_x
    n_components: Annotated[int, Meta(ge=1, le=MAX_COMPONENTS)]  # K
    latent_dim: Annotated[int, Meta(ge=1, le=1_000)]  # d_z
    hidden_layer_sizes: Annotated[tuple[Width, ...], Meta(min_length=1, max_length=100)]
    likelihood: str  # a name in `LIKELIHOODS`
    posterior: str = "structured"  # or "mean-field": z's posterior without y
    activation: str = "relu"  # see `config.Optimisation.activation`
    init_scale: float | None = None  # of N(0, scale²) kernels; None is Glorot's
    blocks: Blocks = ()  # the columns of each feature type, for the likelihood "mixed"

    def __post_init__(self) -> None:
        lists: dict[str, tuple[str, ...]] = {"model": (*MODELS,), "likelihood": (*LIKELIHOODS,)}
        lists |= {"posterior": ("structured", "mean-field"), "activation": tuple(ACTIVATIONS)}
        for name, known in lists.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be {' or '.join(known)}; got {shortened(getattr(self, name))}")
        if any(not 0 <= column < self.n_features for _, columns in self.blocks for column in columns):
            raise ValueError(f"blocks must hold columns below {self.n_features:,}")


def log_prior(label_counts: np.ndarray, n_new: int, prior_known: float) -> np.ndarray:
    """Log p(y): known classes share `prior_known` in proportion to their labels, new components the rest evenly."""
    n_known = len(label_counts)
    if n_known == 0 or n_new == 0:
        prior_known = float(n_new == 0)
    known = prior_known * label_counts / max(label_counts.sum(), 1)
    new = np.full(n_new, (1 - prior_known) / max(n_new, 1))
    return np.log(np.concatenate([known, new])).astype(np.float32)


Shapes = dict[str, tuple[int, ...]]  # by the names of `models.base.weights_of`


def posterior_shapes(architecture: Architecture) -> Shapes:
    """The arrays of every stored model: p(y), and the networks of q(y | x) and q(z | x, y)."""
    d_x, n_components, d_z = architecture.n_features, architecture.n_components, architecture.latent_dim
    encoder_inputs = (d_x, n_components) if architecture.posterior == "structured" else (d_x,)
    hidden = architecture.hidden_layer_sizes
    return {
        ".log_p_y": (n_components,),
        **_network("classifier", (d_x,), hidden, (n_components,)),
        **_network("encoder", encoder_inputs, hidden, (d_z, d_z)),
    }


def _network(name: str, inputs: Sequence[int], hidden: Sequence[int], outputs: Sequence[int]) -> Shapes:
    shapes: dict[str, list[tuple[int, ...]]] = {
        "input_kernels": [(hidden[0], n) for n in inputs],
        "hidden_kernels": [(above, below) for below, above in pairwise(hidden)],
        "hidden_biases": [(n,) for n in hidden],
        "output_kernels": [(n, hidden[-1]) for n in outputs],
        "output_biases": [(n,) for n in outputs],
    }
    return {f".{name}.{kind}[{i}]": shape for kind, of in shapes.items() for i, shape in enumerate(of)}
