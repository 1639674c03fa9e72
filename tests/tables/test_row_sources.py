"""What `fit` and `predict` take without holding it: mapped arrays, files, folders, PyArrow datasets."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM

NAMES = [f"c{i}" for i in range(5)]
N = 3_000
SETTINGS = quick(mixture_max_rows=N)  # one way to discover classes, whatever the number of rows


def rows():
    """Four clouds in random order; two of them have labels on a tenth of their rows."""
    X, truth = blobs(n=N)
    y = some_labels(truth, share=0.1)
    order = np.random.default_rng(0).permutation(N)
    return X[order], truth[order], y[order]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    X, _, y = rows()
    np.save(folder / "X.npy", X)
    (folder / "parts").mkdir()
    for i in range(4):
        part = slice(i * 750, (i + 1) * 750)
        columns = {name: X[part, j] for j, name in enumerate(NAMES)}
        pq.write_table(pa.table(columns | {"label": y[part]}), folder / "parts" / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def of_folder(place):
    return GMDGM(**SETTINGS).fit(place / "parts", "label", sample_rows=600)


@pytest.fixture(scope="module")
def of_array(place):
    return GMDGM(**SETTINGS).fit(np.load(place / "X.npy", mmap_mode="r"), rows()[2], sample_rows=600)


def accuracy(model, X) -> float:
    """Of the two known classes by name, and of each new one by its commonest true class."""
    truth, said = rows()[1], model.predict(X)
    right = [np.bincount(truth[said == name]).max() for name in np.unique(said)]
    return sum(right) / len(truth)


def test_a_sample_gives_statistically_the_same_classes_as_all_rows(place, of_folder, of_array):
    """Same number of classes, same names, and every row in the class that a fit of all rows puts it in."""
    X, _, y = rows()
    whole = GMDGM(**SETTINGS).fit(X, y)
    assert whole.n_new_ == of_folder.n_new_ == of_array.n_new_ == 2
    assert accuracy(whole, X) > 0.99
    assert accuracy(of_folder, place / "parts") > 0.99
    assert accuracy(of_array, X) > 0.99
    for model in (of_folder, of_array):
        centre, unit = model.fitted_.preprocessing.centre, model.fitted_.preprocessing.unit
        np.testing.assert_allclose(centre, whole.fitted_.preprocessing.centre, atol=1e-5)  # of all rows, not the sample
        np.testing.assert_allclose(unit, whole.fitted_.preprocessing.unit, rtol=1e-5)


def test_the_rows_of_the_fit_are_reported(of_folder, of_array):
    n_labelled = int((rows()[2] >= 0).sum())
    for model in (of_folder, of_array):
        assert 600 <= len(model.sample_indices_) <= 660
        assert len(model.labels_) == len(model.sample_indices_)
        assert np.isin(np.flatnonzero(rows()[2] >= 0), model.sample_indices_).sum() >= min(60, n_labelled)
    assert of_folder.feature_names_in_.tolist() == NAMES


def test_files_datasets_and_mapped_arrays_are_predicted_block_by_block(place, of_folder, of_array, monkeypatch):
    from newfound.tables import limits

    monkeypatch.setattr(limits, "CELLS_AT_A_TIME", 5 * 128)
    X = rows()[0]
    table = pa.table({name: X[:, j] for j, name in enumerate(NAMES)})
    for source in (place / "parts", str(place / "parts"), ds.dataset(place / "parts")):
        assert (of_folder.predict(source) == of_folder.predict(table)).all()
    mapped = np.load(place / "X.npy", mmap_mode="r")
    assert (of_array.predict(mapped) == of_array.predict(X)).all()
    np.testing.assert_allclose(of_array.predict_proba(mapped), of_array.predict_proba(X), atol=1e-6)


def test_all_rows_of_a_small_mapped_array_are_fitted(place):
    X, _, y = rows()
    mapped = np.load(place / "X.npy", mmap_mode="r")[:400]
    a, b = (GMDGM(**SETTINGS).fit(given, y[:400]) for given in (mapped, X[:400]))
    assert (a.predict(X) == b.predict(X)).all()
    assert not hasattr(a, "sample_indices_")


def test_text_is_left_out_with_a_warning(tmp_path):
    X, _, y = rows()
    columns = {name: X[:200, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table(columns | {"note": ["x"] * 200, "label": y[:200]}), tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match="Not used, because they do not hold numbers: 'note'"):
        model = GMDGM(**SETTINGS).fit(tmp_path / "t.parquet", "label")
    assert model.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize(
    ("X", "y", "options", "says"),
    [
        ("parts", "nothing", {}, "There is no label column 'nothing' in the folder 'parts'"),
        ("parts", np.zeros(3), {}, "y must be the name of the column that holds the labels"),
        ("parts", "label", {"sample_rows": 7}, "sample_rows must be a whole number of at least 100"),
        ("parts", "label", {"groups": np.zeros(N)}, "groups are for rows in memory"),
        ("missing.parquet", "label", {}, "There is no file"),
    ],
)
def test_sources_that_cannot_be_fitted_are_refused(place, X, y, options, says):
    with pytest.raises((ValueError, TypeError), match=says):
        GMDGM(**SETTINGS).fit(place / X, y, **options)
