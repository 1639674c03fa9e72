"""What was learned, in sentences for someone who has never heard of the model."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from newfound.calibration import MIN_LABELS
from newfound.report.content import Calibration, ClassContent, ReportContent
from newfound.wording import FEW_LABELS, count, if_few_labels, percent, short_list

MAX_NAMES = 8  # in a sentence
MAX_NAME_LENGTH = 60

TERMINATION_MEANS = {
    "max_epochs": "Training ran for all of its epochs, and the last state is used. If the validation curves were still "
    "improving at the end, more epochs may help.",
    "early_stopping": "Training stopped early because the validation ELBO no longer improved; the best state is used.",
    "interrupted": "Training was interrupted, and the best state so far is used. Run it to the end before you rely on "
    "these numbers.",
    "diverged": "Training diverged: the loss was no longer finite and did not recover. The last finite state is shown; "
    "do not rely on it, and try a smaller learning rate.",
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


def shorten(name: object, longest: int = MAX_NAME_LENGTH) -> str:
    """A name that fits where it is shown; one that is empty is still seen."""
    text = str(name).strip() or "(no name)"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def squeeze(name: object, longest: int) -> str:
    """A row's id cut in its middle: ids of one file often begin alike and differ at the end."""
    text = shorten(name, 10_000)
    tail = longest // 2
    return text if len(text) <= longest else f"{text[: longest - tail - 1]}…{text[-tail:]}"


def confidence(classes: Sequence[ClassContent]) -> float:
    """The mean probability of the predicted class, over the rows of these classes."""
    filled = [c for c in classes if c.n_rows]
    rows = np.array([c.n_rows for c in filled], dtype=float)
    return float(rows @ [c.confidence for c in filled] / rows.sum()) if filled else float("nan")


def facts(content: ReportContent) -> list[Fact]:
    """The numbers at the top of the page."""
    known, new = _known(content), _found(content)
    return [
        Fact(f"{content.n_rows:,}", "row" if content.n_rows == 1 else "rows"),
        Fact(f"{content.n_labelled:,}", f"labelled ({_share(content.n_labelled, content.n_rows)})"),
        Fact(f"{len(known):,}", "known class" if len(known) == 1 else "known classes", "known"),
        Fact(f"{len(new):,}", "new class" if len(new) == 1 else "new classes", "new"),
        Fact(percent(confidence(content.classes)), "mean probability of the predicted class"),
        Fact(f"{content.n_disagreements:,}", f"label disagreement{'' if content.n_disagreements == 1 else 's'}"),
    ]


def summary(content: ReportContent) -> str:
    """One paragraph: the data, the classes found, the confidence, the labels, and why training ended."""
    found = [
        *_new_classes(content),
        *_selection(content),
        *_confidence(content),
        *_label_disagreements(content),
    ]
    return " ".join([_data(content), *found, meaning_of(content.termination_condition)])


def meaning_of(termination_condition: str) -> str:
    """A termination condition in words."""
    return TERMINATION_MEANS.get(termination_condition, f"Training ended by {termination_condition}.")


def temperature(calibration: Calibration) -> str:
    """How the probabilities were made honest, or why they were not."""
    few = " So few labels say little about how far to trust a probability." if calibration.n_labels < FEW_LABELS else ""
    if calibration.n_labels < MIN_LABELS:
        return f"The probabilities are the network's own: to correct them takes {MIN_LABELS} validation labels.{few}"
    return (
        f"The probabilities were corrected by one number, the temperature, {calibration.temperature:.2f} (above 1: the "
        f"network was too sure, below 1: not sure enough), fitted on these same labels.{few}"
    )


def validation_labels(calibration: Calibration | None) -> str:
    """Said beside a number that rests on validation labels, where these are few."""
    return "" if calibration is None else if_few_labels(calibration.n_labels)


def _data(content: ReportContent) -> str:
    rows = f"{content.source} has {count(content.n_rows, 'row')}"
    if not content.n_labelled:
        return f"{rows}, none of them labelled."
    share = _share(content.n_labelled, content.n_rows)
    verb = "is" if content.n_labelled == 1 else "are"
    start = f"{rows}; {content.n_labelled:,} ({share}) {verb} labelled"
    known = [f"“{shorten(c.name)}”" for c in _known(content)]
    if not known:
        return f"{start}."
    return f"{start}, with {count(len(known), 'known class', 'known classes')}: {short_list(known, MAX_NAMES)}."


def _new_classes(content: ReportContent) -> list[str]:
    found = sorted(_found(content), key=lambda c: -c.n_discovered)
    n_empty = sum(c.is_new for c in content.classes) - len(found)
    empty = [f"{count(n_empty, 'more new class', 'more new classes')} stayed empty."] if n_empty else []
    if not found:
        return ["No row was assigned to a new class.", *empty]
    sizes = short_list([f"“{shorten(c.name)}” ({count(c.n_discovered, 'row')})" for c in found], MAX_NAMES)
    new = "new " if _known(content) else ""
    classes = count(len(found), f"{new}class was found", f"{new}classes were found")
    named = sizes if len(found) == 1 else f"largest first, {sizes}"
    if not _known(content):
        return [f"{classes}: {named}.", *empty]
    share = _share(sum(c.n_discovered for c in found), content.n_rows)
    holds = "It holds" if len(found) == 1 else "Together they hold"
    return [f"{classes} that no label named: {named}.", f"{holds} {share} of all rows.", *empty]


def _selection(content: ReportContent) -> list[str]:
    """Only where it is worth a warning: labels that were not picked at random mislead about what is new."""
    if content.selection is None or content.selection["grade"] not in ("doubtful", "not at random"):
        return []
    return [f"{content.selection['sentence']} Labels of rows picked at random would tell more about what is new."]


def _confidence(content: ReportContent) -> list[str]:
    overall = confidence(content.classes)
    if not math.isfinite(overall):
        return []
    known, new = confidence(_known(content)), confidence(_found(content))
    parts = f" ({percent(known)} in known classes, {percent(new)} in new ones)"
    apart = parts if math.isfinite(known) and math.isfinite(new) else ""
    return [f"The predicted class has a probability of {percent(overall)} on average{apart}."]


def _label_disagreements(content: ReportContent) -> list[str]:
    if not content.n_labelled:
        return []
    if not content.n_disagreements:
        return ["The predictions agree with every label."]
    share = _share(content.n_disagreements, content.n_labelled)
    verb = "disagrees" if content.n_disagreements == 1 else "disagree"
    labels = f"{count(content.n_disagreements, 'label')} ({share}) {verb} with the prediction"
    return [f"{labels}: worth checking. No label was changed."]


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _known(content: ReportContent) -> list[ClassContent]:
    return [c for c in content.classes if not c.is_new]


def _found(content: ReportContent) -> list[ClassContent]:
    """The new classes that have rows, by discovery or by prediction."""
    return [c for c in content.classes if c.is_new and (c.n_discovered or c.n_rows)]
