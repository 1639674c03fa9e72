"""The result of a fit: one frozen record, made by `fit`, written by `save` and read by `load`; without JAX."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from newfound.classes import NO_CLASS, Classes
from newfound.models.architecture import Architecture
from newfound.models.in_numpy import Inference, Posterior
from newfound.preprocessing.columns import Preprocessing

if TYPE_CHECKING:
    from newfound.discovery.record import Discovery, Evidence, Selection
    from newfound.discovery.tree import ClassTree

# ---- The result of training ----

TERM_NAMES = {  # for people
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
    """The result of one seed."""

    seed: int
    weights: dict[str, np.ndarray] = field(repr=False)  # of the model, by name (`models.weights`)
    termination_condition: Termination
    validation_elbo: float  # mean over the validation rows; nan without any
    learning_rate_reductions: int  # how often it was halved because the loss was no longer finite
    history: dict[str, np.ndarray] = field(repr=False)


def best_restart(restarts: Sequence[RestartResult]) -> int:
    """The position of the restart with the best validation ELBO, among those that did not diverge if any did not."""

    def quality(restart: RestartResult) -> tuple[bool, float]:
        elbo = restart.validation_elbo
        is_usable = restart.termination_condition is not Termination.DIVERGED
        return is_usable, -math.inf if math.isnan(elbo) else elbo

    return max(range(len(restarts)), key=lambda i: quality(restarts[i]))


# ---- The result of a fit ----


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, with everything needed to use it and to trace how it was made."""

    classes: Classes
    regime: str  # the paper's name for learning from such labels
    preprocessing: Preprocessing
    architecture: Architecture
    restarts: tuple[RestartResult, ...]
    best_restart: int  # the one in use
    validation_indices: np.ndarray  # numbers of the rows held out of training
    row_components: np.ndarray  # the component of each fitted row
    row_probabilities: np.ndarray  # (rows, components): the probabilities from which it was decided
    row_is_labelled: np.ndarray  # for each fitted row, whether it has a label
    n_new_range: tuple[int, int]  # of the number of new classes; the number itself if a person chose it
    tree: "ClassTree | None"  # of the components of new classes, if they were discovered
    evidence: "Evidence | None"  # for each of these components; None without labels
    temperature: float  # the divisor of log q(y | x) (`models.in_numpy`); 1 if too few labels were held out
    n_held_out_labels: int  # that the temperature is fitted on
    n_features: int  # columns of X
    feature_names: tuple[str, ...] | None = None  # of X, if it was a data frame
    selection: "Selection | None" = None  # whether labels look selected at random; None if not asked
    method: str | None = None  # of discovery, "graph" or "mixture"; None without discovery
    discovery: "Discovery | None" = None  # of the fitted rows; not stored

    @property
    def labels(self) -> np.ndarray:
        """The name of the class of each fitted row."""
        return self.classes.names[self.row_classes]

    @cached_property
    def row_classes(self) -> np.ndarray:
        """The position of the class of each fitted row; if it was discarded, of the best remaining class."""
        position = self.classes.component_class[self.row_components]
        is_lost = position == NO_CLASS
        if is_lost.any():
            position[is_lost] = self.classes.answer(self.row_probabilities[is_lost]).position
        return position

    @cached_property
    def row_is_sure(self) -> np.ndarray:
        """Whether the class of each row is more probable than all others together; False if its own was discarded."""
        probabilities = self.classes.probabilities(self.row_probabilities)
        of_class = probabilities[np.arange(len(probabilities)), self.row_classes]
        is_lost = self.classes.component_class[self.row_components] == NO_CLASS
        return self.row_is_labelled | ((of_class > 0.5) & ~is_lost)

    @property
    def component_rows(self) -> np.ndarray:
        """The number of fitted rows of each component."""
        return np.bincount(self.row_components, minlength=self.classes.n_components)

    @property
    def class_evidence(self) -> "Evidence | None":
        """The evidence for each new class, in the order of the classes."""
        if self.evidence is None:
            return None
        classes, n_fragments = self.classes, len(self.evidence.n_rows)
        position = classes.component_class[classes.n_components - n_fragments :]
        of_class = self.evidence.together(position % (len(classes) + 1), len(classes) + 1)  # NO_CLASS comes last
        return of_class.take(np.append(classes.is_new, False))

    @property
    def restart(self) -> RestartResult:
        """The restart in use."""
        return self.restarts[self.best_restart]

    @cached_property
    def inference(self) -> Inference:
        """The NumPy inference of the model in use."""
        return Inference(Posterior.of(self.architecture, self.restart.weights), self.preprocessing)

    def without_rows(self) -> "Fitted":
        """What predictions need, without the fitted rows: small enough to send to workers."""
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
    """The paper's name for learning from such labels."""
    if n_known == 0:
        return "unsupervised"
    if not has_unlabelled:
        return "supervised"
    return "semi-unsupervised" if n_new else "semi-supervised"
