"""From rows and labels to trained models.

`phases` says what is trained on, `batches` feeds it, `steps` is compiled, `restarts` keeps the states and histories,
`loop` ties them together.
"""

from newfound.training.checkpoints import Checkpoints
from newfound.training.loop import Callback, ProgressEvent, train
from newfound.training.phases import TrainingData
from newfound.training.settings import TrainingSettings, training_settings
from newfound.training.validation import split_rows

__all__ = [
    "Callback",
    "Checkpoints",
    "ProgressEvent",
    "TrainingData",
    "TrainingSettings",
    "split_rows",
    "train",
    "training_settings",
]
