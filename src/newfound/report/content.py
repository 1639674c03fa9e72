"""What a report says, apart from how it looks: plain arrays and words, made by `newfound.run_folder` from one run."""

from dataclasses import dataclass, field

import numpy as np

from newfound.evaluation import Evaluation


@dataclass(frozen=True)
class ClassContent:
    """One class: a known one, or a new one with the components it owns."""

    name: str
    is_new: bool
    components: list[int]
    n_rows: int  # rows put in this class
    n_observed: int  # rows that carry its label
    confidence: float  # mean probability of the class over its rows; nan where it has none
    typical: np.ndarray  # positions in `Examples`, surest first
    doubtful: np.ndarray  # positions in `Examples`, least sure first
    generated: np.ndarray  # (a few, features): means of made-up rows, in the user's units
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
class Map:
    """Rows laid out in two dimensions, neighbours in latent space side by side."""

    x: np.ndarray
    y: np.ndarray
    row_ids: np.ndarray
    predicted: np.ndarray  # names
    probability: np.ndarray
    observed: np.ndarray
    truth: np.ndarray | None = None


@dataclass(frozen=True)
class Calibration:
    """Of the known classes, on labels held out of training: how often a probability was right."""

    bin_probability: np.ndarray  # mean probability of the rows in each bin
    bin_accuracy: np.ndarray
    bin_rows: np.ndarray
    expected_calibration_error: float


@dataclass(frozen=True)
class ReportContent:
    """Everything one report shows."""

    title: str
    source: str  # the file or data set, as the user named it
    created: str
    model: str  # "GM-DGM" or "SSVAE"
    regime: str
    ending: str
    n_rows: int
    n_labelled: int
    n_disagreements: int  # rows whose label the model doubts
    kind: str  # "table", "images" or "matrix"
    image_shape: tuple[int, ...] | None
    feature_names: list[str]
    feature_mean: np.ndarray  # over all rows, in the user's units
    feature_sd: np.ndarray
    classes: list[ClassContent]
    examples: Examples
    map: Map
    history: dict[str, np.ndarray]
    decisions: list[str]  # what the data loader decided, in sentences
    settings: dict[str, object]
    versions: dict[str, str]
    command: str  # to repeat the run
    calibration: Calibration | None = None
    evaluation: Evaluation | None = None  # where true classes are known
    metrics: dict[str, float] = field(default_factory=dict)  # exact name → value, where true classes are known
    n_known_components: int = 0
