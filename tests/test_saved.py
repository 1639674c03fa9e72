"""A model on disk: the same answers, nothing lost, nothing that runs."""

import json

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import astuple
from small import blobs, quick, some_labels

from newfound import GMDGM, load
from newfound.saved import with_checksum

METHODS = ("predict", "predict_proba", "predict_component", "predict_new_proba", "transform", "score_samples")


@pytest.fixture(scope="module")
def fitted():
    X, truth = blobs()
    frame = pd.DataFrame(X, columns=list("abcde"))
    names = np.where(some_labels(truth) >= 0, np.array(["cat", "dog", "", ""])[truth], "")
    return GMDGM(n_new=2, **quick(n_init=2, temperature=0.7)).fit(frame, names), frame


@pytest.fixture
def saved(fitted, tmp_path):
    fitted[0].save(tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_model_gives_the_same_answers(fitted, saved):
    model, X = fitted
    loaded = load(saved)
    for method in METHODS:
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    np.testing.assert_array_equal(loaded.sample(3, "new-1", random_state=0), model.sample(3, "new-1", random_state=0))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[list("bacde")])


def test_nothing_that_fit_leaves_is_lost(fitted, saved):
    model, _ = fitted
    loaded = load(saved)
    assert loaded.get_params() == model.get_params()
    for name in ("classes_", "is_new_", "component_class_", "validation_indices_", "labels_", "is_sure_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    for name in ("regime_", "best_restart_", "termination_condition_", "architecture_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name)
    for name in ("n_new_", "n_new_range_", "evidence_", "selection_", "temperature_"):
        assert getattr(loaded, name) == getattr(model, name)
    for record, was in ((loaded.tree_, model.tree_), (loaded.fitted_.evidence, model.fitted_.evidence)):
        for part, before in zip(astuple(record), astuple(was), strict=True):
            np.testing.assert_array_equal(part, before)
    assert len(loaded.restarts_) == len(model.restarts_) == 2
    for a, b in zip(loaded.restarts_, model.restarts_, strict=True):
        assert (a.seed, a.validation_elbo) == (b.seed, pytest.approx(b.validation_elbo))
        for name, column in b.history.items():
            np.testing.assert_allclose(a.history[name], column)
    np.testing.assert_array_equal(loaded.preprocessing_.scaling.scale, model.preprocessing_.scaling.scale)


@pytest.mark.parametrize("y", [np.array([5, 7] * 15), np.array([True, False] * 15)], ids=["integers", "booleans"])
def test_names_keep_their_kind(y, tmp_path):
    model = GMDGM(n_new=0, **quick(max_epochs=1)).fit(np.random.default_rng(0).random((30, 3)), y)
    model.save(tmp_path)
    assert load(tmp_path).classes_.dtype == model.classes_.dtype


def test_it_is_written_over_itself_whole(fitted, saved):
    fitted[0].save(saved)
    assert sorted(path.suffix for path in saved.iterdir()) == [".json", ".safetensors"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder .* Give the folder that `save` wrote to"):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"holds no saved model: model.json is missing"):
        load(tmp_path)


def test_a_folder_without_its_weights(saved):
    next(saved.glob("*.safetensors")).unlink()
    with pytest.raises(FileNotFoundError, match="is incomplete: weights-.* is missing. Copy the whole folder"):
        load(saved)


def test_damaged_files(saved):
    weights = next(saved.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(ValueError, match="is damaged"):
        load(saved)
    (saved / "model.json").write_text("{")
    with pytest.raises(ValueError, match=r"model.json' is damaged \(Input data was truncated"):
        load(saved)


@pytest.mark.parametrize(
    ("written_as", "message"),
    [(99, r"by a newer newfound \(9.9, format 99\).*Upgrade with"), (1, r"by an earlier newfound \(format 1\).*Fit")],
)
def test_other_formats_are_refused_in_a_sentence(saved, written_as, message):
    change(saved, format=written_as, newfound="9.9")
    with pytest.raises(ValueError, match=message):
        load(saved)


def test_weights_cannot_be_read_from_elsewhere(saved):
    change(saved, weights="../../secret")
    with pytest.raises(ValueError, match=r"is damaged \(Expected `str` matching regex .*weights"):
        load(saved)


def change(folder, **entries):
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(with_checksum(description | entries)))


def test_an_edited_description_is_noticed(saved):
    path = saved / "model.json"
    text = path.read_text()
    for before, after in (('"activation": "relu"', '"activation": "tanh"'), ('"temperature": ', '"temperature": 1')):
        assert before in text
        path.write_text(text.replace(before, after))
        with pytest.raises(ValueError, match="was changed since it was saved: its checksum does not fit"):
            load(saved)
    path.write_text(text)
    load(saved)


@pytest.mark.parametrize(
    ("part", "entries", "message"),
    [
        (
            "architecture",
            {"hidden_layer_sizes": [1] * 9_000},
            r"length <= 100 - at `\$.architecture.hidden_layer_sizes`",
        ),
        (
            "architecture",
            {"n_components": 10**10},
            r"`int` <= 100000 - at `\$.architecture.n_components`",
        ),
        ("architecture", {"hidden_layer_sizes": [99]}, r"restart-0.* must have the shape"),
        ("architecture", {"activation": "exp"}, "activation must be relu or"),
        ("classes", {"component_class": [0, 0]}, "component_class must be . numbers"),
        ("classes", {"names": "ab"}, r"Expected `array`, got `str` - at `\$.classes.names`"),
    ],
)
def test_sizes_are_bounded_before_anything_is_made(saved, part, entries, message):
    stored = json.loads((saved / "model.json").read_text())[part]
    change(saved, **{part: stored | entries})
    with pytest.raises(ValueError, match=message):
        load(saved)
