"""Labels in files follow the same rule as labels in Python."""

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound._internal.words import DataError
from newfound.labels import MISSING, UNLABELLED, Labels
from newfound.tables.encode import labels_of_column
from newfound.tables.read import read_dataset

WORDS = ["NA", "cat", "?", "-1", " cat", "10", "2", "", "cat ", " -1", "n/a", "dog", "nan", "Na", "02"]
NUMBERS = ["10", "2", "-1", "NA", " 9", "?", "0", "-3"]


def read_csv(values, folder):
    path = folder / "t.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("x", "z", "y"), *((i + 0.5, 2 * i, value) for i, value in enumerate(values))])
    return read_dataset(path, label="y")


def read_frame(values, folder):
    n = len(values)
    return read_dataset(pd.DataFrame({"x": np.arange(n) + 0.5, "z": 2 * np.arange(n), "y": values}), label="y")


def read_arrow(values, folder):
    n, half = len(values), len(values) // 2
    y = pa.chunked_array([pa.array(values[:half], pa.string()), pa.array(values[half:], pa.string())])
    return read_dataset(pa.table({"x": np.arange(n) + 0.5, "z": 2 * np.arange(n), "y": y}), label="y")


def read_array(values, folder):
    return read_dataset(np.arange(2.0 * len(values)).reshape(-1, 2), labels=values)


READERS = [read_csv, read_frame, read_arrow, read_array]


def assert_same(a, b):
    assert a.classes.tolist() == b.classes.tolist()
    np.testing.assert_array_equal(a.codes, b.codes)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("values", [WORDS, NUMBERS, list(MISSING), ["-1", ""], ["true", "True"], ["1.5", "cat"]])
def test_files_and_python_give_the_same_labels(read, values, tmp_path):
    assert_same(read(values, tmp_path).labels, Labels.read(values, len(values)))


@settings(max_examples=50)
@given(st.lists(st.sampled_from([*WORDS, *NUMBERS]) | st.text("ab 1?", max_size=3), min_size=2, max_size=30))
def test_files_and_python_give_the_same_labels_for_any_list(values):
    expected = Labels.read(values, len(values))
    for read in (read_frame, read_arrow, read_array):
        assert_same(read(values, None).labels, expected)


@pytest.mark.parametrize("read", READERS)
def test_numbers_are_in_the_order_of_numbers(read, tmp_path):
    assert read(["10", "2", "10", "9"], tmp_path).labels.classes.tolist() == ["2", "9", "10"]


@pytest.mark.parametrize("read", READERS)
def test_labels_of_minus_one_are_noted(read, tmp_path):
    dataset = read(["cat", "-1", "dog", " -1"], tmp_path)
    assert {mark for mark, _ in dataset.labels.marks} == {"-1"}
    note = "2 labels are -1, which means unlabelled; if -1 is a class in your data, give it another name."
    assert note in dataset.log
    assert not any("-1" in sentence for sentence in read(["cat", "", "dog"], tmp_path).log)


def test_rules_for_files_only():
    """A file of text has no types: 2.0 is 2, and fractions are no labels."""
    column = labels_of_column(pa.chunked_array([["2.0", "2", "-1.0", "10"]]), "y")
    assert (column.classes.tolist(), column.codes.tolist()) == (["2", "10"], [0, 0, UNLABELLED, 1])
    assert Labels.read(["2.0", "2"], 2).classes.tolist() == ["2", "2.0"]
    with pytest.raises(DataError, match="labels in 'y' are numbers with fractions, such as 0.5"):
        labels_of_column(pa.chunked_array([["1", "0.5", None]]), "y")


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (pa.array([3, None, -1, 10]), ["3", "", "", "10"]),
        (pa.array([3.0, None, float("nan"), 10.0]), ["3", "", "", "10"]),
        (pa.array([True, None, False]), ["true", "", "false"]),
        (pa.array(["b", None, "a"]).dictionary_encode(), ["b", "", "a"]),
        (pa.nulls(2), ["", ""]),
    ],
)
def test_file_labels_are_text(cells, names):
    assert labels_of_column(pa.chunked_array([cells]), "y").names.tolist() == names


def test_a_column_without_any_label_has_no_classes():
    labels = labels_of_column(pa.chunked_array([["NA", "", "-1", None]]), "y")
    assert (len(labels.classes), labels.n_unlabelled) == (0, 4)


def test_declared_classes_keep_their_place_and_others_follow():
    labels = labels_of_column(pa.chunked_array([["b", "z"], ["c", "a"]]), "y", declared=("c", "b"))
    assert (labels.classes.tolist(), labels.codes.tolist()) == (["c", "b", "a", "z"], [1, 3, 0, 2])


def test_chunks_with_dictionaries_of_their_own():
    chunks = [pa.array(["x", "y"]).dictionary_encode(), pa.array(["y", None]).dictionary_encode()]
    assert labels_of_column(pa.chunked_array(chunks), "y").names.tolist() == ["x", "y", "y", ""]


def test_labels_that_are_lists():
    with pytest.raises(DataError, match="labels in 'y' are values of type list<.*>; expected integers or text"):
        labels_of_column(pa.chunked_array([pa.array([[1], [2]])]), "y")


def test_unlabelled_is_defined_once():
    import newfound.labels

    package = Path(newfound.labels.__file__).parent
    defining = [path.name for path in package.rglob("*.py") if re.search(r"^UNLABELLED\b.*=", path.read_text(), re.M)]
    assert defining == ["labels.py"]


def test_the_rule_is_applied_to_distinct_values_only(monkeypatch):
    seen = []
    monkeypatch.setattr(Labels, "of_distinct", lambda values, positions, declared: seen.append((values, positions)))
    labels_of_column(pa.chunked_array([pa.array(["cat", "dog", None, "cat"] * 1000)]), "y")
    values, positions = seen[0]
    assert (values, len(positions)) == (["cat", "dog", None], 4000)
