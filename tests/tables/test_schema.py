"""A schema holds what the next file needs, through JSON and back."""

import numpy as np
import pandas as pd
import pytest

from newfound._internal.records import converted, to_json
from newfound._internal.words import DataError
from newfound.tables.dataset import Column, Schema, align
from newfound.tables.read import read_dataset

FRAME = pd.DataFrame(
    {
        "id": ["p", "q", "r", "s", "t"],
        "height": [1.5, np.nan, 2.5, 3.5, 9.5],
        "leaf": ["broad", "needle", None, "broad", "needle"],
        "evergreen": [True, False, True, True, False],
        "note": ["v", "w", "x", "y", "z"],
        "species": ["oak", None, "pine", "oak", "-1"],
    }
)


@pytest.fixture
def table():
    return read_dataset(FRAME, label="species", id="id", ignore=["note"])


@pytest.fixture(params=["table", "matrix", "bytes", "grey", "colour"])
def dataset(request, table):
    pixels = np.arange(36, dtype=np.uint8)
    return {
        "table": table,
        "matrix": read_dataset(np.array([[1.5, 0], [2, 1]]), labels=["b", "a"]),
        "bytes": read_dataset(pixels.reshape(6, 6)),
        "grey": read_dataset(pixels.reshape(2, 3, 6), labels=[10, 2]),
        "colour": read_dataset(pixels.reshape(2, 2, 3, 3)),
    }[request.param]


def test_through_json_and_back(dataset):
    stored = to_json(dataset.schema)
    assert converted(stored, Schema, "The stored schema of the data", "Fit the model again.") == dataset.schema


def test_the_schema_has_the_names_of_the_features(dataset):
    assert dataset.schema.feature_names == dataset.feature_names
    assert len(dataset.feature_names) == dataset.X.shape[1]


def test_what_a_schema_holds(table):
    schema = table.schema
    assert (schema.kind, schema.dtype, schema.image_shape) == ("table", "float32", None)
    assert (schema.label_column, schema.id_column, schema.dropped) == ("species", "id", ("note",))
    assert schema.class_names == ("oak", "pine")
    assert schema.columns[0] == Column("height", "numeric", (0,), fill_value=3.0, n_missing=1)


def test_the_type_of_each_feature(table):
    types = ["numeric", "categorical:leaf", "categorical:leaf", "categorical:leaf", "binary"]
    assert table.schema.feature_types == types
    for column in table.columns:
        assert all(types[position].startswith(column.feature_type) for position in column.positions)


def test_no_types_if_all_features_are_numeric():
    assert read_dataset(FRAME[["id", "height"]], id="id").schema.feature_types is None
    assert read_dataset(np.zeros((2, 3, 3), np.uint8)).schema.feature_types is None


@pytest.mark.parametrize(
    "stored", [{"kind": "table"}, {"columns": [], "layout": 1}, {"columns": [{"role": "numeric"}]}, {"columns": 3}]
)
def test_a_damaged_schema_is_refused(stored):
    with pytest.raises(DataError, match=r"stored schema of the data is damaged .*Fit the model again"):
        converted(stored, Schema, "The stored schema of the data", "Fit the model again.")


def test_aligned_rows_have_the_classes_of_the_schema_first():
    schema = read_dataset(np.eye(2), labels=["b", "c"]).schema
    other = align(read_dataset(np.eye(4)[:, :2], labels=["a", "c", None, "z"]), schema)
    assert other.labels.classes.tolist() == ["b", "c", "a", "z"]
    assert other.labels.names.tolist() == ["a", "c", "", "z"]


def test_aligned_rows_keep_a_declared_order():
    """As the garments of Fashion-MNIST, which are not in the order of letters."""
    from dataclasses import replace

    from newfound.labels import Labels

    shirts = replace(
        read_dataset(np.eye(2)), labels=Labels.of_distinct(["T-shirt", "Bag"], np.arange(2), ["T-shirt", "Bag"])
    )
    aligned = align(shirts, read_dataset(np.eye(2), labels=["Coat", "Coat"]).schema)
    assert aligned.labels.classes.tolist() == ["Coat", "T-shirt", "Bag"]


def test_a_fingerprint_is_of_rows_labels_and_names():
    """A recorded value: results that were stored with a fingerprint stay tied to their data."""
    X = np.arange(6).reshape(3, 2)
    dataset = read_dataset(X, labels=[10, -1, 2])
    assert dataset.fingerprint() == "bbb2cb410efbb03bcf0187f5d49d0ff35226fe7492c44b625d4a27045d77385c"
    assert dataset.fingerprint() == read_dataset(X, labels=["10", "", "2.0"]).fingerprint()
    others = [
        read_dataset(X + 1, labels=[10, -1, 2]),
        read_dataset(X, labels=[10, 2, -1]),
        read_dataset(X, labels=["ten", "", "two"]),
        read_dataset(pd.DataFrame(X, columns=["a", "b"]).assign(y=[10, -1, 2]), label="y"),
    ]
    assert len({dataset.fingerprint(), *(other.fingerprint() for other in others)}) == 5
