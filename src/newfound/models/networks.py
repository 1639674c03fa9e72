"""The network of all models, a small multi-layer perceptron, and its random numbers."""

import dataclasses
import math
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl
from jaxtyping import Array, Float, Key, UInt32

# ---- Random numbers ----
# Drawing new binary images with JAX's default generator (threefry) took an eighth of a training step on a CPU, because
# XLA runs its rounds as a loop over arrays. Here each 32-bit word is a hash of (key, position), which XLA fuses into
# the code that reads it. The hash is the two-multiplication finaliser known as "lowbias32", applied twice. It is meant
# for noise in stochastic gradients, not for cryptography. Unlike JAX's `rbg` it gives the same numbers under `vmap` as
# alone, so that run i of many equals run i by itself.

GOLDEN = 0x9E3779B9  # 2³² over the golden ratio: hashes of consecutive positions are far apart


def key_of(seed: int | UInt32[Array, ""]) -> Key[Array, ""]:
    """A key of this module's generator; every function of `jax.random` takes it."""
    return jax.random.key(seed & 0xFFFFFFFF if isinstance(seed, int) else seed, impl=HASHED)


def _mix(h: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    h = (h ^ (h >> 16)) * jnp.uint32(0x7FEB352D)
    h = (h ^ (h >> 15)) * jnp.uint32(0x846CA68B)
    return h ^ (h >> 16)


def _words(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape"]:
    positions = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    return _mix(_mix(positions * jnp.uint32(GOLDEN) + key[0]) + key[1])


def _seed(seed: Array) -> UInt32[Array, "2"]:
    low = seed.astype(jnp.uint32)
    return jnp.stack([_mix(low + jnp.uint32(GOLDEN)), _mix(low ^ jnp.uint32(0x85EBCA6B))])


def _split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape 2"]:
    return _words(key ^ jnp.uint32(0xC2B2AE35), (*shape, 2))


def _fold_in(key: UInt32[Array, "2"], data: Any) -> UInt32[Array, "2"]:
    return jnp.stack([_mix(key[0] + _mix(data)), _mix(key[1] ^ (data * jnp.uint32(GOLDEN)))])


def _random_bits(key: UInt32[Array, "2"], bit_width: int, shape: tuple[int, ...]) -> Array:
    if bit_width > 32:
        raise NotImplementedError(f"this generator draws 8, 16 or 32 bits at a time, not {bit_width}")
    return _words(key, shape).astype({8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32}[bit_width])


HASHED = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="newfound_hashed",
    tag="nfh",
)


# ---- The network ----


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
    activation: str = eqx.field(static=True)  # a name in `jax.nn`

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
        """The same network, but each value of a one-hot input is treated like the first. Unchanged without it."""
        if position >= len(self.input_kernels):
            return self
        kernel = self.input_kernels[position]
        alike = jnp.broadcast_to(kernel[:, :1], kernel.shape)
        kernels = (*self.input_kernels[:position], alike, *self.input_kernels[position + 1 :])
        return dataclasses.replace(self, input_kernels=kernels)

    def with_inputs(self, position: int, source: np.ndarray) -> "Mlp":
        """Each value of a one-hot input is treated like the one in `source`. Unchanged without that input."""
        if position >= len(self.input_kernels):
            return self
        kernels = list(self.input_kernels)
        kernels[position] = kernels[position][:, source]
        return dataclasses.replace(self, input_kernels=tuple(kernels))

    def with_outputs(self, source: np.ndarray) -> "Mlp":
        """Each value of the only output is computed like the one in `source`."""
        (kernel,), (bias,) = self.output_kernels, self.output_biases
        return dataclasses.replace(self, output_kernels=(kernel[source],), output_biases=(bias[source],))

    def __call__(self, *inputs: Float[Array, " _"]) -> tuple[Float[Array, " _"], ...]:
        activate = getattr(jax.nn, self.activation)
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


# Parameters are drawn by NumPy: compiling a JAX program that runs once takes longer than drawing them all.


def normals(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Float[Array, "..."]:
    return jax.device_put(np.float32(scale) * rng.standard_normal(shape, dtype=np.float32))


def zeros(*shape: int) -> Float[Array, "..."]:
    return jax.device_put(np.zeros(shape, np.float32))
