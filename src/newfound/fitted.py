"""What a fit leaves: one frozen record, made by `fit`, written by `save` and read by `load`."""

from dataclasses import dataclass

import numpy as np

from newfound.classes import Classes
from newfound.discovery import ClassTree, Discovery, Evidence, Selection
from newfound.models import Architecture, DeepGenerativeModel
from newfound.preprocessing import Preprocessing
from newfound.training import RestartResult


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and all that is needed to use it and to tell how it came about."""

    classes: Classes
    regime: str  # what the paper calls learning from such labels
    preprocessing: Preprocessing
    architecture: Architecture
    restarts: tuple[RestartResult, ...]
    best_restart: int  # the one in use
    validation_indices: np.ndarray  # numbers of the rows that were held out of training
    row_components: np.ndarray  # the component of each row that was fitted on
    row_is_sure: np.ndarray  # of each of these rows, whether its class is more probable than all others together
    n_new_range: tuple[int, int]  # the number of new classes could also be any of these
    tree: ClassTree | None  # of the new classes' components, where they were discovered
    evidence: Evidence | None  # why each new class is thought to be one, where labels are missing
    temperature: float  # by which log q(y | x) is divided (`calibration`); 1 where too few labels were held out
    n_held_out_labels: int  # that the temperature rests on
    n_features: int  # columns of X
    feature_names: tuple[str, ...] | None = None  # of X, where it was a data frame
    selection: Selection | None = None  # whether labels look selected at random, where that was asked
    discovery: Discovery | None = None  # of the rows that were fitted on; not stored

    @property
    def labels(self) -> np.ndarray:
        """The class of each row that was fitted on, by name."""
        return self.classes.names[self.classes.component_class[self.row_components]]

    @property
    def restart(self) -> RestartResult:
        """The restart in use."""
        return self.restarts[self.best_restart]

    @property
    def model(self) -> DeepGenerativeModel:
        """The model in use."""
        return self.restart.model


def regime_of(n_known: int, n_new: int, *, has_unlabelled: bool) -> str:
    """What the paper calls learning from such labels."""
    if n_known == 0:
        return "unsupervised"
    if not has_unlabelled:
        return "supervised"
    return "semi-unsupervised" if n_new else "semi-supervised"
