"""Matrices and stacks of images, in memory and in NumPy's files."""

import numpy as np
import pytest

from newfound._internal.words import DataError
from newfound.labels import UNLABELLED
from newfound.tables.read import read_dataset

X = np.array([[1.5, 0, 3], [2.5, 1, np.nan], [4.5, 1, 7]])


def test_a_matrix_with_its_labels():
    dataset = read_dataset(X, labels=["b", None, "a"])
    assert (dataset.kind, dataset.X.dtype) == ("matrix", np.float32)
    assert dataset.feature_names == ["x0", "x1", "x2"]
    assert dataset.labels.codes.tolist() == [1, UNLABELLED, 0]
    assert [column.feature_type for column in dataset.columns] == ["numeric", "binary", "numeric"]
    assert dataset.X[1, 2] == 5  # the median of 3 and 7
    assert X[1, 2] != X[1, 2]  # the user's own array is left alone


@pytest.mark.parametrize("labels", [[1, -1, 0], ["1", "", "0"], [1.0, np.nan, 0.0], [1, None, 0]])
def test_all_ways_to_write_labels_and_missing_labels(labels):
    dataset = read_dataset(X, labels=labels)
    assert dataset.labels.classes.tolist() == ["0", "1"]
    assert dataset.labels.codes.tolist() == [1, UNLABELLED, 0]


def test_npy_with_labels_in_another_file(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.array([1, -1, 0]))
    dataset = read_dataset(tmp_path / "X.npy", labels=tmp_path / "y.npy")
    assert dataset.labels.names.tolist() == ["1", "", "0"]


def test_npz_may_name_its_rows_and_features(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=[0, 1, -1], feature_names=["a", "b", "c"], row_ids=["r", "s", "t"])
    dataset = read_dataset(tmp_path / "t.npz")
    assert dataset.feature_names == ["a", "b", "c"]
    assert dataset.row_ids.tolist() == ["r", "s", "t"]


def test_bytes_stay_bytes():
    pixels = np.arange(24, dtype=np.uint8)
    flat = read_dataset(pixels.reshape(4, 6))
    assert (flat.kind, flat.X.dtype, len(flat.columns)) == ("matrix", np.uint8, 6)
    grey = read_dataset(pixels.reshape(4, 2, 3))
    assert (grey.kind, grey.image_shape, grey.columns) == ("images", (2, 3), [])
    assert grey.feature_names == ["r0c0", "r0c1", "r0c2", "r1c0", "r1c1", "r1c2"]
    colour = read_dataset(pixels.reshape(2, 2, 2, 3))
    assert (colour.image_shape, colour.X.shape) == ((2, 2, 3), (2, 12))
    assert colour.feature_names[:4] == ["r0c0 red", "r0c0 green", "r0c0 blue", "r0c1 red"]


def test_a_second_matrix_is_read_by_the_schema_of_the_first():
    schema = read_dataset(X, labels=["b", "c", "a"]).schema
    other = read_dataset(np.array([[np.nan, 2, 1]]), labels=["c"], schema=schema)
    assert other.X.tolist() == [[2.5, 1, 1]]
    assert other.labels.codes.tolist() == [2]
    assert other.log[-1].startswith("1 cell was neither 0 nor 1")


def test_a_matrix_of_another_width_is_refused():
    with pytest.raises(DataError, match="fitted on 3 features of type float32, but these rows are 2 features"):
        read_dataset(X[:, :2], schema=read_dataset(X).schema)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"must have rows and columns, got the shape \(3,\)"),
        (np.zeros((0, 3)), r"must have rows and columns, got the shape \(0, 3\)"),
        (np.array([["a"]]), "must hold numbers, got <U1"),
        (np.zeros((2, 3, 4)), "save images as uint8"),
        (np.full((2, 1), np.nan), "All values are missing in 'x0'"),
    ],
)
def test_arrays_that_are_refused(array, message):
    with pytest.raises(DataError, match=message):
        read_dataset(array)


def test_labels_of_another_length_are_refused():
    with pytest.raises(DataError, match=r"one for each of the 3 rows, got an array of shape \(2,\)"):
        read_dataset(X, labels=[1, 2])


def test_column_names_make_no_sense_for_an_array():
    with pytest.raises(DataError, match="only tables have named columns"):
        read_dataset(X, label="species")
