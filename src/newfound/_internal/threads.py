"""Work in pieces: threads for NumPy's, blocks of a fixed size for compiled programs, and what a fork breaks."""

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
# BLAS shares one product of matrices among all cores and then waits, busily, for the next one; between the products of
# a small network that wait is most of its time. So each piece has a core of its own instead, from its first product to
# its last, and BLAS one thread in each.

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_threads(function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """`function` of every piece, in their order, on as many threads as BLAS may have now."""
    if len(pieces) < 2:
        return [function(piece) for piece in pieces]
    with _blas.in_one_thread() as n_threads:
        if n_threads == 1:
            return [function(piece) for piece in pieces]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(n_threads, len(pieces))) as pool:
            return list(pool.map(function, pieces))


def ahead(items: Iterator[Result]) -> Iterator[Result]:
    """The same items, each of them made while the one before it is in use; there is never more than one waiting."""
    from concurrent.futures import ThreadPoolExecutor

    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item


class _Blas:
    """How many threads BLAS has, which is a number of the whole process.

    The first to change it remembers what it was, the last one puts it back, whoever else came in between.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_inside = 0
        self.n_threads = 1  # before the first came in
        self.limited: Any = None

    @contextmanager
    def in_one_thread(self) -> Iterator[int]:
        """While inside; gives how many it had."""
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
    """The BLAS libraries of this process. To find them takes milliseconds, so they are looked for once."""
    import numpy.linalg  # noqa: F401  # which loads NumPy's
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


_blas = _Blas()


# ---- Rows in fixed-size batches, so that how many there are is in no compiled shape ----

BATCH_ROWS = 512
FEW_ROWS = 8  # the size of a batch where there are no more: one row should not cost what 512 do


def in_batches(function: Callable[[np.ndarray], Any], X: np.ndarray, batch_rows: int = BATCH_ROWS) -> np.ndarray:
    """`function` of every row of X, called on batches of `batch_rows` rows, or of FEW_ROWS, the last one padded.

    So no number of rows compiles a program of its own, and a row's answer does not depend on the rows beside it, except
    for the last digit where they are few. A call is made before the answer of the one before it is read: the device
    need not wait.
    """
    size = batch_rows if len(X) > FEW_ROWS else FEW_ROWS
    answers: list[np.ndarray] = []
    pending: Any = None
    for i in range(0, len(X), size):
        before, pending = pending, function(_padded(X[i : i + size], size))
        if before is not None:
            answers.append(np.asarray(before))
    return np.concatenate([*answers, np.asarray(pending)])[: len(X)]


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    if len(rows) == size:
        return rows
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])


# ---- What a fit does to the process it runs in: nothing that others would notice ----
# JAX has threads, and a fork copies none: in the child it would wait for them for ever.

_first: int | None = None  # the process that used JAX first


def refuse_fork() -> None:
    """Refuse JAX in a process that was forked from one that had used it. (Predictions need none.)"""
    global _first
    _import_rich()
    if _first is None:
        _first = os.getpid()
    if _first != os.getpid():
        raise RuntimeError(
            "This process was forked from one that had already fitted with newfound, and JAX does not survive a fork "
            "(it would hang). Start workers afresh: by joblib's own default, backend='loky', or by "
            "multiprocessing.get_context('spawn'); or fork before the first fit. (Predictions do survive a fork.)"
        )


def _import_rich() -> None:
    """Rich draws a random number when it is imported, which scikit-learn does late: not from the user's own numbers."""
    if "rich.style" not in sys.modules:
        state = random.getstate()
        import rich.style  # noqa: F401

        random.setstate(state)
