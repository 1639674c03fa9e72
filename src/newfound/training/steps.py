"""The compiled half of training: a step, a chunk of steps, a look at the held-out rows. Pure functions."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, UInt32

from newfound.compilation import training_options
from newfound.features import Scaling
from newfound.models import MODELS, Architecture, DeepGenerativeModel
from newfound.models.base import over
from newfound.models.objective import UNLABELLED, Expectation, Extras, Terms, Weights, batch_terms, row_terms
from newfound.models.randomness import key_of

ADAM = optax.scale_by_adam()


class Knobs(NamedTuple):
    """Numbers that may change without compiling anew."""

    weights: Weights
    labelled: Float[Array, ""]  # what labelled rows count, all together, against those without a label
    temperature: Float[Array, ""]
    reach: Float[Array, ""]
    max_gradient_norm: Float[Array, ""]


class TrainState(NamedTuple):
    """All that a step changes."""

    model: DeepGenerativeModel
    moments: optax.OptState
    key: Key[Array, "*runs"]


class StepInfo(NamedTuple):
    """What a step reports: loss = −reconstruction + kl_z + kl_y + α (cross_entropy + ρ · misfit) + λ · roughness."""

    loss: Float[Array, "*steps"]
    reconstruction: Float[Array, "*steps"]
    kl_z: Float[Array, "*steps"]
    kl_y: Float[Array, "*steps"]
    cross_entropy: Float[Array, "*steps"]  # −log q(label | x)
    misfit: Float[Array, "*steps"]  # −log_q_evidence
    roughness: Float[Array, "*steps"]
    gradient_norm: Float[Array, "*steps"]


def init_states(
    seeds: UInt32[Array, " runs"] | np.ndarray,
    log_p_y: Array | np.ndarray,
    sigma: Array | np.float32,
    architecture: Architecture,
) -> TrainState:
    """A fresh state for every run."""
    models, keys = _init_models(seeds, log_p_y, sigma, architecture)
    moments = jax.eval_shape(jax.vmap(ADAM.init), models)
    return TrainState(models, jax.tree.map(lambda of: np.zeros(of.shape, of.dtype), moments), keys)


@partial(jax.jit, static_argnames="architecture")
def _init_models(
    seeds: UInt32[Array, " runs"], log_p_y: Float[Array, " K"], sigma: Float[Array, ""], architecture: Architecture
) -> tuple[DeepGenerativeModel, Key[Array, " runs"]]:
    def init(seed: UInt32[Array, ""]) -> tuple[DeepGenerativeModel, Key[Array, ""]]:
        model_key, training_key = jax.random.split(key_of(seed))
        return MODELS[architecture.model].init(model_key, architecture, log_p_y, sigma), training_key

    return jax.vmap(init)(seeds)


def train_step(
    state: TrainState,
    rows: Array,
    labels: Int[Array, " batch"],
    shares: Float[Array, "batch n_known"],
    learning_rate: Float[Array, ""],
    scaling: Scaling,
    knobs: Knobs,
    n_labelled: int,
    expectation: Expectation,
    extras: Extras,
) -> tuple[TrainState, StepInfo]:
    """One step of Adam on the batch's objective, the gradient clipped to a norm."""
    key, step_key = jax.random.split(state.key)
    weights = stream_weights(len(rows), n_labelled, knobs.labelled)

    def loss(model: DeepGenerativeModel) -> tuple[Float[Array, ""], Terms]:
        terms = batch_terms(
            model,
            scaling.apply(rows),
            labels,
            shares,
            step_key,
            knobs.temperature,
            knobs.reach,
            expectation,
            extras,
            n_labelled,
        )
        sums = Terms(*(weights @ term for term in terms))
        return -sums.objective(knobs.weights), sums

    (value, sums), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
    norm = optax.tree.norm(gradient)
    shrink = jnp.minimum(1.0, knobs.max_gradient_norm / norm)
    direction, moments = ADAM.update(jax.tree.map(lambda g: shrink * g, gradient), state.moments)
    model = jax.tree.map(lambda parameter, d: parameter - learning_rate * d, state.model, direction)
    classified = -sums.log_q_label, -sums.log_q_evidence
    info = StepInfo(value, sums.reconstruction, sums.kl_z, sums.kl_y, *classified, sums.roughness, norm)
    return TrainState(model, moments, key), info


def stream_weights(n_rows: int, n_labelled: int, labelled: Float[Array, ""]) -> Float[Array, " batch"]:
    """Weights under which a batch's sum is `labelled` · E over its labelled rows + E over its unlabelled rows."""
    is_labelled = np.arange(n_rows) < n_labelled
    return jnp.where(is_labelled, labelled / max(n_labelled, 1), 1 / max(n_rows - n_labelled, 1))


def train_chunk(
    states: TrainState,
    rows: Array,
    labels: Int[Array, "runs steps batch"],
    shares: Float[Array, "runs steps batch n_known"],
    learning_rates: Float[Array, "runs steps"],
    scaling: Scaling,
    knobs: Knobs,
    *,
    n_labelled: int,
    expectation: Expectation,
    extras: Extras,
) -> tuple[TrainState, StepInfo]:
    """The next steps of every run, in one compiled scan."""

    def run(state: TrainState, *steps: Array) -> tuple[TrainState, StepInfo]:
        def step(state: TrainState, batch: Any) -> tuple[TrainState, StepInfo]:
            rows, labels, shares, rate = batch
            return train_step(state, rows, labels, shares, rate, scaling, knobs, n_labelled, expectation, extras)

        return jax.lax.scan(step, state, steps)

    return over(run)(states, rows, labels, shares, learning_rates)


@cache
def compiled_train_chunk() -> Callable[..., tuple[TrainState, StepInfo]]:
    """`train_chunk`, compiled once for every shape; made on first use, because its options depend on the device."""
    static = ("n_labelled", "expectation", "extras")
    return jax.jit(train_chunk, static_argnames=static, compiler_options=training_options())


@partial(jax.jit, static_argnames="expectation")
def heldout_batch(
    models: DeepGenerativeModel,
    rows: Array,
    scaling: Scaling,
    temperature: Float[Array, ""],
    expectation: Expectation,
) -> tuple[Float[Array, "runs batch"], Int[Array, "runs batch"]]:
    """The ELBO of each row, its label unread, and its most probable component.

    The noise is the same at every look, so that two looks can be compared.
    """
    keys = jax.random.split(key_of(0), len(rows))

    def run(model: DeepGenerativeModel) -> tuple[Float[Array, " batch"], Int[Array, " batch"]]:
        def one(x: Float[Array, " d_x"], key: Key[Array, ""]) -> tuple[Float[Array, ""], Int[Array, ""]]:
            log_q = model.log_q_y(x)
            terms = row_terms(model, x, log_q, jnp.int32(UNLABELLED), key, temperature, expectation)
            return terms.elbo, jnp.argmax(log_q)

        return jax.vmap(one)(scaling.apply(rows), keys)

    return over(run)(models)


def choose(is_new: np.ndarray, new: PyTree, old: PyTree) -> PyTree:
    """For each run: `new` where the flag is set, else `old`; no program is needed where all runs agree."""
    if is_new.all():
        return new
    return _choose(is_new, new, old) if is_new.any() else old


@jax.jit
def _choose(is_new: Bool[Array, " runs"], new: PyTree, old: PyTree) -> PyTree:
    return jax.vmap(lambda flag, a, b: jax.tree.map(partial(jnp.where, flag), a, b))(is_new, new, old)
