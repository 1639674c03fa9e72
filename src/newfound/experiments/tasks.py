"""Tasks: which rows an experiment learns from, which labels it sees, and which rows it is tested on."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from newfound.classes import Classes
from newfound.data import load_named
from newfound.labels import UNLABELLED, Labels
from newfound.masking import hide_labels

FIRST_HALF = "-0-4"  # the first five classes alone: the semi-supervised half of Table 1
RANDOM_SPLIT = "-random-split"  # training and test rows shuffled and split again
HIDDEN_KNOWN = "hidden-known-validation"  # semi-unsupervised, with some known classes hidden on purpose
SETUPS = ("unsupervised", "semi-supervised", "semi-unsupervised", "accidental")
NEW_COMPONENTS = 40  # the paper's n_aug
LABELS_KEPT = 0.2
SKLEARN_TABLES = {  # data sets that come with scikit-learn, and what loads them
    "digits": "load_digits",
    "wine": "load_wine",
    "iris": "load_iris",
    "breast-cancer": "load_breast_cancer",
}


class Parts(NamedTuple):
    """Training and test rows, every one with its label."""

    X: np.ndarray
    labels: Labels
    X_test: np.ndarray
    truth: Labels


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to learn from with the labels that are kept, and rows to test on with all of theirs."""

    X: np.ndarray
    labels: Labels  # those that are kept
    all_labels: Labels  # nothing hidden
    n_new: int
    X_test: np.ndarray
    truth: Labels  # of the test rows

    @property
    def known(self) -> np.ndarray:
        """The classes of which a label is kept, as positions in `labels.classes`."""
        return np.flatnonzero(self.labels.counts)

    @property
    def classes(self) -> Classes:
        """The known classes and the new ones that are asked for, a component each."""
        return Classes.one_component_each(self.labels.observed().classes, self.n_new)

    @property
    def is_scored(self) -> np.ndarray:
        """Which test rows count: all, or those of known classes where no others are asked for."""
        return np.isin(self.truth.codes, self.known) | (self.n_new > 0)


def make_task(
    dataset: str, regime: str, seed: int, n_components: int | None = None, labels_per_class: int | None = None
) -> Task:
    """One of the paper's set-ups on one of its data sets; which labels are kept depends on the seed."""
    return task_of(load_parts(dataset, seed), regime, seed, n_components, labels_per_class or LABELS_KEPT)


def task_of(parts: Parts, regime: str, seed: int, n_components: int | None = None, keep: float = LABELS_KEPT) -> Task:
    """A set-up on any data.

    `n_components` is for learning without any label, where the paper does not say how many there are; by default as
    many as in semi-unsupervised learning of the same data. `keep` is the share, or the number, of labels of a class.
    """
    X, all_labels, X_test, truth = parts
    setup = "semi-unsupervised" if regime == HIDDEN_KNOWN else regime
    labels, n_new = paper_setup(setup, all_labels, keep=keep, random_state=seed)
    if regime == HIDDEN_KNOWN:
        labels, scored = hide_known_classes(labels, seed)
        X_test, truth = X[scored], all_labels.take(scored)
    if n_components is not None:
        n_new = n_components - int(np.count_nonzero(labels.counts))
    return Task(X, labels, all_labels, n_new, X_test, truth)


def paper_setup(
    name: str, labels: Labels, keep: float | int = LABELS_KEPT, random_state: int | None = None
) -> tuple[Labels, int]:
    """Masked labels and the number of new components for one of the paper's set-ups.

    "unsupervised" hides every label; "semi-supervised" keeps a share of every class; "semi-unsupervised" keeps a share
    of the first half of the classes and offers 40 new components for the others; "accidental" has the same labels but
    offers none, as someone would who does not know that classes are missing. Unsupervised learning gets as many
    components as semi-unsupervised learning of the same data.
    """
    if name not in SETUPS:
        raise ValueError(f"The set-up must be one of {', '.join(SETUPS)}; got {name!r}.")
    classes = labels.observed().classes.tolist()
    first_half, second_half = classes[: len(classes) // 2], classes[len(classes) // 2 :]
    if name == "unsupervised":
        return hide_labels(labels, hide=classes, random_state=random_state), len(first_half) + NEW_COMPONENTS
    if name == "semi-supervised":
        return hide_labels(labels, keep=keep, random_state=random_state), 0
    masked = hide_labels(labels, hide=second_half, keep=keep, random_state=random_state)
    return masked, NEW_COMPONENTS if name == "semi-unsupervised" else 0


def hide_known_classes(labels: Labels, seed: int) -> tuple[Labels, np.ndarray]:
    """Some known classes lose their labels too, and a third of all labels is the validation split: (labels, its rows).

    This is how settings can be compared by someone who has no label of any new class: how well are known classes found
    when they are hidden on purpose?
    """
    labelled = np.flatnonzero(labels.is_labelled)
    validation = np.random.default_rng(seed + 100).permutation(labelled)[: len(labelled) // 3]
    known = np.flatnonzero(labels.counts)
    pairs = [(-2, -1), (0, 2)] if len(known) > 3 else [(-1,), (0,)]
    codes = labels.codes.copy()
    codes[validation] = UNLABELLED
    codes[np.isin(codes, known[list(pairs[seed % 2])])] = UNLABELLED
    return Labels(labels.classes, codes), validation


# ---- the data --------------------------------------------------------------------------------------------------------


def load_parts(dataset: str, seed: int) -> Parts:
    """A published data set, half of its classes, its rows split again, or a table of scikit-learn's."""
    if dataset in SKLEARN_TABLES:
        return load_table(dataset, seed)
    published = load_named(dataset.removesuffix(FIRST_HALF).removesuffix(RANDOM_SPLIT))
    parts = Parts(published.train.X, published.train.labels, published.test.X, published.test.labels)
    if dataset.endswith(RANDOM_SPLIT):
        return shuffle_parts(parts, seed)
    if dataset.endswith(FIRST_HALF):
        first_half = parts.labels.codes < len(parts.labels.classes) // 2
        return parts._replace(X=parts.X[first_half], labels=parts.labels.take(first_half))
    return parts


def load_table(name: str, seed: int) -> Parts:
    """A table of scikit-learn's, in the precision of the models."""
    from sklearn import datasets

    table = getattr(datasets, SKLEARN_TABLES[name])()
    labels = Labels(np.array([str(name) for name in table.target_names]), table.target)
    return split_rows(table.data.astype(np.float32), labels, seed)


def split_rows(X: np.ndarray, labels: Labels, seed: int) -> Parts:
    """A quarter of the rows of every class for testing."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(len(X)), test_size=0.25, stratify=labels.codes, random_state=seed)
    return Parts(X[train], labels.take(train), X[test], labels.take(test))


def shuffle_parts(parts: Parts, seed: int) -> Parts:
    """The same number of rows to learn from and to test on, drawn from both parts together."""
    X = np.concatenate([parts.X, parts.X_test])
    labels = Labels(parts.labels.classes, np.concatenate([parts.labels.codes, parts.truth.codes]))
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: len(parts.X)], order[len(parts.X) :]
    return Parts(X[train], labels.take(train), X[test], labels.take(test))
