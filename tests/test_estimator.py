import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import newfound
from newfound import GMDGM, SSVAE
from newfound.labels import most_probable
from newfound.training import Ending

QUICK = {"hidden": (16, 16), "latent_dim": 2, "max_epochs": 10, "warm_epochs": 5, "batch_size": 16, "random_state": 0}


def blobs(n=120, d=5, k=4, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    return 4 * np.eye(max(k, d))[truth, :d] + 0.3 * rng.standard_normal((n, d)), truth


def some_labels(truth, known=(0, 1), every=3):
    return np.where(np.isin(truth, known) & (np.arange(len(truth)) % every == 0), truth, -1)


@pytest.fixture(scope="module")
def fitted():
    X, truth = blobs()
    return GMDGM(n_new=2, **QUICK).fit(X, some_labels(truth)), X, truth


REGIMES = {
    "unsupervised": (lambda truth: np.full(len(truth), -1), 4),
    "semi-supervised": (lambda truth: np.where(np.arange(len(truth)) % 3 == 0, truth, -1), 0),
    "semi-unsupervised": (some_labels, 2),
    "supervised": (lambda truth: truth, 0),
}


@pytest.mark.parametrize("estimator", [GMDGM, SSVAE])
@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_follows_from_y_and_n_new(estimator, regime):
    X, truth = blobs()
    make_y, n_new = REGIMES[regime]
    y = make_y(truth)
    model = estimator(n_new=n_new, **QUICK).fit(X, y)
    known = np.unique(y[y >= 0])
    assert model.regime_ == regime
    assert model.classes_.tolist() == [*known, *range(len(known), len(known) + n_new)]
    assert model.is_new_.tolist() == [False] * len(known) + [True] * n_new
    assert model.predict_proba(X).shape == (len(X), len(known) + n_new)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.transform(X).shape == (len(X), 2)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("smoothness", [0.0, 3.0])
def test_it_finds_blobs_that_nobody_labelled(smoothness):
    X, truth = blobs(n=400)
    model = GMDGM(n_new=2, random_state=0, hidden=(50, 50), max_epochs=40, smoothness=smoothness)
    model.fit(X, some_labels(truth))
    from newfound.evaluation import evaluate

    evaluation = evaluate(truth, model.predict_component(X), 4, known=np.array([0, 1]))
    assert evaluation.one_to_one.known > 0.95
    assert evaluation.one_to_one.new > 0.95
    assert model.new_class_score(X)[truth >= 2].mean() > 0.95
    assert model.new_class_score(X)[truth < 2].mean() < 0.05


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([3, 3, 7, 7, -1], [3, 7, 8, 9]),
        ([3.0, 3.0, 7.0, 7.0, np.nan], [3, 7, 8, 9]),
        (["a", "a", "b", "b", ""], ["a", "b", "new-1", "new-2"]),
        (["a", "a", "new-1", "new-1", None], ["a", "new-1", "new-2", "new-3"]),
        ([True, True, False, False, None], ["False", "True", "new-1", "new-2"]),
        (pd.Series(["a", "a", "b", "b", None], dtype="category"), ["a", "b", "new-1", "new-2"]),
        (pd.Series([3, 3, 7, 7, None], dtype="Int64"), [3, 7, 8, 9]),
    ],
    ids=str,
)
def test_labels_of_every_kind(labels, classes):
    X, _ = blobs(n=100)
    y = pd.concat([labels] * 20, ignore_index=True) if isinstance(labels, pd.Series) else list(labels) * 20
    model = GMDGM(n_new=2, **QUICK | {"max_epochs": 1, "warm_epochs": 1}).fit(X, y)
    assert model.classes_.tolist() == classes
    assert set(model.predict(X)) <= set(classes)


def test_sample_makes_rows_of_a_class_in_the_users_units(fitted):
    model, X, _ = fitted
    assert model.sample(7).shape == (7, X.shape[1])
    assert np.array_equal(model.sample(3, of=1, random_state=5), model.sample(3, of=1, random_state=5))
    assert model.sample_grid(6).shape == (6, 4, X.shape[1])
    with pytest.raises(ValueError, match=r"`of` must be one of classes_ \(0, 1, 2, 3\); got 'cat'"):
        model.sample(3, of="cat")


def test_sample_of_a_known_class_is_near_its_rows():
    X, truth = blobs(n=400)
    X = 10 * X + 100
    model = GMDGM(n_new=2, random_state=0, hidden=(50, 50), max_epochs=40).fit(X, some_labels(truth))
    made_up = model.sample(200, of=1, random_state=0).mean(axis=0)
    np.testing.assert_allclose(made_up, X[truth == 1].mean(axis=0), atol=6)


def test_save_and_load_give_the_same_answers(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model")
    loaded = newfound.load(tmp_path / "model")
    for method in ("predict", "predict_proba", "predict_component", "new_class_score", "transform", "score_samples"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    assert loaded.get_params() == model.get_params()
    assert loaded.ending_ is model.ending_
    assert loaded.history_.keys() == model.history_.keys()
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}
    model.save(tmp_path / "model")  # over itself
    assert len(list((tmp_path / "model").iterdir())) == 2


@pytest.mark.parametrize("y", ["strings", "frame"])
def test_save_keeps_names(tmp_path, y):
    X, truth = blobs()
    X = pd.DataFrame(X, columns=list("abcde"))
    y = np.where(some_labels(truth) >= 0, np.array(["cat", "dog", "", ""])[truth], "")
    model = GMDGM(n_new=2, **QUICK).fit(X, y)
    model.save(tmp_path)
    loaded = newfound.load(tmp_path)
    assert loaded.classes_.tolist() == ["cat", "dog", "new-1", "new-2"]
    assert (loaded.predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[list("bacde")])


def test_pickle_clone_pipeline(fitted):
    model, X, truth = fitted
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), GMDGM(n_new=2, **QUICK)).fit(X, some_labels(truth))
    assert pipeline.predict(X).shape == (len(X),)
    assert pipeline[-1].get_feature_names_out().tolist() == ["gmdgm0", "gmdgm1"]


def test_best_of_several_runs_is_the_one_with_the_best_heldout_elbo():
    X, truth = blobs()
    model = GMDGM(n_new=2, n_runs=3, **QUICK).fit(X, some_labels(truth))
    elbos = [run.heldout_elbo for run in model.runs_]
    assert len(set(elbos)) == 3
    assert model.best_run_ == int(np.argmax(elbos))
    assert model.ending_ is Ending.REACHED_LIMIT


def test_a_failed_fit_leaves_the_earlier_one_untouched(fitted):
    model, X, _ = fitted
    before = model.predict_proba(X)
    other = pd.DataFrame(np.ones((9, 2)), columns=["p", "q"])
    twin = pickle.loads(pickle.dumps(model)).set_params(n_new=0)
    with pytest.raises(ValueError, match="nothing to learn"):
        twin.fit(other)
    assert twin.n_features_in_ == X.shape[1]
    assert not hasattr(twin, "feature_names_in_")
    np.testing.assert_array_equal(twin.predict_proba(X), before)


def test_interrupted_fit_is_usable_and_says_so(interrupted_at_third_chunk):

    X, truth = blobs()
    with pytest.warns(UserWarning, match="interrupted; the best state so far is kept"):
        model = GMDGM(n_new=2, **QUICK).fit(X, some_labels(truth))
    assert model.ending_ is Ending.INTERRUPTED
    assert model.predict(X).shape == (len(X),)


def test_constant_columns_are_left_out_with_a_note_and_come_back_in_samples():
    X, truth = blobs()
    X = np.insert(X, 2, 7.5, axis=1)
    with pytest.warns(UserWarning, match="1 of 6 columns do not vary .* the first is column 2"):
        model = GMDGM(n_new=2, **QUICK).fit(X, some_labels(truth))
    assert (model.sample(4)[:, 2] == 7.5).all()


def test_uint8_images_are_read_as_grey_values():
    rng = np.random.default_rng(0)
    X = (255 * (rng.random((60, 9)) < 0.5)).astype(np.uint8)
    model = GMDGM(n_new=3, **QUICK).fit(X)
    assert model.features_.likelihood == "bernoulli"
    floats = GMDGM(n_new=3, **QUICK | {"likelihood": "bernoulli"}).fit(X / 255)
    np.testing.assert_allclose(model.predict_proba(X), floats.predict_proba(X / 255), atol=1e-3)
    assert model.sample(5, as_means=True).max() > 1


def test_answers_do_not_depend_on_the_rows_beside(fitted):
    model, X, _ = fitted
    many = np.tile(X, (10, 1))  # more than one batch
    np.testing.assert_array_equal(model.predict_proba(many)[: len(X)], model.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X[5:6]), model.predict_proba(X)[5:6])


def test_auto_n_new():
    X, truth = blobs(n=200)
    assert len(GMDGM(**QUICK | {"max_epochs": 1, "warm_epochs": 1}).fit(X, some_labels(truth)).classes_) == 2 + 9
    assert len(GMDGM(**QUICK | {"max_epochs": 1}).fit(X, truth).classes_) == 4


def test_a_new_class_in_parts_is_weighed_as_a_whole():
    is_new = np.array([False, False, True, True])
    probabilities = np.array([[0.4, 0.1, 0.2, 0.3], [0.6, 0.0, 0.2, 0.2], [0.3, 0.3, 0.4, 0.0], [0.0, 0.5, 0.25, 0.25]])
    assert most_probable(probabilities, is_new).tolist() == [3, 0, 2, 1]
    assert most_probable(probabilities, np.zeros(4, bool)).tolist() == [0, 0, 2, 1]
    assert most_probable(probabilities, np.ones(4, bool)).tolist() == [0, 0, 2, 1]
