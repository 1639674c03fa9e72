"""The one kind of network the models are made of: a small multi-layer perceptron."""

import dataclasses
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

ACTIVATIONS = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "silu": jax.nn.silu, "tanh": jnp.tanh}


class Mlp(eqx.Module):
    """h₁ = a(Σᵢ uᵢ Wᵢ + b₁),  h₂ = a(h₁ W₂ + b₂), …,  outputⱼ = h Vⱼ + cⱼ.

    Every input has a kernel of its own, which is the same as one kernel for all of them joined. It lets `vmap` over y
    compute the part of x, much the larger, only once. All outputs share the hidden layers, as the mean and variance
    of the paper's Appendix C do.
    """

    input_kernels: tuple[Float[Array, "_ _"], ...]
    hidden_kernels: tuple[Float[Array, "_ _"], ...]
    hidden_biases: tuple[Float[Array, " _"], ...]
    output_kernels: tuple[Float[Array, "_ _"], ...]
    output_biases: tuple[Float[Array, " _"], ...]
    activation: str = eqx.field(static=True)

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        inputs: tuple[int, ...],
        hidden_layer_sizes: tuple[int, ...],
        outputs: tuple[int, ...],
        activation: str = "relu",
        init_scale: float | None = None,
    ) -> "Mlp":
        """Kernels are Glorot's, or N(0, init_scale²) as the paper prints; biases are zero."""
        fan_in = sum(inputs)
        return cls(
            input_kernels=tuple(_kernel(rng, hidden_layer_sizes[0], n, fan_in, init_scale) for n in inputs),
            hidden_kernels=tuple(
                _kernel(rng, above, below, below, init_scale) for below, above in pairwise(hidden_layer_sizes)
            ),
            hidden_biases=tuple(zeros(n) for n in hidden_layer_sizes),
            output_kernels=tuple(
                _kernel(rng, n, hidden_layer_sizes[-1], hidden_layer_sizes[-1], init_scale) for n in outputs
            ),
            output_biases=tuple(zeros(n) for n in outputs),
            activation=activation,
        )

    def ignoring(self, position: int) -> "Mlp":
        """The same network, for which every one-hot value of an input is like the first; itself without that input."""
        if position >= len(self.input_kernels):
            return self
        kernel = self.input_kernels[position]
        alike = jnp.broadcast_to(kernel[:, :1], kernel.shape)
        kernels = (*self.input_kernels[:position], alike, *self.input_kernels[position + 1 :])
        return dataclasses.replace(self, input_kernels=kernels)

    def with_inputs(self, position: int, source: np.ndarray) -> "Mlp":
        """Each value of a one-hot input is treated like the one that `source` names; itself without that input."""
        if position >= len(self.input_kernels):
            return self
        kernels = list(self.input_kernels)
        kernels[position] = kernels[position][:, source]
        return dataclasses.replace(self, input_kernels=tuple(kernels))

    def with_outputs(self, source: np.ndarray) -> "Mlp":
        """Each value of the only output is computed like the one that `source` names."""
        (kernel,), (bias,) = self.output_kernels, self.output_biases
        return dataclasses.replace(self, output_kernels=(kernel[source],), output_biases=(bias[source],))

    def __call__(self, *inputs: Float[Array, " _"]) -> tuple[Float[Array, " _"], ...]:
        activate = ACTIVATIONS[self.activation]
        h = sum(u @ kernel.T for kernel, u in zip(self.input_kernels, inputs, strict=True))
        h = activate(h + self.hidden_biases[0])
        for kernel, bias in zip(self.hidden_kernels, self.hidden_biases[1:], strict=True):
            h = activate(h @ kernel.T + bias)
        return tuple(h @ kernel.T + bias for kernel, bias in zip(self.output_kernels, self.output_biases, strict=True))


def _kernel(
    rng: np.random.Generator, n_out: int, n_in: int, fan_in: int, scale: float | None
) -> Float[Array, "{n_out} {n_in}"]:
    glorot = (2 / (fan_in + n_out)) ** 0.5
    return normals(rng, n_out, n_in, scale=glorot if scale is None else scale)


# Parameters are begun by NumPy: a program of JAX that runs once takes longer to compile than all of it to draw.


def normals(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Float[Array, "..."]:
    return jax.device_put(np.float32(scale) * rng.standard_normal(shape, dtype=np.float32))


def zeros(*shape: int) -> Float[Array, "..."]:
    return jax.device_put(np.zeros(shape, np.float32))
