"""The host's half of training: what has happened to each restart so far, and how it ended."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np

from newfound.models.base import DeepGenerativeModel
from newfound.models.weights import weights_of
from newfound.trained import RestartResult, Termination
from newfound.training.steps import StepInfo, TrainState, named_leaves, select, with_leaves

COUNTERS = ("best_elbo", "latest_elbo", "n_iter_since_best", "learning_rate_reductions")  # an entry for each restart


class Restarts:
    """The restarts being trained: their states, the states to go back to, and the history of each."""

    def __init__(self, states: TrainState, n: int, max_learning_rate_reductions: int, n_iter_no_change: int | None):
        self.states = states
        self.last_finite = states  # as of the last evaluation: what a restart goes back to
        self.best = states.model  # by validation ELBO
        self.best_elbo = np.full(n, -np.inf)
        self.latest_elbo = np.full(n, np.nan)
        self.n_iter_since_best = np.zeros(n, int)
        self.learning_rate_reductions = np.zeros(n, int)
        self.terminations: list[Termination | None] = [None] * n
        self.histories: list[list[dict[str, float]]] = [[] for _ in range(n)]
        self.max_learning_rate_reductions = max_learning_rate_reductions
        self.n_iter_no_change = n_iter_no_change

    @property
    def active(self) -> np.ndarray:
        return np.array([termination is None for termination in self.terminations])

    def advance(self, states: TrainState, info: StepInfo) -> None:
        """Take the new states; where the loss is no longer finite, go back, to go on at half the learning rate."""
        finite = np.isfinite(info.loss).all(axis=1) & np.isfinite(info.grad_norm).all(axis=1)
        if (self.active & finite).all():
            self.states = states
            return
        failed = self.active & ~finite
        self.states = select(self.active & finite, states, select(failed, self.last_finite, self.states))
        for i in np.flatnonzero(failed):
            if self.learning_rate_reductions[i] == self.max_learning_rate_reductions:
                self.terminations[i] = Termination.DIVERGED
            else:
                self.learning_rate_reductions[i] += 1

    def place_components(self, means: np.ndarray, log_vars: np.ndarray) -> None:
        """Place the components of every restart in z-space; there is no way back to before."""
        place = jax.vmap(lambda model, mean, log_var: model.place_components(mean, log_var))
        self.states = self.states._replace(model=place(self.states.model, means, log_vars))
        self.last_finite = self.states

    def evaluate(self, elbo: np.ndarray, *, is_pretraining: bool) -> None:
        """Take in the validation ELBO of the present states (nan where there are no validation rows)."""
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
        """Add to the history of every active restart; each column holds a value for each restart."""
        for i in np.flatnonzero(self.active):
            self.histories[i].append({name: of_restarts[i] for name, of_restarts in values.items()})

    def to_tensors(self) -> dict[str, np.ndarray]:
        """All that changes, except how restarts ended."""
        trees = {"states": self.states, "last_finite": self.last_finite, "best": self.best}
        tensors = {f"{what}{name}": leaf for what, tree in trees.items() for name, leaf in named_leaves(tree)}
        tensors |= {name: np.asarray(getattr(self, name)) for name in COUNTERS}
        for i, records in enumerate(self.histories):
            columns = records[0] if records else ()
            tensors |= {f"history.{i}.{name}": np.array([record[name] for record in records]) for name in columns}
        return tensors

    def restore(self, tensors: Mapping[str, np.ndarray], terminations: Sequence[str | None]) -> None:
        """The same, from what `to_tensors` gave."""
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
        """Every restart that is still active ends like this."""
        self.terminations = [termination if t is None else t for t in self.terminations]

    def results(self, seeds: list[int]) -> list[RestartResult]:
        """What each restart leaves: its last state where it went on to the limit, else its best."""
        last, best = jax.device_get((self.states.model, self.best))
        return [self._result(i, seed, last, best) for i, seed in enumerate(seeds)]

    def _result(self, i: int, seed: int, last: DeepGenerativeModel, best: DeepGenerativeModel) -> RestartResult:
        termination = self.terminations[i]
        assert termination is not None
        keeps_last = termination is Termination.MAX_EPOCHS or not np.isfinite(self.best_elbo[i])
        records = self.histories[i]
        return RestartResult(
            seed=seed,
            weights=weights_of(jax.tree.map(lambda array: array[i], last if keeps_last else best)),
            termination_condition=termination,
            validation_elbo=float(self.latest_elbo[i] if keeps_last else self.best_elbo[i]),
            learning_rate_reductions=int(self.learning_rate_reductions[i]),
            history={name: np.array([r[name] for r in records]) for name in (records[0] if records else {})},
        )
