"""Which of many columns are worth a closer look, by coarse histograms of every class: cheap, however wide it is."""

from collections.abc import Sequence

import numpy as np

from newfound.descriptions.source_columns import SourceColumn

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
