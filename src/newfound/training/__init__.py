"""From rows and labels to trained models.

`phases` says what is trained on, `batches` feeds it, `steps` is compiled, `restarts` keeps the states and histories,
`loop` ties them together.
"""

from newfound.training.checkpoints import Checkpoints
from newfound.training.loop import Callback, ProgressEvent, train
from newfound.training.phases import TrainingData
from newfound.training.restarts import RestartResult, Termination, best_restart
from newfound.training.settings import TrainingSettings, training_settings
from newfound.training.steps import TERM_NAMES
from newfound.training.validation import split_rows

__all__ = [
    "TERM_NAMES",
    "Callback",
    "Checkpoints",
    "ProgressEvent",
    "RestartResult",
    "Termination",
    "TrainingData",
    "TrainingSettings",
    "best_restart",
    "split_rows",
    "train",
    "training_settings",
]
