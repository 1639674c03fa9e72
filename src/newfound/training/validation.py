"""The rows that no step trains on: which they are, and how well every restart does on them."""

import warnings

import jax
import numpy as np

from newfound.labels import UNLABELLED
from newfound.models.base import DeepGenerativeModel
from newfound.models.objective import Expectation
from newfound.preprocessing import Scaling
from newfound.training.steps import compiled_validation_batch

BATCH_ROWS = 512  # rows are padded to whole batches, so that their number is in no compiled shape
MAX_UNLABELLED_ROWS = 2_000  # more would tell no more


def split_rows(
    codes: np.ndarray,
    validation_fraction: float,
    rng: np.random.RandomState,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and validation: the same share of every label, at least one, and of the unlabelled.

    Where rows have groups (people, sites), whole groups are held out, so that validation tells how well a model does on
    others than it has seen.
    """
    if validation_fraction == 0:
        return np.arange(len(codes)), np.array([], dtype=int)
    if groups is not None:
        is_held_out = np.isin(groups, _held_out_groups(codes, groups, validation_fraction, rng))
        if is_held_out.any():
            return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        warnings.warn(
            "No group can be held out for validation whole: each holds all labels of some class. Rows of all groups "
            "are held out instead, so accuracies are those for groups that the model has seen.",
            stacklevel=6,
        )
    chosen = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        n = round(validation_fraction * len(rows))
        chosen.append(rows[: min(n, MAX_UNLABELLED_ROWS) if code == UNLABELLED else max(n, 1)])
    validation = np.sort(np.concatenate(chosen))
    return np.setdiff1d(np.arange(len(codes)), validation), validation


def _held_out_groups(codes: np.ndarray, groups: np.ndarray, share: float, rng: np.random.RandomState) -> list:
    """Groups with labels, until they hold the share of the labels or no more can be spared; none if none can be.

    Every class keeps a label to learn from. Then groups without labels, until the share of the rows is reached.
    """
    names, group = np.unique(groups, return_inverse=True)
    counts = np.zeros((len(names), codes.max() + 2), int)  # UNLABELLED is the last column
    np.add.at(counts, (group, codes), 1)
    has_labels = counts[:, :-1].sum(axis=1) > 0
    left, held_out = counts[:, :-1].sum(axis=0), []
    for i in rng.permutation(np.flatnonzero(has_labels)):
        if left.sum() > (1 - share) * has_labels @ counts[:, :-1].sum(axis=1) and (left > counts[i, :-1]).all():
            left = left - counts[i, :-1]
            held_out.append(i)
    for i in rng.permutation(np.flatnonzero(~has_labels)):
        if held_out and counts[held_out].sum() < share * len(codes):
            held_out.append(i)
    return [names[i] for i in held_out]


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
        *,
        is_brief: bool,
    ):
        self.X, self.labels, self.component_class = X, labels, component_class
        self.compiled = compiled_validation_batch(is_brief)
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
        scores = self.compiled(models, padded, self.scaling, self.temperature, expectation=self.expectation)
        elbo, component = jax.device_get(scores)
        return elbo[:, : len(rows)], component[:, : len(rows)]
