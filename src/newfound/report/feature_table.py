"""The columns that set a class apart, furthest first, beside the values of some of its rows."""

import math
from typing import NamedTuple

import numpy as np

from newfound.report.content import ClassContent, Examples, ReportContent
from newfound.report.sentences import number, percent
from newfound.wording import and_list

N_FEATURES, N_IN_A_LINE = 8, 2
MIN_DEVIATION = 0.05  # below, it would be written as 0.0 SD
N_MOST_CONFIDENT, N_LOWEST_CONFIDENCE, N_GENERATED = 3, 3, 2  # columns of a table


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
    generated = c.generated[:N_GENERATED]
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
