"""The answer of a run in one sentence: how many classes, and how far to trust that."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from newfound.auditing import Audit
from newfound.runs.class_summaries import ClassSummary
from newfound.runs.discovered import Discovered, headline
from newfound.wording import count, if_few_labels, percent

Grade = Literal["trust", "care", "doubt", "unknown"]
ADVICE: dict[Grade, str] = {
    "trust": "you can trust this",
    "care": "take this with care",
    "doubt": "do not trust this",
    "unknown": "nothing says how far to trust this",
}
FOUND_WELL, FOUND_HALF = 0.8, 0.5  # shares of hidden classes that were found again
DOUBTED_LABELS = ("doubtful", "not at random")  # grades of `discovery.selection`


class RunAnswer(NamedTuple):
    """One sentence, in the parts that a page may set apart."""

    found: str  # "2 known classes, 1 new class (1–2) of 68 rows"
    reason: str  # "hiding a known class, 93% of it was found again"
    grade: Grade

    @property
    def advice(self) -> str:
        return ADVICE[self.grade]

    def __str__(self) -> str:
        return f"{self.found}; {self.reason}: {self.advice}."


def answer(
    found: Discovered,
    classes: Sequence[ClassSummary],
    audit: Audit | None,
    selection: Mapping[str, Any] | None = None,
) -> RunAnswer:
    """From what a run holds: the classes it found, and what became of known ones that were hidden."""
    return RunAnswer(_found(found, classes), *_trust(found, audit, selection))


def _found(found: Discovered, classes: Sequence[ClassSummary]) -> str:
    new = [c for c in classes if c.is_new and c.n_discovered]
    number = headline(replace(found, n_new=len(new), is_given=False))
    of_rows = f" of {count(sum(c.n_discovered for c in new), 'row')}" if new else ""
    n_known = sum(not c.is_new for c in classes)
    known = f"{count(n_known, 'known class', 'known classes')}, " if n_known else ""
    return f"{known}{number[0].lower()}{number[1:]}{of_rows}{', as asked for' * found.is_given}"


def _trust(found: Discovered, audit: Audit | None, selection: Mapping[str, Any] | None) -> tuple[str, Grade]:
    if not found.has_labels:
        return "no row has a label", "unknown"
    if audit is None or not audit.hidden:
        return "no known class was hidden to check it", "unknown"
    share = float(np.mean([hidden.found_share for hidden in audit.hidden]))
    doubts = _doubts(found, audit, selection)
    reason = f"{_found_again(audit, share)}{', but ' * bool(doubts)}{' and '.join(doubts)}"
    if audit.control == "yes" or share < FOUND_HALF or audit.n_found < FOUND_HALF * len(audit.hidden):
        return reason, "doubt"
    is_well = share >= FOUND_WELL and audit.n_found == len(audit.hidden) and not doubts
    return reason, "trust" if is_well and not if_few_labels(_n_labels(audit)) else "care"


def _found_again(audit: Audit, share: float) -> str:
    """\"hiding each known class in turn, 93% of it was found again (from 12 labels only)\"."""
    few, n = if_few_labels(_n_labels(audit)), len(audit.hidden)
    if audit.n_found < n:
        was = "was" if audit.n_found == 1 else "were"
        found = f"{audit.n_found or 'none'} of {n} {was} found again" if n > 1 else f"it was not found again{few}"
        return f"hiding each known class in turn, {found}{few * (n > 1)}"
    each = "a known class" if n == 1 else "each known class in turn"
    return f"hiding {each}, {percent(share)} of it was found again{few}"


def _doubts(found: Discovered, audit: Audit, selection: Mapping[str, Any] | None) -> list[str]:
    doubts = []
    if audit.control == "yes":
        doubts.append("so are classes with labels handed out at random")
    if found.n_new and audit.verdict != "yes":
        doubts.append("the labels that are missing may be missing by chance")
    if selection is not None and selection["grade"] in DOUBTED_LABELS:
        doubts.append("labels do not look picked at random")
    return doubts


def _n_labels(audit: Audit) -> int:
    return sum(hidden.n_labels for hidden in audit.hidden)
