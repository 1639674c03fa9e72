"""The host's half of training: what has happened to each run so far, and how it ended."""

from dataclasses import dataclass, field
from enum import StrEnum

import jax
import numpy as np

from newfound.models import DeepGenerativeModel
from newfound.training.steps import StepInfo, TrainState, choose


class Ending(StrEnum):
    """How a run ended."""

    REACHED_LIMIT = "reached the limit"
    CONVERGED = "converged"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"


@dataclass
class RunResult:
    """What one seed leaves behind."""

    seed: int
    model: DeepGenerativeModel  # arrays of NumPy
    ending: Ending
    heldout_elbo: float  # mean over the held-out rows; nan where nothing was held out
    halvings: int  # how often the learning rate was halved because the loss was no longer finite
    history: dict[str, np.ndarray] = field(repr=False)


class Runs:
    """The runs under way: their states, the states to go back to, and the history of each."""

    def __init__(self, states: TrainState, n_runs: int, max_halvings: int, patience: int | None):
        self.states = states
        self.good = states  # as of the last evaluation: what a run goes back to
        self.best = states.model  # by held-out ELBO
        self.best_elbo = np.full(n_runs, -np.inf)
        self.latest_elbo = np.full(n_runs, np.nan)
        self.since_best = np.zeros(n_runs, int)
        self.halvings = np.zeros(n_runs, int)
        self.endings: list[Ending | None] = [None] * n_runs
        self.histories: list[list[dict[str, float]]] = [[] for _ in range(n_runs)]
        self.max_halvings = max_halvings
        self.patience = patience

    @property
    def active(self) -> np.ndarray:
        return np.array([ending is None for ending in self.endings])

    def advance(self, states: TrainState, info: StepInfo) -> None:
        """Take the new states; a run whose loss is no longer finite goes back, to go on at half the learning rate."""
        finite = np.isfinite(info.loss).all(axis=1) & np.isfinite(info.gradient_norm).all(axis=1)
        if (self.active & finite).all():
            self.states = states
            return
        failed = self.active & ~finite
        self.states = choose(self.active & finite, states, choose(failed, self.good, self.states))
        for run in np.flatnonzero(failed):
            if self.halvings[run] == self.max_halvings:
                self.endings[run] = Ending.DIVERGED
            else:
                self.halvings[run] += 1

    def settle(self, means: np.ndarray, log_vars: np.ndarray) -> None:
        """Put the components of every run in their places; there is no way back to before."""
        model = jax.vmap(lambda model, mean, log_var: model.settled(mean, log_var))(self.states.model, means, log_vars)
        self.states = self.good = self.states._replace(model=model)

    def evaluate(self, elbo: np.ndarray, *, is_warming: bool) -> None:
        """Note the held-out ELBO of the present states (nan where nothing is held out)."""
        self.latest_elbo = np.where(self.active, elbo, self.latest_elbo)
        self.good = choose(self.active, self.states, self.good)
        if is_warming:
            return
        is_better = self.active & (elbo > self.best_elbo)
        self.best = choose(is_better, self.states.model, self.best)
        self.best_elbo = np.where(is_better, elbo, self.best_elbo)
        self.since_best = np.where(is_better, 0, self.since_best + 1)
        if self.patience is not None:
            for run in np.flatnonzero(self.active & (self.since_best >= self.patience)):
                self.endings[run] = Ending.CONVERGED

    def note(self, line: dict[str, np.ndarray]) -> None:
        """Add a line to the history of every run under way; each column holds a value for each run."""
        for run in np.flatnonzero(self.active):
            self.histories[run].append({name: values[run] for name, values in line.items()})

    def end(self, ending: Ending) -> None:
        """Every run still under way ends like this."""
        self.endings = [ending if e is None else e for e in self.endings]

    def results(self, seeds: list[int]) -> list[RunResult]:
        """What each run leaves: its last state where it went on to the limit, else its best."""
        last, best = jax.device_get((self.states.model, self.best))
        return [self._result(run, seed, last, best) for run, seed in enumerate(seeds)]

    def _result(self, run: int, seed: int, last: DeepGenerativeModel, best: DeepGenerativeModel) -> RunResult:
        ending = self.endings[run]
        assert ending is not None
        keeps_last = ending is Ending.REACHED_LIMIT or not np.isfinite(self.best_elbo[run])
        lines = self.histories[run]
        return RunResult(
            seed=seed,
            model=jax.tree.map(lambda array: array[run], last if keeps_last else best),
            ending=ending,
            heldout_elbo=float(self.latest_elbo[run] if keeps_last else self.best_elbo[run]),
            halvings=int(self.halvings[run]),
            history={name: np.array([line[name] for line in lines]) for name in (lines[0] if lines else {})},
        )
