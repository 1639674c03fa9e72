"""Rows in other units than those of the fit: told, with how many cells and where; rows of the same kind are not."""

import numpy as np
import pytest

from newfound.preprocessing.checks import Reach, about_cells, about_reach
from newfound.preprocessing.columns import decide

RNG = np.random.default_rng(0)
X = RNG.normal([0, 5, 170, 3], [1, 2, 10, 1], (300, 4))
MORE = RNG.normal([0, 5, 170, 3], [1, 2, 10, 1], (200, 4))
FITTED = decide(X, "auto", 0.0)


def said(rows, about=about_reach, fitted=FITTED):
    return about(Reach.of(rows, fitted), fitted, lambda i: f"column {i}")


@pytest.mark.parametrize("rows", [X, MORE, MORE[:1], MORE[:3], MORE[:1].repeat(50, axis=0)])
def test_rows_like_those_of_the_fit_are_not_told(rows):
    assert said(rows) == ""


@pytest.mark.parametrize(
    "factor",
    [1000.0, 1e-3, -1.0, np.array([1, 1, 0.01, 1]), np.array([1, 1, 1, 1000.0])],
)
def test_rows_in_other_units_are_told(factor):
    assert "Are these rows in the units that were fitted on?" in said(MORE * factor)


def test_a_few_rows_are_judged_by_all_their_cells():
    assert said(MORE[:2] + np.array([0, 0, 1000, 0])) == ""
    assert "6 cells (75%) lie outside of what was fitted on" in said(MORE[:2] + np.array([0, 100, 1000, 50]))


def test_the_sentence_has_counts_and_ranges():
    low, high = X[:, 2].min(), X[:, 2].max()
    rows = MORE * [1, 1, 0.01, 1]
    sentence = said(rows)
    n = int(((rows < X.min(axis=0)) | (rows > X.max(axis=0))).sum())
    assert sentence.startswith(f"{n} cells (26%) lie outside of what was fitted on: column 2 (200), ")
    assert f"column 2 was fitted on {low:.4g} to {high:.4g} and is {rows[:, 2].min():.4g} to" in sentence


def test_pixels_that_were_divided_are_told():
    pixels = RNG.integers(0, 256, (100, 6)).astype(np.uint8)
    pixels[:20] = 0  # as the background of images is
    fitted = decide(pixels, "auto", 0.0, unit_interval=True)
    assert said(pixels, fitted=fitted) == said(pixels.astype(float), fitted=fitted) == ""
    assert "No column varies by more than a fiftieth of what it did in the fit" in said(pixels / 255, fitted=fitted)


def test_blocks_of_a_file_are_counted_together():
    rows = MORE * [1, 1, 1, 3]
    parts = [Reach.of(part, FITTED) for part in np.array_split(rows, 7)]
    together = parts[0]
    for part in parts[1:]:
        together = together.and_of(part)
    for one, other in zip(together, Reach.of(rows, FITTED), strict=True):
        np.testing.assert_array_equal(one, other)


def test_some_cells_are_told_where_a_person_reads():
    rows = MORE.copy()
    rows[:10, 1] = 900
    assert said(rows) == ""
    assert said(rows, about_cells).startswith("1")
    assert "column 1 (10" in said(rows, about_cells)
    assert said(MORE[:100], about_cells) == "" or "units" not in said(MORE[:100], about_cells)
