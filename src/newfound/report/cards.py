"""What the card of each class shows: pictures of its rows, or the features that set it apart."""

import math
from typing import NamedTuple

import numpy as np

from newfound.report.content import ClassContent, Examples, ReportContent
from newfound.report.marks import Mark, marks
from newfound.report.pictures import data_uri, limits
from newfound.report.words import number, percent

N_FEATURES = 8
LEAST_DEVIATION = 0.05  # below, it would be written as 0.0 sd
N_TYPICAL, N_DOUBTFUL, N_GENERATED = 3, 3, 2  # columns of a table; pictures are all shown


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


class Feature(NamedTuple):
    """One feature that sets a class apart, and its values in the rows shown."""

    name: str
    deviation: float  # of the class mean from the overall mean, in overall standard deviations
    width: float  # of its bar, in percent of the half chart
    class_mean: str
    overall_mean: str
    values: list[str]


class Column(NamedTuple):
    """A row of the data that became a column of the card's table, or a made-up one."""

    head: str
    probability: str
    note: str
    starts_group: bool


class FeatureTable(NamedTuple):
    """Features down, rows across: whoever reads a line compares the class, all rows and single rows at once."""

    groups: list[tuple[str, int]]  # title and number of columns
    columns: list[Column]
    features: list[Feature]


class Card(NamedTuple):
    """One class, ready to be written down."""

    anchor: str
    name: str
    is_new: bool
    mark: Mark
    n_rows: int
    share: str
    bar: float  # in percent of the largest class
    confidence: str
    n_observed: int
    components: str
    strips: list[Strip]
    table: FeatureTable | None


def cards(content: ReportContent) -> list[Card]:
    mark_of = marks(content.classes)
    largest = max((c.n_rows for c in content.classes), default=0)
    black_white = limits(content.examples.X)
    return [
        Card(
            anchor=f"class-{i}",
            name=c.name.strip() or "(no name)",
            is_new=c.is_new,
            mark=mark_of[c.name],
            n_rows=c.n_rows,
            share=percent(c.n_rows / content.n_rows) if content.n_rows else "–",
            bar=round(100 * c.n_rows / max(largest, 1), 1),
            confidence=percent(c.confidence),
            n_observed=c.n_observed,
            components=", ".join(map(str, c.components)) or "none",
            strips=_strips(content, c, black_white) if content.image_shape else [],
            table=_table(content, c) if not content.image_shape and c.n_rows else None,
        )
        for i, c in enumerate(content.classes)
    ]


def _strips(content: ReportContent, c: ClassContent, black_white: tuple[float, float]) -> list[Strip]:
    assert content.image_shape is not None
    shape, rows = content.image_shape, content.examples

    def seen(at: int) -> Picture:
        probability = percent(rows.probability[at])
        alt = f"row {rows.row_ids[at]}, put in {c.name} with probability {probability}"
        uri = data_uri(rows.X[at], shape, black_white)
        return Picture(uri, alt, str(rows.row_ids[at]), probability, _disagreement(rows, at))

    made_up = [
        Picture(data_uri(row, shape, black_white), f"made-up example {i} of {c.name}")
        for i, row in enumerate(c.generated, start=1)
    ]
    strips = [
        Strip("Most typical", [seen(at) for at in c.typical]),
        Strip("Most doubtful", [seen(at) for at in c.doubtful]),
        Strip("Made up by the model", made_up),
    ]
    return [strip for strip in strips if strip.pictures]


def _table(content: ReportContent, c: ClassContent) -> FeatureTable:
    typical, doubtful, generated = c.typical[:N_TYPICAL], c.doubtful[:N_DOUBTFUL], c.generated[:N_GENERATED]
    shown = np.vstack([content.examples.X[typical], content.examples.X[doubtful], generated]).astype(float)
    groups = [("most typical", len(typical)), ("most doubtful", len(doubtful)), ("made up", len(generated))]
    columns = [
        *(_column(content.examples, at, i == 0) for rows in (typical, doubtful) for i, at in enumerate(rows)),
        *(Column(f"{i + 1}", "", "", i == 0) for i in range(len(generated))),
    ]
    return FeatureTable([group for group in groups if group[1]], columns, _features(content, c, shown))


def _column(rows: Examples, at: int, starts_group: bool) -> Column:
    return Column(str(rows.row_ids[at]), percent(rows.probability[at]), _disagreement(rows, at), starts_group)


def _features(content: ReportContent, c: ClassContent, shown: np.ndarray) -> list[Feature]:
    """The features whose mean in the class is furthest from the mean of all rows, furthest first."""
    deviation = deviations(content, c)
    order = np.argsort(-np.abs(deviation), kind="stable")[:N_FEATURES]
    furthest = max(float(np.abs(deviation[order]).max(initial=0)), 1e-12)
    return [
        Feature(
            name=content.feature_names[at] or "(no name)",
            deviation=float(deviation[at]),
            width=round(float(100 * abs(deviation[at]) / furthest), 1),
            class_mean=number(c.mean[at], content.feature_sd[at]),
            overall_mean=number(content.feature_mean[at], content.feature_sd[at]),
            values=[number(value, content.feature_sd[at]) for value in shown[:, at]],
        )
        for at in order
        if abs(deviation[at]) >= LEAST_DEVIATION
    ]


def deviations(content: ReportContent, c: ClassContent) -> np.ndarray:
    """(class mean − overall mean) / overall sd; 0 where a feature never varies."""
    varies = content.feature_sd > 0
    difference = np.where(varies, c.mean - content.feature_mean, 0.0)
    return np.nan_to_num(difference / np.where(varies, content.feature_sd, 1.0), posinf=0.0, neginf=0.0)


def _disagreement(rows: Examples, at: int) -> str:
    """The label a row came with, where the model puts it elsewhere."""
    observed = str(rows.observed[at])
    return observed if observed and observed != str(rows.predicted[at]) else ""


def signed(value: float) -> str:
    """Such as +1.3 sd, with a real minus sign where it is negative."""
    return f"{'−' if value < 0 else '+'}{abs(value):.1f} sd" if math.isfinite(value) else "–"
