"""What training leaves, for those who use it without training: plain records and NumPy, without JAX."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

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
