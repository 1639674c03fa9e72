"""The paper's data: which rows a cell learns from, which labels it sees, and which rows it is tested on."""

from dataclasses import dataclass

import numpy as np

from newfound.data import load_named
from newfound.masking import UNLABELLED, paper_setup

FIRST_HALF = "-0-4"  # the first five classes alone: the semi-supervised half of Table 1
RANDOM_SPLIT = "-random-split"  # rows of training and test part shuffled and parted anew
REDISCOVERY = "rediscovery"  # semi-unsupervised, with known classes hidden on purpose
LABELS_LEFT = 0.2
SHIPPED = {  # tables that come with scikit-learn, and what loads them
    "digits": "load_digits",
    "wine": "load_wine",
    "iris": "load_iris",
    "breast-cancer": "load_breast_cancer",
}


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


def make_task(
    dataset: str, regime: str, seed: int, n_components: int | None = None, labels_per_class: int | None = None
) -> Task:
    """One of the paper's set-ups on one of its data sets; which labels are left depends on the seed.

    `n_components` is for learning without any label, where the paper does not say how many there are; by default as
    many as in semi-unsupervised learning of the same data. `labels_per_class` stands in place of the paper's 20 %.
    """
    if dataset in SHIPPED:
        X, y, X_test, truth, names, shape = shipped_parts(dataset, seed)
    else:
        parts = load_named(dataset.removesuffix(FIRST_HALF).removesuffix(RANDOM_SPLIT))
        X, y, X_test, truth = parts.train.X, parts.train.y, parts.test.X, parts.test.y
        names, shape = tuple(parts.train.class_names), parts.train.image_shape
    if dataset.endswith(RANDOM_SPLIT):
        X, y, X_test, truth = shuffle_parts(X, y, X_test, truth, seed)
    n_first = len(names) // 2
    if dataset.endswith(FIRST_HALF):
        X, y = X[y < n_first], y[y < n_first]
    setup = "semi-unsupervised" if regime == REDISCOVERY else regime
    masked, n_new = paper_setup(setup, y, keep=labels_per_class or LABELS_LEFT, random_state=seed)
    if regime == REDISCOVERY:
        masked, X_test, truth = hide_known_classes(X, masked, seed)
    if n_components is not None:
        n_new = n_components - len(np.unique(masked[masked >= 0]))
    is_scored = truth < n_first if regime == "accidental" or dataset.endswith(FIRST_HALF) else np.ones_like(truth, bool)
    return Task(X, masked, y, n_new, X_test, truth, is_scored, names, shape)


def hide_known_classes(X: np.ndarray, masked: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some known classes lose their labels too; a third of all labels is set aside, to score on.

    This is how settings can be compared by someone who has no label of any new class: how well are known classes found
    again when they are hidden on purpose? Labels, rows to score on, and their classes.
    """
    labelled = np.flatnonzero(masked >= 0)
    aside = np.random.default_rng(seed + 100).permutation(labelled)[: len(labelled) // 3]
    known = np.unique(masked[labelled])
    pairs = [(-2, -1), (0, 2)] if len(known) > 3 else [(-1,), (0,)]
    left = masked.copy()
    left[aside] = UNLABELLED
    left[np.isin(left, known[list(pairs[seed % 2])])] = UNLABELLED
    return left, X[aside], masked[aside]


def shipped_parts(name: str, seed: int) -> tuple:
    """One of scikit-learn's own tables: a quarter for testing, the other rows to learn from."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    table = getattr(datasets, SHIPPED[name])()
    X, y = table.data.astype(np.float32), table.target
    X, X_test, y, truth = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    return X, y, X_test, truth, tuple(map(str, table.target_names)), None


def shuffle_parts(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, truth: np.ndarray, seed: int) -> tuple:
    """The same number of rows to learn from and to test on, drawn from both parts together."""
    rows, labels = np.concatenate([X, X_test]), np.concatenate([y, truth])
    order = np.random.default_rng(seed).permutation(len(rows))
    first, second = order[: len(X)], order[len(X) :]
    return rows[first], labels[first], rows[second], labels[second]
