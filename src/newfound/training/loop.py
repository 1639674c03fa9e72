"""The one loop: chunks of steps, phase after phase, all restarts in one program."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from newfound.models import Architecture
from newfound.models.base import DeepGenerativeModel
from newfound.trained import RestartResult, Termination
from newfound.training.batches import BatchStream, Chunk, StreamState, make_chunk, prefetch
from newfound.training.phases import STEPS_PER_CHUNK, Phase, Schedule, TrainingData, phases
from newfound.training.restarts import Restarts
from newfound.training.settings import TrainingSettings
from newfound.training.steps import Hyperparameters, StepInfo, TrainState, compiled_train_chunk, init_states
from newfound.training.validation import ValidationSet


class ProgressEvent(NamedTuple):
    """What a callback is told at every evaluation."""

    step: int
    n_steps: int
    phase: str
    loss: float  # mean over restarts
    validation_accuracy: float  # on labels held out of training; nan where there are none
    n_validation_labels: int


class Snapshot(NamedTuple):
    """Where training is between two chunks: all that is needed to go on with the same steps."""

    phase: str
    step: int
    states: TrainState
    streams: list[StreamState]


Callback = Callable[[ProgressEvent], None]


def train(
    architecture: Architecture,
    log_p_y: np.ndarray,
    sigma: float,
    data: TrainingData,
    settings: TrainingSettings,
    seeds: list[int],
    callback: Callback = lambda event: None,
    begin_with: Sequence[DeepGenerativeModel] | None = None,
) -> list[RestartResult]:
    """Train a model for each seed, all in one program; restart i is what seed i gives alone.

    The models are fresh, unless there are some to begin with, one for each seed.
    """
    states = init_states(np.array(seeds, np.uint32), log_p_y, np.float32(sigma), architecture)
    if begin_with is not None:
        states = states._replace(model=jax.tree.map(lambda *arrays: jnp.stack(arrays), *begin_with))
    most_reductions = settings.config.optimisation.max_learning_rate_reductions
    restarts = Restarts(states, len(seeds), most_reductions, settings.n_iter_no_change)
    training = Training(restarts, data, settings, seeds, callback)
    try:
        for phase in training.phases():
            training.run(phase)
        restarts.terminate(Termination.MAX_EPOCHS)
    except KeyboardInterrupt:
        restarts.terminate(Termination.INTERRUPTED)
    return restarts.results(seeds)


class Training:
    """The steps of all restarts."""

    def __init__(
        self,
        restarts: Restarts,
        data: TrainingData,
        settings: TrainingSettings,
        seeds: list[int],
        callback: Callback,
    ):
        self.restarts, self.data, self.settings, self.seeds, self.callback = restarts, data, settings, seeds, callback
        self.streams = [BatchStream(data.labels, data.training, settings.batch_size, seed) for seed in seeds]
        self.schedule = Schedule.of(settings, data, self.streams[0].rows_per_epoch)
        self.validation = ValidationSet(
            data.X[data.validation],
            data.labels[data.validation],
            data.classes.component_class,
            data.scaling,
            settings.hyperparameters(settings.weights).temperature,
            settings.expectation,
        )
        self.step = 0
        self.phase = ""
        self.stream_states = [stream.state for stream in self.streams]  # as of the last chunk that was trained on
        self.began = time.perf_counter()

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.phase, self.step, self.restarts.states, self.stream_states)

    def phases(self) -> Iterator[Phase]:
        return phases(self.restarts, self.data, self.settings, self.schedule, self.seeds)

    def run(self, phase: Phase) -> None:
        """All steps of a phase, or as many as there are active restarts for."""
        self.phase = phase.name
        last_step = self.step + phase.n_steps
        hyperparameters = self.settings.hyperparameters(phase.weights)
        infos: list[StepInfo] = []  # since the last evaluation
        with closing(prefetch(self._chunks(phase))) as chunks:
            for chunk, stream_states in chunks:
                learning_rates = self._learning_rates()
                infos.append(self._train(chunk, learning_rates, hyperparameters))
                self.step += STEPS_PER_CHUNK
                self.stream_states = stream_states
                if self.step == last_step or self.step % self.schedule.steps_between_evaluations == 0:
                    self._evaluate(infos, learning_rates[:, -1], phase)
                    infos = []
                if not self.restarts.active.any():
                    return

    def _chunks(self, phase: Phase) -> Iterator[tuple[Chunk, list[StreamState]]]:
        for _ in range(0, phase.n_steps, STEPS_PER_CHUNK):
            yield make_chunk(self.data.X, phase.labels, phase.targets, self.streams, STEPS_PER_CHUNK)

    def _learning_rates(self) -> np.ndarray:
        """(restarts, steps): the schedule's, halved for each restart as often as its loss was not finite."""
        reductions = self.restarts.learning_rate_reductions[:, None].astype(np.float32)
        return self.schedule.learning_rates(self.step) * np.float32(0.5) ** reductions

    def _train(self, chunk: Chunk, learning_rates: np.ndarray, hyperparameters: Hyperparameters) -> StepInfo:
        states, info = compiled_train_chunk()(
            self.restarts.states,
            *chunk,
            learning_rates,
            self.data.scaling,
            hyperparameters,
            n_labelled=self.streams[0].n_labelled,
            expectation=self.settings.expectation,
        )
        info = jax.device_get(info)
        self.restarts.advance(states, info)
        return info

    def _evaluate(self, infos: list[StepInfo], learning_rate: np.ndarray, phase: Phase) -> None:
        """Score the validation rows, record the means since the last evaluation, tell the callback."""
        elbo, accuracy = self.validation.score(self.restarts.states.model)
        means = StepInfo(*(np.concatenate(term, axis=1).mean(axis=1) for term in zip(*infos, strict=True)))
        n = len(elbo)
        self.restarts.record(
            {
                "step": np.full(n, self.step),
                "is_pretraining": np.full(n, phase.is_pretraining),
                "learning_rate": learning_rate,
                **means._asdict(),
                "validation_elbo": elbo,
                "validation_accuracy": accuracy,
                "seconds": np.full(n, time.perf_counter() - self.began),
            }
        )
        self.restarts.evaluate(elbo, is_pretraining=phase.is_pretraining)
        loss, accuracy_mean = float(np.mean(means.loss)), float(np.mean(accuracy))
        n_labels = int(self.validation.is_labelled.sum())
        self.callback(ProgressEvent(self.step, self.schedule.n_steps, phase.name, loss, accuracy_mean, n_labels))
