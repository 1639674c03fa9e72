"""The one loop: chunks of steps, phase after phase, all restarts in one program."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing

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
    compiled_train_chunk,
    init_states,
    over_devices,
)

BRIEF = 2e10  # products of a row and a parameter in a training; below, a short compilation saves time


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
    """Train a model for each seed, all in one program; restart i equals a training with seed i alone.

    The models are new, or those of `begin_with`, one for each seed.
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
        rows_per_step = self.streams[0].n_labelled + self.streams[0].n_unlabelled
        n_parameters = sum(leaf.size for leaf in jax.tree.leaves(restarts.states.model)) / len(seeds)
        self.is_brief = self.schedule.n_steps * rows_per_step * n_parameters < BRIEF
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
        self.stream_states = [stream.state for stream in self.streams]  # after the last trained chunk
        self.began = time.perf_counter()
        self.checkpoints = checkpoints
        self.phase: Phase | None = None
        self.phase_began = 0  # the step
        self.infos: list[StepInfo] = []  # since the last evaluation
        self.resumed = (
            None if checkpoints is None or checkpoints.resumed is None else self._restore(checkpoints.resumed)
        )

    def run_all(self) -> None:
        """Every phase. Signals wait until a chunk or the start of a phase is complete."""
        coming = phases(self.restarts, self.data, self.settings, self.schedule, self.seeds, self.resumed)
        while True:
            with defer_signals():
                phase = next(coming, None)
                if phase is None:
                    return
                if self.resumed is None or phase.name != self.resumed.name:
                    self.phase_began, self.infos = self.step, []
                self.phase = phase
            self._run(phase)

    def _run(self, phase: Phase) -> None:
        """The remaining steps of a phase, while any restart is active."""
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
        reductions = self.restarts.learning_rate_reductions[:, None].astype(np.float32)
        learning_rates = self.schedule.learning_rates(self.step) * np.float32(0.5) ** reductions  # (restarts, steps)
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
        self.infos.append(info)
        self.step += STEPS_PER_CHUNK
        self.stream_states = stream_states
        is_last = self.step == self.phase_began + phase.n_steps
        if is_last or self.step % self.schedule.steps_between_evaluations == 0:
            self._evaluate(self.infos, learning_rates[:, -1], phase)
            self.infos = []

    def _chunks(self, phase: Phase) -> Iterator[tuple[Chunk, list[StreamState]]]:
        for _ in range(self.step, self.phase_began + phase.n_steps, STEPS_PER_CHUNK):
            yield make_chunk(self.data.X, phase.labels, phase.targets, self.streams, STEPS_PER_CHUNK)

    def _evaluate(self, infos: list[StepInfo], learning_rate: np.ndarray, phase: Phase) -> None:
        """Score the validation rows, record the means since the last evaluation, and call the callback."""
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
        """Write a checkpoint of the state between two chunks."""
        if self.checkpoints is None or self.phase is None:
            return
        tensors = self.restarts.to_tensors() | {"labels": np.stack(self.phase.labels)}
        if self.phase.targets is not None:
            tensors["targets"] = np.stack(self.phase.targets)
        for name in StepInfo._fields if self.infos else ():
            tensors[f"infos.{name}"] = np.stack([getattr(info, name) for info in self.infos])
        for i, stream in enumerate(self.stream_states):
            tensors |= {f"stream.{i}.labelled": stream.labelled, f"stream.{i}.unlabelled": stream.unlabelled}
        about = {
            "phase": self.phase.name,
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
        """Restore the state of the checkpoint, and return the labels and targets of its phase."""
        tensors, about = kept
        self.restarts.restore(tensors, about["terminations"])
        self.phase_began, self.step = about["phase_began"], about["step"]
        for i, (stream, generator) in enumerate(zip(self.streams, about["generators"], strict=True)):
            stream.state = StreamState(generator, tensors[f"stream.{i}.labelled"], tensors[f"stream.{i}.unlabelled"])
        self.stream_states = [stream.state for stream in self.streams]
        if f"infos.{StepInfo._fields[0]}" in tensors:
            columns = [tensors[f"infos.{name}"] for name in StepInfo._fields]
            self.infos = [StepInfo(*info) for info in zip(*columns, strict=True)]
        self.began = time.perf_counter() - about["seconds"]
        targets = list(tensors["targets"]) if "targets" in tensors else None
        return KeptPhase(about["phase"], list(tensors["labels"]), targets)
