"""The columns of the source: numbers, or categories by name; and which of them to look at for a class."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from newfound.explain.wording import MAX_DECIMALS
from newfound.tables.dataset import Column

# ---- Columns by name, with the categories of the source instead of the one-hot columns of X ----

MAX_NUMBERED = 20  # columns with names that differ only by a number; more are an embedding or pixels
SINGLE_PRECISION_DIGITS = 6  # decimals from here on are an artefact of single precision
NO_CATEGORY = -1  # the code of a category that the schema does not have


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """A column with the value of every row, in the user's units or as positions of category names."""

    name: str
    values: np.ndarray
    categories: tuple[str, ...] = ()  # "0" and "1" for a binary column; none for numbers
    weight: np.ndarray | None = None  # the number of rows that each row stands for

    @property
    def is_categorical(self) -> bool:
        return bool(self.categories)

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self.values)) if self.weight is None else self.weight

    @cached_property
    def spread(self) -> float:
        """1.48 · MAD, or the standard deviation if more than half of the values are equal."""
        deviation = np.abs(self.values - weighted_median(self.values, self.weights))
        mad = 1.4826 * weighted_median(deviation, self.weights)
        return mad if mad > 0 else float(np.std(self.values, dtype=np.float64))

    @cached_property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct values in order, and for each row the position of its value."""
        return np.unique(self.values, return_inverse=True)

    @cached_property
    def decimals(self) -> int:
        """The decimals to show: two digits of the spread, but not more than the values have."""
        some = self.values[:: max(len(self.values) // 1000, 1)].astype(np.float64)
        digits = range(SINGLE_PRECISION_DIGITS)
        written = next((d for d in digits if np.allclose(np.round(some, d), some, rtol=1e-6, atol=0)), None)
        if self.spread <= 0:
            return MAX_DECIMALS if written is None else min(written, MAX_DECIMALS)
        shown = 1 - math.floor(math.log10(self.spread))
        return max(shown if written is None else min(shown, written), 0)


def source_columns(X: np.ndarray, columns: Iterable[Column], weight: np.ndarray | None = None) -> list[SourceColumn]:
    """The columns that can be described: those that vary and have a name that is more than a number."""
    found = []
    for column in named_columns(tuple(columns)):
        cells, categories = X[:, list(column.positions)], column.categories
        if column.feature_type == "categorical":
            values = np.where(cells.any(axis=1), cells.argmax(axis=1), NO_CATEGORY)
        elif column.feature_type == "binary":
            values, categories = (cells[:, 0] > 0.5).astype(int), ("0", "1")
        else:
            values, categories = cells[:, 0].astype(np.float32).astype(np.float64), ()
        if (values != values[:1]).any():
            found.append(SourceColumn(column.name, values, categories, weight))
    return found


def named_columns(columns: Sequence[Column]) -> list[Column]:
    """All columns except those of an embedding or of pixels, which are many and numbered (“x0”, “x1”, …)."""
    stems = [re.sub(r"\d+", "#", column.name) for column in columns]
    n_alike = Counter(stems)
    return [
        column
        for column, stem in zip(columns, stems, strict=True)
        if column.feature_type == "categorical" or "#" not in stem or n_alike[stem] <= MAX_NUMBERED
    ]


def columns_from_names(names: Sequence[str], feature_types: Sequence[str] | None) -> list[Column]:
    """Columns from the name of each column of X and its feature type."""
    types = ["numeric"] * len(names) if feature_types is None else [str(given) for given in feature_types]
    found: list[Column] = []
    groups: dict[str, list[int]] = {}
    for position, (name, given) in enumerate(zip(names, types, strict=True)):
        if given.startswith("categorical:"):
            groups.setdefault(given.removeprefix("categorical:"), []).append(position)
        else:
            found.append(Column(name, given, (position,)))  # type: ignore[arg-type]
    for group, positions in groups.items():
        with_prefix = re.compile(rf"^{re.escape(group)}[=_](.+)", re.DOTALL)  # “island=Dream” or “island_Dream”
        categories = tuple(with_prefix.sub(r"\1", names[position], count=1) for position in positions)
        found.append(Column(group, "categorical", tuple(positions), categories))
    return sorted(found, key=lambda column: column.positions)


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The value with half of the weight below it; the mean of two values if half of the weight ends between them."""
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    half = passed[-1] / 2
    low, high = np.searchsorted(passed, [half * (1 - 1e-9), half * (1 + 1e-9)])
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)


# ---- Which of many columns to look at more closely, by coarse histograms of every class ----

N_BINS = 16
MAX_COLUMNS = 30  # looked at more closely for each class


def histograms(columns: Sequence[SourceColumn], codes: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """For each column (classes, bins): the weight of the rows in equally filled bins, or with each category."""
    found = []
    for column in columns:
        if column.is_categorical:
            bins, n_bins = column.values + 1, len(column.categories) + 1  # bin 0 is NO_CATEGORY
        else:
            edges = np.unique(np.quantile(column.values, np.arange(1, N_BINS) / N_BINS, method="nearest"))
            bins, n_bins = np.searchsorted(edges, column.values, side="left"), len(edges) + 1
        counts = np.bincount(codes * n_bins + bins, column.weights, minlength=n_classes * n_bins)
        found.append(counts.reshape(n_classes, n_bins))
    return found


def shortlist(of_columns: Sequence[np.ndarray], position: int, nearest: int | None) -> np.ndarray:
    """The columns in which a class differs most from all others and from the nearest known one, in table order."""
    distance = [
        _distance(counts[position], counts.sum(axis=0) - counts[position])
        + (0.0 if nearest is None else _distance(counts[position], counts[nearest]))
        for counts in of_columns
    ]
    return np.sort(np.argsort(-np.array(distance), kind="stable")[:MAX_COLUMNS])


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Total variation: the share of rows that would have to move to make the histograms equal."""
    return float(0.5 * np.abs(one / max(one.sum(), 1e-12) - other / max(other.sum(), 1e-12)).sum())


# ---- A sample of the rows of limited size, to describe classes without the user's file ----

MAX_ROWS_OF_CLASS = 2_000
MAX_SAMPLE_ROWS = 20_000
MAX_CELLS = 4_000_000  # 16 MB


class RowSample(NamedTuple):
    """Some rows of every class."""

    rows: np.ndarray  # row numbers, in order
    weight: np.ndarray  # the number of rows of its class that each row stands for
    X: np.ndarray | None  # in the user's units; None if no column can be described
    z: np.ndarray  # latent positions
    component_probability: np.ndarray


def choose_rows(codes: np.ndarray, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers and weights, from the class of every row.

    Small classes are complete; larger ones share the remaining room equally.
    """
    sizes = np.bincount(codes)
    most = min(MAX_SAMPLE_ROWS, MAX_CELLS // max(n_columns, 1))
    order = np.random.default_rng(seed).permutation(len(codes))
    taken = np.minimum(sizes, min(_level(sizes, most), MAX_ROWS_OF_CLASS))
    of_classes = [order[codes[order] == code][:n] for code, n in enumerate(taken)]
    rows = np.sort(np.concatenate(of_classes))
    weight = sizes / np.maximum(taken, 1)
    return rows, weight[codes[rows]].astype(np.float32)


def _level(sizes: np.ndarray, most: int) -> int:
    """The largest number of rows per class with which all classes together have at most `most` rows."""
    low, high = 1, int(sizes.max(initial=1))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
    return low
