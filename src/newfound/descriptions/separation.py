"""How far classes lie apart in a column, by ranks: neither units nor outliers matter."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from newfound.descriptions.source_columns import SourceColumn


class Gap(NamedTuple):
    """How far the rows of a class lie from other rows, in each of the columns.

    For numbers Somers' D = P(more) − P(less) of a row of the class against one of the others, which is the difference
    of shares where there are two values; for categories the largest excess of a category's share.
    """

    size: np.ndarray  # −1..1; not negative for categories
    limit: float  # what chance alone would hardly exceed in any of the columns


def gaps(columns: Sequence[SourceColumn], own: np.ndarray, others: np.ndarray) -> Gap:
    """Of the rows `own` against the rows `others`, both as flags."""
    sizes = [_categories(c, own, others) if c.is_categorical else somers_d(c, own, others) for c in columns]
    return Gap(np.array(sizes, float), chance_limit(int(own.sum()), int(others.sum()), len(columns)))


def somers_d(column: SourceColumn, own: np.ndarray, others: np.ndarray) -> float:
    """P(more) − P(less), of weighted rows."""
    order = np.argsort(column.values[others], kind="stable")
    values, passed = column.values[others][order], np.append(0.0, np.cumsum(column.weights[others][order]))
    if len(values) == 0 or not own.any():
        return 0.0
    less = passed[np.searchsorted(values, column.values[own], side="left")]
    not_more = passed[np.searchsorted(values, column.values[own], side="right")]
    difference = (less + not_more - passed[-1]) / passed[-1]
    return float(np.average(difference, weights=column.weights[own]))


def _categories(column: SourceColumn, own: np.ndarray, others: np.ndarray) -> float:
    return float((shares(column, own) - shares(column, others)).max())


def shares(column: SourceColumn, rows: np.ndarray) -> np.ndarray:
    """The share of each category among some rows."""
    codes, weights = column.values[rows], column.weights[rows]
    known = codes >= 0
    total = np.bincount(codes[known], weights[known], minlength=len(column.categories))
    return total / max(float(weights.sum()), 1e-12)


def chance_limit(n_own: int, n_others: int, n_columns: int) -> float:
    """Somers' D that one column in twenty tables like this would exceed, were the class random rows (Mann-Whitney)."""
    from scipy.stats import norm

    if n_own == 0 or n_others == 0:
        return 1.0
    deviation = ((n_own + n_others + 1) / (3 * n_own * n_others)) ** 0.5
    return float(norm.isf(0.025 / max(n_columns, 1)) * deviation)
