"""What to do with the answer: the commands, with this run's own names in them."""

import shlex
from typing import NamedTuple

from newfound.report.content import ReportContent

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
