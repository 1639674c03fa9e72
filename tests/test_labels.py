"""One rule for labels in any form."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newfound.labels import MISSING, UNLABELLED, Labels, has_enough_labels, labels_by_group, sorted_names

READ = {
    "integers": ([3, 7, -1, 3], [3, 7], [0, 1, -1, 0]),
    "whole floats with gaps": ([3.0, np.nan, 7.0, -1.0], [3, 7], [0, -1, 1, -1]),
    "unsigned": (np.array([3, 7, 3], np.uint8), [3, 7], [0, 1, 0]),
    "text": (["b", "a", "", None], ["a", "b"], [1, 0, -1, -1]),
    "text to be trimmed": ([" cat", "cat", "cat "], ["cat"], [0, 0, 0]),
    "marks of missing cells": (["NA", "cat", "?", "-1", "nan"], ["cat"], [-1, 0, -1, -1, -1]),
    "numbers as text": (["10", "2", "2"], ["2", "10"], [1, 0, 0]),
    "text that is what it says": (["1.0", "2.0"], ["1.0", "2.0"], [0, 1]),
    "booleans": ([True, False, None], [False, True], [1, 0, -1]),
    "NumPy text": (np.array(["b", "a", ""]), ["a", "b"], [1, 0, -1]),
    "pandas category": (pd.Series(["a", None, "b"], dtype="category"), ["a", "b"], [0, -1, 1]),
    "pandas integers": (pd.Series([3, None, 7], dtype="Int64"), [3, 7], [0, -1, 1]),
    "a column": (np.array([[1], [2]]), [1, 2], [0, 1]),
    "nothing": (None, [], [-1, -1, -1]),
}


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("what", READ)
def test_labels_of_every_kind(what):
    y, classes, codes = READ[what]
    labels = Labels.read(y, len(codes))
    assert labels.classes.tolist() == classes
    assert labels.codes.tolist() == codes


REFUSED = {
    "fractions": ([0.5, 1.0], "Unknown label type: continuous. .*got 0.5"),
    "a mixture": (["a", 1], "all be of one kind, got numbers and strings"),
    "one and true": ([1, True], "all be of one kind, got booleans and numbers"),
    "lists": ([[1], [2, 3]], "Unknown label type"),
    "dates": (np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"), "Unknown label type: date"),
    "too few": ([1], "X has 2 rows, y has 1. Give y a label for every row"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_label_is_refused(what):
    y, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        Labels.read(np.array(y, dtype=object) if what == "lists" else y, 2)


@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "b ", "10", "9", *MISSING]))))
def test_names_and_values_read_again_are_the_same_labels(y):
    labels = Labels.read(y, len(y)).observed()
    for again in (Labels.read(labels.names, len(y)), Labels.read(labels.values, len(y)), Labels.read(labels, len(y))):
        assert again.classes.tolist() == labels.classes.tolist()
        assert again.codes.tolist() == labels.codes.tolist()
    assert labels.counts.sum() + labels.n_unlabelled == len(y)


def test_a_declared_order_is_kept_and_others_follow():
    labels = Labels.read(["emu", "cat", "dog", ""], 4, declared=["dog", "cat"])
    assert labels.classes.tolist() == ["dog", "cat", "emu"]
    assert labels.codes.tolist() == [2, 1, 0, UNLABELLED]


def test_only_classes_that_are_carried_are_observed():
    labels = Labels(np.array(["a", "b", "c"]), np.array([2, UNLABELLED, 0]))
    assert labels.observed().classes.tolist() == ["a", "c"]
    assert labels.observed().names.tolist() == ["c", "", "a"]


def test_marks_are_counted():
    assert Labels.read(["NA", "cat", "NA", "-1", ""], 5).marks == (("NA", 2), ("-1", 1))
    assert Labels.read([-1, 3], 2).marks == ()


def test_names_are_sorted_by_number_only_where_all_are_numbers():
    assert sorted_names(["10", "2", "-1"]) == ["-1", "2", "10"]
    assert sorted_names(["10", "2", "a"]) == ["10", "2", "a"]


def test_values_are_of_the_kind_that_was_given():
    assert Labels.read([5, -1], 2).values.dtype == np.int64
    assert Labels.read([True, None, False], 3).values.tolist() == [True, None, False]
    assert Labels.read(["a", ""], 2).values.tolist() == ["a", ""]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(UNLABELLED, 2)), min_size=1, max_size=30))
def test_labels_are_counted_by_group_as_a_loop_counts_them(rows):
    group, codes = np.array(rows).T
    counts, is_known = labels_by_group(group, codes, 3), has_enough_labels(group, codes)
    assert counts.shape == (group.max() + 1, 3)
    n_labelled = sum(code != UNLABELLED for _, code in rows)
    for i in range(len(counts)):
        own = [code for of, code in rows if of == i]
        assert counts[i].tolist() == [own.count(code) for code in range(3)]
        excess = 2 * len(rows) * sum(code != UNLABELLED for code in own) - len(own) * n_labelled
        assert excess == 0 or is_known[i] == (excess > 0)  # rounding decides a tie


def test_rows_without_a_group_count_in_the_density_of_all_rows_only():
    group, codes = np.array([0, 0, 0, 1, -1, -1]), np.array([UNLABELLED, UNLABELLED, 0, UNLABELLED, 1, 1])
    assert has_enough_labels(group, codes).tolist() == [True, False]
