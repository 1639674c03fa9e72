"""Numbers as a person would write them, samples that stay small, columns by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newfound.explain.columns import (
    MAX_ROWS_OF_CLASS,
    MAX_SAMPLE_ROWS,
    SourceColumn,
    choose_rows,
    columns_from_names,
    weighted_median,
)
from newfound.explain.differences import somers_d
from newfound.explain.wording import number_text


@pytest.mark.parametrize(
    ("values", "value", "text"),
    [
        ([2007, 2008, 2009, 2009], 2009, "2009"),
        ([3700, 3850, 4100, 5000], 3775, "3775"),
        ([0.1, 0.2, 0.2, 1.3], 0.2, "0.2"),
        ([38.8, 39.1, 48.8, 50.2], 48.84999, "48.8"),
        ([12000, 15000, 90000], 15000, "15,000"),
        ([-0.5, -0.25, 0.5], -0.25, "−0.25"),
        ([-0.001, 0.7, 1.3, -0.3, 0.333333], -0.001, "0.00"),
        ([1e-9, 2.5e-9, 7e-9], 2.5e-9, "2.5e−09"),
        ([2e12, 3e12, 5e12], 3e12, "3e+12"),
    ],
)
def test_numbers_have_the_digits_that_matter(values, value, text):
    column = SourceColumn("c", np.asarray(values, np.float32).astype(float))
    assert number_text(value, column.decimals) == text


@given(st.floats(-1e12, 1e12), st.integers(0, 12))
def test_a_number_is_never_a_negative_zero(value, decimals):
    text = number_text(value, decimals)
    assert not text.startswith("−") or text.strip("−0.")


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.integers(1, 4))
def test_a_weighted_median_is_that_of_repeated_rows(values, weight):
    weights = np.where(np.arange(len(values)) % 2, weight, 1)
    expected = np.median(np.repeat(values, weights))
    assert weighted_median(np.array(values, float), weights.astype(float)) == expected


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40))
def test_somers_d_is_the_count_of_pairs(values):
    own = np.arange(len(values)) % 2 == 0
    pairs = [np.sign(a - b) for a in np.array(values)[own] for b in np.array(values)[~own]]
    assert somers_d(SourceColumn("c", np.array(values, float)), own, ~own) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize(
    ("sizes", "width"), [([10, 3000, 50_000], 5), ([2500] * 20, 784), ([1] * 30, 10_000), ([5], 3), ([0, 7], 2)]
)
def test_a_sample_is_bounded_and_stands_for_all_rows(sizes, width):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows, weight = choose_rows(codes, width)
    assert len(np.unique(rows)) == len(rows) <= MAX_SAMPLE_ROWS
    assert len(rows) * width <= 4_000_000
    taken = np.bincount(codes[rows], minlength=len(sizes))
    assert taken.max() <= MAX_ROWS_OF_CLASS
    assert ((taken > 0) == (np.array(sizes) > 0)).all()
    assert np.bincount(codes[rows], weight, len(sizes)) == pytest.approx(np.array(sizes), rel=1e-5)


def test_columns_of_one_hot_groups_are_put_together():
    types = ["categorical:island", "numeric", "categorical:island", "binary"]
    columns = columns_from_names(["island=Dream", "year", "island_Biscoe", "tame"], types)
    assert [(c.name, c.feature_type, c.positions, c.categories) for c in columns] == [
        ("island", "categorical", (0, 2), ("Dream", "Biscoe")),
        ("year", "numeric", (1,), ()),
        ("tame", "binary", (3,), ()),
    ]
