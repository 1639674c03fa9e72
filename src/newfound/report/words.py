"""The report in sentences, for readers who do not know the model: the answer, how far to trust it, what to do next."""

import math
import shlex
from typing import NamedTuple

from newfound._internal.words import SHOW_WARNING_BELOW, count, percent
from newfound.explain.audit_record import (
    Audit,
    baseline_sentences,
    headline,
    hidden_sentence,
    trust,
)
from newfound.models.in_numpy import MIN_LABELS
from newfound.report.content import Calibration, ReportContent
from newfound.runs.answer import DOUBTED_LABELS, how_found, how_sure

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
    """A value in the user's units, with as many digits as a feature with this spread needs."""
    if not math.isfinite(value):
        return "–"
    digits = 1 - math.floor(math.log10(spread)) if spread > 0 else 2
    is_plain = digits <= 5 and abs(value) < 1e7
    text = f"{value:,.{max(digits, 0)}f}" if is_plain else f"{value:.1e}"
    is_zero = not text.strip("-0.,")
    return text.lstrip("-") if is_zero else text.replace("-", "−")


def shorten(name: object, longest: int = MAX_NAME_LENGTH) -> str:
    """A name that fits into its place; an empty one becomes visible."""
    text = str(name).strip() or "(no name)"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def squeeze(name: object, longest: int) -> str:
    """A row's id, cut in its middle: ids of one file often begin alike and differ at the end."""
    text = shorten(name, 10_000)
    tail = longest // 2
    return text if len(text) <= longest else f"{text[: longest - tail - 1]}…{text[-tail:]}"


def about_data(content: ReportContent) -> str:
    """\"penguins.csv: 344 rows, 83 (24%) labelled.\"."""
    rows = f"{content.source}: {count(content.n_rows, 'row')}"
    if not content.n_labelled:
        return f"{rows}, none labelled."
    return f"{rows}, {content.n_labelled:,} ({percent(content.n_labelled / content.n_rows)}) labelled."


def about_answer(content: ReportContent) -> list[str]:
    """How the classes were found and how sure that is, with a warning if labels were not picked at random."""
    sentences = [*how_found(content.discovered), *how_sure(content.discovered)]
    n_single = sum(c.is_new and c.n_discovered == 1 for c in content.classes)
    if n_single == 1:
        sentences.append("1 new class has only one row and is not shown.")
    elif n_single:
        sentences.append(f"{n_single:,} new classes have only one row each and are not shown.")
    if content.selection is not None and content.selection.grade in DOUBTED_LABELS:
        sentences.append(
            f"{content.selection.sentence} Labels of randomly picked rows are better evidence of new classes."
        )
    return sentences


def about_labels(content: ReportContent) -> str:
    """Whether predictions agree with the labels; no label is ever changed."""
    if not content.n_labelled:
        return "No row has a label."
    if not content.n_disagreements:
        return "The predictions agree with every label."
    n, share = content.n_disagreements, percent(content.n_disagreements / content.n_labelled)
    verbs = "disagrees with the prediction and is" if n == 1 else "disagree with the prediction and are"
    return f"{count(n, 'label')} ({share}) {verbs} worth checking. No label was changed."


def temperature(calibration: Calibration) -> str:
    """How the probabilities were corrected, or why they were not."""
    n = calibration.n_labels
    few = ""
    if n < SHOW_WARNING_BELOW:
        few = f" With fewer than {SHOW_WARNING_BELOW} labels, this is a rough estimate."
    if n < MIN_LABELS:
        return f"The probabilities are the network's own: correcting them takes {MIN_LABELS} validation labels."
    return (
        f"The probabilities were corrected by one number, the temperature, {calibration.temperature:.2f}, fitted on "
        f"these labels. Above 1, the network was too sure; below 1, not sure enough.{few}"
    )


# ---- What to do with the answer: commands that hold the names of this run ----

N_ROWS = 50  # to label next


class Step(NamedTuple):
    """One thing to do, and how."""

    title: str
    why: str
    command: str


def next_steps(content: ReportContent) -> list[Step]:
    """In the usual order; steps that do not apply are left out."""
    run, again = f"{shlex.quote(content.run)}/", f"{shlex.quote(f'{content.run}2')}/"
    steps = []
    unnamed = next((c for c in content.new if not c.is_named), None)
    if unnamed is not None:
        suggested = unnamed.description.suggested_name if unnamed.description else None
        named = shlex.quote(f"{unnamed.name}={suggested}") if suggested else f"{shlex.quote(unnamed.name)}=…"
        steps.append(Step("Name the classes you recognise", "", f"newfound name {run} {named}"))
    names = [c.name for c in content.new]
    closest = [name for name in content.discovered.closest if name in names]
    pair = closest if len(closest) == 2 else names[-2:]
    if len(pair) == 2:
        why = "The closest two:" if pair == closest else ""
        steps.append(Step("Merge duplicate classes", why, f"newfound merge {run} {shlex.join(pair)}"))
    return [
        *steps,
        Step("Label more rows", "The most informative ones:", f"newfound suggest {run} --rows {N_ROWS}"),
        Step("Add the labels", "From the filled-in table:", f"newfound label {run} suggest.csv"),
        Step("Fit again", "This run stays as it is:", f"newfound refit {run} --out {again}"),
        Step("Predict other rows", "", f"newfound predict {run} more.csv"),
    ]


# ---- How far to trust the answer: known classes that were hidden, a control, and the scores of simpler methods ----


class Line(NamedTuple):
    """A known class that was hidden."""

    name: str
    width: float  # of its bar, in per cent
    share: str  # found again
    rest: str  # the class that most of the other rows were assigned to
    sentence: str
    is_found: bool


class Baseline(NamedTuple):
    """A simpler method on the same hidden classes."""

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
    """An audit as the page shows it: newfound first among the methods."""
    lines = []
    for hidden in audit.hidden:
        called = f"{percent(hidden.called_share)} called {hidden.called}" if hidden.called is not None else ""
        few = f"{count(hidden.n_labels, 'label')} only" if hidden.n_labels < SHOW_WARNING_BELOW else ""
        line = Line(
            name=hidden.name,
            width=round(100 * hidden.found_share, 1),
            share=percent(hidden.found_share),
            rest=" · ".join(filter(None, (called, few))),
            sentence=hidden_sentence(hidden),
            is_found=hidden.is_found,
        )
        lines.append(line)
    sentences = trust(audit)
    first, others = (sentences[0], sentences[1 + len(lines) :]) if lines else ("", sentences)
    baselines = [Baseline(one.title, f"{one.f1:.2f}", f"{one.n_classes:g}") for one in audit.baselines]
    return AuditBlock(
        headline=headline(audit),
        trust=first and f"{first.removesuffix('.')}:",
        lines=lines,
        notes=" ".join([*others, *audit.notes]),
        baselines=[Baseline("newfound", f"{audit.f1:.2f}", "–"), *baselines] if baselines else [],
        about_baselines=baseline_sentences(audit) if baselines else [],
    )
