"""The columns of the source, as a person knows them: numbers, or categories by name; which are worth a look."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from newfound.tables.dataset import Column

# ---- The columns of the source, as a person knows them: numbers, or categories by name ----
# Never the one-hot columns of X.

MAX_NUMBERED = 20  # columns whose names differ by a number only; of more, none tells a person anything
MANY_DECIMALS = 6  # about what single precision holds: as many cannot be told from any number
UNTOLD = 99
NO_CATEGORY = -1  # of a cell with a category that the schema does not know


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """A column with the value of every row, in the user's units or as positions of category names."""

    name: str
    values: np.ndarray
    categories: tuple[str, ...] = ()  # "0" and "1" for a binary column; none for numbers
    weight: np.ndarray | None = None  # for how many rows each of these stands

    @property
    def is_categorical(self) -> bool:
        return bool(self.categories)

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self.values)) if self.weight is None else self.weight

    @cached_property
    def spread(self) -> float:
        """What a number may differ by: 1.48 · MAD, or the standard deviation where most values are one."""
        deviation = np.abs(self.values - weighted_median(self.values, self.weights))
        mad = 1.4826 * weighted_median(deviation, self.weights)
        return mad if mad > 0 else float(np.std(self.values, dtype=np.float64))

    @cached_property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The different values in order, and the position of each row's among them."""
        return np.unique(self.values, return_inverse=True)

    @cached_property
    def decimals(self) -> int:
        """The decimals that the values are written with, as far as they can be told."""
        some = self.values[:: max(len(self.values) // 1000, 1)].astype(np.float64)
        told = (d for d in range(MANY_DECIMALS) if np.allclose(np.round(some, d), some, rtol=1e-6, atol=0))
        return next(told, UNTOLD)


def source_columns(X: np.ndarray, columns: Iterable[Column], weight: np.ndarray | None = None) -> list[SourceColumn]:
    """The columns of which something can be said: those that vary, and whose names are more than numbers."""
    found = [_source_column(X, column, weight) for column in named_columns(tuple(columns))]
    return [column for column in found if (column.values != column.values[:1]).any()]


def _source_column(X: np.ndarray, column: Column, weight: np.ndarray | None) -> SourceColumn:
    cells = X[:, list(column.positions)]
    if column.feature_type == "categorical":
        codes = np.where(cells.any(axis=1), cells.argmax(axis=1), NO_CATEGORY)
        return SourceColumn(column.name, codes, column.categories, weight)
    if column.feature_type == "binary":
        return SourceColumn(column.name, (cells[:, 0] > 0.5).astype(int), ("0", "1"), weight)
    return SourceColumn(column.name, cells[:, 0].astype(np.float32).astype(np.float64), (), weight)


def named_columns(columns: Sequence[Column]) -> list[Column]:
    """Without those of an embedding or of pixels: many, and numbered (“x0”, “x1”, …)."""
    stems = [re.sub(r"\d+", "#", column.name) for column in columns]
    n_alike = Counter(stems)
    return [
        column
        for column, stem in zip(columns, stems, strict=True)
        if column.feature_type == "categorical" or "#" not in stem or n_alike[stem] <= MAX_NUMBERED
    ]


def columns_from_names(names: Sequence[str], feature_types: Sequence[str] | None) -> list[Column]:
    """Columns from what an estimator was given: a name for each column of X, and its feature type."""
    types = ["numeric"] * len(names) if feature_types is None else [str(given) for given in feature_types]
    found: list[Column] = []
    groups: dict[str, list[int]] = {}
    for position, (name, given) in enumerate(zip(names, types, strict=True)):
        if given.startswith("categorical:"):
            groups.setdefault(given.removeprefix("categorical:"), []).append(position)
        else:
            found.append(Column(name, given, (position,)))  # type: ignore[arg-type]
    for group, positions in groups.items():
        categories = tuple(_without_prefix(names[position], group) for position in positions)
        found.append(Column(group, "categorical", tuple(positions), categories))
    return sorted(found, key=lambda column: column.positions)


def _without_prefix(name: str, group: str) -> str:
    """The category in “island=Dream” and “island_Dream”."""
    category = name.removeprefix(group)
    return category[1:] if category != name and category[:1] in ("=", "_") and category[1:] else name


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The value with half of the weight below it; between two values where they meet there."""
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    half = passed[-1] / 2
    low, high = np.searchsorted(passed, [half * (1 - 1e-9), half * (1 + 1e-9)])
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)


# ---- Which of many columns are worth a closer look, by coarse histograms of every class ----
# Cheap, however wide it is.

N_BINS = 16
MAX_COLUMNS = 30  # that are looked at closely, for each class


def histograms(columns: Sequence[SourceColumn], codes: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """(classes, bins) of each column: the weight of the class's rows in equally filled bins, or of each category."""
    return [_histogram(column, codes, n_classes) for column in columns]


def _histogram(column: SourceColumn, codes: np.ndarray, n_classes: int) -> np.ndarray:
    if column.is_categorical:
        bins, n_bins = column.values + 1, len(column.categories) + 1  # 0 is for what the schema does not know
    else:
        edges = np.unique(np.quantile(column.values, np.arange(1, N_BINS) / N_BINS, method="nearest"))
        bins, n_bins = np.searchsorted(edges, column.values, side="left"), len(edges) + 1
    counts = np.bincount(codes * n_bins + bins, column.weights, minlength=n_classes * n_bins)
    return counts.reshape(n_classes, n_bins)


def shortlist(of_columns: Sequence[np.ndarray], position: int, nearest: int | None) -> np.ndarray:
    """The columns in which a class differs most from all others and from the nearest known one, in their own order."""
    apart = [
        _distance(counts[position], counts.sum(axis=0) - counts[position])
        + (0.0 if nearest is None else _distance(counts[position], counts[nearest]))
        for counts in of_columns
    ]
    return np.sort(np.argsort(-np.array(apart), kind="stable")[:MAX_COLUMNS])


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Total variation: the share of rows that would have to move."""
    return float(0.5 * np.abs(one / max(one.sum(), 1e-12) - other / max(other.sum(), 1e-12)).sum())


# ---- A bounded sample of the rows, from which classes can be described without the user's file ----

MAX_ROWS_OF_CLASS = 2_000
MAX_ROWS = 20_000
MAX_CELLS = 4_000_000  # 16 MB


class RowSample(NamedTuple):
    """Some rows of every class, with what is known of each."""

    rows: np.ndarray  # their numbers, in order
    weight: np.ndarray  # for how many rows of its class each stands
    X: np.ndarray | None  # in the user's units; None where no column says anything to a person
    z: np.ndarray  # latent positions
    component_probability: np.ndarray


def choose_rows(codes: np.ndarray, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of rows, and the weight of each, from the class of every row: as many of each class as there is room for.

    Small classes come whole; the others share what is left.
    """
    sizes = np.bincount(codes)
    most = min(MAX_ROWS, MAX_CELLS // max(n_columns, 1))
    order = np.random.default_rng(seed).permutation(len(codes))
    taken = np.minimum(sizes, min(_level(sizes, most), MAX_ROWS_OF_CLASS))
    of_classes = [order[codes[order] == code][:n] for code, n in enumerate(taken)]
    rows = np.sort(np.concatenate(of_classes))
    weight = sizes / np.maximum(taken, 1)
    return rows, weight[codes[rows]].astype(np.float32)


def _level(sizes: np.ndarray, most: int) -> int:
    """The largest number of rows a class may have, so that all classes together have no more than `most`."""
    low, high = 1, int(sizes.max(initial=1))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
    return low
