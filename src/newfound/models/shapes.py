"""The shapes of a model's arrays, by name, from its architecture alone: what a stored model must hold."""

from collections.abc import Sequence
from itertools import pairwise

from newfound.models.architecture import Architecture

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
