"""What was learned, in sentences for someone who has never heard of the model; what to trust and what to do."""

import math
import shlex
from typing import NamedTuple

from newfound._internal.words import SHOW_WARNING_BELOW, count, if_few_labels, percent
from newfound.explain.audit_record import (
    Audit,
    HiddenClass,
    baseline_sentences,
    headline,
    hidden_sentence,
    trust,
)
from newfound.models.in_numpy import MIN_LABELS
from newfound.report.content import Calibration, ReportContent
from newfound.runs.answer import DOUBTED_LABELS, how_found, how_sure

# ---- What was learned, in sentences for someone who has never heard of the model ----

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
    selection = content.selection
    is_doubtful = selection is not None and selection.grade in DOUBTED_LABELS
    sentence = "" if selection is None else selection.sentence
    warning = f"{sentence} Labels of rows picked at random would tell more about what is new."
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
    few = (
        " So few labels say little about how far to trust a probability."
        if calibration.n_labels < SHOW_WARNING_BELOW
        else ""
    )
    if calibration.n_labels < MIN_LABELS:
        return f"The probabilities are the network's own: to correct them takes {MIN_LABELS} validation labels.{few}"
    return (
        f"The probabilities were corrected by one number, the temperature, {calibration.temperature:.2f} (above 1: the "
        f"network was too sure, below 1: not sure enough), fitted on these same labels.{few}"
    )


def validation_labels(calibration: Calibration | None) -> str:
    """Said beside a number that rests on validation labels, where these are few."""
    return "" if calibration is None else if_few_labels(calibration.n_labels)


# ---- What to do with the answer: the commands, with this run's own names in them ----

N_ROWS = 50  # to label next


class Step(NamedTuple):
    """One thing to do, and how."""

    title: str
    why: str
    command: str


def next_steps(content: ReportContent) -> list[Step]:
    """In the order in which one would take them; what has no use here is left out."""
    run, again = f"{shlex.quote(content.run)}/", f"{shlex.quote(f'{content.run}2')}/"
    label = [
        Step("Label a few more", "The rows that tell most:", f"newfound suggest {run} --rows {N_ROWS}"),
        Step("Bring the labels back", "From your table:", f"newfound label {run} labels.csv"),
    ]
    refit = Step("Fit again", "This run stays as it is:", f"newfound refit {run} --out {again}")
    other = Step("Use it", "On another file:", f"newfound predict {run} more.csv")
    return [*_name(content, run), *_merge(content, run), *label, refit, other]


def _name(content: ReportContent, run: str) -> list[Step]:
    unnamed = [c for c in content.new if not c.is_named]
    if not unnamed:
        return []
    first = unnamed[0]
    suggested = first.description.suggested_name if first.description else None
    named = shlex.quote(f"{first.name}={suggested}") if suggested else f"{shlex.quote(first.name)}=…"
    return [Step("Name what you recognise", "", f"newfound name {run} {named}")]


def _merge(content: ReportContent, run: str) -> list[Step]:
    """With the two that are closest, or the two smallest, as an example."""
    names = [c.name for c in content.new]
    closest = [name for name in content.discovered.closest if name in names]
    pair = closest if len(closest) == 2 else names[-2:]
    if len(pair) < 2:
        return []
    why = "These are closest:" if pair == closest else ""
    return [Step("Join two that are one", why, f"newfound merge {run} {' '.join(map(shlex.quote, pair))}")]


# ---- How far to trust the answer: known classes that were hidden, a control, and what simpler methods reach ----


class Line(NamedTuple):
    """A known class that was hidden."""

    name: str
    width: float  # of its bar, in per cent
    share: str  # found again
    rest: str  # what the others were called
    sentence: str
    is_found: bool


class Baseline(NamedTuple):
    """What a simpler method makes of the same hidden classes."""

    title: str
    f1: str
    n_classes: str


class AuditBlock(NamedTuple):
    """The answer, then how far to trust it."""

    headline: str
    trust: str
    lines: list[Line]
    notes: str
    baselines: list[Baseline]
    about_baselines: list[str]


def audit_block(audit: Audit) -> AuditBlock:
    """An audit as the page shows it."""
    said = trust(audit)
    lines = [_line(hidden) for hidden in audit.hidden]
    first, others = (said[0], said[1 + len(lines) :]) if lines else ("", said)
    notes = " ".join([*others, *audit.notes])
    return AuditBlock(headline(audit), first and f"{first.removesuffix('.')}:", lines, notes, *_baselines(audit))


def _line(hidden: HiddenClass) -> Line:
    called = f"{percent(hidden.called_share)} called {hidden.called}" if hidden.called is not None else ""
    few = f"{count(hidden.n_labels, 'label')} only" if hidden.n_labels < SHOW_WARNING_BELOW else ""
    return Line(
        name=hidden.name,
        width=round(100 * hidden.found_share, 1),
        share=percent(hidden.found_share),
        rest=" · ".join(filter(None, (called, few))),
        sentence=hidden_sentence(hidden),
        is_found=hidden.is_found,
    )


def _baselines(audit: Audit) -> tuple[list[Baseline], list[str]]:
    """newfound first, then what an audit holds of simpler methods, where it holds any."""
    if not audit.baselines:
        return [], []
    beside = [Baseline(one.title, f"{one.f1:.2f}", f"{one.n_classes:g}") for one in audit.baselines]
    return [Baseline("newfound", f"{audit.f1:.2f}", "–"), *beside], baseline_sentences(audit)
