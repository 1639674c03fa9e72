"""From masked labels to trained models: `batches` feeds, `steps` is compiled, `runs` keeps book, `loop` ties them."""

from newfound.training.loop import Moment, Plan, TrainingData, train
from newfound.training.runs import Ending, RunResult
from newfound.training.warm_start import Images

__all__ = ["Ending", "Images", "Moment", "Plan", "RunResult", "TrainingData", "train"]
