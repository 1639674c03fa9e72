"""What a trained model says of rows, in NumPy from its weights: the posterior of y, the mean of z, and the way back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from newfound._internal.threads import in_threads
from newfound.models.architecture import Architecture
from newfound.preprocessing.columns import Blocks, Preprocessing

# ---- What a trained model says of rows, in NumPy from its weights: the posterior of y, and the mean of z ----
# The networks are small: a compiled program would gain nothing here, and its start costs seconds. Every model of the
# registry, in JAX, is the slow oracle (`tests/models/test_inference.py`).

BLOCK_BYTES = 2**20  # of the widest layer of a block of rows: what a core's own cache holds, and enough for BLAS
TILE = 64  # rows: BLAS computes what is left over by other kernels, which round otherwise
FEW_ROWS = 64  # so many cost no more in double precision, in which no digit depends on the order of the rows
NEGLIGIBLE = 1e-10  # a component less probable than this moves no mean of z that single precision can tell

Weights = Mapping[str, np.ndarray]  # by the names of `models.weights`


def relu(h: np.ndarray) -> np.ndarray:
    return np.maximum(h, 0, out=h)


def gelu(h: np.ndarray) -> np.ndarray:
    """½ h (1 + tanh √(2/π) (h + 0.044715 h³)), as JAX approximates it."""
    return np.float32(0.5) * h * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (h + np.float32(0.044715) * h**3)))


def silu(h: np.ndarray) -> np.ndarray:
    return h * sigmoid(h)


def sigmoid(h: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(−h)) without an exponential that overflows."""
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * h) + 1)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": relu,
    "gelu": gelu,
    "silu": silu,
    "tanh": lambda h: np.tanh(h, out=h),
}


class Layer(NamedTuple):
    """h ↦ h W + b."""

    kernel: np.ndarray  # (in, out)
    bias: np.ndarray

    def __call__(self, h: np.ndarray) -> np.ndarray:
        output = h @ self.kernel
        output += self.bias
        return output

    def doubled(self) -> "Layer":
        return Layer(self.kernel.astype(float), self.bias.astype(float))


@dataclass(frozen=True, eq=False)
class Perceptron:
    """A network of `models.networks`, for blocks of rows: its inputs are added up in the first hidden layer."""

    input_kernels: tuple[np.ndarray, ...]  # (in, out)
    input_bias: np.ndarray
    hidden: tuple[Layer, ...]
    outputs: tuple[Layer, ...]
    activate: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, weights: Weights, network: str, activation: str) -> "Perceptron":
        """The network that stands under this name among a model's weights."""

        def arrays(kind: str) -> list[np.ndarray]:
            names = (f".{network}.{kind}[{i}]" for i in range(len(weights)))
            return [np.ascontiguousarray(weights[name].T) for name in names if name in weights]  # as BLAS likes it best

        first, *others = arrays("hidden_biases")
        hidden = map(Layer, arrays("hidden_kernels"), others)
        outputs = map(Layer, arrays("output_kernels"), arrays("output_biases"))
        return cls(tuple(arrays("input_kernels")), first, tuple(hidden), tuple(outputs), ACTIVATIONS[activation])

    def first(self, x: np.ndarray) -> np.ndarray:
        """What the first input alone brings to the first hidden layer, before it is activated."""
        h = x @ self.input_kernels[0]
        h += self.input_bias
        return h

    def last(self, h: np.ndarray) -> np.ndarray:
        """The last hidden layer, from the first one before it is activated; h may be written over."""
        h = self.activate(h)
        for layer in self.hidden:
            h = self.activate(layer(h))
        return h

    def doubled(self) -> "Perceptron":
        """With weights in double precision."""
        return replace(
            self,
            input_kernels=tuple(kernel.astype(float) for kernel in self.input_kernels),
            input_bias=self.input_bias.astype(float),
            hidden=tuple(layer.doubled() for layer in self.hidden),
            outputs=tuple(layer.doubled() for layer in self.outputs),
        )

    @property
    def widest(self) -> int:
        """Numbers that a row needs in its widest layer, or comes with."""
        return max(*self.input_kernels[0].shape, *(layer.kernel.shape[1] for layer in self.hidden))


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(z, y | x) = q(z | x, y) q(y | x), for blocks of rows of the model's own scale."""

    classifier: Perceptron
    encoder: Perceptron

    @classmethod
    def of(cls, architecture: Architecture, weights: Weights) -> "Posterior":
        return cls(*(Perceptron.of(weights, name, architecture.activation) for name in ("classifier", "encoder")))

    def doubled(self) -> "Posterior":
        """With weights in double precision: else NumPy would turn all of them into it at every call."""
        return Posterior(self.classifier.doubled(), self.encoder.doubled())

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
        """E_{q(z, y | x)} z = Σ_k q(k | x) μ(x, k); the output layer of μ is linear, so that it comes after the sum.

        To be asked in double precision: rows are taken together by their components, and no answer may hang on who else
        is there.
        """
        encoder = self.encoder
        of_x = encoder.first(x)
        if len(encoder.input_kernels) == 1:  # mean-field: y is not looked at
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
    """What is asked of a posterior about a user's rows, floats or bytes, as many as there are."""

    posterior: Posterior
    preprocessing: Preprocessing

    def component_probabilities(self, X: np.ndarray, temperature: float = 1.0) -> np.ndarray:
        """q(y | x)^(1/T) in single precision, of which the largest is 1 in each row; `normed` makes them sum to 1."""

        def of(posterior: Posterior, x: np.ndarray) -> np.ndarray:
            logits = posterior.logits(x)
            if temperature != 1:
                logits /= np.float32(temperature)
            return np.exp(logits, out=logits)

        return self._in_blocks(of, X)

    def component_log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Log q(y | x)."""
        return self._in_blocks(Posterior.log_q_y, X)

    def latent_means(self, X: np.ndarray) -> np.ndarray:
        """E_{q(z, y | x)} z."""
        return self._in_blocks(lambda posterior, x: self._doubled.mean_z(x.astype(float, copy=False)), X)

    def _in_blocks(self, function: Callable[[Posterior, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
        """`function` of the rows as the model sees them: chosen and scaled block by block, so X is never copied."""
        size = self._block_rows
        if len(X) <= FEW_ROWS:
            return function(self._doubled, self._scaled(X).astype(float)).astype(np.float32)
        if len(X) <= size:
            return function(self.posterior, self._scaled(X))
        blocks = [X[i : i + size] for i in range(0, len(X), size)]
        return np.concatenate(in_threads(lambda block: function(self.posterior, self._scaled(block)), blocks))

    @cached_property
    def _doubled(self) -> Posterior:
        return self.posterior.doubled()

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        """(rows − shift) · scale of the chosen columns, without the pass over them that would change nothing."""
        rows, (shift, scale) = self.preprocessing.select(rows), self.preprocessing.scaling
        if self._shifts:
            x = np.subtract(rows, shift, dtype=np.float32)
            x *= scale
            return x
        if not self._scales:
            return rows.astype(np.float32, copy=False)
        x = rows.astype(np.float32)  # first, then in place: a product of two types goes by way of small buffers
        x *= scale
        return x

    @cached_property
    def _shifts(self) -> bool:
        return bool(np.any(self.preprocessing.scaling.shift))

    @cached_property
    def _scales(self) -> bool:
        return bool(np.any(self.preprocessing.scaling.scale != 1))

    @cached_property
    def _block_rows(self) -> int:
        widest = max(self.posterior.classifier.widest, self.posterior.encoder.widest)
        return max(1, BLOCK_BYTES // (4 * widest * TILE)) * TILE


def normed(probabilities: np.ndarray) -> np.ndarray:
    """Each row of them as a distribution, in double precision."""
    probabilities = probabilities.astype(float)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities


# ---- How sure is it? One number, the temperature T, makes the probabilities of a trained network honest ----
#     q_T(k | x) ∝ q(k | x)^(1/T)
#
# T > 1 makes an overconfident network less sure, T < 1 a diffident one more so; T = 1 leaves it as it is. T is fitted
# on labels that training did not see, and so knows nothing of new classes: it is applied to them on trust.

MIN_LABELS = 10  # fewer tell nothing, and the prior would decide alone
LOWEST, HIGHEST = 0.2, 20.0  # of T; below, the probabilities of thousands of components would underflow in float32
PRIOR_STD = 0.5  # of log T: where every held-out label is right, likelihood alone would make all rows certain


def fit_temperature(log_probabilities: np.ndarray, component_class: np.ndarray, labels: np.ndarray) -> float:
    """The T at which the true classes of held-out rows are most probable; 1 where there are fewer than MIN_LABELS.

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
    """− Σ_rows log of the probability of the components that are the row's own, from logits that need not be normed."""
    from scipy.special import logsumexp

    of_true = logsumexp(np.where(is_true, logits, -np.inf), axis=1)
    return float((logsumexp(logits, axis=1) - of_true).sum())


# ---- From components to rows, p(x | y, z) p(z | y), in NumPy from a model's weights ----
# A model or a likelihood that has no line here generates by its own equations, in JAX (`compiled_inference`).

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
