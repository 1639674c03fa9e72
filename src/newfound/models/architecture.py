"""What decides a model's shape, and its prior over y: plain records and NumPy, without JAX."""

from typing import NamedTuple

import numpy as np

from newfound.preprocessing import Blocks


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
