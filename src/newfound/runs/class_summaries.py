"""Each class of a run in a few numbers, and back from there to `Classes`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from newfound.classes import Classes
from newfound.runs.columnar import Columns


@dataclass(frozen=True)
class ClassSummary:
    """One class: its components, its rows and labels, and how probable it is for its rows."""

    name: str
    is_new: bool
    components: list[int]
    n_rows: int  # predicted as this class
    n_observed: int  # that carry its label
    confidence: float | None  # mean probability of the class over its rows; None where it has none


def summarise_classes(classes: Classes, table: Columns) -> list[ClassSummary]:
    """From the predictions of all rows, in the order of the classes."""
    return [
        ClassSummary(
            name=name,
            is_new=bool(classes.is_new[position]),
            components=classes.components(position).tolist(),
            n_rows=int((table["class"] == name).sum()),
            n_observed=int((table["observed_label"] == name).sum()),
            confidence=_mean(table["probability"][table["class"] == name]),
        )
        for position, name in enumerate(classes.names.astype(str).tolist())
    ]


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def classes_from(summaries: Sequence[ClassSummary]) -> Classes:
    """Which components belong to which class, with the names as text."""
    component_class = np.zeros(sum(len(c.components) for c in summaries), dtype=int)
    for position, summary in enumerate(summaries):
        component_class[summary.components] = position
    names = np.array([c.name for c in summaries], dtype=str)
    return Classes(names, np.array([c.is_new for c in summaries], dtype=bool), component_class)


def to_json(summaries: Sequence[ClassSummary]) -> str:
    return json.dumps([asdict(summary) for summary in summaries], indent=1)


def from_json(text: str) -> list[ClassSummary]:
    return [ClassSummary(**summary) for summary in json.loads(text)]
