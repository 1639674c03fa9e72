"""The rows that no step trains on: which they are, and how well every restart does on them."""

import jax
import numpy as np

from newfound.labels import UNLABELLED
from newfound.models import DeepGenerativeModel
from newfound.models.objective import Expectation
from newfound.preprocessing import Scaling
from newfound.training.steps import validation_batch

BATCH_ROWS = 512  # rows are padded to whole batches, so that their number is in no compiled shape
MAX_UNLABELLED_ROWS = 2_000  # more would tell no more


def split_rows(
    codes: np.ndarray, validation_fraction: float, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and validation: the same share of every label, at least one, and of the unlabelled."""
    if validation_fraction == 0:
        return np.arange(len(codes)), np.array([], dtype=int)
    chosen = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        n = round(validation_fraction * len(rows))
        chosen.append(rows[: min(n, MAX_UNLABELLED_ROWS) if code == UNLABELLED else max(n, 1)])
    validation = np.sort(np.concatenate(chosen))
    return np.setdiff1d(np.arange(len(codes)), validation), validation


class ValidationSet:
    """Validation rows in their own dtype, their labels, and which class each component belongs to."""

    def __init__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        component_class: np.ndarray,
        scaling: Scaling,
        temperature: jax.Array,
        expectation: Expectation,
    ):
        self.X, self.labels, self.component_class = X, labels, component_class
        self.scaling, self.temperature, self.expectation = scaling, temperature, expectation
        self.is_labelled = labels != UNLABELLED

    def score(self, models: DeepGenerativeModel) -> tuple[np.ndarray, np.ndarray]:
        """Mean ELBO, and accuracy on the labels, of every restart; nan where there is nothing to score."""
        if len(self.X) == 0:
            nothing = np.full(models.log_p_y.shape[0], np.nan)
            return nothing, nothing
        starts = range(0, len(self.X), BATCH_ROWS)
        batches = [self._score(models, self.X[i : i + BATCH_ROWS]) for i in starts]
        elbo, component = (np.concatenate(parts, axis=1) for parts in zip(*batches, strict=True))
        is_right = (self.component_class[component] == self.labels)[:, self.is_labelled]
        accuracy = is_right.mean(axis=1) if self.is_labelled.any() else np.full(len(elbo), np.nan)
        return elbo.mean(axis=1), accuracy

    def _score(self, models: DeepGenerativeModel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        padded = rows[np.arange(BATCH_ROWS) % len(rows)]
        scores = validation_batch(models, padded, self.scaling, self.temperature, self.expectation)
        elbo, component = jax.device_get(scores)
        return elbo[:, : len(rows)], component[:, : len(rows)]
