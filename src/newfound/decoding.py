"""From components to rows, p(x | y, z) p(z | y), in NumPy from a model's weights.

A model or a likelihood that has no line here generates by its own equations, in JAX (`compiled_inference`).
"""

from collections.abc import Callable

import numpy as np

from newfound.inference import Perceptron, Weights, sigmoid
from newfound.models import Architecture
from newfound.preprocessing import Blocks

Gaussians = tuple[np.ndarray, np.ndarray]  # means and log variances, (rows, d_z)


def mixture(weights: Weights, components: np.ndarray) -> Gaussians:
    """p(z | y) = N(z | μ(y), Σ(y))."""
    return weights[".component_mean"][components], weights[".component_log_var"][components]


def standard_normal(weights: Weights, components: np.ndarray) -> Gaussians:
    """p(z) = N(z | 0, I), whatever y is."""
    nothing = np.zeros((len(components), 1), np.float32)
    return nothing, nothing


P_Z: dict[str, Callable[[Weights, np.ndarray], Gaussians]] = {"gmdgm": mixture, "ssvae": standard_normal}
FEATURE_TYPES = {"bernoulli": "binary", "gaussian": "numeric", "gaussian-fixed": "numeric"}  # of all columns
GAUSSIAN_FLOOR = 0.1  # `models.likelihoods.LearnedGaussian.FLOOR`


def is_known(architecture: Architecture) -> bool:
    """Whether rows of such a model can be generated here."""
    return architecture.model in P_Z and architecture.likelihood in (*FEATURE_TYPES, "mixed")


def decoded(architecture: Architecture, weights: Weights, components: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """The decoder's output at z = μ(y) + Σ(y)^½ ε, for each component y and ε."""
    mean, log_var = P_Z[architecture.model](weights, components)
    z = mean + np.exp(np.float32(0.5) * log_var) * epsilon.astype(np.float32)
    decoder = Perceptron.of(weights, "decoder", architecture.activation)
    h = decoder.first(z)
    if len(decoder.input_kernels) > 1:  # p(x | y, z)
        h += decoder.input_kernels[1][components]
    return decoder.outputs[0](decoder.last(h))


def means(architecture: Architecture, output: np.ndarray) -> np.ndarray:
    """E[x | output]."""
    mean = output.copy()
    for feature_type, columns in _blocks(architecture):
        if feature_type == "binary":
            mean[:, columns] = sigmoid(output[:, columns])
        if feature_type == "categorical":
            odds = np.exp(output[:, columns] - output[:, columns].max(axis=1, keepdims=True))
            mean[:, columns] = odds / odds.sum(axis=1, keepdims=True)
    return mean


def draws(architecture: Architecture, weights: Weights, mean: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """X ~ p(x | output), from its mean."""
    x, blocks = mean.copy(), _blocks(architecture)
    numeric = [i for feature_type, columns in blocks if feature_type == "numeric" for i in columns]
    if numeric:
        x[:, numeric] += _sigma(weights) * rng.standard_normal((len(x), len(numeric))).astype(np.float32)
    for feature_type, columns in blocks:
        if feature_type == "binary":
            x[:, columns] = rng.random_sample((len(x), len(columns))) < mean[:, columns]
        if feature_type == "categorical":  # the first category at which the summed probabilities pass a uniform draw
            below = rng.random_sample((len(x), 1)) < np.cumsum(mean[:, columns], axis=1)
            below[:, -1] = True
            x[:, columns] = np.arange(len(columns)) == below.argmax(axis=1)[:, None]
    return x


def _blocks(architecture: Architecture) -> Blocks:
    if architecture.likelihood == "mixed":
        return architecture.blocks
    return ((FEATURE_TYPES[architecture.likelihood], tuple(range(architecture.n_features))),)


def _sigma(weights: Weights) -> np.ndarray:
    """Of the numeric columns: given once for all, or learned for each."""
    given = weights.get(".likelihood.sigma")
    if given is not None:
        return given
    gaussian = ".likelihood.gaussian" if ".likelihood.gaussian.unit" in weights else ".likelihood"
    return weights[f"{gaussian}.unit"] * (np.float32(GAUSSIAN_FLOOR) + np.exp(weights[f"{gaussian}.log_ratio"]))
