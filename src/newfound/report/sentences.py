"""What was learned, in sentences for someone who has never heard of the model."""

import math

from newfound.calibration import MIN_LABELS
from newfound.report.content import Calibration, ReportContent
from newfound.runs.discovered import how_found, how_sure
from newfound.runs.trust import DOUBTED_LABELS
from newfound.wording import FEW_LABELS, count, if_few_labels, percent

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


def about_data(content: ReportContent) -> str:
    """\"penguins.csv: 344 rows, of which 83 (24%) are labelled.\"."""
    rows = f"{content.source}: {count(content.n_rows, 'row')}"
    if not content.n_labelled:
        return f"{rows}, none of them labelled."
    verb = "is" if content.n_labelled == 1 else "are"
    share = percent(content.n_labelled / content.n_rows)
    return f"{rows}, of which {content.n_labelled:,} ({share}) {verb} labelled."


def about_answer(content: ReportContent) -> list[str]:
    """How it was found and how sure that is; a warning where labels were not picked at random."""
    found = content.discovered
    n_single = sum(c.is_new and c.n_discovered == 1 for c in content.classes)
    single = f"{count(n_single, 'new class holds', 'new classes hold')} one row only, and {_is(n_single)} not shown."
    selection = content.selection or {"grade": ""}
    is_doubtful = selection["grade"] in DOUBTED_LABELS
    warning = f"{selection.get('sentence', '')} Labels of rows picked at random would tell more about what is new."
    said = [*how_found(found), *how_sure(found)]
    return [*said, *([single] if n_single else []), *([warning] if is_doubtful else [])]


def about_labels(content: ReportContent) -> str:
    """Whether predictions agree with the labels; no label is ever changed."""
    if not content.n_labelled:
        return "No row has a label."
    if not content.n_disagreements:
        return "The predictions agree with every label."
    share = percent(content.n_disagreements / content.n_labelled)
    verb = "disagrees" if content.n_disagreements == 1 else "disagree"
    labels = f"{count(content.n_disagreements, 'label')} ({share}) {verb} with the prediction"
    return f"{labels}: worth checking. No label was changed."


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


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
