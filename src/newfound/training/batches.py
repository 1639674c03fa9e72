"""From rows on the host to chunks of training steps; and the validation rows."""

import warnings
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from newfound.labels import UNLABELLED, contingency
from newfound.models.base import DeepGenerativeModel
from newfound.models.objective import Expectation
from newfound.preprocessing.columns import Scaling
from newfound.training.steps import compiled_validation_batch

# ---- Chunks of training steps: shuffled, stacked, one chunk ahead of the device ----
# A chunk holds the rows of the next steps as one array, so that compiled shapes do not depend on the number of rows.
# With it comes the state of the streams, from which training can be resumed.

T = TypeVar("T")


class StreamState(NamedTuple):
    """The state of a stream of batches, from which another stream continues with the same rows."""

    generator: Any  # the state of NumPy's bit generator
    labelled: np.ndarray  # row numbers drawn but not used yet
    unlabelled: np.ndarray


class Chunk(NamedTuple):
    """The rows of the next steps of every restart, in the dtype of the data, with labels and targets."""

    rows: np.ndarray  # (restarts, steps, batch, features)
    labels: np.ndarray  # (restarts, steps, batch), UNLABELLED for none
    targets: np.ndarray | None  # (restarts, steps, batch, components), of the PU term


class ShuffledStream:
    """The given row numbers in shuffled order, pass after pass, without end."""

    def __init__(self, indices: np.ndarray, rng: np.random.Generator):
        self.indices = indices
        self.rng = rng
        self.waiting = indices[:0]

    def take(self, n: int) -> np.ndarray:
        while len(self.waiting) < n:
            self.waiting = np.concatenate([self.waiting, self.rng.permutation(self.indices)])
        taken, self.waiting = self.waiting[:n], self.waiting[n:]
        return taken


class BatchStream:
    """Endless batches for one restart: `n_labelled` rows with a label, then `n_unlabelled` rows without.

    The two kinds are drawn separately, because the objective is a sum of two expectations and a batch of all rows would
    often have no labelled row if labels are rare.
    """

    def __init__(self, labels: np.ndarray, indices: np.ndarray, batch_size: int, seed: int):
        self.rng = np.random.default_rng(seed)
        is_labelled = labels[indices] != UNLABELLED
        self.labelled = ShuffledStream(indices[is_labelled], self.rng)
        self.unlabelled = ShuffledStream(indices[~is_labelled], self.rng)
        self.n_labelled = batch_size if is_labelled.any() else 0
        self.n_unlabelled = batch_size if not is_labelled.all() else 0

    @property
    def rows_per_epoch(self) -> int:
        """An epoch is one pass over the rows without a label, or over all rows if each has one."""
        return len(self.unlabelled.indices if self.n_unlabelled else self.labelled.indices)

    @property
    def state(self) -> StreamState:
        return StreamState(self.rng.bit_generator.state, self.labelled.waiting, self.unlabelled.waiting)

    @state.setter
    def state(self, state: StreamState) -> None:
        self.rng.bit_generator.state = state.generator
        self.labelled.waiting, self.unlabelled.waiting = state.labelled, state.unlabelled

    def take(self, n_steps: int) -> np.ndarray:
        """Row numbers, (n_steps, n_labelled + n_unlabelled)."""
        parts = (self.labelled, self.n_labelled), (self.unlabelled, self.n_unlabelled)
        return np.hstack([stream.take(n_steps * n).reshape(n_steps, n) for stream, n in parts if n])


def make_chunk(
    X: np.ndarray,
    labels: list[np.ndarray],
    targets: list[np.ndarray] | None,
    streams: list[BatchStream],
    n_steps: int,
) -> tuple[Chunk, list[StreamState]]:
    """The next `n_steps` batches of every restart, each with its own order of rows and its own labels."""
    indices = np.stack([stream.take(n_steps) for stream in streams])

    def at_rows(values: list[np.ndarray]) -> np.ndarray:
        return np.stack([of_restart[i] for of_restart, i in zip(values, indices, strict=True)])

    chunk = Chunk(X[indices], at_rows(labels).astype(np.int32), None if targets is None else at_rows(targets))
    return chunk, [stream.state for stream in streams]


def prefetch(produce: Iterator[T], ahead: int = 2) -> Generator[T, None, None]:
    """The items of `produce`, made in another thread, at most `ahead` of them in advance."""
    end: Any = object()
    with ThreadPoolExecutor(1) as executor:
        waiting: deque[Future[T]] = deque(executor.submit(next, produce, end) for _ in range(ahead))
        try:
            while (item := waiting.popleft().result()) is not end:
                waiting.append(executor.submit(next, produce, end))
                yield item
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


# ---- Validation rows, and the score of every restart on them ----

BATCH_ROWS = 512  # rows are padded to whole batches, so that compiled shapes do not depend on their number
MAX_UNLABELLED_ROWS = 2_000  # for validation


def split_rows(
    codes: np.ndarray,
    validation_fraction: float,
    rng: np.random.RandomState,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and validation: the same share of every label, at least one, and of the unlabelled.

    If rows have groups (people, sites), whole groups are held out, so that validation measures the accuracy for new
    groups.
    """
    if validation_fraction == 0:
        return np.arange(len(codes)), np.array([], dtype=int)
    if groups is not None:
        is_held_out = np.isin(groups, _held_out_groups(codes, groups, validation_fraction, rng))
        if is_held_out.any():
            return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        warnings.warn(
            "No whole group can be held out for validation, because each group has all labels of some class. Rows of "
            "all groups are held out instead, so accuracies are those for groups that the model has seen.",
            stacklevel=6,
        )
    chosen = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        n = round(validation_fraction * len(rows))
        chosen.append(rows[: min(n, MAX_UNLABELLED_ROWS) if code == UNLABELLED else max(n, 1)])
    validation = np.sort(np.concatenate(chosen))
    return np.setdiff1d(np.arange(len(codes)), validation), validation


def _held_out_groups(codes: np.ndarray, groups: np.ndarray, share: float, rng: np.random.RandomState) -> list:
    """Random groups with this share of the labels, or less if a class would lose its last training label.

    Then random groups without labels, until they have the share of the rows.
    """
    names, group = np.unique(groups, return_inverse=True)
    counts = contingency(group, codes, (len(names), codes.max() + 2))  # UNLABELLED is the last column
    has_labels = counts[:, :-1].sum(axis=1) > 0
    left, held_out = counts[:, :-1].sum(axis=0), []
    for i in rng.permutation(np.flatnonzero(has_labels)):
        if left.sum() > (1 - share) * has_labels @ counts[:, :-1].sum(axis=1) and (left > counts[i, :-1]).all():
            left = left - counts[i, :-1]
            held_out.append(i)
    for i in rng.permutation(np.flatnonzero(~has_labels)):
        if held_out and counts[held_out].sum() < share * len(codes):
            held_out.append(i)
    return [names[i] for i in held_out]


class ValidationSet:
    """Validation rows in their own dtype, their labels, and the class of each component."""

    def __init__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        component_class: np.ndarray,
        scaling: Scaling,
        temperature: jax.Array,
        expectation: Expectation,
        *,
        is_brief: bool,
    ):
        self.X, self.labels, self.component_class = X, labels, component_class
        self.compiled = compiled_validation_batch(is_brief)
        self.scaling, self.temperature, self.expectation = scaling, temperature, expectation
        self.is_labelled = labels != UNLABELLED

    def score(self, models: DeepGenerativeModel) -> tuple[np.ndarray, np.ndarray]:
        """Mean ELBO and accuracy on the labels for every restart; nan without rows or labels."""
        if len(self.X) == 0:
            nothing = np.full(models.log_p_y.shape[0], np.nan)
            return nothing, nothing
        starts = range(0, len(self.X), BATCH_ROWS)
        batches = [self._score(models, self.X[i : i + BATCH_ROWS]) for i in starts]
        elbo, component = (np.concatenate(parts, axis=1) for parts in zip(*batches, strict=True))
        is_right = (self.component_class[component] == self.labels)[:, self.is_labelled]
        accuracy = is_right.mean(axis=1) if self.is_labelled.any() else np.full(len(elbo), np.nan)
        return elbo.mean(axis=1), accuracy

    def _score(self, models: DeepGenerativeModel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        padded = rows[np.arange(BATCH_ROWS) % len(rows)]
        scores = self.compiled(models, padded, self.scaling, self.temperature, expectation=self.expectation)
        elbo, component = jax.device_get(scores)
        return elbo[:, : len(rows)], component[:, : len(rows)]
