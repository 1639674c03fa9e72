"""From masked labels to trained models: `batches` feeds, `steps` is compiled, `runs` keeps book, `loop` ties them."""

from newfound.training.loop import Moment, Plan, TrainingData, train
from newfound.training.runs import Ending, RunResult

__all__ = ["Ending", "Moment", "Plan", "RunResult", "TrainingData", "train"]
