"""The settings of one training: the estimator's, with what "auto" means for the rows at hand."""

import math
from dataclasses import dataclass

import jax
import numpy as np

from newfound.config import Config
from newfound.labels import UNLABELLED
from newfound.models.objective import Expectation, Weights
from newfound.training.steps import Hyperparameters

EPOCHS = (5, 150)  # the fewest and the most that "auto" gives
PRETRAIN_EPOCHS = (1, 60)
MOST = 2  # times the steps that it aims at, however few epochs that is: more rows than these teach nothing new
DEFAULTS = Config()


@dataclass(frozen=True)
class TrainingSettings:
    """All that training needs to know besides the model and the rows."""

    batch_size: int
    max_epochs: float | int  # "auto" may give a part of one
    pretrain_epochs: float | int
    learning_rate: float
    pu_weight: float = 0.0
    labelled_weight: float = 1.0  # of all labelled rows together, relative to those without a label
    has_few_labels: bool = False
    is_refit: bool = False  # it begins with trained models: nothing is pretrained
    config: Config = DEFAULTS

    @property
    def expectation(self) -> Expectation:
        objective = self.config.objective
        return Expectation(objective.expectation, objective.n_y_samples, objective.n_z_samples)

    @property
    def n_iter_no_change(self) -> int | None:
        """Evaluations without a better validation ELBO before early stopping, if there is any."""
        return self.config.optimisation.n_iter_no_change if self.config.optimisation.early_stopping else None

    @property
    def weights(self) -> Weights:
        objective = self.config.objective
        return Weights(_number(objective.label_weight), _number(self.pu_weight))

    @property
    def no_weights(self) -> Weights:
        """Nothing for the classifier: VAE pretraining."""
        return Weights(*[_number(0)] * 2)

    def hyperparameters(self, weights: Weights) -> Hyperparameters:
        return Hyperparameters(
            weights=weights,
            labelled_weight=_number(self.labelled_weight),
            temperature=_number(self.config.objective.temperature),
            max_grad_norm=_number(self.config.optimisation.max_grad_norm),
        )


def training_settings(
    labels: np.ndarray,
    config: Config,
    *,
    batch_size: int,
    max_epochs: int | str,
    learning_rate: float,
    pu_weight: float,
    pretrains: bool,
) -> TrainingSettings:
    """For rows with these codes of labels; `pretrains` is whether the model does so by default."""
    optimisation = config.optimisation
    n_unlabelled = int((labels == UNLABELLED).sum())
    steps_per_epoch = math.ceil((n_unlabelled or len(labels)) / batch_size)
    pretrain_auto = _epochs(optimisation.pretrain_target_steps, steps_per_epoch, PRETRAIN_EPOCHS) if pretrains else 0
    auto = _epochs(optimisation.target_steps, steps_per_epoch, EPOCHS)
    n_labelled = len(labels) - n_unlabelled
    labelled_weight = min(1.0, optimisation.max_label_repeats * n_labelled / max(n_unlabelled, 1))
    return TrainingSettings(
        batch_size=batch_size,
        max_epochs=auto if max_epochs == "auto" else int(max_epochs),
        pretrain_epochs=pretrain_auto if optimisation.pretrain_epochs == "auto" else int(optimisation.pretrain_epochs),
        learning_rate=learning_rate,
        pu_weight=pu_weight,
        labelled_weight=labelled_weight,
        has_few_labels=labelled_weight < 1,
        config=config,
    )


def _epochs(target_steps: int, steps_per_epoch: int, limits: tuple[int, int]) -> float | int:
    whole = min(max(limits[0], target_steps // steps_per_epoch), limits[1])
    return min(whole, MOST * target_steps / steps_per_epoch)


def _number(value: float | int) -> jax.Array:
    """On the device, without a program to compile for it."""
    return jax.device_put(np.float32(value))
