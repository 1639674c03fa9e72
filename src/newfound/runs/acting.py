"""Acts on a run: decided by a person, kept in its log, and followed by all that the run says."""

from collections.abc import Callable
from typing import Any, NamedTuple

from newfound.acts import ACTS
from newfound.parameters import OneOf, check_parameters
from newfound.runs.act_log import LoggedAct, done, taken_back
from newfound.runs.derived import is_behind, rewrite
from newfound.runs.folder import Run
from newfound.runs.manifest import alone
from newfound.runs.writing import leave_as_is


class Acted(NamedTuple):
    """The run after an act, and the act's line."""

    run: Run
    act: LoggedAct


def act_on(run: Run, act: str, arguments: dict[str, Any], finish: Callable[[Run], object] = leave_as_is) -> Acted:
    """One act of the registry (`acts.ACTS`) on a run; what is refused changes nothing. For `finish` see `rewrite`."""
    check_parameters({"act": act}, {"act": (OneOf(tuple(ACTS)),)})
    with alone(run.folder):
        line = done(run.model.fitted_, run.acts, act, arguments)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def undo(run: Run, finish: Callable[[Run], object] = leave_as_is) -> Acted:
    """Take back the last act that is in effect; the log keeps both."""
    with alone(run.folder):
        line = taken_back(run.acts)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def caught_up(run: Run) -> Run:
    """The run, its files written again if its log of acts was moved away."""
    if not is_behind(run):
        return run
    with alone(run.folder):
        return rewrite(run, run.acts, leave_as_is)
