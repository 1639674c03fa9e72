"""All acts, by the names that a run's history has for them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from newfound.acts.cut import cut, say_cut
from newfound.acts.discard import discard, say_discard
from newfound.acts.label import label, say_label
from newfound.acts.merge import merge, say_merge
from newfound.acts.rename import rename, say_rename
from newfound.acts.split import say_split, split
from newfound.fitted import Fitted


class Act(NamedTuple):
    """What is done, and what is said of it: both get the act's own arguments, which JSON can hold, by name."""

    apply: Callable[..., Fitted]  # (fitted, **arguments)
    say: Callable[..., str]  # (before, after, **arguments): one sentence


ACTS: dict[str, Act] = {
    "rename": Act(rename, say_rename),
    "merge": Act(merge, say_merge),
    "split": Act(split, say_split),
    "cut": Act(cut, say_cut),
    "discard": Act(discard, say_discard),
    "label": Act(label, say_label),
}


def perform(fitted: Fitted, act: str, arguments: Mapping[str, Any]) -> tuple[Fitted, str]:
    """What a fitted model is after an act, and the act in a sentence."""
    after = ACTS[act].apply(fitted, **arguments)
    return after, ACTS[act].say(fitted, after, **arguments)
