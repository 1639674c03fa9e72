"""The activations of hidden layers: in NumPy here, in JAX the function of the same name in `jax.nn`."""

from collections.abc import Callable

import numpy as np

Activation = Callable[[np.ndarray], np.ndarray]


def sigmoid(h: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(−h)) without an exponential that overflows."""
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * h) + 1)


def gelu(h: np.ndarray) -> np.ndarray:
    """½ h (1 + tanh √(2/π) (h + 0.044715 h³)), the approximation of JAX."""
    return np.float32(0.5) * h * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (h + np.float32(0.044715) * h**3)))


ACTIVATIONS: dict[str, Activation] = {  # they may overwrite h
    "relu": lambda h: np.maximum(h, 0, out=h),
    "gelu": gelu,
    "silu": lambda h: h * sigmoid(h),
    "tanh": lambda h: np.tanh(h, out=h),
}
