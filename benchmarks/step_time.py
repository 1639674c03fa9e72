"""Microseconds of a training step, and the share of this machine's BLAS peak it reaches, both measured in this run.

    python benchmarks/step_time.py [--json results.json]

A step trains on `batch` rows with a label and `batch` rows without. The matrix products of its networks are counted as
forward plus twice that for backward, as is usual; of these, the gradients towards the data are not needed and not
computed, so "strict" counts without them. The three shapes are timed in turn, several rounds, the best of each counts.
"""

import argparse
import json
import platform
import time

import jax
import jax.numpy as jnp
import numpy as np

from newfound.features import Scaling
from newfound.models import Architecture, log_prior
from newfound.models.objective import UNLABELLED, Expectation, Extras, Weights
from newfound.models.randomness import key_of
from newfound.training.loop import STEPS_PER_CHUNK
from newfound.training.steps import Knobs, compiled_train_chunk, init_states

SHAPES = ((4, 200, 444, 5), (64, 200, 444, 5), (64, 500, 690, 10))  # batch, units, inputs, latent dimensions
N_COMPONENTS, N_KNOWN = 45, 5
ROUNDS = 12


def flops(batch: int, units: int, inputs: int, latent: int) -> tuple[float, float]:
    """Of a GM-DGM step: by the usual count, and without the gradients towards the data."""
    classifier = inputs * units + units**2 + units * N_COMPONENTS
    encoder = (inputs + N_COMPONENTS) * units + units**2 + 2 * units * latent
    decoder = latent * units + units**2 + units * inputs
    usual = 2 * 3 * 2 * batch * (classifier + encoder + decoder)
    return usual, usual - 2 * 2 * batch * 2 * inputs * units


def prepare(model: str, batch: int, units: int, inputs: int, latent: int):
    """A function that runs one compiled chunk, ready to be timed."""
    rng = np.random.default_rng(0)
    architecture = Architecture(model, inputs, N_COMPONENTS, latent, (units, units), "bernoulli")
    prior = jnp.asarray(log_prior(np.ones(N_KNOWN), N_COMPONENTS - N_KNOWN, 0.5))
    state = [init_states(jnp.stack([key_of(0)]), prior, jnp.float32(1), architecture)]
    rows = rng.integers(0, 256, (1, STEPS_PER_CHUNK, 2 * batch, inputs), dtype=np.uint8)
    known = rng.integers(0, N_KNOWN, (1, STEPS_PER_CHUNK, 2 * batch))
    labels = np.where(np.arange(2 * batch) < batch, known, UNLABELLED).astype(np.int32)
    rates = np.full((1, STEPS_PER_CHUNK), 1e-3, np.float32)
    scaling = Scaling(np.zeros(inputs, np.float32), np.full(inputs, 1 / 255, np.float32))
    knobs = Knobs(Weights(*map(jnp.float32, (1, 0, 0))), *map(jnp.float32, (1, 0.5, 0.1, 100)))
    shares = np.zeros((1, STEPS_PER_CHUNK, 2 * batch, 0), np.float32)

    def run() -> None:
        state[0], info = compiled_train_chunk()(
            *(state[0], rows, labels, shares, rates, scaling, knobs),
            n_labelled=batch,
            expectation=Expectation(),
            extras=Extras(),
        )
        jax.block_until_ready(info)

    run()
    return run


def seconds_of(run, repeat: int = 3) -> float:
    best = np.inf
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best


def blas_run():
    matrix = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    return lambda: matrix @ matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write the results to this file")
    arguments = parser.parse_args()

    runs = {(model, shape): prepare(model, *shape) for model in ("gmdgm", "ssvae") for shape in SHAPES}
    best = dict.fromkeys(runs, np.inf)
    blas, fastest_blas = blas_run(), np.inf
    for _ in range(ROUNDS):
        fastest_blas = min(fastest_blas, seconds_of(blas))
        for name, run in runs.items():
            best[name] = min(best[name], seconds_of(run))
    peak = 2 * 2048**3 / fastest_blas
    print(f"BLAS peak in this run: {peak / 1e9:.0f} GFLOP/s ({platform.processor() or platform.machine()})")
    print(f"{'model':8}{'batch':>6}{'units':>7}{'inputs':>8}{'µs a step':>11}{'of peak':>9}{'strict':>8}")
    results = []
    for (model, shape), seconds in best.items():
        step = seconds / STEPS_PER_CHUNK
        usual, strict = (count / step / peak for count in flops(*shape))
        batch, units, inputs, _ = shape
        share = f"{usual:9.0%}{strict:8.0%}" if model == "gmdgm" else ""
        print(f"{model:8}{batch:6}{units:7}{inputs:8}{1e6 * step:11.0f}{share}")
        results.append({"model": model, "shape": shape, "microseconds": 1e6 * step, "share_of_peak": usual})
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"blas_gflops": peak / 1e9, "jax": jax.__version__, "steps": results}, file, indent=1)


if __name__ == "__main__":
    main()
