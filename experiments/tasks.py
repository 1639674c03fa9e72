"""Tasks: which rows an experiment learns from, which labels it sees, and which rows it is tested on.

A task is a data set and a regime. The paper's own regimes (`paper_setup`) give the number of components; in all others
(`REGIMES`, such as "half-hidden" or "class-2-hidden") newfound has to find the number of new classes.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from experiments.named import load_named
from newfound.classes import Classes
from newfound.explain.columns import columns_from_names
from newfound.labels import UNLABELLED, Labels, hide_labels
from newfound.tables.dataset import Column
from newfound.tables.read import read_dataset

FIRST_HALF = "-0-4"  # the first five classes alone: the semi-supervised half of Table 1
SAMPLE = re.compile(r"(.+)-(\d+)-rows")  # of the training rows
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
    groups: np.ndarray | None = None  # of the training rows
    feature_types: tuple[str, ...] | None = None
    columns: tuple[Column, ...] = ()  # of the source, where it has names for them


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to learn from with the labels that are kept, and rows to test on with all of theirs."""

    X: np.ndarray
    labels: Labels  # those that are kept
    all_labels: Labels  # nothing hidden
    n_new: int
    X_test: np.ndarray
    truth: Labels  # of the test rows
    finds_number: bool = False  # n_new is the true number, which newfound does not get
    is_novel_only: bool = False  # only test rows of hidden classes count
    feature_types: tuple[str, ...] | None = None
    columns: tuple[Column, ...] = ()  # of the source, where it has names for them

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
        is_known = np.isin(self.truth.codes, self.known)
        return ~is_known if self.is_novel_only else is_known | (self.n_new > 0)


class Hidden(NamedTuple):
    """What a regime keeps of fully labelled rows."""

    labels: Labels
    rows: np.ndarray  # to learn from
    is_novel_only: bool = False  # only test rows of hidden classes count


class Rows(NamedTuple):
    """What a regime is computed from."""

    dataset: str
    labels: Labels
    groups: np.ndarray | None
    keep: float
    seed: int

    def hide(self, positions: Iterable[int]) -> Labels:
        names = [self.labels.classes.tolist()[i] for i in positions]
        return hide_labels(self.labels, hide=names, keep=self.keep, random_state=self.seed)


def make_task(
    dataset: str, regime: str, seed: int, n_components: int | None = None, labels_per_class: int | None = None
) -> Task:
    """A data set in one of the regimes; the seed decides which labels are kept."""
    parts, keep = load_parts(dataset, seed), labels_per_class or LABELS_KEPT
    if hides := regime_named(regime):
        return open_task(parts, hides(Rows(dataset, parts.labels, parts.groups, keep, seed)), n_components)
    return task_of(parts, regime, seed, n_components, keep)


def open_task(parts: Parts, hidden: Hidden, n_components: int | None = None) -> Task:
    """A task in which the number of new classes has to be found, unless that of components is given."""
    labels = hidden.labels
    true_number = int(np.count_nonzero(parts.labels.counts) - np.count_nonzero(labels.counts))
    return Task(
        parts.X[hidden.rows],
        labels,
        parts.labels.take(hidden.rows),
        true_number if n_components is None else n_components - int(np.count_nonzero(labels.counts)),
        parts.X_test,
        parts.truth,
        finds_number=n_components is None,
        is_novel_only=hidden.is_novel_only,
        feature_types=parts.feature_types,
        columns=parts.columns,
    )


def task_of(parts: Parts, regime: str, seed: int, n_components: int | None = None, keep: float = LABELS_KEPT) -> Task:
    """One of the paper's regimes, or HIDDEN_KNOWN, on any data.

    `n_components` is for learning without any label, where the paper gives no number; the default is that of
    semi-unsupervised learning of the same data. `keep` is the share, or the number, of labels of a class.
    """
    X, all_labels, X_test, truth = parts[:4]
    setup = "semi-unsupervised" if regime == HIDDEN_KNOWN else regime
    labels, n_new = paper_setup(setup, all_labels, keep=keep, random_state=seed)
    if regime == HIDDEN_KNOWN:
        labels, scored = hide_known_classes(labels, seed)
        X_test, truth = X[scored], all_labels.take(scored)
    if n_components is not None:
        n_new = n_components - int(np.count_nonzero(labels.counts))
    return Task(X, labels, all_labels, n_new, X_test, truth)


# ---- The paper's regimes ----


def paper_setup(
    name: str, labels: Labels, keep: float | int = LABELS_KEPT, random_state: int | None = None
) -> tuple[Labels, int]:
    """Masked labels and the number of new components for one of the paper's set-ups.

    "unsupervised" hides every label; "semi-supervised" keeps a share of every class; "semi-unsupervised" keeps a share
    of the first half of the classes and has 40 new components for the others; "accidental" has the same labels and no
    new components, as if it were not known that classes are missing. Unsupervised learning gets as many components
    as semi-unsupervised learning of the same data.
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

    So settings can be compared without labels of new classes: how well are known classes found that are hidden on
    purpose?
    """
    labelled = np.flatnonzero(labels.is_labelled)
    validation = np.random.default_rng(seed + 100).permutation(labelled)[: len(labelled) // 3]
    known = np.flatnonzero(labels.counts)
    pairs = [(-2, -1), (0, 2)] if len(known) > 3 else [(-1,), (0,)]
    codes = labels.codes.copy()
    codes[validation] = UNLABELLED
    codes[np.isin(codes, known[list(pairs[seed % 2])])] = UNLABELLED
    return Labels(labels.classes, codes), validation


# ---- Regimes in which the number of new classes is not given ----

NOVEL = {"har": ("LAYING", "WALKING", "WALKING_DOWNSTAIRS")}  # of TabularNCD; elsewhere the second half
N_PEOPLE = 3


def one_by_seed(n_classes: int, seed: int) -> int:
    """The class that a seed hides; four seeds hide four different classes."""
    return (1 + seed * max(n_classes // 4, 1)) % n_classes


def _hiding(positions: Callable[[int, int], Iterable[int]]) -> Callable[[Rows], Hidden]:
    def regime(rows: Rows) -> Hidden:
        return Hidden(rows.hide(positions(len(rows.labels.classes), rows.seed)), np.arange(len(rows.labels)))

    return regime


def _novel_only(rows: Rows) -> Hidden:
    """TabularNCD: every row of a known class is labelled, and rows without a label are of novel classes only."""
    names = rows.labels.classes.tolist()
    novel = NOVEL.get(rows.dataset, names[len(names) // 2 :])
    return Hidden(hide_labels(rows.labels, hide=novel), np.arange(len(rows.labels)), is_novel_only=True)


def _rare(one_in: int) -> Callable[[Rows], Hidden]:
    """Half hidden; every other class, known or hidden, keeps one row in `one_in`."""

    def regime(rows: Rows) -> Hidden:
        n, codes = len(rows.labels.classes), rows.labels.codes
        order = np.random.default_rng(rows.seed).permutation(len(codes))
        is_rare = np.isin(codes[order], np.arange(1, n, 2))
        of_class = (order[codes[order] == k] for k in range(1, n, 2))
        rare = (rows_of[: max(len(rows_of) // one_in, 1)] for rows_of in of_class)
        kept = np.sort(np.concatenate([order[~is_rare], *rare]))
        left = rows._replace(labels=rows.labels.take(kept))
        return Hidden(left.hide(range(n // 2, n)), kept)

    return regime


def _of_three_people(rows: Rows, hidden: range) -> Hidden:
    """All labels of three people, and no others."""
    assert rows.groups is not None
    people = np.random.default_rng(rows.seed).permutation(np.unique(rows.groups))[:N_PEOPLE]
    labels = rows._replace(keep=1.0).hide(hidden)
    return Hidden(labels.keep(np.flatnonzero(np.isin(rows.groups, people))), np.arange(len(rows.labels)))


REGIMES: dict[str, Callable[[Rows], Hidden]] = {
    "half-hidden": _hiding(lambda n, seed: range(n // 2, n)),
    "odd-hidden": _hiding(lambda n, seed: range(1, n, 2)),
    "one-hidden": _hiding(lambda n, seed: [one_by_seed(n, seed)]),
    "none-hidden": _hiding(lambda n, seed: []),
    "novel-only": _novel_only,
    "rare-10": _rare(10),
    "rare-50": _rare(50),
    "three-people": lambda rows: _of_three_people(rows, range(0)),
    "three-people-half-hidden": lambda rows: _of_three_people(
        rows, range(len(rows.labels.classes) // 2, len(rows.labels.classes))
    ),
}
ONE_CLASS = re.compile(r"class-(\d+)-hidden")


def regime_named(name: str) -> Callable[[Rows], Hidden] | None:
    """The function that hides labels in a regime; None if it is one of the paper's."""
    one = ONE_CLASS.fullmatch(name)
    return _hiding(lambda n, seed: [int(one[1])]) if one else REGIMES.get(name)


# ---- The data ----


def load_parts(dataset: str, seed: int) -> Parts:
    """A published data set, half of its classes, a sample of it, its rows split again, or a small table."""
    if sample := SAMPLE.fullmatch(dataset):
        parts = load_parts(sample[1], seed)
        chosen = np.random.default_rng(seed).permutation(len(parts.X))[: int(sample[2])]
        return parts._replace(X=parts.X[chosen], labels=parts.labels.take(chosen))
    if dataset == "penguins":
        return load_penguins(seed)
    if dataset in SKLEARN_TABLES:
        return load_table(dataset, seed)
    published = load_named(dataset.removesuffix(FIRST_HALF).removesuffix(RANDOM_SPLIT))
    train, test = published.train, published.test
    parts = Parts(train.X, train.labels, test.X, test.labels, train.groups, columns=tuple(train.columns))
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
    columns = columns_from_names([str(name) for name in table.feature_names], None)
    return split_rows(table.data.astype(np.float32), labels, seed)._replace(columns=tuple(columns))


def load_penguins(seed: int) -> Parts:
    """The table that the package palmerpenguins carries, read as `newfound fit` reads it."""
    from importlib.resources import as_file, files

    with as_file(files("palmerpenguins").joinpath("data/penguins.csv")) as path:
        table = read_dataset(str(path), "species")
    types = tuple(table.schema.feature_types or ())
    return split_rows(table.X, table.labels, seed)._replace(feature_types=types, columns=tuple(table.columns))


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
