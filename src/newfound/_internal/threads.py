"""Work in pieces: threads for NumPy, batches of one size for compiled programs; and the refusal of forks."""

import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np

# ---- Pieces of NumPy's work that run at the same time, one thread each ----
# BLAS splits each matrix product over all cores, which spin until the next one; for a small network most of the time is
# spent waiting. So each piece runs on one core from its first product to its last, and BLAS has one thread in each.

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_threads(function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """`function` of every piece, in their order, on as many threads as BLAS may use now."""
    if len(pieces) < 2:
        return [function(piece) for piece in pieces]
    with _blas.in_one_thread() as n_threads:
        if n_threads == 1:
            return [function(piece) for piece in pieces]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(n_threads, len(pieces))) as pool:
            return list(pool.map(function, pieces))


def ahead(items: Iterator[Result]) -> Iterator[Result]:
    """The same items; each is made while the previous one is in use, and at most one waits."""
    from concurrent.futures import ThreadPoolExecutor

    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item


class _Blas:
    """The number of BLAS threads, which all threads of the process share.

    The first caller stores the number and the last one restores it, also if others enter and leave in between.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_inside = 0
        self.n_threads = 1  # before the first caller entered
        self.limited: Any = None

    @contextmanager
    def in_one_thread(self) -> Iterator[int]:
        """One thread while inside; yields the number that BLAS had."""
        with self.lock:
            if self.n_inside == 0:
                self.n_threads = max((library.num_threads for library in _libraries().lib_controllers), default=1)
                self.limited = _libraries().limit(limits=1)
            self.n_inside += 1
        try:
            yield self.n_threads
        finally:
            with self.lock:
                self.n_inside -= 1
                if self.n_inside == 0:
                    self.limited.restore_original_limits()


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process. The search takes milliseconds, so it is done once."""
    import numpy.linalg  # noqa: F401  # loads NumPy's BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


_blas = _Blas()


# ---- Rows in batches of one size, so that compiled programs do not depend on their number ----

BATCH_ROWS = 512
SMALL_BATCH_ROWS = 8  # used if there are no more rows: one row should not cost as much as 512


def in_batches(function: Callable[[np.ndarray], Any], X: np.ndarray, batch_rows: int = BATCH_ROWS) -> np.ndarray:
    """`function` of every row of X, in batches of `batch_rows` or SMALL_BATCH_ROWS rows; the last one is padded.

    So a new number of rows compiles no new program, and a row's answer does not depend on the other rows, except in the
    last digit for at most SMALL_BATCH_ROWS rows. The next batch is started before the answer of the last one is read,
    so that the device does not wait.
    """
    size = batch_rows if len(X) > SMALL_BATCH_ROWS else SMALL_BATCH_ROWS
    answers: list[np.ndarray] = []
    pending: Any = None
    for i in range(0, len(X), size):
        rows = X[i : i + size]
        if len(rows) < size:
            rows = np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])
        previous, pending = pending, function(rows)
        if previous is not None:
            answers.append(np.asarray(previous))
    return np.concatenate([*answers, np.asarray(pending)])[: len(X)]


# ---- Forks: JAX has threads, and a fork copies none, so that the child process would wait for them forever ----

_first: int | None = None  # the process that used JAX first


def refuse_fork() -> None:
    """Refuse to use JAX in a fork of a process that has used it. (Predictions do not need JAX.)"""
    global _first
    if "rich.style" not in sys.modules:  # it draws a random number on import: not from the user's own sequence
        state = random.getstate()
        import rich.style  # noqa: F401

        random.setstate(state)
    if _first is None:
        _first = os.getpid()
    if _first != os.getpid():
        raise RuntimeError(
            "This process was forked from one that had already fitted with newfound, and JAX does not survive a fork "
            "(it would hang). Start new workers with joblib's default, backend='loky', or with "
            "multiprocessing.get_context('spawn'); or fork before the first fit. (Predictions do survive a fork.)"
        )
