"""What a fit leaves: one frozen record, made by `fit`, written by `save` and read by `load`. No JAX."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from newfound.classes import NO_CLASS, Classes
from newfound.discovery.record import Discovery, Evidence, Selection
from newfound.discovery.tree import ClassTree
from newfound.models.architecture import Architecture
from newfound.models.in_numpy import Inference, Posterior
from newfound.preprocessing.columns import Preprocessing

# ---- What training leaves, for those who use it without training: plain records and NumPy, without JAX ----

TERM_NAMES = {  # as people read them
    "loss": "loss",
    "reconstruction": "log p(x | y, z)",
    "kl_z": "KL of z",
    "kl_y": "KL of y",
    "cross_entropy": "cross-entropy of the labels",
    "pu_loss": "PU loss (missing labels)",
    "grad_norm": "gradient norm",
}


class Termination(StrEnum):
    """How training ended."""

    MAX_EPOCHS = "max_epochs"
    EARLY_STOPPING = "early_stopping"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, eq=False)
class RestartResult:
    """What one seed leaves behind."""

    seed: int
    weights: dict[str, np.ndarray] = field(repr=False)  # of the model, by name (`models.weights`)
    termination_condition: Termination
    validation_elbo: float  # mean over the validation rows; nan where there are none
    learning_rate_reductions: int  # how often it was halved because the loss was no longer finite
    history: dict[str, np.ndarray] = field(repr=False)


def best_restart(restarts: Sequence[RestartResult]) -> int:
    """The position of the restart with the best validation ELBO, among those that did not diverge if any did not."""

    def worth(restart: RestartResult) -> tuple[bool, float]:
        elbo = restart.validation_elbo
        is_usable = restart.termination_condition is not Termination.DIVERGED
        return is_usable, -math.inf if math.isnan(elbo) else elbo

    return max(range(len(restarts)), key=lambda i: worth(restarts[i]))


# ---- What a fit leaves: one frozen record, made by `fit`, written by `save` and read by `load` ----


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
    row_probabilities: np.ndarray  # (rows, components): how probable each is, by what that was decided from
    row_is_labelled: np.ndarray  # of each of these rows, whether it carries a label
    n_new_range: tuple[int, int]  # the number of new classes could also be any of these; its own, if a person chose it
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
        return self.classes.names[self.row_classes]

    @cached_property
    def row_classes(self) -> np.ndarray:
        """The position of each row's class; where that was discarded, of the best one that remains."""
        position = self.classes.component_class[self.row_components]
        is_lost = position == NO_CLASS
        if is_lost.any():
            position[is_lost] = self.classes.answer(self.row_probabilities[is_lost]).position
        return position

    @cached_property
    def row_is_sure(self) -> np.ndarray:
        """Whether each row's class is more probable than all others together; not where its own was discarded."""
        probabilities = self.classes.probabilities(self.row_probabilities)
        of_class = probabilities[np.arange(len(probabilities)), self.row_classes]
        is_lost = self.classes.component_class[self.row_components] == NO_CLASS
        return self.row_is_labelled | ((of_class > 0.5) & ~is_lost)

    @property
    def component_rows(self) -> np.ndarray:
        """How many of the rows that were fitted on belong to each component."""
        return np.bincount(self.row_components, minlength=self.classes.n_components)

    @property
    def class_evidence(self) -> Evidence | None:
        """Why each new class is thought to be one, in the order of the classes."""
        if self.evidence is None:
            return None
        classes, n_fragments = self.classes, len(self.evidence.n_rows)
        position = classes.component_class[classes.n_components - n_fragments :]
        of_class = self.evidence.together(position % (len(classes) + 1), len(classes) + 1)  # NO_CLASS comes last
        return Evidence(*(entry[:-1][classes.is_new] for entry in of_class))

    @property
    def restart(self) -> RestartResult:
        """The restart in use."""
        return self.restarts[self.best_restart]

    @cached_property
    def inference(self) -> Inference:
        """What the model in use says of rows."""
        return Inference(Posterior.of(self.architecture, self.restart.weights), self.preprocessing)

    def without_rows(self) -> "Fitted":
        """What predictions need, small enough to be sent about: without the rows that were fitted on."""
        none = np.empty(0, int)
        return replace(
            self,
            restarts=(self.restart,),
            best_restart=0,
            validation_indices=none,
            row_components=none,
            row_probabilities=self.row_probabilities[:0],
            row_is_labelled=none.astype(bool),
            discovery=None,
        )


def regime_of(n_known: int, n_new: int, *, has_unlabelled: bool) -> str:
    """What the paper calls learning from such labels."""
    if n_known == 0:
        return "unsupervised"
    if not has_unlabelled:
        return "supervised"
    return "semi-unsupervised" if n_new else "semi-supervised"
