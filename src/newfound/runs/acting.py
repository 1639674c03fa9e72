"""Acts on a run: decided by a person, kept in its log, and followed by all that the run says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from newfound.acts import ACTS
from newfound.errors import DataError
from newfound.parameters import OneOf, check_parameters
from newfound.runs.act_log import LoggedAct, done, taken_back
from newfound.runs.derived import is_behind, rewrite
from newfound.runs.folder import Run
from newfound.runs.writing import leave_as_is

LOCK = ".acts.lock"
PATIENCE = 60  # seconds to wait for another command


class Acted(NamedTuple):
    """The run after an act, and the act's line."""

    run: Run
    act: LoggedAct


def act_on(run: Run, act: str, arguments: dict[str, Any], finish: Callable[[Run], object] = leave_as_is) -> Acted:
    """One act of the registry (`acts.ACTS`) on a run; what is refused changes nothing. For `finish` see `rewrite`."""
    check_parameters({"act": act}, {"act": (OneOf(tuple(ACTS)),)})
    with _alone(run):
        line = done(run.model.fitted_, run.acts, act, arguments)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def undo(run: Run, finish: Callable[[Run], object] = leave_as_is) -> Acted:
    """Take back the last act that is in effect; the log keeps both."""
    with _alone(run):
        line = taken_back(run.acts)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def caught_up(run: Run) -> Run:
    """The run, its files written again if an act was interrupted before they were."""
    if not is_behind(run):
        return run
    with _alone(run):
        return rewrite(run, run.acts, leave_as_is)


@contextmanager
def _alone(run: Run) -> Iterator[None]:
    """While nobody else acts on the run."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(run.folder / LOCK, timeout=PATIENCE):
            yield
    except Timeout:
        raise DataError(
            f"Another command is changing the run {str(run.folder)!r} and has not finished after {PATIENCE} seconds. "
            f"Try again when it is done."
        ) from None
