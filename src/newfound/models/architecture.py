"""What decides a model's shape, its prior over y and the list of models: plain records and NumPy, without JAX."""

from collections import UserDict
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from newfound.preprocessing.columns import Blocks

# ---- What decides a model's shape, and its prior over y: plain records and NumPy, without JAX ----


class Architecture(NamedTuple):
    """Everything that decides a model's shape. Hashable: fits of the same architecture share their compiled code."""

    model: str  # a name in `newfound.models.MODELS`
    n_features: int  # d_x
    n_components: int  # K
    latent_dim: int  # d_z
    hidden_layer_sizes: tuple[int, ...]
    likelihood: str  # a name in `newfound.models.likelihoods.LIKELIHOODS`
    posterior: str = "structured"  # or "mean-field": z's posterior without y
    activation: str = "relu"
    init_scale: float | None = None  # of N(0, scale²) kernels; None is Glorot's
    blocks: Blocks = ()  # which columns are of which feature type, for the likelihood "mixed"


def log_prior(label_counts: np.ndarray, n_new: int, prior_known: float) -> np.ndarray:
    """Log p(y): known classes share `prior_known` in proportion to their labels, new components the rest evenly."""
    n_known = len(label_counts)
    if n_known == 0 or n_new == 0:
        prior_known = float(n_new == 0)
    known = prior_known * label_counts / max(label_counts.sum(), 1)
    new = np.full(n_new, (1 - prior_known) / max(n_new, 1))
    return np.log(np.concatenate([known, new])).astype(np.float32)


# ---- The shapes of a model's arrays, by name, from its architecture alone: what a stored model must hold ----

Shapes = dict[str, tuple[int, ...]]  # by the names of `models.weights`


def posterior_shapes(architecture: Architecture) -> Shapes:
    """What every model holds, whatever its equations: p(y), and the networks of q(y | x) and q(z | x, y)."""
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


# ---- A registry whose members are imported when they are asked for ----


class OnDemand(UserDict[str, Any]):
    """Names, and of each member itself or where it is defined, as "package.module.member"."""

    def __getitem__(self, name: str) -> Any:
        member = super().__getitem__(name)
        if not isinstance(member, str):
            return member
        module, _, attribute = member.rpartition(".")
        return getattr(import_module(module), attribute)


# ---- The paper's models: `gmdgm` and `ssvae` are its equations, `objective` what both maximise ----
# A model is written in JAX, which is imported with the first one that is asked for: whoever only predicts (`inference`)
# needs a model's name and its arrays, not its equations.

MODELS = OnDemand(
    {"gmdgm": "newfound.models.gmdgm.GaussianMixtureDGM", "ssvae": "newfound.models.ssvae.SemiSupervisedVAE"}
)
