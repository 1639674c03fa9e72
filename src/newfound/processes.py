"""What a fit does to the process it runs in: nothing that others would notice.

JAX has threads, and a fork copies none: in the child it would wait for them for ever.
"""

import os
import random
import sys

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
