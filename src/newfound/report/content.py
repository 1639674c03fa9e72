"""What a report says, apart from how it looks: plain arrays and text, gathered from a run by `assemble`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from newfound.auditing import Audit
from newfound.evaluation import Evaluation
from newfound.runs.class_summaries import ClassSummary
from newfound.runs.discovered import Discovered


@dataclass(frozen=True)
class ClassContent(ClassSummary):
    """One class: the run's summary of it, and the rows that its card shows."""

    most_confident: np.ndarray  # positions in `Examples`
    lowest_confidence: np.ndarray  # positions in `Examples`, the lowest first
    generated: np.ndarray  # (a few, features): means of generated rows, in the user's units
    mean: np.ndarray  # (features): of its rows, in the user's units; nan where it has none


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
    predicted: np.ndarray  # names
    probability: np.ndarray
    observed: np.ndarray
    truth: np.ndarray | None = None


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

    title: str
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
    selection: dict[str, Any] | None = None  # whether labels look selected at random
    calibration: Calibration | None = None
    audit: Audit | None = None  # whether there are classes that nobody labelled
    evaluation: Evaluation | None = None  # of predicted classes, where true ones are known
