"""Which process trains. JAX has threads, and a fork copies none: in the child it would wait for them for ever."""

import os

_first: int | None = None  # the process that used JAX first


def refuse_fork() -> None:
    """Refuse JAX in a process that was forked from one that had used it. (Predictions need none.)"""
    global _first
    if _first is None:
        _first = os.getpid()
    if _first != os.getpid():
        raise RuntimeError(
            "This process was forked from one that had already fitted with newfound, and JAX does not survive a fork "
            "(it would hang). Start workers afresh: by joblib's own default, backend='loky', or by "
            "multiprocessing.get_context('spawn'); or fork before the first fit. (Predictions do survive a fork.)"
        )
