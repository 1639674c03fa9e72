"""Each class of a run in a few numbers, and back from there to `Classes`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from newfound.checked_json import checked, parsed
from newfound.classes import NO_CLASS, Classes
from newfound.errors import DataError
from newfound.runs.columnar import Columns
from newfound.stored_model import MOST_COMPONENTS


@dataclass(frozen=True)
class ClassSummary:
    """One class: its components, its rows and labels, and how probable it is for its rows."""

    name: str
    is_new: bool
    components: list[int]
    n_rows: int  # predicted as this class
    n_discovered: int  # discovered as this class, or labelled so
    n_observed: int  # that carry its label
    confidence: float | None  # mean probability of the class over its rows; None where it has none
    evidence: dict[str, float] | None  # of a new class: the labels it would hold if it were known, those it holds, p
    id: str = field(default="", kw_only=True)  # no act changes it
    is_named: bool = field(default=False, kw_only=True)  # whether the name is a person's


def summarise_classes(classes: Classes, table: Columns, evidence: Mapping[Any, dict[str, float]]) -> list[ClassSummary]:
    """From what is said of all rows, and why new classes are thought to be new; in the order of the classes."""
    evidence = {str(name): of for name, of in evidence.items()}
    return [
        ClassSummary(
            name=name,
            is_new=bool(classes.is_new[position]),
            components=classes.components(position).tolist(),
            n_rows=int((table["class"] == name).sum()),
            n_discovered=int((table["discovered_class"] == name).sum()),
            n_observed=int((table["observed_label"] == name).sum()),
            confidence=_mean(table["probability"][table["class"] == name]),
            evidence=evidence.get(name),
            id=str(classes.ids[position]),
            is_named=bool(classes.is_named[position]),
        )
        for position, name in enumerate(classes.names.astype(str).tolist())
    ]


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def classes_from(summaries: Sequence[ClassSummary]) -> Classes:
    """Which components belong to which class, with the names as text."""
    n_components = 1 + max((k for c in summaries for k in c.components), default=-1)
    component_class = np.full(n_components, NO_CLASS)
    for position, summary in enumerate(summaries):
        component_class[summary.components] = position
    names = np.array([c.name for c in summaries], dtype=str)
    is_new = np.array([c.is_new for c in summaries], dtype=bool)
    ids = np.array([c.id for c in summaries], dtype=str)
    return Classes(names, is_new, component_class, ids, np.array([c.is_named for c in summaries], dtype=bool))


def to_json(summaries: Sequence[ClassSummary]) -> str:
    return json.dumps([asdict(summary) for summary in summaries], indent=1)


def from_json(text: str) -> list[ClassSummary]:
    stored = checked(parsed(text), list[ClassSummary], "classes")
    components = [k for summary in stored for k in summary["components"]]
    if len(set(components)) < len(components) or not all(0 <= k < MOST_COMPONENTS for k in components):
        raise DataError(
            f"The stored classes are damaged: components must be different numbers below {MOST_COMPONENTS}. Fit again."
        )
    return [ClassSummary(**summary) for summary in stored]
