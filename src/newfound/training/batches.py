"""From rows on the host to chunks of training steps: shuffled, stacked, one chunk ahead of the device.

A chunk holds the rows of the next S steps as one array, so that the number of rows in the data is in no compiled shape,
and beside them the state of its streams, so that whoever has trained on a chunk knows where to go on.
"""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from newfound.labels import UNLABELLED

T = TypeVar("T")


class StreamState(NamedTuple):
    """Where a stream of batches is: all that a later one needs to go on with the same rows."""

    generator: Any  # of NumPy's bit generator
    labelled: np.ndarray  # row numbers drawn but not yet taken
    unlabelled: np.ndarray


class Chunk(NamedTuple):
    """The rows of the next steps of every restart, in the data's own dtype, and what is known of them."""

    rows: np.ndarray  # (restarts, steps, batch, features)
    labels: np.ndarray  # (restarts, steps, batch), UNLABELLED where there is none
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
    """Endless batches for one restart: `n_labelled` rows that carry a label, then `n_unlabelled` rows that carry none.

    The two kinds are drawn apart because the objective is a sum of two expectations: a batch drawn from all rows
    alike would hold no labelled row at all where labels are few.
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
        """An epoch is one pass over the rows without a label, or over all rows where each has one."""
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
    """The items of `produce`, made in a thread of their own, at most `ahead` of them waiting."""
    end: Any = object()
    with ThreadPoolExecutor(1) as executor:
        waiting: deque[Future[T]] = deque(executor.submit(next, produce, end) for _ in range(ahead))
        try:
            while (item := waiting.popleft().result()) is not end:
                waiting.append(executor.submit(next, produce, end))
                yield item
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
