"""Cross-validation for partly labelled rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold, StratifiedKFold

from newfound.config import Number, OneOf, Rule, check_parameters
from newfound.labels import Labels

SPLIT_RULES: dict[str, tuple[Rule, ...]] = {
    "n_splits": (Number(2, 10_000, whole=True),),
    "shuffle": (OneOf((True, False)),),
}


class LabelledKFold(BaseCrossValidator):
    """Stratified folds of the labelled rows; unlabelled rows are in every training set.

    Every labelled row is in one test fold, and not in the training set of that split. Every unlabelled row is in all
    training sets (it has no label to leak) and also in one test fold, so that `cross_val_predict` returns an answer for
    every row; the scores of newfound do not count it.

    With groups (people, sites), all labelled rows of a group are in the same fold, so that the model is tested on
    groups it has not seen; so are their unlabelled rows. Rows of groups without any label are in every training set.

    Parameters
    ----------
    n_splits : int
        The number of folds, at least 2.
    shuffle : bool
        Whether to shuffle rows before they are divided.
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
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the row numbers of the training set and of the test set of each fold.

        `X` is not used; `y` and `groups` are as in `fit` of the estimators.
        """
        check_parameters({"n_splits": self.n_splits, "shuffle": self.shuffle}, SPLIT_RULES)
        labels = None if y is None else Labels.read(y, len(y))
        if labels is None or labels.n_labelled == 0:
            raise ValueError(
                "LabelledKFold divides labelled rows, but y has no label. Give y with a label for some of the rows."
            )
        fold, is_always_trained_on = self._folds(labels, None if groups is None else np.asarray(groups))
        for i in range(self.n_splits):
            yield np.flatnonzero((fold != i) | is_always_trained_on), np.flatnonzero(fold == i)

    def _folds(self, labels: Labels, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The test fold of each row, and whether it is in the training set of that split nevertheless."""
        rows = np.flatnonzero(labels.is_labelled)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None)
        splits = splitter.split(rows, labels.codes[rows], None if groups is None else groups[rows])
        fold = np.arange(len(labels)) % self.n_splits
        for i, (_, test) in enumerate(splits):
            fold[rows[test]] = i
        if groups is None:
            return fold, ~labels.is_labelled
        of_group = dict(zip(groups[rows].tolist(), fold[rows].tolist(), strict=True))
        has_labels = np.isin(groups, groups[rows])
        fold[has_labels] = [of_group[group] for group in groups[has_labels].tolist()]
        return fold, ~has_labels
