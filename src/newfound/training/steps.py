"""The compiled half of training: a step, a chunk of steps, an evaluation of validation rows. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from newfound.labels import UNLABELLED
from newfound.models import MODELS, Architecture
from newfound.models.base import DeepGenerativeModel, vmap_unless_single
from newfound.models.objective import Expectation, Terms, Weights, batch_terms, row_terms
from newfound.models.randomness import HASHED, key_of
from newfound.preprocessing import Scaling
from newfound.training.compilation import training_options, validation_options

ADAM = optax.scale_by_adam()
SMALL = 2**16  # numbers of an array that is packed with others


class Hyperparameters(NamedTuple):
    """Numbers that may change without compiling again."""

    weights: Weights
    labelled_weight: Float[Array, ""]  # of all labelled rows together, relative to those without a label
    temperature: Float[Array, ""]
    max_grad_norm: Float[Array, ""]


class TrainState(NamedTuple):
    """All that a step changes."""

    model: DeepGenerativeModel
    moments: optax.OptState
    key: Key[Array, "*restarts"]


class StepInfo(NamedTuple):
    """What a step reports: loss = −reconstruction + kl_z + kl_y + α (cross_entropy + ρ · pu_loss)."""

    loss: Float[Array, "*steps"]
    reconstruction: Float[Array, "*steps"]
    kl_z: Float[Array, "*steps"]
    kl_y: Float[Array, "*steps"]
    cross_entropy: Float[Array, "*steps"]  # −log q(label | x)
    pu_loss: Float[Array, "*steps"]  # −pu_log_prob
    grad_norm: Float[Array, "*steps"]


def init_states(seeds: Sequence[int], log_p_y: np.ndarray, sigma: float, architecture: Architecture) -> TrainState:
    """A fresh state for every restart."""
    prior, unit = jax.device_put((log_p_y, np.float32(sigma)))
    begun = [MODELS[architecture.model].init(np.random.default_rng(seed), architecture, prior, unit) for seed in seeds]
    models = jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *begun))
    moments = jax.eval_shape(jax.vmap(lambda model: ADAM.init(packed(model))), models)
    return TrainState(models, jax.tree.map(lambda of: np.zeros(of.shape, of.dtype), moments), _keys(seeds))


def _keys(seeds: Sequence[int]) -> Key[Array, " restarts"]:
    words = [np.random.SeedSequence(seed).generate_state(2) for seed in seeds]
    return jax.random.wrap_key_data(jax.device_put(np.stack(words)), impl=HASHED)


def train_step(
    state: TrainState,
    rows: Array,
    labels: Int[Array, " batch"],
    targets: Float[Array, "batch K"] | None,
    learning_rate: Float[Array, ""],
    scaling: Scaling,
    hyperparameters: Hyperparameters,
    n_labelled: int,
    expectation: Expectation,
) -> tuple[TrainState, StepInfo]:
    """One step of Adam on the batch's objective, the gradient clipped to a norm."""
    key, step_key = jax.random.split(state.key)
    weights = row_weights(len(rows), n_labelled, hyperparameters.labelled_weight)

    def loss(model: DeepGenerativeModel) -> tuple[Float[Array, ""], Terms]:
        of_rows = batch_terms(
            model,
            scaling.apply(rows),
            labels,
            targets,
            step_key,
            hyperparameters.temperature,
            expectation,
        )
        sums = Terms(*(weights @ term for term in of_rows))
        return -sums.objective(hyperparameters.weights), sums

    (value, sums), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
    gradient = packed(gradient)
    norm = optax.tree.norm(gradient)
    shrink = jnp.minimum(1.0, hyperparameters.max_grad_norm / norm)
    direction, moments = ADAM.update(jax.tree.map(lambda g: shrink * g, gradient), state.moments)
    directions = unpacked(direction, state.model)
    model = jax.tree.map(lambda parameter, d: parameter - learning_rate * d, state.model, directions)
    classified = -sums.log_q_label, -sums.pu_log_prob
    info = StepInfo(value, sums.reconstruction, sums.kl_z, sums.kl_y, *classified, norm)
    return TrainState(model, moments, key), info


class Packed(NamedTuple):
    """The arrays of a model, small ones joined: a program for each of them takes long to compile."""

    large: list[Array]
    small: Float[Array, " n"]


def packed(tree: PyTree) -> Packed:
    leaves = jax.tree.leaves(tree)
    small = [jnp.ravel(leaf) for leaf in leaves if leaf.size < SMALL]
    return Packed([leaf for leaf in leaves if leaf.size >= SMALL], jnp.concatenate(small))


def unpacked(packed: Packed, like: PyTree) -> PyTree:
    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([leaf.size for leaf in leaves if leaf.size < SMALL])
    large, small = iter(packed.large), iter(jnp.split(packed.small, ends[:-1]))
    return jax.tree.unflatten(
        structure, [next(small).reshape(leaf.shape) if leaf.size < SMALL else next(large) for leaf in leaves]
    )


def over_devices(chunk: PyTree, states: TrainState) -> tuple[PyTree, TrainState]:
    """The rows of every step spread over this process's devices, the states on each of them; as they are on one device.

    XLA divides the program accordingly, and adds up the gradients.
    """
    devices, batch = jax.local_devices(), jax.tree.leaves(chunk)[0].shape[2]
    if len(devices) == 1 or batch % len(devices):
        return chunk, states
    mesh = Mesh(np.array(devices), ("rows",))
    spread, everywhere = NamedSharding(mesh, PartitionSpec(None, None, "rows")), NamedSharding(mesh, PartitionSpec())
    return jax.device_put(chunk, spread), jax.device_put(states, everywhere)


def row_weights(n_rows: int, n_labelled: int, labelled_weight: Float[Array, ""]) -> Float[Array, " batch"]:
    """Weights by which a batch's sum is `labelled_weight` · E over its labelled rows + E over its unlabelled rows."""
    is_labelled = np.arange(n_rows) < n_labelled
    return jnp.where(is_labelled, labelled_weight / max(n_labelled, 1), 1 / max(n_rows - n_labelled, 1))


def train_chunk(
    states: TrainState,
    rows: Array,
    labels: Int[Array, "restarts steps batch"],
    targets: Float[Array, "restarts steps batch K"] | None,
    learning_rates: Float[Array, "restarts steps"],
    scaling: Scaling,
    hyperparameters: Hyperparameters,
    *,
    n_labelled: int,
    expectation: Expectation,
) -> tuple[TrainState, StepInfo]:
    """The next steps of every restart, in one compiled scan."""

    def train_one(state: TrainState, *steps: Any) -> tuple[TrainState, StepInfo]:
        def step(state: TrainState, batch: Any) -> tuple[TrainState, StepInfo]:
            rows, labels, targets, rate = batch
            return train_step(state, rows, labels, targets, rate, scaling, hyperparameters, n_labelled, expectation)

        return jax.lax.scan(step, state, steps)

    return vmap_unless_single(train_one)(states, rows, labels, targets, learning_rates)


@cache
def compiled_train_chunk(is_brief: bool = False) -> Callable[..., tuple[TrainState, StepInfo]]:
    """`train_chunk`, compiled once for every shape; made on first use, because its options depend on the device."""
    static = ("n_labelled", "expectation")
    return jax.jit(train_chunk, static_argnames=static, compiler_options=training_options(is_brief=is_brief))


@cache
def compiled_validation_batch(is_brief: bool) -> Callable[..., tuple[Array, Array]]:
    options = validation_options(is_brief=is_brief)
    return jax.jit(validation_batch, static_argnames="expectation", compiler_options=options)


def validation_batch(
    models: DeepGenerativeModel,
    rows: Array,
    scaling: Scaling,
    temperature: Float[Array, ""],
    expectation: Expectation,
) -> tuple[Float[Array, "restarts batch"], Int[Array, "restarts batch"]]:
    """The ELBO of each row, its label unread, and its most probable component.

    The noise is the same at every evaluation, so that two can be compared.
    """
    keys = jax.random.split(key_of(0), len(rows))

    def evaluate_one(model: DeepGenerativeModel) -> tuple[Float[Array, " batch"], Int[Array, " batch"]]:
        def one(x: Float[Array, " d_x"], key: Key[Array, ""]) -> tuple[Float[Array, ""], Int[Array, ""]]:
            log_q = model.log_q_y(x)
            terms = row_terms(model, x, log_q, jnp.int32(UNLABELLED), key, temperature, expectation)
            return terms.elbo, jnp.argmax(log_q)

        return jax.vmap(one)(scaling.apply(rows), keys)

    return vmap_unless_single(evaluate_one)(models)


def select(is_chosen: np.ndarray, chosen: PyTree, other: PyTree) -> PyTree:
    """For each restart: `chosen` where the flag is set, else `other`; no program is needed where all restarts agree."""
    if is_chosen.all():
        return chosen
    return _select(is_chosen, chosen, other) if is_chosen.any() else other


@jax.jit
def _select(is_chosen: Bool[Array, " restarts"], chosen: PyTree, other: PyTree) -> PyTree:
    return jax.vmap(lambda flag, a, b: jax.tree.map(partial(jnp.where, flag), a, b))(is_chosen, chosen, other)


# ---- states as named arrays ------------------------------------------------------------------------------------------


def named_leaves(tree: PyTree) -> list[tuple[str, np.ndarray]]:
    """The arrays of a state by their places in it; keys as the words that they are."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [
        (jax.tree_util.keystr(path), np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf))
        for path, leaf in leaves
    ]


def with_leaves(tree: PyTree, tensors: Mapping[str, np.ndarray], prefix: str) -> PyTree:
    """A state of the same structure, of arrays by their names."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    stored = [(leaf, tensors[prefix + jax.tree_util.keystr(path)]) for path, leaf in leaves]
    return jax.tree.unflatten(
        structure,
        [
            jax.random.wrap_key_data(jnp.asarray(array), impl=HASHED) if _is_key(leaf) else array
            for leaf, array in stored
        ],
    )


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
