"""Data frames of several libraries: the same answers whichever it is, and the answer in a frame of the same kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM
from newfound._internal.frames import with_columns

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
ANSWER = ["newfound_class", "newfound_probability", "newfound_p_new", "newfound_is_new"]


def columns_of(X):
    return {f"c{i}": X[:, i] for i in range(X.shape[1])}


@pytest.fixture(scope="module")
def rows():
    X, truth = blobs()
    y = np.array(["cat", "dog", ""])[some_labels(truth)]
    return X, y


@pytest.fixture(scope="module")
def model(rows):
    X, y = rows
    return GMDGM(**quick(n_new=2)).fit(pl.DataFrame(columns_of(X)), pl.Series([label or None for label in y]))


@pytest.fixture(params=KINDS)
def frame(request, rows):
    X, _ = rows
    return KINDS[request.param](columns_of(X))


def test_every_kind_of_frame_gives_the_same_answers(model, frame, rows):
    of_array = GMDGM(**quick(n_new=2)).fit(*rows)
    assert list(model.feature_names_in_) == ["c0", "c1", "c2", "c3", "c4"]
    assert (model.predict_proba(frame) == of_array.predict_proba(rows[0])).all()


def test_the_answer_stands_beside_the_users_own_columns_in_the_same_kind_of_frame(model, frame, rows):
    frame = with_columns(frame, {"id": np.arange(120)})
    answered = model.predict_frame(frame)
    assert type(answered) is type(frame)
    names = list(getattr(answered, "column_names", None) or answered.columns)
    assert names == ["c0", "c1", "c2", "c3", "c4", "id", *ANSWER]
    said = model.predict(rows[0])
    assert np.asarray(answered["newfound_class"]).tolist() == said.tolist()
    assert np.asarray(answered["newfound_is_new"]).tolist() == np.isin(said, ["new-1", "new-2"]).tolist()
    assert np.allclose(np.asarray(answered["newfound_p_new"]), model.predict_new_proba(rows[0]))
    again = model.predict_frame(answered)
    assert type(again) is type(frame)
    assert list(getattr(again, "column_names", None) or again.columns) == names


def test_an_index_of_pandas_is_kept_and_columns_may_come_in_any_order(model, rows):
    frame = pd.DataFrame(columns_of(rows[0]), index=np.arange(120)[::-1])[["c4", "c3", "c2", "c1", "c0"]]
    answered = model.predict_frame(frame, abstain=1.0)
    assert (answered.index == frame.index).all()
    assert set(answered["newfound_class"]) == {""}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_transform_gives_the_frames_that_are_asked_for(model, frame, kind):
    latent = model.set_output(transform=kind).transform(frame)
    assert type(latent) is KINDS[kind]
    assert list(latent.columns) == list(model.get_feature_names_out()) == ["gmdgm0", "gmdgm1"]
    model.set_output(transform="default")


def test_text_is_refused_by_its_column_in_every_kind_of_frame(model, frame):
    frame = with_columns(frame, {"queue": np.array(["login"] * 120)})
    with pytest.raises(ValueError, match="numbers only, got text in column 'queue'"):
        GMDGM(**quick()).fit(frame)


def test_what_is_no_frame_in_memory_or_lacks_columns_is_refused_with_a_remedy(model, rows):
    frame = pl.DataFrame(columns_of(rows[0]))
    with pytest.raises(ValueError, match=r"got a LazyFrame. Give X.collect\(\)"):
        model.predict(frame.lazy())
    with pytest.raises(ValueError, match="no column 'c3'.*1 of 5 columns are missing"):
        model.predict_frame(frame.drop("c3"))
    with pytest.raises(ValueError, match="data frame"):
        model.predict_frame(rows[0])
    with pytest.raises(ValueError, match="fitted on a data frame"):
        GMDGM(**quick(n_new=2)).fit(*rows).predict_frame(frame)


def test_weights_are_refused_and_it_is_said_why(rows):
    with pytest.raises(TypeError, match="takes X, y and groups; got 'sample_weight'. Rows cannot be weighted"):
        GMDGM().fit(*rows, sample_weight=np.ones(120))
