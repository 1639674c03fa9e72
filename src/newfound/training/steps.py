"""The compiled part of training: a step, a chunk of steps, an evaluation; and the state of every restart."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from newfound.fitted import RestartResult, Termination
from newfound.labels import UNLABELLED
from newfound.models.architecture import MODELS, Architecture
from newfound.models.base import DeepGenerativeModel, vmap_unless_single, weights_of
from newfound.models.networks import HASHED, key_of
from newfound.models.objective import Expectation, Terms, Weights, batch_terms, row_terms
from newfound.preprocessing.columns import Scaling

# ---- Compiled programs, kept between processes so that a second fit of the same shape starts at once ----

MAX_CACHE_BYTES = 256 * 2**20  # of compiled programs; the least recently used go first


def keep_compiled_programs() -> None:
    """Let JAX keep compiled programs in the user's cache folder, unless the process has set another one.

    This changes settings of the whole process, so only the command line does it, or a user who sets NEWFOUND_CACHE to
    a folder. With the empty string nothing is kept.
    """
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    chosen = os.environ.get("NEWFOUND_CACHE")
    if chosen == "":
        return
    from platformdirs import user_cache_path

    folder = (Path(chosen) if chosen else user_cache_path("newfound")) / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:  # a read-only home is no reason to fail: compile each time
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_compilation_cache_max_size", MAX_CACHE_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def keep_compiled_programs_if_asked() -> None:
    """For a user's own program: only if NEWFOUND_CACHE names a folder."""
    if os.environ.get("NEWFOUND_CACHE"):
        keep_compiled_programs()


# Eigen computes matrix products of the size of a step faster than YNNPACK, XLA's default, which keeps the reductions:
# an eighth off the step at batch 64 x 200 units. A brief training takes longer to compile than to run; XLA's older code
# generator compiles in two thirds of the time, for steps that take an eighth longer.
Options = tuple[tuple[str, Any], ...]
EIGEN: Options = (("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_REDUCE"),)
OLDER_GENERATOR: Options = (("xla_cpu_use_fusion_emitters", False),)
UNOPTIMISED: Options = (("xla_backend_optimization_level", 0),)


@cache
def _accepted(options: Options) -> dict[str, Any]:
    """The options that this XLA accepts; none on a device other than a CPU."""
    if not options or jax.default_backend() != "cpu":
        return {}
    if _compiles(options):
        return dict(options)
    return dict(option for option in options if _compiles((option,)))


def _compiles(options: Options) -> bool:
    try:
        jax.jit(lambda x: x + 1.0, compiler_options=dict(options))(0.0)
    except (RuntimeError, ValueError):
        return False
    return True


# ---- Pure functions: a step, a chunk of steps, an evaluation of validation rows ----

ADAM = optax.scale_by_adam()
PACKED_SIZE = 2**16  # smaller arrays are packed together


class Hyperparameters(NamedTuple):
    """Numbers that can change without a new compilation."""

    weights: Weights
    labelled_weight: Float[Array, ""]  # of all labelled rows together, relative to those without a label
    temperature: Float[Array, ""]
    max_grad_norm: Float[Array, ""]


class TrainState(NamedTuple):
    """The state that a step changes."""

    model: DeepGenerativeModel
    moments: optax.OptState
    key: Key[Array, "*restarts"]


class StepInfo(NamedTuple):
    """The report of a step: loss = −reconstruction + kl_z + kl_y + α (cross_entropy + ρ · pu_loss)."""

    loss: Float[Array, "*steps"]
    reconstruction: Float[Array, "*steps"]
    kl_z: Float[Array, "*steps"]
    kl_y: Float[Array, "*steps"]
    cross_entropy: Float[Array, "*steps"]  # −log q(label | x)
    pu_loss: Float[Array, "*steps"]  # −pu_log_prob
    grad_norm: Float[Array, "*steps"]


def init_states(seeds: Sequence[int], log_p_y: np.ndarray, sigma: float, architecture: Architecture) -> TrainState:
    """The initial state of every restart."""
    prior, unit = jax.device_put((log_p_y, np.float32(sigma)))
    begun = [
        MODELS[architecture.model].in_jax.init(np.random.default_rng(seed), architecture, prior, unit) for seed in seeds
    ]
    models = jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *begun))
    moments = jax.eval_shape(jax.vmap(lambda model: ADAM.init(packed(model))), models)
    words = np.stack([np.random.SeedSequence(seed).generate_state(2) for seed in seeds])
    keys = jax.random.wrap_key_data(jax.device_put(words), impl=HASHED)
    return TrainState(models, jax.tree.map(lambda of: np.zeros(of.shape, of.dtype), moments), keys)


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
    """One step of Adam on the objective of a batch, with the gradient clipped to a norm."""
    key, step_key = jax.random.split(state.key)
    # The weighted sum over the batch is labelled_weight · E over labelled rows + E over unlabelled rows.
    of_labelled = hyperparameters.labelled_weight / max(n_labelled, 1)
    weights = jnp.where(np.arange(len(rows)) < n_labelled, of_labelled, 1 / max(len(rows) - n_labelled, 1))

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
    """The arrays of a model, small ones joined, because a program for each array takes long to compile."""

    large: list[Array]
    small: Float[Array, " n"]


def packed(tree: PyTree) -> Packed:
    leaves = jax.tree.leaves(tree)
    small = [jnp.ravel(leaf) for leaf in leaves if leaf.size < PACKED_SIZE]
    return Packed([leaf for leaf in leaves if leaf.size >= PACKED_SIZE], jnp.concatenate(small))


def unpacked(packed: Packed, like: PyTree) -> PyTree:
    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([leaf.size for leaf in leaves if leaf.size < PACKED_SIZE])
    large, small = iter(packed.large), iter(jnp.split(packed.small, ends[:-1]))
    return jax.tree.unflatten(
        structure, [next(small).reshape(leaf.shape) if leaf.size < PACKED_SIZE else next(large) for leaf in leaves]
    )


def over_devices(chunk: PyTree, states: TrainState) -> tuple[PyTree, TrainState]:
    """The rows of every step spread over the devices of this process, and the states on each; unchanged on one device.

    XLA divides the program accordingly and adds up the gradients.
    """
    devices, batch = jax.local_devices(), jax.tree.leaves(chunk)[0].shape[2]
    if len(devices) == 1 or batch % len(devices):
        return chunk, states
    mesh = Mesh(np.array(devices), ("rows",))
    spread, everywhere = NamedSharding(mesh, PartitionSpec(None, None, "rows")), NamedSharding(mesh, PartitionSpec())
    return jax.device_put(chunk, spread), jax.device_put(states, everywhere)


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
    """`train_chunk`, compiled once per shape; made on first use, because its options depend on the device."""
    options = _accepted(EIGEN + OLDER_GENERATOR if is_brief else EIGEN)
    return jax.jit(train_chunk, static_argnames=("n_labelled", "expectation"), compiler_options=options)


@cache
def compiled_validation_batch(is_brief: bool) -> Callable[..., tuple[Array, Array]]:
    options = _accepted(OLDER_GENERATOR + UNOPTIMISED if is_brief else ())
    return jax.jit(validation_batch, static_argnames="expectation", compiler_options=options)


def validation_batch(
    models: DeepGenerativeModel,
    rows: Array,
    scaling: Scaling,
    temperature: Float[Array, ""],
    expectation: Expectation,
) -> tuple[Float[Array, "restarts batch"], Int[Array, "restarts batch"]]:
    """The ELBO of each row without its label, and its most probable component.

    The noise is the same in every evaluation, so that evaluations can be compared.
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
    """For each restart: `chosen` where the flag is set, else `other`; no program is needed if all restarts agree."""
    if is_chosen.all():
        return chosen
    return _select(is_chosen, chosen, other) if is_chosen.any() else other


@jax.jit
def _select(is_chosen: Bool[Array, " restarts"], chosen: PyTree, other: PyTree) -> PyTree:
    return jax.vmap(lambda flag, a, b: jax.tree.map(partial(jnp.where, flag), a, b))(is_chosen, chosen, other)


# ---- states as named arrays ----


def named_leaves(tree: PyTree) -> list[tuple[str, np.ndarray]]:
    """The arrays of a state by their paths in it; keys as words."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [
        (jax.tree_util.keystr(path), np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf))
        for path, leaf in leaves
    ]


def with_leaves(tree: PyTree, tensors: Mapping[str, np.ndarray], prefix: str) -> PyTree:
    """A state of the same structure, from arrays by name."""
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


# ---- Training on the host: the history of each restart, and how it ended ----

COUNTERS = ("best_elbo", "latest_elbo", "n_iter_since_best", "learning_rate_reductions")  # an entry for each restart
MAX_LEARNING_RATE_REDUCTIONS = 8  # a loss that is not finite halves the rate; after these, training has diverged


class Restarts:
    """The restarts in training: their states, the states to go back to, and their histories."""

    def __init__(self, states: TrainState, n: int, n_iter_no_change: int | None):
        self.states = states
        self.last_finite = states  # at the last evaluation; a restart goes back to it if its loss is not finite
        self.best = states.model  # by validation ELBO
        self.best_elbo = np.full(n, -np.inf)
        self.latest_elbo = np.full(n, np.nan)
        self.n_iter_since_best = np.zeros(n, int)
        self.learning_rate_reductions = np.zeros(n, int)
        self.terminations: list[Termination | None] = [None] * n
        self.histories: list[list[dict[str, float]]] = [[] for _ in range(n)]
        self.n_iter_no_change = n_iter_no_change

    @property
    def active(self) -> np.ndarray:
        return np.array([termination is None for termination in self.terminations])

    def advance(self, states: TrainState, info: StepInfo) -> None:
        """Take the new states; if a loss is not finite, go back and continue at half the learning rate."""
        finite = np.isfinite(info.loss).all(axis=1) & np.isfinite(info.grad_norm).all(axis=1)
        if (self.active & finite).all():
            self.states = states
            return
        failed = self.active & ~finite
        self.states = select(self.active & finite, states, select(failed, self.last_finite, self.states))
        for i in np.flatnonzero(failed):
            if self.learning_rate_reductions[i] == MAX_LEARNING_RATE_REDUCTIONS:
                self.terminations[i] = Termination.DIVERGED
            else:
                self.learning_rate_reductions[i] += 1

    def place_components(self, means: np.ndarray, log_vars: np.ndarray) -> None:
        """Place the components of every restart in z-space; states from before are dropped."""
        place = jax.vmap(lambda model, mean, log_var: model.place_components(mean, log_var))
        self.states = self.states._replace(model=place(self.states.model, means, log_vars))
        self.last_finite = self.states

    def evaluate(self, elbo: np.ndarray, *, is_pretraining: bool) -> None:
        """Record the validation ELBO of the current states (nan without validation rows)."""
        self.latest_elbo = np.where(self.active, elbo, self.latest_elbo)
        self.last_finite = select(self.active, self.states, self.last_finite)
        if is_pretraining:
            return
        is_better = self.active & (elbo > self.best_elbo)
        self.best = select(is_better, self.states.model, self.best)
        self.best_elbo = np.where(is_better, elbo, self.best_elbo)
        self.n_iter_since_best = np.where(is_better, 0, self.n_iter_since_best + 1)
        if self.n_iter_no_change is not None:
            for i in np.flatnonzero(self.active & (self.n_iter_since_best >= self.n_iter_no_change)):
                self.terminations[i] = Termination.EARLY_STOPPING

    def record(self, values: dict[str, np.ndarray]) -> None:
        """Add to the history of every active restart; each array has a value for each restart."""
        for i in np.flatnonzero(self.active):
            self.histories[i].append({name: of_restarts[i] for name, of_restarts in values.items()})

    def to_tensors(self) -> dict[str, np.ndarray]:
        """The whole state except the terminations."""
        trees = {"states": self.states, "last_finite": self.last_finite, "best": self.best}
        tensors = {f"{what}{name}": leaf for what, tree in trees.items() for name, leaf in named_leaves(tree)}
        tensors |= {name: np.asarray(getattr(self, name)) for name in COUNTERS}
        for i, records in enumerate(self.histories):
            columns = records[0] if records else ()
            tensors |= {f"history.{i}.{name}": np.array([record[name] for record in records]) for name in columns}
        return tensors

    def restore(self, tensors: Mapping[str, np.ndarray], terminations: Sequence[str | None]) -> None:
        """Restore the state from `to_tensors` and the terminations."""
        self.states = with_leaves(self.states, tensors, "states")
        self.last_finite = with_leaves(self.last_finite, tensors, "last_finite")
        self.best = with_leaves(self.best, tensors, "best")
        for name in COUNTERS:
            setattr(self, name, tensors[name])
        self.terminations = [None if t is None else Termination(t) for t in terminations]
        for i in range(len(self.histories)):
            prefix = f"history.{i}."
            columns = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
            self.histories[i] = [
                dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
            ]

    def terminate(self, termination: Termination) -> None:
        """End every active restart with this condition."""
        self.terminations = [termination if t is None else t for t in self.terminations]

    def results(self, seeds: list[int]) -> list[RestartResult]:
        """The result of each restart: its last state if it reached the limit of epochs, else its best."""
        last, best = jax.device_get((self.states.model, self.best))
        found = []
        for i, (seed, termination) in enumerate(zip(seeds, self.terminations, strict=True)):
            assert termination is not None
            keeps_last = termination is Termination.MAX_EPOCHS or not np.isfinite(self.best_elbo[i])
            records = self.histories[i]
            found.append(
                RestartResult(
                    seed=seed,
                    weights=weights_of(jax.tree.map(itemgetter(i), last if keeps_last else best)),
                    termination_condition=termination,
                    validation_elbo=float(self.latest_elbo[i] if keeps_last else self.best_elbo[i]),
                    learning_rate_reductions=int(self.learning_rate_reductions[i]),
                    history={name: np.array([r[name] for r in records]) for name in (records[0] if records else {})},
                )
            )
        return found
