"""How far to trust the answer: known classes that were hidden, a control, and what simpler methods reach."""

from typing import NamedTuple

from newfound.auditing import FEW_LABELS, Audit, HiddenClass, baseline_sentences, headline, hidden_sentence, trust
from newfound.wording import count, percent


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
    few = f"{count(hidden.n_labels, 'label')} only" if hidden.n_labels < FEW_LABELS else ""
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
