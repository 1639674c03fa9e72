"""What a report says, apart from how it looks: plain arrays and text, gathered from a run by `assemble`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from newfound.auditing import Audit
from newfound.descriptions import Description
from newfound.evaluation import Evaluation
from newfound.runs.class_summaries import ClassSummary
from newfound.runs.discovered import Discovered


@dataclass(frozen=True)
class ClassContent(ClassSummary):
    """One class: the run's summary of it, and the rows that its card shows."""

    anchor: str  # of its card
    n_unsure: int  # of the rows discovered as it, those that are not sure
    most_confident: np.ndarray  # positions in `Examples`
    lowest_confidence: np.ndarray  # positions in `Examples`, the lowest first
    generated: np.ndarray  # (a few, features): means of generated rows, in the user's units
    mean: np.ndarray  # (features): of its rows, in the user's units; nan where it has none
    description: Description | None = None  # what it is, in the user's words


@dataclass(frozen=True)
class Examples:
    """Rows that are shown: X in the user's units, with what the model says of each."""

    X: np.ndarray
    row_ids: np.ndarray
    predicted: np.ndarray  # names
    probability: np.ndarray
    p_new: np.ndarray
    observed: np.ndarray  # names, "" where there is no label


@dataclass(frozen=True)
class LatentMap:
    """Rows in two dimensions: neighbours in latent space side by side."""

    x: np.ndarray
    y: np.ndarray
    row_ids: np.ndarray
    discovered: np.ndarray  # names
    is_sure: np.ndarray
    predicted: np.ndarray  # names
    probability: np.ndarray
    observed: np.ndarray
    truth: np.ndarray | None = None


@dataclass(frozen=True)
class Disagreement:
    """A label that may be wrong: the model is surer of another class."""

    row_id: str
    label: str
    predicted: str
    probability: float
    position: int | None = None  # in `Examples`, where the row is there


@dataclass(frozen=True)
class Calibration:
    """Of the known classes, on the labels of validation rows: how often a probability was right."""

    bin_probability: np.ndarray  # mean probability of the rows in each bin
    bin_accuracy: np.ndarray
    bin_rows: np.ndarray
    expected_calibration_error: float
    temperature: float  # fitted on the same labels

    @property
    def n_labels(self) -> int:
        return int(self.bin_rows.sum())


@dataclass(frozen=True)
class ReportContent:
    """Everything one report shows."""

    run: str  # the name of its folder
    source: str  # the file or data set, as the user named it
    created: str
    model: str  # its title, such as "GM-DGM"
    regime: str
    termination_condition: str
    n_rows: int
    n_labelled: int
    n_disagreements: int  # rows whose label is not their predicted class
    discovered: Discovered  # how many new classes there are, how they were found, and how sure that is
    kind: str  # "table", "images" or "matrix"
    image_shape: tuple[int, ...] | None
    feature_names: list[str]
    feature_mean: np.ndarray  # over all rows, in the user's units
    feature_std: np.ndarray
    classes: list[ClassContent]
    examples: Examples
    map: LatentMap
    history: dict[str, np.ndarray]
    log: list[str]  # the preprocessing log, in sentences
    settings: dict[str, Any]  # the estimator's keywords; "config" holds the others in groups
    versions: dict[str, str]
    command: str  # to repeat the run
    disagreements: list[Disagreement] = field(default_factory=list)  # the surest of them
    flags: tuple[str, ...] = ()  # what a person should look at before believing the answer
    selection: dict[str, Any] | None = None  # whether labels look selected at random
    calibration: Calibration | None = None
    audit: Audit | None = None  # whether there are classes that nobody labelled
    evaluation: Evaluation | None = None  # of predicted classes, where true ones are known

    @property
    def known(self) -> list[ClassContent]:
        """The known classes, largest first."""
        return self._shown(is_new=False)

    @property
    def new(self) -> list[ClassContent]:
        """The new classes, largest first; one row is no class, and none even less."""
        return self._shown(is_new=True)

    def _shown(self, *, is_new: bool) -> list[ClassContent]:
        chosen = [c for c in self.classes if c.is_new == is_new and (c.n_discovered > 1 or not is_new)]
        return sorted(chosen, key=lambda c: -c.n_discovered)
