"""Training many seeds at once, from rows to results."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import jax
import numpy as np

from newfound.features import Scaling
from newfound.models import Architecture, DeepGenerativeModel
from newfound.models.objective import UNLABELLED, Expectation, Extras, Weights
from newfound.training.batches import BatchStream, Chunk, make_chunk, prefetch
from newfound.training.runs import Ending, RunResult, Runs
from newfound.training.steps import Knobs, StepInfo, compiled_train_chunk, heldout_batch, init_states
from newfound.training.warm_start import ROWS_FOR_SHAPING, Images, Rows, find_start, places, positions

STEPS_PER_CHUNK = 32
CHUNKS_BETWEEN_EVALUATIONS = 4  # at least, however small an epoch is
HELDOUT_BATCH = 512  # held-out rows are padded to whole batches, so that their number is in no compiled shape


class TrainingData(NamedTuple):
    """Rows in their own dtype, their labels (UNLABELLED where there is none), and which rows are held out."""

    X: np.ndarray
    labels: np.ndarray
    training: np.ndarray  # row numbers
    heldout: np.ndarray  # row numbers
    scaling: Scaling
    images: Images | None = None  # what rows are, if they are images


@dataclass(frozen=True)
class Plan:
    """The settings of training that are not the model's."""

    batch_size: int
    max_epochs: int
    warm_epochs: int
    learning_rate: float
    alpha: float
    temperature: float
    max_gradient_norm: float
    expectation: Expectation
    start: str = "neighbours"
    evidence: float = 0.0
    smoothness: float = 0.0
    reach: float = 0.1
    labelled: float = 1.0
    max_halvings: int = 8
    patience: int | None = None  # evaluations without a better held-out ELBO before a run ends

    @property
    def knobs(self) -> Knobs:
        return Knobs(
            weights=Weights(_number(self.alpha), _number(self.evidence), _number(self.smoothness)),
            labelled=_number(self.labelled),
            temperature=_number(self.temperature),
            reach=_number(self.reach),
            max_gradient_norm=_number(self.max_gradient_norm),
        )

    @property
    def shaping_knobs(self) -> Knobs:
        """Without anything for the classifier."""
        return self.knobs._replace(weights=Weights(*[_number(0)] * 3))


def _number(value: float | int) -> jax.Array:
    """On the device, without a program to compile for it."""
    return jax.device_put(np.float32(value))


class Moment(NamedTuple):
    """What someone who watches is told at every evaluation."""

    step: int
    n_steps: int
    is_warming: bool
    loss: float
    heldout_accuracy: float  # on the labels that were held out; nan where there are none

    @classmethod
    def of(cls, line: dict[str, np.ndarray], n_steps: int) -> "Moment":
        """The mean over runs of a line of history."""
        return cls(
            step=int(line["step"][0]),
            n_steps=n_steps,
            is_warming=bool(line["is_warming"][0]),
            loss=float(np.mean(line["loss"])),
            heldout_accuracy=float(np.mean(line["heldout_accuracy"])),
        )


class Schedule(NamedTuple):
    """How many steps there are and how fast each learns: flat while warming, then a cosine down to nothing."""

    shaping_steps: int  # with one component only
    warm_steps: int  # these, and those on pseudo-labels
    n_steps: int  # all
    learning_rate: float
    steps_between_evaluations: int

    @classmethod
    def of(cls, plan: Plan, rows_per_epoch: int, *, shapes_first: bool, is_warm: bool) -> "Schedule":
        steps_per_epoch = math.ceil(rows_per_epoch / plan.batch_size)
        phase_steps = _whole_chunks(plan.warm_epochs * steps_per_epoch)
        shaping_steps = phase_steps * shapes_first
        warm_steps = shaping_steps + phase_steps * is_warm
        return cls(
            shaping_steps=shaping_steps,
            warm_steps=warm_steps,
            n_steps=warm_steps + _whole_chunks(plan.max_epochs * steps_per_epoch),
            learning_rate=plan.learning_rate,
            steps_between_evaluations=_whole_chunks(max(steps_per_epoch, CHUNKS_BETWEEN_EVALUATIONS * STEPS_PER_CHUNK)),
        )

    def rates(self, first_step: int) -> np.ndarray:
        """The learning rates of the chunk that begins at `first_step`."""
        steps = np.arange(first_step, first_step + STEPS_PER_CHUNK)
        progress = np.maximum(steps - self.warm_steps, 0) / (self.n_steps - self.warm_steps)
        return (self.learning_rate * 0.5 * (1 + np.cos(np.pi * progress))).astype(np.float32)

    def evaluates_at(self, step: int) -> bool:
        return step in (self.shaping_steps, self.warm_steps, self.n_steps) or step % self.steps_between_evaluations == 0


def _whole_chunks(n_steps: int) -> int:
    return math.ceil(n_steps / STEPS_PER_CHUNK) * STEPS_PER_CHUNK


class HeldOut:
    """The rows that no step trains on, and how well every run does on them."""

    def __init__(self, data: TrainingData, plan: Plan):
        self.data, self.plan = data, plan
        self.is_labelled = data.labels[data.heldout] != UNLABELLED

    def score(self, models: DeepGenerativeModel) -> tuple[np.ndarray, np.ndarray]:
        """Mean ELBO, and accuracy on the held-out labels, of every run; nan where there is nothing to score."""
        rows = self.data.heldout
        if len(rows) == 0:
            nothing = np.full(models.log_p_y.shape[0], np.nan)
            return nothing, nothing
        batches = [self._score(models, rows[i : i + HELDOUT_BATCH]) for i in range(0, len(rows), HELDOUT_BATCH)]
        elbo, component = (np.concatenate(parts, axis=1) for parts in zip(*batches, strict=True))
        is_right = (component == self.data.labels[rows])[:, self.is_labelled]
        accuracy = is_right.mean(axis=1) if self.is_labelled.any() else np.full(len(elbo), np.nan)
        return elbo.mean(axis=1), accuracy

    def _score(self, models: DeepGenerativeModel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        padded = np.resize(rows, HELDOUT_BATCH)
        scores = heldout_batch(
            models,
            self.data.X[padded],
            self.data.scaling,
            self.plan.knobs.temperature,
            self.plan.expectation,
        )
        elbo, component = jax.device_get(scores)
        return elbo[:, : len(rows)], component[:, : len(rows)]


def train(
    architecture: Architecture,
    log_p_y: np.ndarray,
    sigma: float,
    data: TrainingData,
    plan: Plan,
    seeds: list[int],
    n_known: int,
    watch: Callable[[Moment], None] = lambda moment: None,
) -> list[RunResult]:
    """Train a model for each seed, all in one program; run i is what seed i gives alone.

    With `plan.warm_epochs`, where there are new components or few labels, training begins with a warm start.
    """
    states = init_states(np.array(seeds, np.uint32), log_p_y, np.float32(sigma), architecture)
    runs = Runs(states, len(seeds), plan.max_halvings, plan.patience)
    try:
        Training(runs, data, plan, seeds, watch).run(n_known, architecture.n_components - n_known)
        runs.end(Ending.REACHED_LIMIT)
    except KeyboardInterrupt:
        runs.end(Ending.INTERRUPTED)
    return runs.results(seeds)


class Training:
    """The steps of all runs, phase after phase."""

    def __init__(self, runs: Runs, data: TrainingData, plan: Plan, seeds: list[int], watch: Callable[[Moment], None]):
        self.runs, self.data, self.plan, self.seeds, self.watch = runs, data, plan, seeds, watch
        self.streams = [BatchStream(data.labels, data.training, plan.batch_size, seed) for seed in seeds]
        self.heldout = HeldOut(data, plan)
        self.shares = [np.zeros((len(data.labels), 0), np.float32)] * len(seeds)  # how probable known classes are
        self.began = time.perf_counter()

    @property
    def extras(self) -> Extras:
        has_neighbours = self.streams[0].n_unlabelled > 1  # in a batch, by which the reach is measured
        return Extras(
            has_evidence=self.shares[0].shape[1] > 0,
            is_smoothed=self.plan.smoothness > 0 and has_neighbours,
        )

    def run(self, n_known: int, n_new: int) -> None:
        """The warm start, if there is one, and then the real objective."""
        has_few_labels = self.plan.labelled < 1 and self.plan.evidence > 0  # clusters tell what so few labels mean
        is_warm = bool(self.plan.warm_epochs and (n_new or has_few_labels))
        if is_warm and self.plan.evidence > 0:  # not yet known, but of the same shape: nothing is compiled twice
            self.shares = [np.zeros((len(self.data.labels), n_known), np.float32)] * len(self.seeds)
        shapes_first = is_warm and len(self.data.training) >= ROWS_FOR_SHAPING
        schedule = Schedule.of(self.plan, self.streams[0].rows_per_epoch, shapes_first=shapes_first, is_warm=is_warm)
        if shapes_first:
            one_component = [np.zeros_like(self.data.labels)] * len(self.seeds)
            self._phase(schedule, 0, schedule.shaping_steps, one_component, self.plan.shaping_knobs)
        if is_warm:
            guesses = self._guess(n_known, n_new, shapes_first)
            self._phase(schedule, schedule.shaping_steps, schedule.warm_steps, guesses, self.plan.knobs)
        real = [self.data.labels] * len(self.seeds)
        self._phase(schedule, schedule.warm_steps, schedule.n_steps, real, self.plan.knobs)

    def _guess(self, n_known: int, n_new: int, is_shaped: bool) -> list[np.ndarray]:
        """For each run, a label for every row; where z-space has a shape, components take their places there."""
        models = jax.device_get(self.runs.states.model)
        labels = np.full_like(self.data.labels, UNLABELLED)
        labels[self.data.training] = self.data.labels[self.data.training]
        starts, begins = [], []
        for run, seed in enumerate(self.seeds):
            model = jax.tree.map(itemgetter(run), models) if is_shaped else None
            where = None if model is None else positions(model, self.data.X, self.data.scaling)
            rows = Rows(self.data.X, self.data.scaling, self.data.images, where, labels)
            starts.append(find_start(rows, n_known, n_new, self.plan.start, self.plan.evidence > 0, seed))
            if where is not None:
                begins.append(places(where, starts[-1].labels, n_known + n_new))
        if is_shaped:
            self.runs.settle(*(np.stack(parts) for parts in zip(*begins, strict=True)))
        self.shares = [start.shares for start in starts]
        return [start.labels for start in starts]

    def _phase(self, schedule: Schedule, first: int, last: int, labels: list[np.ndarray], knobs: Knobs) -> None:
        """The steps from `first` to `last`, on these labels."""
        infos: list[StepInfo] = []  # since the last evaluation
        with closing(prefetch(self._chunks(first, last, labels))) as chunks:
            for step, chunk in chunks:
                rates = schedule.rates(step) * np.float32(0.5) ** self.runs.halvings[:, None].astype(np.float32)
                states, info = compiled_train_chunk()(
                    self.runs.states,
                    *chunk,
                    rates,
                    self.data.scaling,
                    knobs,
                    n_labelled=self.streams[0].n_labelled,
                    expectation=self.plan.expectation,
                    extras=self.extras,
                )
                infos.append(jax.device_get(info))
                self.runs.advance(states, infos[-1])
                step += STEPS_PER_CHUNK
                if schedule.evaluates_at(step):
                    seconds = time.perf_counter() - self.began
                    line = _evaluate(self.runs, self.heldout, infos, schedule, step, rates[:, -1], seconds)
                    self.watch(Moment.of(line, schedule.n_steps))
                    infos = []
                if not self.runs.active.any():
                    return

    def _chunks(self, first: int, last: int, labels: list[np.ndarray]) -> Iterator[tuple[int, Chunk]]:
        for step in range(first, last, STEPS_PER_CHUNK):
            yield step, make_chunk(self.data.X, labels, self.shares, self.streams, STEPS_PER_CHUNK)


def _evaluate(
    runs: Runs,
    heldout: HeldOut,
    infos: list[StepInfo],
    schedule: Schedule,
    step: int,
    learning_rate: np.ndarray,
    seconds: float,
) -> dict[str, np.ndarray]:
    """Look at the held-out rows, and write a line of history: means since the last look."""
    elbo, accuracy = heldout.score(runs.states.model)
    means = StepInfo(*(np.concatenate(term, axis=1).mean(axis=1) for term in zip(*infos, strict=True)))
    is_warming = step <= schedule.warm_steps
    line = {
        "step": np.full(len(elbo), step),
        "is_warming": np.full(len(elbo), is_warming),
        "learning_rate": learning_rate,
        **means._asdict(),
        "heldout_elbo": elbo,
        "heldout_accuracy": accuracy,
        "seconds": np.full(len(elbo), seconds),
    }
    runs.note(line)
    runs.evaluate(elbo, is_warming=is_warming)
    return line
