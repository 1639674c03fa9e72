"""The paper's data: which rows a cell learns from, which labels it sees, and which rows it is tested on."""

from dataclasses import dataclass

import numpy as np

from newfound.data import load_named
from newfound.masking import paper_setup

FIRST_HALF = "-0-4"  # the first five classes alone: the semi-supervised half of Table 1
RANDOM_SPLIT = "-random-split"  # rows of training and test part shuffled and parted anew


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to learn from with the labels that are left, rows to test on with all of theirs."""

    X: np.ndarray
    y: np.ndarray  # UNLABELLED where a label is hidden
    all_labels: np.ndarray  # nothing hidden
    n_new: int
    X_test: np.ndarray
    truth: np.ndarray
    is_scored: np.ndarray  # which test rows count: all, or those of known classes where no others are expected
    class_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None

    @property
    def known(self) -> np.ndarray:
        return np.unique(self.y[self.y >= 0])

    @property
    def n_components(self) -> int:
        return len(self.known) + self.n_new


def make_task(dataset: str, regime: str, seed: int, n_components: int | None = None) -> Task:
    """One of the paper's set-ups on one of its data sets; which labels are left depends on the seed.

    `n_components` is for learning without any label, where the paper does not say how many there are; by default as
    many as in semi-unsupervised learning of the same data.
    """
    parts = load_named(dataset.removesuffix(FIRST_HALF).removesuffix(RANDOM_SPLIT))
    X, y, X_test, truth = parts.train.X, parts.train.y, parts.test.X, parts.test.y
    if dataset.endswith(RANDOM_SPLIT):
        X, y, X_test, truth = shuffle_parts(X, y, X_test, truth, seed)
    n_first = len(parts.train.class_names) // 2
    if dataset.endswith(FIRST_HALF):
        X, y = X[y < n_first], y[y < n_first]
    masked, n_new = paper_setup(regime, y, random_state=seed)
    if n_components is not None:
        n_new = n_components - len(np.unique(masked[masked >= 0]))
    is_scored = truth < n_first if regime == "accidental" or dataset.endswith(FIRST_HALF) else np.ones_like(truth, bool)
    names, shape = tuple(parts.train.class_names), parts.train.image_shape
    return Task(X, masked, y, n_new, X_test, truth, is_scored, names, shape)


def shuffle_parts(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, truth: np.ndarray, seed: int) -> tuple:
    """The same number of rows to learn from and to test on, drawn from both parts together."""
    rows, labels = np.concatenate([X, X_test]), np.concatenate([y, truth])
    order = np.random.default_rng(seed).permutation(len(rows))
    first, second = order[: len(X)], order[len(X) :]
    return rows[first], labels[first], rows[second], labels[second]
