"""What was decided about a run's classes, act after act: `acts.jsonl`, one act a line, to which lines are only added.

    {"number": 1, "time": "2026-01-31T09:00:00+00:00", "act": "rename", "arguments": {"names": [["new-1", "fox"]]},
     "sentence": "“new-1” is now called “fox”.", "next_new": 3}

An undo is a line of its own, which names the act it takes back. The model that was fitted is never changed: what holds
now is what the acts that were not taken back make of it.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from newfound.acts import ACTS, perform
from newfound.checked_json import checked, parsed
from newfound.errors import DataError
from newfound.fitted import Fitted
from newfound.wording import quoted_list

ACT_LOG = "acts.jsonl"
UNDO = "undo"


@dataclass(frozen=True)
class LoggedAct:
    """One line."""

    number: int  # 1, 2, …
    time: str
    act: str  # a name in `acts.ACTS`, or UNDO
    arguments: dict[str, Any]  # of the act; of an undo, the number of the act that it takes back
    sentence: str  # what was done, by the names that classes had then
    next_new: int  # the number of the next id: also those that an act taken back gave are not given again


def acts_from(path: Path, content: bytes) -> list[LoggedAct]:
    """All lines, the undone ones too."""
    try:
        lines = content.decode().splitlines()
        acts = [LoggedAct(**checked(parsed(line), LoggedAct, "act")) for line in lines]
        in_effect(acts)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(
            f"{str(path)!r} is damaged ({error}). Restore it, or move it away to go back to the classes as fitted."
        ) from None
    if unknown := {act.act for act in acts} - {UNDO, *ACTS}:
        raise DataError(
            f"{str(path)!r} holds an act that this newfound does not know ({quoted_list(sorted(unknown))}). "
            f"Upgrade with pip install --upgrade newfound."
        )
    return acts


def acts_file(acts: list[LoggedAct]) -> dict[str, bytes]:
    return {ACT_LOG: "".join(json.dumps(asdict(act), ensure_ascii=False) + "\n" for act in acts).encode()}


def in_effect(acts: list[LoggedAct]) -> list[LoggedAct]:
    """Those that were not taken back."""
    undone = {act.arguments["number"] for act in acts if act.act == UNDO}
    return [act for act in acts if act.act != UNDO and act.number not in undone]


def replayed(fitted: Fitted, acts: list[LoggedAct]) -> Fitted:
    """What the acts in effect make of a model as it was fitted."""
    effective = {act.number for act in in_effect(acts)}
    for act in acts:
        if act.number in effective:
            fitted, _ = perform(fitted, act.act, act.arguments)
        fitted = _from_number(fitted, act.next_new)
    return fitted


def done(fitted: Fitted, acts: list[LoggedAct], act: str, arguments: dict[str, Any]) -> LoggedAct:
    """The line of an act on a model to which these acts have led."""
    after, sentence = perform(fitted, act, arguments)
    return _line(acts, act, arguments, sentence, after.classes.next_new)


def taken_back(acts: list[LoggedAct]) -> LoggedAct:
    """The line that takes back the last act in effect."""
    effective = in_effect(acts)
    if not effective:
        raise DataError("There is nothing to undo: no act is in effect.")
    last = effective[-1]
    return _line(acts, UNDO, {"number": last.number}, f"Taken back: {last.sentence}", acts[-1].next_new)


def _line(acts: list[LoggedAct], act: str, arguments: dict[str, Any], sentence: str, next_new: int) -> LoggedAct:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return LoggedAct(len(acts) + 1, now, act, arguments, sentence, next_new)


def _from_number(fitted: Fitted, next_new: int) -> Fitted:
    """The same, where ids below a number have been given."""
    classes = fitted.classes
    return replace(fitted, classes=replace(classes, next_new=max(classes.next_new, next_new)))
