"""Prediction and generation in NumPy from the weights of a model: q(y | x), the mean of z, p(x | y, z).

The networks are small: a compiled program would gain nothing here, and its start costs seconds. Every model in JAX is
the slow oracle (`tests/models/test_inference.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from newfound._internal.activations import ACTIVATIONS, sigmoid
from newfound._internal.threads import in_threads
from newfound.models.architecture import LIKELIHOODS, MODELS, SIGMA_FLOOR, Architecture
from newfound.preprocessing.columns import Blocks, Preprocessing

BLOCK_BYTES = 2**20  # of the widest layer of a block of rows: fits in the cache of a core and is enough for BLAS
TILE = 64  # rows; for an incomplete tile BLAS uses other kernels, which round differently
DOUBLE_PRECISION_ROWS = 64  # up to here double precision costs no more, and no digit depends on the order of the rows
NEGLIGIBLE = 1e-10  # a component with a lower probability does not change the mean of z in single precision

Weights = Mapping[str, np.ndarray]  # by the names of `models.base.weights_of`


class Layer(NamedTuple):
    """h ↦ h W + b."""

    kernel: np.ndarray  # (in, out)
    bias: np.ndarray

    def __call__(self, h: np.ndarray) -> np.ndarray:
        output = h @ self.kernel
        output += self.bias
        return output


@dataclass(frozen=True, eq=False)
class Perceptron:
    """A network of `models.networks`, for blocks of rows: its inputs are added up in the first hidden layer."""

    input_kernels: tuple[np.ndarray, ...]  # (in, out)
    input_bias: np.ndarray
    hidden: tuple[Layer, ...]
    outputs: tuple[Layer, ...]
    activation: str

    @classmethod
    def of(cls, weights: Weights, network: str, activation: str) -> "Perceptron":
        """The network of this name, from the weights of a model."""

        def arrays(kind: str) -> list[np.ndarray]:
            names = (f".{network}.{kind}[{i}]" for i in range(len(weights)))
            return [np.ascontiguousarray(weights[name].T) for name in names if name in weights]  # fastest for BLAS

        first, *others = arrays("hidden_biases")
        hidden = map(Layer, arrays("hidden_kernels"), others)
        outputs = map(Layer, arrays("output_kernels"), arrays("output_biases"))
        return cls(tuple(arrays("input_kernels")), first, tuple(hidden), tuple(outputs), activation)

    def first(self, x: np.ndarray) -> np.ndarray:
        """The contribution of the first input to the first hidden layer, before activation."""
        h = x @ self.input_kernels[0]
        h += self.input_bias
        return h

    def last(self, h: np.ndarray) -> np.ndarray:
        """The last hidden layer, from the first one before activation; h may be overwritten."""
        activate = ACTIVATIONS[self.activation]
        h = activate(h)
        for layer in self.hidden:
            h = activate(layer(h))
        return h

    def in_double_precision(self) -> "Perceptron":
        return replace(
            self,
            input_kernels=tuple(kernel.astype(float) for kernel in self.input_kernels),
            input_bias=self.input_bias.astype(float),
            hidden=tuple(Layer(kernel.astype(float), bias.astype(float)) for kernel, bias in self.hidden),
            outputs=tuple(Layer(kernel.astype(float), bias.astype(float)) for kernel, bias in self.outputs),
        )

    @property
    def widest(self) -> int:
        """The size of the widest layer, input included."""
        return max(*self.input_kernels[0].shape, *(layer.kernel.shape[1] for layer in self.hidden))


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(z, y | x) = q(z | x, y) q(y | x), for blocks of rows of the model's own scale."""

    classifier: Perceptron
    encoder: Perceptron

    @classmethod
    def of(cls, architecture: Architecture, weights: Weights) -> "Posterior":
        return cls(*(Perceptron.of(weights, name, architecture.activation) for name in ("classifier", "encoder")))

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Log q(y | x) and a constant for each row; the constant makes the largest 0."""
        logits = self.classifier.outputs[0](self.classifier.last(self.classifier.first(x)))
        logits -= logits.max(axis=1, keepdims=True)
        return logits

    def log_q_y(self, x: np.ndarray) -> np.ndarray:
        """Log q(y | x), of every component."""
        logits = self.logits(x)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def mean_z(self, x: np.ndarray) -> np.ndarray:
        """E_{q(z, y | x)} z = Σ_k q(k | x) μ(x, k); the output layer of μ is linear, so it is applied after the sum.

        Call it in double precision: rows are grouped by component, and a row's answer must not depend on the others.
        """
        encoder = self.encoder
        of_x = encoder.first(x)
        if len(encoder.input_kernels) == 1:  # mean-field: without y
            return encoder.outputs[0](encoder.last(of_x)).astype(np.float32)
        q = np.exp(self.log_q_y(x))
        last = np.zeros((len(x), encoder.outputs[0].kernel.shape[0]))
        for k, of_y in enumerate(encoder.input_kernels[1]):
            rows = np.flatnonzero(q[:, k] > NEGLIGIBLE)
            if len(rows):
                last[rows] += q[rows, k, None] * encoder.last(of_x[rows] + of_y)
        return encoder.outputs[0](last).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Inference:
    """The answers of a posterior for a user's rows, floats or bytes, any number of them."""

    posterior: Posterior
    preprocessing: Preprocessing

    def component_probabilities(self, X: np.ndarray, temperature: float = 1.0) -> np.ndarray:
        """q(y | x)^(1/T) in single precision; the largest is 1 in each row, `normalised` makes them sum to 1."""

        def of(posterior: Posterior, x: np.ndarray) -> np.ndarray:
            logits = posterior.logits(x)
            if temperature != 1:
                logits /= np.float32(temperature)
            return np.exp(logits, out=logits)

        return self._map_blocks(of, X)

    def component_log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Log q(y | x)."""
        return self._map_blocks(Posterior.log_q_y, X)

    def latent_means(self, X: np.ndarray) -> np.ndarray:
        """E_{q(z, y | x)} z."""
        return self._map_blocks(lambda posterior, x: self._double_precision.mean_z(x.astype(float, copy=False)), X)

    def _map_blocks(self, function: Callable[[Posterior, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
        """`function` of the selected and scaled columns, block by block, so that X is never copied."""
        size = self._block_rows
        if len(X) <= DOUBLE_PRECISION_ROWS:
            return function(self._double_precision, self._scaled(X).astype(float)).astype(np.float32)
        if len(X) <= size:
            return function(self.posterior, self._scaled(X))
        blocks = [X[i : i + size] for i in range(0, len(X), size)]
        return np.concatenate(in_threads(lambda block: function(self.posterior, self._scaled(block)), blocks))

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        """(rows − shift) · scale of the selected columns, without passes that would change nothing."""
        rows, (shift, scale) = self.preprocessing.select(rows), self.preprocessing.scaling
        shifts, scales = self._shifts_and_scales
        if shifts:
            x = np.subtract(rows, shift, dtype=np.float32)
            x *= scale
            return x
        if not scales:
            return rows.astype(np.float32, copy=False)
        x = rows.astype(np.float32)  # first, then in place: a product of two types uses small buffers
        x *= scale
        return x

    # Computed once, because a service predicts one row at a time.

    @cached_property
    def _double_precision(self) -> Posterior:
        """The posterior in double precision, so that weights are not converted at every call."""
        return Posterior(self.posterior.classifier.in_double_precision(), self.posterior.encoder.in_double_precision())

    @cached_property
    def _shifts_and_scales(self) -> tuple[bool, bool]:
        shift, scale = self.preprocessing.scaling
        return bool(np.any(shift)), bool(np.any(scale != 1))

    @cached_property
    def _block_rows(self) -> int:
        widest = max(self.posterior.classifier.widest, self.posterior.encoder.widest)
        return max(1, BLOCK_BYTES // (4 * widest * TILE)) * TILE


def normalised(probabilities: np.ndarray) -> np.ndarray:
    """Each row as a distribution, in double precision."""
    probabilities = probabilities.astype(float)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities


# ---- Calibration: one number, the temperature T, corrects the probabilities of a trained network ----
#     q_T(k | x) ∝ q(k | x)^(1/T)
#
# T > 1 corrects overconfidence, T < 1 underconfidence; T = 1 changes nothing. T is fitted on held-out labels. These
# are all of known classes, so T for new classes is an assumption.

MIN_LABELS = 10  # with fewer, the prior would dominate
LOWEST, HIGHEST = 0.2, 20.0  # of T; below, the probabilities of thousands of components would underflow in float32
PRIOR_STD = 0.5  # of log T; without a prior, T would go to 0 if every held-out label is right


def fit_temperature(log_probabilities: np.ndarray, component_class: np.ndarray, labels: np.ndarray) -> float:
    """The T that maximises the probability of the true classes of held-out rows; 1 with fewer than MIN_LABELS.

    Minimises − Σ_rows log Σ_{k of the row's class} q_T(k | x) + (log T)² / (2 PRIOR_STD²).

    Parameters
    ----------
    log_probabilities : array of shape (rows, components)
        log q(k | x).
    component_class : array of shape (components,)
        The position of each component's class.
    labels : array of shape (rows,)
        The position of each row's true class.
    """
    from scipy.optimize import minimize_scalar

    if len(labels) < MIN_LABELS:
        return 1.0
    is_true = component_class == np.asarray(labels)[:, None]

    def cost(log_temperature: float) -> float:
        prior = log_temperature**2 / (2 * PRIOR_STD**2)
        return negative_log_likelihood(log_probabilities / np.exp(log_temperature), is_true) + prior

    found = minimize_scalar(cost, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded")
    return float(np.exp(found.x))


def negative_log_likelihood(logits: np.ndarray, is_true: np.ndarray) -> float:
    """− Σ_rows log P(the row's own components), from logits that need not be normalised."""
    from scipy.special import logsumexp

    of_true = logsumexp(np.where(is_true, logits, -np.inf), axis=1)
    return float((logsumexp(logits, axis=1) - of_true).sum())


# ---- Generation: from components to rows, p(x | y, z) p(z | y) ----


def is_known(architecture: Architecture) -> bool:
    """Whether rows can be generated here; otherwise `compiled_inference` does it in JAX."""
    likelihood = LIKELIHOODS[architecture.likelihood]
    can_decode = likelihood.needs_feature_types or likelihood.decodes_as is not None
    return can_decode and MODELS[architecture.model].p_z is not None


def decoded(architecture: Architecture, weights: Weights, components: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """The decoder's output at z = μ(y) + Σ(y)^½ ε, for each component y and ε."""
    z = epsilon.astype(np.float32)  # p(z) = N(z | 0, I)
    if MODELS[architecture.model].p_z == "mixture":  # p(z | y) = N(z | μ(y), Σ(y))
        mean, log_var = weights[".component_mean"][components], weights[".component_log_var"][components]
        z = mean + np.exp(np.float32(0.5) * log_var) * z
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
        sigma = weights.get(".likelihood.sigma")
        if sigma is None:  # learned for each column
            gaussian = ".likelihood.gaussian" if ".likelihood.gaussian.unit" in weights else ".likelihood"
            sigma = weights[f"{gaussian}.unit"] * (np.float32(SIGMA_FLOOR) + np.exp(weights[f"{gaussian}.log_ratio"]))
        x[:, numeric] += sigma * rng.standard_normal((len(x), len(numeric))).astype(np.float32)
    for feature_type, columns in blocks:
        if feature_type == "binary":
            x[:, columns] = rng.random_sample((len(x), len(columns))) < mean[:, columns]
        if feature_type == "categorical":  # the first category at which the summed probabilities pass a uniform draw
            below = rng.random_sample((len(x), 1)) < np.cumsum(mean[:, columns], axis=1)
            below[:, -1] = True
            x[:, columns] = np.arange(len(columns)) == below.argmax(axis=1)[:, None]
    return x


def _blocks(architecture: Architecture) -> Blocks:
    likelihood = LIKELIHOODS[architecture.likelihood]
    if likelihood.decodes_as is None:
        return architecture.blocks
    return ((likelihood.decodes_as, tuple(range(architecture.n_features))),)
