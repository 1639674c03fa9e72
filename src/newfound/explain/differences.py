"""What sets a class apart: the columns in which it differs from all other rows and from the nearest known class."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from newfound._internal.words import percent
from newfound.explain.columns import SourceColumn, weighted_median
from newfound.explain.wording import Difference, category_text, decimals_for, number_text, plain_name

# ---- How far classes lie apart in a column, by ranks: neither units nor outliers matter ----


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


MIN_EFFECT = 0.25
MAX_DIFFERENCES = 6
ALMOST_ALL = 0.9  # of a class's rows with a category, to say that they have it
CLEAR = 0.5  # Somers' D from which on the nearest class is the better comparison


class Sides(NamedTuple):
    """The rows that are compared, as flags."""

    own: np.ndarray
    others: np.ndarray
    nearest: np.ndarray | None  # rows of the nearest known class,
    nearest_name: str = ""


class Found(NamedTuple):
    """A difference, the column it is of, and how it reads within a sentence, where commas stand between parts."""

    difference: Difference
    column: SourceColumn
    phrase: str


def find_differences(columns: Sequence[SourceColumn], sides: Sides) -> list[Found]:
    """The largest first; none that chance could make."""
    if not columns:
        return []
    to_all = gaps(columns, sides.own, sides.others)
    to_nearest = to_all if sides.nearest is None else gaps(columns, sides.own, sides.nearest)
    effect = (np.abs(to_all.size) + np.abs(to_nearest.size)) / 2
    is_real = (np.abs(to_all.size) > to_all.limit) | (np.abs(to_nearest.size) > to_nearest.limit)
    order = [i for i in np.argsort(-effect, kind="stable") if is_real[i] and effect[i] >= MIN_EFFECT]
    found = (_found(columns[i], sides, float(effect[i]), abs(to_nearest.size[i]) >= CLEAR) for i in order)
    return list(islice((one for one in found if one is not None), MAX_DIFFERENCES))


def _found(column: SourceColumn, sides: Sides, effect: float, is_from_nearest: bool) -> Found | None:
    effect = round(effect, 4)
    if column.is_categorical:
        return _of_categories(column, sides, effect)
    return _of_numbers(column, sides, effect, is_from_nearest)


def _of_categories(column: SourceColumn, sides: Sides, effect: float) -> Found:
    """“island Dream (100%, elsewhere 29%)”."""
    own, others = shares(column, sides.own), shares(column, sides.others)
    top = int((own - others).argmax())
    words = [category_text(category) for category in column.categories]
    short = f"{plain_name(column.name)} {words[top]}"
    text = f"{short} ({percent(own[top])}, elsewhere {percent(others[top])})"
    near = None if sides.nearest is None else words[int(shares(column, sides.nearest).argmax())]
    difference = Difference(column.name, text, effect, words[top], words[int(others.argmax())], near)
    return Found(difference, column, short if own[top] >= ALMOST_ALL else text)


def _of_numbers(column: SourceColumn, sides: Sides, effect: float, is_from_nearest: bool) -> Found | None:
    """“bill_length_mm 48.8, 9.9 more than Adelie”, or “…, elsewhere 44.5”; None where both would read the same."""
    digits = decimals_for(column)
    own, others = _median(column, sides.own), _median(column, sides.others)
    near = None if sides.nearest is None else _median(column, sides.nearest)
    gap = 0.0 if near is None else round(own, digits) - round(near, digits)  # of what is shown
    if is_from_nearest and gap:
        than = f"{'more' if gap > 0 else 'less'} than {plain_name(sides.nearest_name)}"
        compared = f"{number_text(abs(gap), digits)} {than}"
    else:
        compared = f"elsewhere {number_text(others, digits)}"
        if number_text(own, digits) == number_text(others, digits):
            return None
    head = f"{plain_name(column.name)} {number_text(own, digits)}"
    return Found(
        Difference(column.name, f"{head}, {compared}", effect, own, others, near), column, f"{head} ({compared})"
    )


def _median(column: SourceColumn, rows: np.ndarray) -> float:
    """To six digits: rows are held in single precision."""
    return float(f"{weighted_median(column.values[rows], column.weights[rows]):.6g}")
