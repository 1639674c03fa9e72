"""What the report shows of each class: the features that set it apart, pictures of its rows, labels to check."""

import base64
import io
import math
from typing import NamedTuple

import numpy as np
from PIL import Image

from newfound._internal.words import SHOW_WARNING_BELOW, and_list, count, percent
from newfound.report.charts import Mark, marks
from newfound.report.content import ClassContent, Examples, ReportContent
from newfound.report.words import number
from newfound.runs.answer import evidence_sentence

# ---- The features that set a class apart, furthest first, beside the values of some of its rows ----

N_FEATURES, N_IN_A_LINE = 8, 2
MIN_DEVIATION = 0.05  # a smaller one would be written as 0.0 SD
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
    """A row of the data, or a generated one, as a column of the card's table."""

    head: str
    probability: str
    note: str
    starts_group: bool


class FeatureTable(NamedTuple):
    """Features down, rows across: a line compares the class, all rows and single rows."""

    groups: list[tuple[str, int]]  # title and number of columns
    columns: list[Column]
    features: list[Feature]


def feature_table(content: ReportContent, c: ClassContent) -> FeatureTable:
    """Only the heads if no feature sets the class apart."""
    confident, doubtful = c.most_confident[:N_MOST_CONFIDENT], c.lowest_confidence[:N_LOWEST_CONFIDENCE]
    generated = c.generated[:N_GENERATED_ROWS]
    rows = content.examples
    shown = np.vstack([rows.X[confident], rows.X[doubtful], generated]).astype(float)
    groups = [("most typical rows", len(confident)), ("at its edge", len(doubtful)), ("generated", len(generated))]
    columns = []
    for positions in (confident, doubtful):
        for i, at in enumerate(positions):
            head, probability = str(rows.row_ids[at]), percent(rows.probability[at])
            columns.append(Column(head, probability, _other_label(rows, at), i == 0))
    columns += [Column(f"{i + 1}", "", "", i == 0) for i in range(len(generated))]
    return FeatureTable([group for group in groups if group[1]], columns, features(content, c, shown))


def _other_label(rows: Examples, at: int) -> str:
    """The label of a row if another class is predicted, else nothing."""
    observed = str(rows.observed[at])
    return observed if observed != str(rows.predicted[at]) else ""


def features(content: ReportContent, c: ClassContent, shown: np.ndarray) -> list[Feature]:
    """The features with the largest distance between the mean of the class and of all rows, largest first."""
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
    """\"+1.3 SD\", with a real minus sign if it is negative."""
    return f"{'−' if value < 0 else '+'}{abs(value):.1f} SD" if math.isfinite(value) else "–"


# ---- Rows of pixels as images inside the page ----

LONGEST_SIDE = 72  # pixels; larger images are scaled down, so that the page stays small enough to send
PNG_SIDE = 40  # smaller images are stored exactly; for larger ones JPEG needs a quarter of the bytes


def limits(X: np.ndarray) -> tuple[float, float]:
    """The values of black and white: the range of uint8 or of 0 to 1 if the rows fit, else that of the rows."""
    if X.dtype == np.uint8:
        return 0.0, 255.0
    finite = X[np.isfinite(X)]
    if finite.size == 0 or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.0
    return float(finite.min()), float(finite.max())


def data_uri(row: np.ndarray, shape: tuple[int, ...], black_white: tuple[float, float]) -> str:
    """One row as a small PNG or JPEG; `shape` is (height, width) or (height, width, channels)."""
    low, high = black_white
    share = (np.nan_to_num(row.astype(float), nan=low) - low) / max(high - low, 1e-12)
    pixels = (np.clip(share, 0, 1) * 255).round().astype(np.uint8).reshape(shape)
    if pixels.ndim == 3 and pixels.shape[2] not in (3, 4):  # PNG has no colours for these: they are drawn in grey
        pixels = pixels.mean(axis=2).astype(np.uint8)
    image = Image.fromarray(pixels)
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    kind = "PNG" if max(image.size) <= PNG_SIDE or image.mode == "RGBA" else "JPEG"
    stored = io.BytesIO()
    image.save(stored, format=kind, optimize=True, **({"quality": 82} if kind == "JPEG" else {}))
    return f"data:image/{kind.lower()};base64,{base64.b64encode(stored.getvalue()).decode()}"


# ---- Lines of pictures: the most typical rows of a class, the ones at its edge, and generated ones ----

N_TYPICAL, N_EDGE, N_GENERATED_PICTURES, N_SMALL = 8, 8, 8, 7


class Picture(NamedTuple):
    """An image with its caption."""

    uri: str
    alt: str
    row_id: str = ""
    probability: str = ""
    note: str = ""  # the observed label, if the model disagrees with it


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
        return Picture(self.made[at], alt, str(rows.row_ids[at]), probability, _other_label(rows, at))

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


# ---- New classes as cards; known classes and the smallest new ones as lines of a table ----

MAX_CARDS = 12  # further new classes are lines of a table
N_FIRST = 5  # new classes on the first screen
N_ROOMY = 2  # with at most this many, the first screen has room for rule, hints and evidence


class Card(NamedTuple):
    """One class, ready for the page."""

    anchor: str
    name: str
    is_new: bool
    mark: Mark
    n_rows: int  # discovered as it
    n_unsure: int
    share: str
    confidence: str
    n_observed: int
    few: str  # "12 labels only", beside numbers that rest on them
    found_again: str  # the share of a known class that was found again when it was hidden
    found_width: float
    sentence: str  # a description
    suggested: str  # a suggested name
    rule: str
    hints: tuple[str, ...]
    evidence: str  # why a class is called new
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
    is_roomy: bool  # whether the first screen has room for more about its classes


def cards(content: ReportContent) -> Cards:
    studio = Studio(content) if content.image_shape else None
    mark_of = marks(content)
    new = [_card(content, c, mark_of[c.name], studio, has_details=i < MAX_CARDS) for i, c in enumerate(content.new)]
    known = [_card(content, c, mark_of[c.name], studio, has_details=False) for c in content.known]
    doubts = []
    for one in content.disagreements:
        picture = None if studio is None or one.position is None else studio.row(one.position)
        doubts.append(Doubt(one.row_id, one.label, one.predicted, percent(one.probability), picture))
    return Cards(new[:N_FIRST], new[:MAX_CARDS], new[MAX_CARDS:], known, doubts, len(new) <= N_ROOMY)


def _card(content: ReportContent, c: ClassContent, mark: Mark, studio: Studio | None, *, has_details: bool) -> Card:
    description = c.description
    hidden = content.audit.hidden if content.audit else ()
    found_share = next((one.found_share for one in hidden if one.name == c.name), None)
    sentence = description.sentence if description else ""
    if not sentence and studio is None:  # "On average words 21 (all rows 76) and hour 20.9 (all rows 13)."
        found = features(content, c, np.zeros((0, len(content.feature_names))))[:N_IN_A_LINE]
        parts = [f"{feature.name} {feature.class_mean} (all rows {feature.overall_mean})" for feature in found]
        sentence = f"On average {and_list(parts)}." if parts else ""
    rule = ""
    if description and (found_rule := description.rule):
        takes, takes_wrongly = percent(found_rule.recall), percent(found_rule.false_rate)
        rule = f"{found_rule.text}: {takes} of its rows, {takes_wrongly} of all others"
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
        found_again=percent(found_share),
        found_width=round(100 * (found_share or 0), 1),
        sentence=sentence,
        suggested=(description.suggested_name or "") if description else "",
        rule=rule,
        hints=description.hints if description else (),
        evidence=evidence_sentence(c.evidence),
        pictures=[studio.row(at) for at in c.most_confident[:N_SMALL]] if studio else [],
        strips=studio.strips(c) if studio and has_details else [],
        table=feature_table(content, c) if has_details and not studio else None,
    )
