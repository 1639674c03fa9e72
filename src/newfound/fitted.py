"""What a fit leaves: one frozen record, made by `fit`, written by `save` and read by `load`."""

from dataclasses import dataclass, replace

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
    evidence: Evidence | None  # why each of these components is thought to be new, where labels are missing
    temperature: float  # by which log q(y | x) is divided (`calibration`); 1 where too few labels were held out
    n_held_out_labels: int  # that the temperature rests on
    n_features: int  # columns of X
    feature_names: tuple[str, ...] | None = None  # of X, where it was a data frame
    selection: Selection | None = None  # whether labels look selected at random, where that was asked
    method: str | None = None  # by which classes were discovered, "graph" or "mixture"; None where none were looked for
    discovery: Discovery | None = None  # of the rows that were fitted on; not stored

    @property
    def labels(self) -> np.ndarray:
        """The class of each row that was fitted on, by name."""
        return self.classes.names[self.classes.component_class[self.row_components]]

    def cut(self, n_new: int) -> "Fitted":
        """The same model with another number of new classes: the tree of their components, cut elsewhere."""
        if self.tree is None or self.tree.n_fragments == 0:
            raise ValueError(
                "There is no class tree to cut: no new class was discovered. "
                "Fit again with n_new = 'auto' or a number, and with rows that have no label."
            )
        return replace(self, classes=Classes.of_fragments(self.classes.known, self.tree.cut(n_new)))

    @property
    def class_evidence(self) -> Evidence | None:
        """Why each new class is thought to be one, in the order of the classes."""
        if self.evidence is None:
            return None
        classes, n_fragments = self.classes, len(self.evidence.n_rows)
        of_class = self.evidence.together(classes.component_class[classes.n_components - n_fragments :], len(classes))
        return Evidence(*(entry[classes.is_new] for entry in of_class))

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
