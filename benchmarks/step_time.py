"""Microseconds of a training step: newfound, the same models in PyTorch, and the machine's limit.

    python benchmarks/step_time.py [--all]

A step trains on `batch` rows with a label and `batch` rows without, by the paper's objective. The limit is the longer
of two times: the step's matrix products at BLAS' peak, and the bytes that Adam's update must at least move at the speed
of memory; both measured in the same run. Products are counted forward plus twice that backward, without the gradients
towards the data, which nobody needs. All contenders of a shape run in turn.
"""

import argparse
import importlib.util
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from measure import Run, copy_run, exponent, in_turn, product_run

from newfound.labels import UNLABELLED
from newfound.models.architecture import Architecture, log_prior
from newfound.models.objective import Expectation, Weights
from newfound.preprocessing.columns import Scaling
from newfound.training.phases import STEPS_PER_CHUNK
from newfound.training.steps import Hyperparameters, compiled_train_chunk, init_states

N_KNOWN = 5
DATA = {"mnist": (444, 5, "bernoulli"), "fashion-mnist": (690, 10, "bernoulli"), "har": (561, 15, "gaussian")}
HAS_TORCH = importlib.util.find_spec("torch") is not None


class Shape(NamedTuple):
    """Everything that decides how long a step takes."""

    model: str
    data: str
    batch: int
    units: int
    n_components: int = 45

    @property
    def is_asked_for(self) -> bool:
        """Whether a goal is set for it: these are measured in more rounds."""
        return self.model == "gmdgm" and self.batch <= 64


ALL = [Shape(*of) for of in product(("gmdgm", "ssvae"), DATA, (4, 64, 256, 1024), (200, 500))]
GOALS = [shape for shape in ALL if shape.is_asked_for]


def limit(shape: Shape, peak: float, bandwidth: float) -> float:
    """Seconds below which no step of this shape can be: by products, or by memory."""
    inputs, latent, _ = DATA[shape.data]
    units, n_components = shape.units, shape.n_components
    decoded = latent + (n_components if shape.model == "ssvae" else 0)
    classifier = inputs * units + units**2 + units * n_components
    encoder = (inputs + n_components) * units + units**2 + 2 * units * latent
    decoder = decoded * units + units**2 + units * inputs
    rows = 2 * shape.batch
    flops = 2 * rows * (3 * (classifier + encoder + decoder) - 2 * inputs * units)
    n_bytes = 4 * 7 * (classifier + encoder + decoder)  # parameters and both moments read and written, gradients read
    return max(flops / peak, n_bytes / bandwidth)


def newfound_steps(shape: Shape, n_restarts: int = 1) -> Run:
    """A function that runs one compiled chunk."""
    inputs, latent, likelihood = DATA[shape.data]
    rng = np.random.default_rng(0)
    architecture = Architecture(shape.model, inputs, shape.n_components, latent, (shape.units, shape.units), likelihood)
    prior = log_prior(np.ones(N_KNOWN), shape.n_components - N_KNOWN, 0.5)
    state = [init_states(range(n_restarts), prior, 1.0, architecture)]
    sizes = (n_restarts, STEPS_PER_CHUNK, 2 * shape.batch)
    rows = rng.integers(0, 256, (*sizes, inputs), dtype=np.uint8)
    if likelihood == "gaussian":
        rows = (rows / 255).astype(np.float32)
    labels = np.where(np.arange(sizes[2]) < shape.batch, rng.integers(0, N_KNOWN, sizes), UNLABELLED).astype(np.int32)
    rates = np.full(sizes[:2], 1e-3, np.float32)
    unit = 1 / 255 if likelihood == "bernoulli" else 1
    scaling = Scaling(np.zeros(inputs, np.float32), np.full(inputs, unit, np.float32))
    hyperparameters = Hyperparameters(Weights(*map(jnp.float32, (1, 0))), *map(jnp.float32, (1, 0.5, 100)))

    def run() -> None:
        state[0], info = compiled_train_chunk()(
            *(state[0], rows, labels, None, rates, scaling, hyperparameters),
            n_labelled=shape.batch,
            expectation=Expectation(),
        )
        jax.block_until_ready(info)

    return run


def torch_steps(shape: Shape, how: str) -> Run:
    import torch
    from torch_models import TorchModel, steps_of

    torch.manual_seed(0)
    inputs, latent, likelihood = DATA[shape.data]
    model = TorchModel(shape.model, inputs, shape.units, latent, shape.n_components, likelihood)
    x = torch.rand(2 * shape.batch, inputs)
    labels = torch.randint(0, N_KNOWN, (shape.batch,))
    return steps_of(model, x, labels, shape.batch, 1 if how == "enumerating" else STEPS_PER_CHUNK, how)


def contenders(shape: Shape) -> dict[str, Run]:
    runs = {"newfound": newfound_steps(shape)}
    if HAS_TORCH:
        hows = ("eager", "fused", "compiled", *(["enumerating"] if shape.model == "gmdgm" else []))
        runs |= {f"torch {how}": torch_steps(shape, how) for how in hows}
    return runs


def measure_shape(shape: Shape, rounds: int) -> dict[str, Any]:
    """Microseconds a step of every contender, and of the limit, from runs in turn."""
    runs = contenders(shape) | {"product": product_run(), "copy": copy_run()}
    seconds = in_turn(runs, rounds)
    peak, bandwidth = 2 * 2048**3 / seconds.pop("product"), 2 * 2**28 / seconds.pop("copy")
    steps = {name: took / (1 if "enumerating" in name else STEPS_PER_CHUNK) for name, took in seconds.items()}
    lowest = limit(shape, peak, bandwidth)
    return {
        **shape._asdict(),
        "microseconds": {name: round(1e6 * took, 1) for name, took in steps.items()},
        "limit": round(1e6 * lowest, 1),
        "share_of_limit": round(lowest / steps["newfound"], 3),
        "times_as_fast": {name: round(took / steps["newfound"], 2) for name, took in steps.items()},
        "blas_gflops": round(peak / 1e9),
        "memory_gb_per_second": round(bandwidth / 1e9, 1),
    }


def host_share(shape: Shape, rounds: int) -> float:
    """Seconds spent making the next chunk on the host, as a share of the seconds a chunk trains."""
    from newfound.training.batches import BatchStream, make_chunk

    inputs, _, _ = DATA[shape.data]
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (60_000, inputs), dtype=np.uint8)
    labels = np.where(rng.random(len(X)) < 0.1, rng.integers(0, N_KNOWN, len(X)), UNLABELLED)
    streams = [BatchStream(labels, np.arange(len(X)), shape.batch, 0)]
    make = partial(make_chunk, X, [labels], None, streams, STEPS_PER_CHUNK)
    seconds = in_turn({"host": make, "training": newfound_steps(shape)}, rounds)
    return seconds["host"] / seconds["training"]


def measure(is_full: bool = False, rounds: int = 5) -> dict[str, Any]:
    steps = []
    for shape in ALL if is_full else GOALS:
        steps.append(measure_shape(shape, rounds if shape.is_asked_for else 2))
        print(_line(steps[-1]), flush=True)
    result = {
        "steps": steps,
        **more_components(rounds),
        **more_seeds(rounds),
        "host_share": {str(b): round(host_share(Shape("gmdgm", "mnist", b, 200), rounds), 3) for b in (4, 64)},
    }
    for name, value in result.items():
        if name != "steps":
            print(f"{name.replace('_', ' ')}: {value}")
    return result


def more_components(rounds: int, sizes: tuple[int, ...] = (10, 45, 100, 200)) -> dict[str, Any]:
    """A step by its number of components, against the smallest."""
    seconds = in_turn({k: newfound_steps(Shape("gmdgm", "mnist", 64, 200, n_components=k)) for k in sizes}, rounds)
    return {
        "components": {str(k): round(seconds[k] / seconds[sizes[0]], 2) for k in sizes},
        "exponent_components": round(exponent(sizes, [seconds[k] for k in sizes]), 2),
    }


def more_seeds(
    rounds: int, batches: tuple[int, ...] = (4, 64, 256), sizes: tuple[int, ...] = (1, 2, 4)
) -> dict[str, Any]:
    """For each batch size, a step of several seeds in one program, against one seed."""
    seconds = {
        b: in_turn({n: newfound_steps(Shape("gmdgm", "mnist", b, 200), n) for n in sizes}, rounds) for b in batches
    }
    return {
        "seeds": {str(b): {str(n): round(took[n] / took[1], 2) for n in sizes} for b, took in seconds.items()},
        "exponent_seeds": {str(b): round(exponent(sizes, [took[n] for n in sizes]), 2) for b, took in seconds.items()},
    }


def _line(step: dict[str, Any]) -> str:
    others = "  ".join(
        f"{name.removeprefix('torch ')} {times:.1f}x" for name, times in step["times_as_fast"].items() if times != 1
    )
    return (
        f"{step['model']:<6} {step['data']:<14} {step['batch']:>5} x {step['units']}: "
        f"{step['microseconds']['newfound']:>9,.0f} µs, {step['share_of_limit']:4.0%} of the limit; PyTorch: {others}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every batch size and both models, not the goals alone")
    measure(parser.parse_args().all)
