"""The one loop: chunks of steps, phase after phase, all restarts in one program."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from newfound._internal.files import Terminated, defer_signals
from newfound._internal.progress import Callback, ProgressEvent
from newfound.fitted import RestartResult, Termination
from newfound.models.architecture import Architecture
from newfound.models.base import DeepGenerativeModel
from newfound.training.batches import BatchStream, Chunk, StreamState, ValidationSet, make_chunk, prefetch
from newfound.training.checkpoints import Checkpoint, Checkpoints
from newfound.training.phases import STEPS_PER_CHUNK, KeptPhase, Phase, Schedule, TrainingData, TrainingSettings, phases
from newfound.training.steps import (
    Hyperparameters,
    Restarts,
    StepInfo,
    TrainState,
    compiled_train_chunk,
    init_states,
    over_devices,
)

BRIEF = 2e10  # products of a whole training, below which its programs are compiled in haste


class Snapshot(NamedTuple):
    """Where training is between two chunks: all that is needed to go on with the same steps."""

    phase: str
    step: int
    states: TrainState
    streams: list[StreamState]


def train(
    architecture: Architecture,
    log_p_y: np.ndarray,
    sigma: float,
    data: TrainingData,
    settings: TrainingSettings,
    seeds: list[int],
    callback: Callback = lambda event: None,
    begin_with: Sequence[DeepGenerativeModel] | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[RestartResult]:
    """Train a model for each seed, all in one program; restart i is what seed i gives alone.

    The models are fresh, unless there are some to begin with, one for each seed.
    """
    states = init_states(seeds, log_p_y, sigma, architecture)
    if begin_with is not None:
        states = states._replace(model=jax.tree.map(lambda *arrays: jnp.asarray(np.stack(arrays)), *begin_with))
    restarts = Restarts(states, len(seeds), settings.n_iter_no_change)
    training = Training(restarts, data, settings, seeds, callback, checkpoints)
    try:
        training.run_all()
        restarts.terminate(Termination.MAX_EPOCHS)
    except KeyboardInterrupt:
        restarts.terminate(Termination.INTERRUPTED)
    except Terminated:
        training.keep()
        raise
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
        checkpoints: Checkpoints | None = None,
    ):
        self.restarts, self.data, self.settings, self.seeds, self.callback = restarts, data, settings, seeds, callback
        self.streams = [BatchStream(data.labels, data.training, settings.batch_size, seed) for seed in seeds]
        self.schedule = Schedule.of(settings, data, self.streams[0].rows_per_epoch)
        self.is_brief = self._products() < BRIEF
        self.validation = ValidationSet(
            data.X[data.validation],
            data.labels[data.validation],
            data.classes.component_class,
            data.scaling,
            settings.hyperparameters(settings.weights).temperature,
            settings.expectation,
            is_brief=self.is_brief,
        )
        self.step = 0
        self.phase = ""
        self.stream_states = [stream.state for stream in self.streams]  # as of the last chunk that was trained on
        self.began = time.perf_counter()
        self.checkpoints = checkpoints
        self.training_on: Phase | None = None
        self.phase_began = 0  # the step
        self.infos: list[StepInfo] = []  # since the last evaluation
        self.resumed = (
            None if checkpoints is None or checkpoints.resumed is None else self._restore(checkpoints.resumed)
        )

    def _products(self) -> float:
        """Of a row and a parameter, in all steps of one restart."""
        n_parameters = sum(leaf.size for leaf in jax.tree.leaves(self.restarts.states.model)) / len(self.seeds)
        return self.schedule.n_steps * (self.streams[0].n_labelled + self.streams[0].n_unlabelled) * n_parameters

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.phase, self.step, self.restarts.states, self.stream_states)

    def phases(self) -> Iterator[Phase]:
        return phases(self.restarts, self.data, self.settings, self.schedule, self.seeds, self.resumed)

    def run_all(self) -> None:
        """Every phase; between two of them, and between two chunks, a signal finds the state whole."""
        coming = self.phases()
        while True:
            with defer_signals():
                phase = next(coming, None)
                if phase is None:
                    return
                self._begin(phase)
            self.run(phase)

    def _begin(self, phase: Phase) -> None:
        if self.resumed is None or phase.name != self.resumed.name:
            self.phase_began, self.infos = self.step, []
        self.phase, self.training_on = phase.name, phase

    def run(self, phase: Phase) -> None:
        """All steps of a phase that are left, or as many as there are active restarts for."""
        if self.training_on is not phase:
            self._begin(phase)
        hyperparameters = self.settings.hyperparameters(phase.weights)
        with closing(prefetch(self._chunks(phase))) as chunks:
            for chunk, stream_states in chunks:
                with defer_signals():
                    self._advance(chunk, stream_states, hyperparameters, phase)
                    if self.checkpoints is not None and self.checkpoints.is_due:
                        self.keep()
                if not self.restarts.active.any():
                    return

    def _advance(
        self, chunk: Chunk, stream_states: list[StreamState], hyperparameters: Hyperparameters, phase: Phase
    ) -> None:
        learning_rates = self._learning_rates()
        self.infos.append(self._train(chunk, learning_rates, hyperparameters))
        self.step += STEPS_PER_CHUNK
        self.stream_states = stream_states
        is_last = self.step == self.phase_began + phase.n_steps
        if is_last or self.step % self.schedule.steps_between_evaluations == 0:
            self._evaluate(self.infos, learning_rates[:, -1], phase)
            self.infos = []

    def _chunks(self, phase: Phase) -> Iterator[tuple[Chunk, list[StreamState]]]:
        for _ in range(self.step, self.phase_began + phase.n_steps, STEPS_PER_CHUNK):
            yield make_chunk(self.data.X, phase.labels, phase.targets, self.streams, STEPS_PER_CHUNK)

    def _learning_rates(self) -> np.ndarray:
        """(restarts, steps): the schedule's, halved for each restart as often as its loss was not finite."""
        reductions = self.restarts.learning_rate_reductions[:, None].astype(np.float32)
        return self.schedule.learning_rates(self.step) * np.float32(0.5) ** reductions

    def _train(self, chunk: Chunk, learning_rates: np.ndarray, hyperparameters: Hyperparameters) -> StepInfo:
        chunk, before = over_devices(chunk, self.restarts.states)
        states, info = compiled_train_chunk(self.is_brief)(
            before,
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

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write a checkpoint of where training is between two chunks."""
        if self.checkpoints is None or self.training_on is None:
            return
        tensors = self.restarts.to_tensors() | {"labels": np.stack(self.training_on.labels)}
        if self.training_on.targets is not None:
            tensors["targets"] = np.stack(self.training_on.targets)
        for name in StepInfo._fields if self.infos else ():
            tensors[f"infos.{name}"] = np.stack([getattr(info, name) for info in self.infos])
        for i, stream in enumerate(self.stream_states):
            tensors |= {f"stream.{i}.labelled": stream.labelled, f"stream.{i}.unlabelled": stream.unlabelled}
        about = {
            "phase": self.phase,
            "phase_began": self.phase_began,
            "step": self.step,
            "n_steps": self.schedule.n_steps,
            "seeds": self.seeds,
            "generators": [stream.generator for stream in self.stream_states],
            "terminations": self.restarts.terminations,
            "seconds": time.perf_counter() - self.began,
        }
        self.checkpoints.save(tensors, about)

    def _restore(self, kept: Checkpoint) -> KeptPhase:
        """Be where the checkpoint was; what its phase trained on is returned."""
        tensors, about = kept
        self.restarts.restore(tensors, about["terminations"])
        self.phase, self.phase_began, self.step = about["phase"], about["phase_began"], about["step"]
        for i, (stream, generator) in enumerate(zip(self.streams, about["generators"], strict=True)):
            stream.state = StreamState(generator, tensors[f"stream.{i}.labelled"], tensors[f"stream.{i}.unlabelled"])
        self.stream_states = [stream.state for stream in self.streams]
        if f"infos.{StepInfo._fields[0]}" in tensors:
            columns = [tensors[f"infos.{name}"] for name in StepInfo._fields]
            self.infos = [StepInfo(*info) for info in zip(*columns, strict=True)]
        self.began = time.perf_counter() - about["seconds"]
        return KeptPhase(
            self.phase, list(tensors["labels"]), list(tensors["targets"]) if "targets" in tensors else None
        )
