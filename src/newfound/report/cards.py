"""What is shown of each class: new ones as cards, known ones and the smallest new ones as lines of a table."""

from typing import NamedTuple

from newfound.report.content import ClassContent, Disagreement, ReportContent
from newfound.report.feature_table import FeatureTable, feature_table, in_a_line
from newfound.report.marks import Mark, marks
from newfound.report.sentences import percent
from newfound.report.strips import Picture, Strip, Studio
from newfound.runs.discovered import evidence_sentence
from newfound.wording import FEW_LABELS, count

MAX_CARDS = 12  # further new classes are lines of a table
N_FIRST = 5  # new classes on the first screen,
N_ROOMY = 2  # of which so few leave room to say more


class Card(NamedTuple):
    """One class, ready to be written down."""

    anchor: str
    name: str
    is_new: bool
    mark: Mark
    n_rows: int  # discovered as it
    n_unsure: int
    share: str
    confidence: str
    n_observed: int
    few: str  # said beside what rests on its labels, where these are few
    found_again: str  # of a known class, once it was hidden
    found_width: float
    sentence: str  # what it is
    suggested: str  # a name for it, as a suggestion
    rule: str
    hints: tuple[str, ...]
    evidence: str  # why a new class is thought to be one
    pictures: list[Picture]
    strips: list[Strip]
    table: FeatureTable | None


class Doubt(NamedTuple):
    """A label that may be wrong."""

    row_id: str
    label: str
    predicted: str
    probability: str
    picture: Picture | None


class Cards(NamedTuple):
    """Every class once: as a card, or as a line."""

    first: list[Card]  # new, on the first screen; they are among the cards below
    new: list[Card]
    more_new: list[Card]
    known: list[Card]
    doubts: list[Doubt]
    is_roomy: bool  # whether the first screen has room for all that is said of its classes


def cards(content: ReportContent) -> Cards:
    studio = Studio(content) if content.image_shape else None
    mark_of = marks(content)
    new = [_card(content, c, mark_of[c.name], studio, has_details=i < MAX_CARDS) for i, c in enumerate(content.new)]
    known = [_card(content, c, mark_of[c.name], studio, has_details=False) for c in content.known]
    doubts = [_doubt(one, studio) for one in content.disagreements]
    return Cards(new[:N_FIRST], new[:MAX_CARDS], new[MAX_CARDS:], known, doubts, len(new) <= N_ROOMY)


def _card(content: ReportContent, c: ClassContent, mark: Mark, studio: Studio | None, *, has_details: bool) -> Card:
    told = c.description
    share = _found_share(content, c)
    return Card(
        anchor=c.anchor,
        name=c.name.strip() or "(no name)",
        is_new=c.is_new,
        mark=mark,
        n_rows=c.n_discovered,
        n_unsure=c.n_unsure,
        share=percent(c.n_discovered / content.n_rows) if content.n_rows else "–",
        confidence=percent(c.confidence),
        n_observed=c.n_observed,
        few=f"{count(c.n_observed, 'label')} only" if not c.is_new and c.n_observed < FEW_LABELS else "",
        found_again=percent(share),
        found_width=round(100 * (share or 0), 1),
        sentence=(told.sentence if told else "") or ("" if studio else in_a_line(content, c)),
        suggested=(told.suggested_name or "") if told else "",
        rule=_rule(c),
        hints=told.hints if told else (),
        evidence=evidence_sentence(c.evidence),
        pictures=studio.small(c) if studio else [],
        strips=studio.strips(c) if studio and has_details else [],
        table=feature_table(content, c) if has_details and not studio else None,
    )


def _found_share(content: ReportContent, c: ClassContent) -> float | None:
    hidden = content.audit.hidden if content.audit else ()
    return next((one.found_share for one in hidden if one.name == c.name), None)


def _rule(c: ClassContent) -> str:
    """\"bill_length_mm > 43.3 and island = Dream: 96% of its rows, 2% of all others\"."""
    rule = c.description.rule if c.description else None
    return f"{rule.text}: {percent(rule.recall)} of its rows, {percent(rule.false_rate)} of all others" if rule else ""


def _doubt(one: Disagreement, studio: Studio | None) -> Doubt:
    picture = studio.doubted(one) if studio else None
    return Doubt(one.row_id, one.label, one.predicted, percent(one.probability), picture)
