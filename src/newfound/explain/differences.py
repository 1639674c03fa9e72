"""What sets a class apart: the columns in which it differs from all other rows and from the nearest known class."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from newfound._internal.words import percent
from newfound.explain.columns import SourceColumn, weighted_median
from newfound.explain.wording import Difference, category_text, number_text, plain_name

# ---- How far classes are apart in a column, by ranks: units and outliers do not matter ----


class Gap(NamedTuple):
    """How far the rows of a class are from other rows, in each column.

    Numbers: Somers' D = P(more) − P(less) of a row of the class against another row; for two values this is the
    difference of shares. Categories: the largest excess of a category's share.
    """

    size: np.ndarray  # −1..1; not negative for categories
    limit: float  # Somers' D that random rows exceed in any of the columns in 5 % of tables (Mann-Whitney)


def gaps(columns: Sequence[SourceColumn], own: np.ndarray, others: np.ndarray) -> Gap:
    """The rows `own` against the rows `others`, both as flags."""
    from scipy.stats import norm

    sizes = [
        (shares(c, own) - shares(c, others)).max() if c.is_categorical else somers_d(c, own, others) for c in columns
    ]
    n_own, n_others = int(own.sum()), int(others.sum())
    if n_own == 0 or n_others == 0:
        return Gap(np.array(sizes, float), 1.0)
    deviation = ((n_own + n_others + 1) / (3 * n_own * n_others)) ** 0.5
    return Gap(np.array(sizes, float), float(norm.isf(0.025 / max(len(columns), 1)) * deviation))


def somers_d(column: SourceColumn, own: np.ndarray, others: np.ndarray) -> float:
    """P(more) − P(less) of weighted rows."""
    order = np.argsort(column.values[others], kind="stable")
    values, passed = column.values[others][order], np.append(0.0, np.cumsum(column.weights[others][order]))
    if len(values) == 0 or not own.any():
        return 0.0
    less = passed[np.searchsorted(values, column.values[own], side="left")]
    not_more = passed[np.searchsorted(values, column.values[own], side="right")]
    difference = (less + not_more - passed[-1]) / passed[-1]
    return float(np.average(difference, weights=column.weights[own]))


def shares(column: SourceColumn, rows: np.ndarray) -> np.ndarray:
    """The share of each category among some rows."""
    codes, weights = column.values[rows], column.weights[rows]
    known = codes >= 0
    total = np.bincount(codes[known], weights[known], minlength=len(column.categories))
    return total / max(float(weights.sum()), 1e-12)


MIN_EFFECT = 0.25
MAX_DIFFERENCES = 6
MIN_SHARE_OF_CATEGORY = 0.9  # with at least this share of its rows, a class has the category
CLEAR_EFFECT = 0.5  # Somers' D to the nearest class from which on the sentence compares with it


class Sides(NamedTuple):
    """The rows that are compared, as flags."""

    own: np.ndarray
    others: np.ndarray
    nearest: np.ndarray | None  # rows of the nearest known class
    nearest_name: str = ""


class Found(NamedTuple):
    """A difference with its column, and as a part of a sentence."""

    difference: Difference
    column: SourceColumn
    phrase: str


def find_differences(columns: Sequence[SourceColumn], sides: Sides) -> list[Found]:
    """The differences larger than chance, the largest first."""
    if not columns:
        return []
    to_all = gaps(columns, sides.own, sides.others)
    to_nearest = to_all if sides.nearest is None else gaps(columns, sides.own, sides.nearest)
    effect = (np.abs(to_all.size) + np.abs(to_nearest.size)) / 2
    is_real = (np.abs(to_all.size) > to_all.limit) | (np.abs(to_nearest.size) > to_nearest.limit)
    order = [i for i in np.argsort(-effect, kind="stable") if is_real[i] and effect[i] >= MIN_EFFECT]
    found = (
        _of_categories(columns[i], sides, round(float(effect[i]), 4))
        if columns[i].is_categorical
        else _of_numbers(columns[i], sides, round(float(effect[i]), 4), abs(to_nearest.size[i]) >= CLEAR_EFFECT)
        for i in order
    )
    return list(islice((one for one in found if one is not None), MAX_DIFFERENCES))


def _of_categories(column: SourceColumn, sides: Sides, effect: float) -> Found:
    """“island Dream (100%, elsewhere 29%)”."""
    own, others = shares(column, sides.own), shares(column, sides.others)
    top = int((own - others).argmax())
    words = [category_text(category) for category in column.categories]
    short = f"{plain_name(column.name)} {words[top]}"
    text = f"{short} ({percent(own[top])}, elsewhere {percent(others[top])})"
    near = None if sides.nearest is None else words[int(shares(column, sides.nearest).argmax())]
    difference = Difference(column.name, text, effect, words[top], words[int(others.argmax())], near)
    return Found(difference, column, short if own[top] >= MIN_SHARE_OF_CATEGORY else text)


def _of_numbers(column: SourceColumn, sides: Sides, effect: float, is_from_nearest: bool) -> Found | None:
    """“bill_length_mm 48.8, 9.9 more than Adelie”, or “…, elsewhere 44.5”; None if both show the same."""
    digits = column.decimals
    own, others = _median(column, sides.own), _median(column, sides.others)
    near = None if sides.nearest is None else _median(column, sides.nearest)
    gap = 0.0 if near is None else round(own, digits) - round(near, digits)  # of the numbers as shown
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
    """The weighted median to six digits, because rows are in single precision."""
    return float(f"{weighted_median(column.values[rows], column.weights[rows]):.6g}")
