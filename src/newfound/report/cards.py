"""What is shown of each class: what sets it apart, pictures of its rows, and what may be wrong with it."""

import base64
import io
import math
from typing import NamedTuple

import numpy as np
from PIL import Image

from newfound._internal.words import SHOW_WARNING_BELOW, and_list, count, percent
from newfound.report.charts import Mark, marks
from newfound.report.content import ClassContent, Disagreement, Examples, ReportContent
from newfound.report.words import number
from newfound.runs.answer import evidence_sentence

# ---- The columns that set a class apart, furthest first, beside the values of some of its rows ----

N_FEATURES, N_IN_A_LINE = 8, 2
MIN_DEVIATION = 0.05  # below, it would be written as 0.0 SD
N_MOST_CONFIDENT, N_LOWEST_CONFIDENCE, N_GENERATED_ROWS = 3, 3, 2  # columns of a table


class Feature(NamedTuple):
    """One feature that sets a class apart, and its values in the rows shown."""

    name: str
    deviation: float  # of the class mean from the overall mean, in overall standard deviations
    width: float  # of its bar, in percent of the half chart
    class_mean: str
    overall_mean: str
    values: list[str]


class Column(NamedTuple):
    """A row of the data that became a column of the card's table, or a generated one."""

    head: str
    probability: str
    note: str
    starts_group: bool


class FeatureTable(NamedTuple):
    """Features down, rows across: whoever reads a line compares the class, all rows and single rows at once."""

    groups: list[tuple[str, int]]  # title and number of columns
    columns: list[Column]
    features: list[Feature]


def feature_table(content: ReportContent, c: ClassContent) -> FeatureTable:
    """Nothing but the heads where no feature sets the class apart."""
    confident, doubtful = c.most_confident[:N_MOST_CONFIDENT], c.lowest_confidence[:N_LOWEST_CONFIDENCE]
    generated = c.generated[:N_GENERATED_ROWS]
    shown = np.vstack([content.examples.X[confident], content.examples.X[doubtful], generated]).astype(float)
    groups = [("most typical rows", len(confident)), ("at its edge", len(doubtful)), ("generated", len(generated))]
    columns = [
        *(_column(content.examples, at, i == 0) for rows in (confident, doubtful) for i, at in enumerate(rows)),
        *(Column(f"{i + 1}", "", "", i == 0) for i in range(len(generated))),
    ]
    return FeatureTable([group for group in groups if group[1]], columns, features(content, c, shown))


def in_a_line(content: ReportContent, c: ClassContent) -> str:
    """What stands on a card of which no description is stored: "words 21 (all rows 76) and hour 20.9 (all rows 13)"."""
    found = features(content, c, np.zeros((0, len(content.feature_names))))[:N_IN_A_LINE]
    parts = [f"{feature.name} {feature.class_mean} (all rows {feature.overall_mean})" for feature in found]
    return f"On average {and_list(parts)}." if parts else ""


def _column(rows: Examples, at: int, starts_group: bool) -> Column:
    observed = str(rows.observed[at])
    note = observed if observed and observed != str(rows.predicted[at]) else ""
    return Column(str(rows.row_ids[at]), percent(rows.probability[at]), note, starts_group)


def features(content: ReportContent, c: ClassContent, shown: np.ndarray) -> list[Feature]:
    """The features whose mean in the class is furthest from the mean of all rows, furthest first."""
    deviation = deviations(content, c)
    order = np.argsort(-np.abs(deviation), kind="stable")[:N_FEATURES]
    furthest = max(float(np.abs(deviation[order]).max(initial=0)), 1e-12)
    return [
        Feature(
            name=content.feature_names[at] or "(no name)",
            deviation=float(deviation[at]),
            width=round(float(100 * abs(deviation[at]) / furthest), 1),
            class_mean=number(c.mean[at], content.feature_std[at]),
            overall_mean=number(content.feature_mean[at], content.feature_std[at]),
            values=[number(value, content.feature_std[at]) for value in shown[:, at]],
        )
        for at in order
        if abs(deviation[at]) >= MIN_DEVIATION
    ]


def deviations(content: ReportContent, c: ClassContent) -> np.ndarray:
    """(class mean − overall mean) / overall standard deviation; 0 where a feature never varies."""
    varies = content.feature_std > 0
    difference = np.where(varies, c.mean - content.feature_mean, 0.0)
    return np.nan_to_num(difference / np.where(varies, content.feature_std, 1.0), posinf=0.0, neginf=0.0)


def signed(value: float) -> str:
    """Such as +1.3 SD, with a real minus sign where it is negative."""
    return f"{'−' if value < 0 else '+'}{abs(value):.1f} SD" if math.isfinite(value) else "–"


# ---- Rows of pixels as images inside the page ----

LONGEST_SIDE = 72  # pixels; larger images are shrunk, so that the page stays small enough to send
PNG_SIDE = 40  # smaller ones are kept as they are; of larger ones JPEG needs a quarter of the bytes


def limits(X: np.ndarray) -> tuple[float, float]:
    """What is black and what is white: the range of the type where it is plain, else that of the rows."""
    if X.dtype == np.uint8:
        return 0.0, 255.0
    finite = X[np.isfinite(X)]
    if finite.size == 0 or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.0
    return float(finite.min()), float(finite.max())


def data_uri(row: np.ndarray, shape: tuple[int, ...], black_white: tuple[float, float]) -> str:
    """One row as a small PNG or JPEG; `shape` is (height, width) or (height, width, channels)."""
    image = Image.fromarray(_pixels(row, shape, black_white))
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    kind = "PNG" if max(image.size) <= PNG_SIDE or image.mode == "RGBA" else "JPEG"
    stored = io.BytesIO()
    image.save(stored, format=kind, optimize=True, **({"quality": 82} if kind == "JPEG" else {}))
    return f"data:image/{kind.lower()};base64,{base64.b64encode(stored.getvalue()).decode()}"


def _pixels(row: np.ndarray, shape: tuple[int, ...], black_white: tuple[float, float]) -> np.ndarray:
    low, high = black_white
    share = (np.nan_to_num(row.astype(float), nan=low) - low) / max(high - low, 1e-12)
    pixels = (np.clip(share, 0, 1) * 255).round().astype(np.uint8).reshape(shape)
    if pixels.ndim == 3 and pixels.shape[2] not in (3, 4):  # what PNG has no colours for is drawn in grey
        return pixels.mean(axis=2).astype(np.uint8)
    return pixels


# ---- Lines of pictures: the rows a class is surest of, the ones at its edge, and what the model generates ----

N_TYPICAL, N_EDGE, N_GENERATED_PICTURES, N_SMALL = 8, 8, 8, 7


class Picture(NamedTuple):
    """An image with what is said below it."""

    uri: str
    alt: str
    row_id: str = ""
    probability: str = ""
    note: str = ""  # the observed label, where the model disagrees with it


class Strip(NamedTuple):
    """A line of pictures."""

    title: str
    pictures: list[Picture]


class Studio:
    """Makes pictures of the rows of one report; each row is encoded once."""

    def __init__(self, content: ReportContent):
        assert content.image_shape is not None
        self.content, self.shape, self.made = content, content.image_shape, dict[int, str]()
        self.black_white = limits(content.examples.X)

    def uri(self, row: np.ndarray) -> str:
        return data_uri(row, self.shape, self.black_white)

    def row(self, at: int) -> Picture:
        """A row of the data, by its position among the examples."""
        rows = self.content.examples
        probability = percent(rows.probability[at])
        if at not in self.made:
            self.made[at] = self.uri(rows.X[at])
        alt = f"row {rows.row_ids[at]}, predicted as {rows.predicted[at]} with probability {probability}"
        observed = str(rows.observed[at])
        note = observed if observed and observed != str(rows.predicted[at]) else ""
        return Picture(self.made[at], alt, str(rows.row_ids[at]), probability, note)

    def strips(self, c: ClassContent) -> list[Strip]:
        generated = [
            Picture(self.uri(row), f"generated example {i} of {c.name}")
            for i, row in enumerate(c.generated[:N_GENERATED_PICTURES], start=1)
        ]
        strips = [
            Strip("Most typical", [self.row(at) for at in c.most_confident[:N_TYPICAL]]),
            Strip("At its edge", [self.row(at) for at in c.lowest_confidence[:N_EDGE]]),
            Strip("Generated by the model", generated),
        ]
        return [strip for strip in strips if strip.pictures]

    def small(self, c: ClassContent) -> list[Picture]:
        return [self.row(at) for at in c.most_confident[:N_SMALL]]

    def doubted(self, one: Disagreement) -> Picture | None:
        return None if one.position is None else self.row(one.position)


# ---- What is shown of each class: new ones as cards, known ones and the smallest new ones as lines of a table ----

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
        few=f"{count(c.n_observed, 'label')} only" if not c.is_new and c.n_observed < SHOW_WARNING_BELOW else "",
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
