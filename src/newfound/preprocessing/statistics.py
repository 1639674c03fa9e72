"""What each column of X holds, in numbers."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

BLOCK_ROWS = 8192  # statistics are summed over blocks, so that uint8 rows are never all floats at once


class ColumnStatistics(NamedTuple):
    """Mean, standard deviation, least and greatest value of each column."""

    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, per_unit: float = 1.0) -> "ColumnStatistics":
        mean = np.sum([block.sum(axis=0, dtype=np.float64) for block in blocks_of_rows(X)], axis=0) / len(X)
        variance = np.sum([np.square(block - mean).sum(axis=0) for block in blocks_of_rows(X)], axis=0) / len(X)
        low, high = X.min(axis=0), X.max(axis=0)
        std = np.where(low == high, 0.0, np.sqrt(variance))  # exactly 0 where rounding would leave a trace
        return cls(per_unit * mean, per_unit * std, per_unit * low, per_unit * high)


def blocks_of_rows(X: np.ndarray) -> Iterator[np.ndarray]:
    return (X[i : i + BLOCK_ROWS] for i in range(0, len(X), BLOCK_ROWS))


def only_zeros_and_ones(X: np.ndarray) -> bool:
    return all(bool(np.isin(block, (0, 1)).all()) for block in blocks_of_rows(X))
