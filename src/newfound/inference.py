"""What a trained model says of rows, in NumPy from its weights: the posterior of y, and the mean of z.

The networks are small: a compiled program would gain nothing here, and its start costs seconds. Every model of the
registry, in JAX, is the slow oracle (`tests/models/test_inference.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from newfound.models import Architecture
from newfound.preprocessing import Preprocessing
from newfound.threads import in_threads

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
