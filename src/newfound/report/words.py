"""What was learned, in sentences for someone who has never heard of the model."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from newfound.report.content import ClassContent, ReportContent

NAMES_IN_A_SENTENCE = 8
LONGEST_NAME = 60

WHAT_AN_ENDING_MEANS = {
    "reached the limit": "Training went on for as many epochs as it was allowed, and its last state is used here. If "
    "the curves of the held-out rows were still getting better at the end, more epochs may help.",
    "converged": "Training stopped by itself because the rows held out of it no longer got better; the best state is "
    "used here.",
    "interrupted": "Training was interrupted by hand, and the best state until then is used here. Run it to its end "
    "before you rely on the numbers.",
    "diverged": "Training failed: the loss stopped being a finite number and did not recover. The last good state is "
    "shown here, and should not be relied on; try a smaller learning rate.",
}


class Fact(NamedTuple):
    """A number worth seeing at a glance."""

    value: str
    label: str
    kind: str = ""  # "known" or "new", where it belongs to one of them


def number(value: float, spread: float) -> str:
    """A value in the user's units, with two digits of what a feature's spread can tell apart."""
    if not math.isfinite(value):
        return "–"
    digits = 1 - math.floor(math.log10(spread)) if spread > 0 else 2
    is_plain = digits <= 5 and abs(value) < 1e7
    text = f"{value:,.{max(digits, 0)}f}" if is_plain else f"{value:.1e}"
    is_zero = not text.strip("-0.,")
    return text.lstrip("-") if is_zero else text.replace("-", "−")


def percent(share: float) -> str:
    """A share, never rounded to a certainty it is not."""
    if not math.isfinite(share):
        return "–"
    if 0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1:
        return f"{math.floor(share * 1000) / 10:.1f}%"
    return f"{share:.0%}"


def count(n: int, thing: str, things: str | None = None) -> str:
    """Such as 1 row, or 1,200 rows."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def shorten(name: object, longest: int = LONGEST_NAME) -> str:
    """A name that fits where it is shown; one that is empty is still seen."""
    text = str(name).strip() or "(no name)"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def squeeze(name: object, longest: int) -> str:
    """A row's id cut in its middle: ids of one file often begin alike and differ at the end."""
    text = shorten(name, 10_000)
    tail = longest // 2
    return text if len(text) <= longest else f"{text[: longest - tail - 1]}…{text[-tail:]}"


def listing(parts: Sequence[str]) -> str:
    """Such as: a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def confidence(classes: Sequence[ClassContent]) -> float:
    """The mean probability of a row's class, over the rows of these classes."""
    filled = [c for c in classes if c.n_rows]
    rows = np.array([c.n_rows for c in filled], dtype=float)
    return float(rows @ [c.confidence for c in filled] / rows.sum()) if filled else float("nan")


def facts(content: ReportContent) -> list[Fact]:
    known, new = _known(content), _found(content)
    return [
        Fact(f"{content.n_rows:,}", "row" if content.n_rows == 1 else "rows"),
        Fact(f"{content.n_labelled:,}", f"labelled ({_share(content.n_labelled, content.n_rows)})"),
        Fact(f"{len(known):,}", "known class" if len(known) == 1 else "known classes", "known"),
        Fact(f"{len(new):,}", "new class found" if len(new) == 1 else "new classes found", "new"),
        Fact(percent(confidence(content.classes)), "mean probability of a row’s class"),
        Fact(f"{content.n_disagreements:,}", "label in doubt" if content.n_disagreements == 1 else "labels in doubt"),
    ]


def summary(content: ReportContent) -> str:
    """One paragraph: what went in, what was found, how sure it is, and how training ended."""
    sentences = [_what_went_in(content), *_what_was_found(content), *_how_sure(content), *_doubts(content)]
    return " ".join([*sentences, meaning_of(content.ending)])


def meaning_of(ending: str) -> str:
    return WHAT_AN_ENDING_MEANS.get(ending, f"Training ended like this: {ending}.")


def _what_went_in(content: ReportContent) -> str:
    rows = f"{content.source} holds {count(content.n_rows, 'row')}"
    if not content.n_labelled:
        return f"{rows}, and none of them carries a label."
    share = _share(content.n_labelled, content.n_rows)
    known = [f"“{shorten(c.name)}”" for c in _known(content)]
    verb = "carries" if content.n_labelled == 1 else "carry"
    start = f"{rows}, of which {content.n_labelled:,} ({share}) {verb} a label"
    if not known:
        return f"{start}."
    return f"{start}. The labels name {count(len(known), 'known class', 'known classes')}: {_some(known)}."


def _what_was_found(content: ReportContent) -> list[str]:
    found = sorted(_found(content), key=lambda c: -c.n_rows)
    n_empty = sum(c.is_new and c.n_rows == 0 for c in content.classes)
    empty = [f"{count(n_empty, 'more new class', 'more new classes')} stayed empty."] if n_empty else []
    if not found:
        return ["No row was put in a new class.", *empty]
    sizes = [f"“{shorten(c.name)}” ({count(c.n_rows, 'row')})" for c in found]
    classes = count(len(found), "new class", "new classes")
    named = _some(sizes) if len(sizes) == 1 else f"from the largest, {_some(sizes)}"
    if not _known(content):
        return [f"Among them the model found {classes}: {named}.", *empty]
    share = _share(sum(c.n_rows for c in found), content.n_rows)
    holds = "It holds" if len(found) == 1 else "Together they hold"
    return [
        f"Beyond these the model found {classes}, which nobody had labelled: {named}.",
        f"{holds} {share} of all rows.",
        *empty,
    ]


def _how_sure(content: ReportContent) -> list[str]:
    overall = confidence(content.classes)
    if not math.isfinite(overall):
        return []
    known, new = confidence(_known(content)), confidence(_found(content))
    parts = f" ({percent(known)} in known classes, {percent(new)} in new ones)"
    apart = parts if math.isfinite(known) and math.isfinite(new) else ""
    return [f"On average the model gives {percent(overall)} probability to the class it puts a row in{apart}."]


def _doubts(content: ReportContent) -> list[str]:
    if not content.n_labelled:
        return []
    if not content.n_disagreements:
        return ["It doubts none of the labels it was given."]
    share = _share(content.n_disagreements, content.n_labelled)
    labels = "1 of the labels" if content.n_disagreements == 1 else f"{content.n_disagreements:,} of the labels"
    return [f"It doubts {labels} it was given ({share}): worth a second look, though none of them was changed."]


def _some(parts: Sequence[str]) -> str:
    if len(parts) <= NAMES_IN_A_SENTENCE + 1:
        return listing(parts)
    return f"{', '.join(parts[:NAMES_IN_A_SENTENCE])} and {len(parts) - NAMES_IN_A_SENTENCE:,} more"


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _known(content: ReportContent) -> list[ClassContent]:
    return [c for c in content.classes if not c.is_new]


def _found(content: ReportContent) -> list[ClassContent]:
    return [c for c in content.classes if c.is_new and c.n_rows]
