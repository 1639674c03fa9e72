"""From rows on the host to chunks of training steps: shuffled, stacked, one chunk ahead of the device.

A chunk holds the rows of the next S steps as one array. The number of rows in the data is then in no compiled shape,
and X may be anything that can be indexed by an integer array, such as a memory map of a file larger than memory.
"""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np

from newfound.models.objective import UNLABELLED


class Chunk(NamedTuple):
    """The rows of the next steps of every run, in the data's own dtype, and what is known of them."""

    rows: np.ndarray  # (runs, steps, batch, features)
    labels: np.ndarray  # (runs, steps, batch), UNLABELLED where there is none
    shares: np.ndarray  # (runs, steps, batch, known classes): how probable each is


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
    """Endless batches for one run: `n_labelled` rows that carry a label, then `n_unlabelled` rows that carry none.

    The two kinds are drawn apart because the objective is a sum of two expectations: a batch drawn from all rows
    alike would hold no labelled row at all where labels are few.
    """

    def __init__(self, labels: np.ndarray, indices: np.ndarray, batch_size: int, seed: int):
        rng = np.random.default_rng(seed)
        is_labelled = labels[indices] != UNLABELLED
        self.labelled = ShuffledStream(indices[is_labelled], rng)
        self.unlabelled = ShuffledStream(indices[~is_labelled], rng)
        self.n_labelled = batch_size if is_labelled.any() else 0
        self.n_unlabelled = batch_size if not is_labelled.all() else 0

    @property
    def rows_per_epoch(self) -> int:
        """An epoch is one pass over the rows without a label, or over all rows where each has one."""
        return len(self.unlabelled.indices if self.n_unlabelled else self.labelled.indices)

    def take(self, n_steps: int) -> np.ndarray:
        """Row numbers, (n_steps, n_labelled + n_unlabelled)."""
        parts = (self.labelled, self.n_labelled), (self.unlabelled, self.n_unlabelled)
        return np.hstack([stream.take(n_steps * n).reshape(n_steps, n) for stream, n in parts if n])


def make_chunk(
    X: np.ndarray,
    labels_of_runs: list[np.ndarray],
    shares_of_runs: list[np.ndarray],
    streams: list[BatchStream],
    n_steps: int,
) -> Chunk:
    """The next `n_steps` batches of every run; each run has its own order of rows, and its own labels."""
    indices = np.stack([stream.take(n_steps) for stream in streams])

    def of_runs(values: list[np.ndarray]) -> np.ndarray:
        return np.stack([of_run[i] for of_run, i in zip(values, indices, strict=True)])

    return Chunk(X[indices], of_runs(labels_of_runs).astype(np.int32), of_runs(shares_of_runs))


def prefetch(produce: Iterator[Any], ahead: int = 2) -> Generator[Any, None, None]:
    """The items of `produce`, made in a thread of their own, at most `ahead` of them waiting."""
    waiting: queue.Queue = queue.Queue(maxsize=ahead)
    stopped = threading.Event()
    thread = threading.Thread(target=_fill, args=(produce, waiting, stopped), daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        stopped.set()


class _Failure(NamedTuple):
    error: BaseException


_END = object()


def _fill(produce: Iterator[Any], waiting: queue.Queue, stopped: threading.Event) -> None:
    try:
        for item in produce:
            _put_unless_stopped(waiting, item, stopped)
            if stopped.is_set():
                return
    except BaseException as error:  # raised again in the thread that reads
        _put_unless_stopped(waiting, _Failure(error), stopped)
    _put_unless_stopped(waiting, _END, stopped)


def _put_unless_stopped(waiting: queue.Queue, item: Any, stopped: threading.Event) -> None:
    while not stopped.is_set():
        try:
            waiting.put(item, timeout=0.1)
            return
        except queue.Full:
            continue
