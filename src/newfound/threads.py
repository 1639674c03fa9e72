"""Pieces of NumPy's work that run at the same time, one thread each.

BLAS shares one product of matrices among all cores and then waits, busily, for the next one; between the products of a
small network that wait is most of its time. So each piece has a core of its own instead, from its first product to its
last, and BLAS one thread in each.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

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
