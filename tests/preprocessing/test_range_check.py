"""Rows in other units than in training are reported, with cells and columns; rows of the same kind are not."""

import numpy as np
import pytest

from newfound.preprocessing.checks import RangeCheck, outlier_message
from newfound.preprocessing.columns import decide

RNG = np.random.default_rng(0)
X = RNG.normal([0, 5, 170, 3], [1, 2, 10, 1], (300, 4))
MORE = RNG.normal([0, 5, 170, 3], [1, 2, 10, 1], (200, 4))
FITTED = decide(X, "auto", 0.0)


def said(rows, about=RangeCheck.units_message, fitted=FITTED):
    return about(RangeCheck.of(rows, fitted), lambda i: f"column {i}")


@pytest.mark.parametrize("rows", [X, MORE, MORE[:1], MORE[:3], MORE[:1].repeat(50, axis=0)])
def test_rows_like_those_of_the_fit_are_not_reported(rows):
    assert said(rows) == ""


@pytest.mark.parametrize(
    "factor",
    [1000.0, 1e-3, -1.0, np.array([1, 1, 0.01, 1]), np.array([1, 1, 1, 1000.0])],
)
def test_rows_in_other_units_are_reported(factor):
    assert "Check the units. If they match the training data, these rows are far outside it" in said(MORE * factor)


def test_a_few_rows_are_judged_by_all_their_cells():
    assert said(MORE[:2] + np.array([0, 0, 1000, 0])) == ""
    assert "6 cells (75%) are outside the training range" in said(MORE[:2] + np.array([0, 100, 1000, 50]))


def test_the_sentence_has_counts_and_ranges():
    low, high = X[:, 2].min(), X[:, 2].max()
    rows = MORE * [1, 1, 0.01, 1]
    sentence = said(rows)
    n = int(((rows < X.min(axis=0)) | (rows > X.max(axis=0))).sum())
    assert sentence.startswith(f"{n} cells (26%) are outside the training range: column 2 (200), ")
    assert f"column 2 was {low:.4g} to {high:.4g} in training and is {rows[:, 2].min():.4g} to" in sentence


def test_pixels_that_were_divided_are_reported():
    pixels = RNG.integers(0, 256, (100, 6)).astype(np.uint8)
    pixels[:20] = 0  # as the background of images is
    fitted = decide(pixels, "auto", 0.0, unit_interval=True)
    assert said(pixels, fitted=fitted) == said(pixels.astype(float), fitted=fitted) == ""
    assert "No column varies by more than 2% of its training range: column 0 was 0 to " in said(
        pixels / 255, fitted=fitted
    )


def test_blocks_of_a_file_are_counted_together():
    rows = MORE * [1, 1, 1, 3]
    parts = [RangeCheck.of(part, FITTED) for part in np.array_split(rows, 7)]
    together = parts[0]
    for part in parts[1:]:
        together = together.joined(part)
    for one, other in zip(together, RangeCheck.of(rows, FITTED), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_small_share_of_cells_is_reported_but_is_no_warning():
    rows = MORE.copy()
    rows[:10, 1] = 900
    assert said(rows) == ""
    assert said(rows, RangeCheck.message).startswith("1")
    assert "column 1 (10" in said(rows, RangeCheck.message)
    assert said(MORE[:100], RangeCheck.message) == "" or "units" not in said(MORE[:100], RangeCheck.message)


def test_outliers_are_counted_in_one_sentence():
    rows = X.copy()
    rows[[3, 4, 5], [0, 2, 2]] = 1e9
    one = X.copy()
    one[7, 3] = -1e9

    def message(rows):
        return outlier_message(rows, decide(rows, "auto", 0.0), lambda i: f"column {i}")

    high = X[np.r_[:4, 6:300], 2].max()
    assert message(X) == ""
    assert message(rows).startswith("3 outlier cells in 2 columns were clipped. Most are in column 2 (kept range: ")
    assert message(rows).endswith(f" to {high:.4g}).")
    assert message(one).startswith("1 outlier cell in column 3 was clipped (kept range: ")
