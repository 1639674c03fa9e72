"""Cross-validation where only some rows carry a label."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold, StratifiedKFold

from newfound.config import Number, OneOf, Rule, check_parameters
from newfound.labels import Labels

RULES: dict[str, tuple[Rule, ...]] = {"n_splits": (Number(2, 10_000, whole=True),), "shuffle": (OneOf((True, False)),)}


class LabelledKFold(BaseCrossValidator):
    """Folds of the labelled rows, each class in each fold as far as it goes; unlabelled rows are always trained on.

    Every labelled row is tested once, and is not trained on then. Every unlabelled row is trained on in each split
    (without a label it gives nothing away) and stands in one test fold too, so that `cross_val_predict` has an answer
    for every row; newfound's scores do not count it.

    With groups (people, sites), a group's rows are either trained on or tested, all of them, as for a group that the
    model has never seen. Rows of groups without any label are always trained on.

    Parameters
    ----------
    n_splits : int
        The number of folds, at least 2.
    shuffle : bool
        Whether rows are shuffled before they are divided.
    random_state : int, RandomState or None
        Makes shuffling repeatable.

    Examples
    --------
    >>> folds = LabelledKFold(2, shuffle=False).split(None, ["a", "a", "b", "b", None])
    >>> [(train.tolist(), test.tolist()) for train, test in folds]
    [([1, 3, 4], [0, 2, 4]), ([0, 2, 4], [1, 3])]
    """

    __metadata_request__split = {"groups": True}  # as scikit-learn's own splitters by group have it

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of the rows to train on and of those to test on, for each fold; y as `fit` takes it."""
        check_parameters({"n_splits": self.n_splits, "shuffle": self.shuffle}, RULES)
        labels = _read(y)
        fold, is_always_trained_on = self._folds(labels, None if groups is None else np.asarray(groups))
        for i in range(self.n_splits):
            yield np.flatnonzero((fold != i) | is_always_trained_on), np.flatnonzero(fold == i)

    def _folds(self, labels: Labels, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The fold in which each row is tested, and whether it is trained on in that split all the same."""
        rows = np.flatnonzero(labels.is_labelled)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None)
        fold = np.arange(len(labels)) % self.n_splits
        for i, (_, test) in enumerate(
            splitter.split(rows, labels.codes[rows], None if groups is None else groups[rows])
        ):
            fold[rows[test]] = i
        if groups is None:
            return fold, ~labels.is_labelled
        of_group = dict(zip(groups[rows].tolist(), fold[rows].tolist(), strict=True))
        has_labels = np.isin(groups, groups[rows])
        fold[has_labels] = [of_group[group] for group in groups[has_labels].tolist()]
        return fold, ~has_labels


def _read(y: Any) -> Labels:
    """Refuse y without labels."""
    labels = None if y is None else Labels.read(y, len(y))
    if labels is None or labels.n_labelled == 0:
        raise ValueError(
            "LabelledKFold divides labelled rows, but y has no label. Give y with a label for some of the rows."
        )
    return labels
