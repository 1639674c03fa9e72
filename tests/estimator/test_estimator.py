import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small import blobs, quick, some_labels

from newfound import GMDGM, SSVAE, Config
from newfound._internal.records import to_json
from newfound.estimator import estimator_of
from newfound.evaluation import evaluate
from newfound.fitted import Termination
from newfound.models.architecture import MODELS


@pytest.fixture(scope="module")
def fitted():
    X, truth = blobs()
    return GMDGM(n_new=2, **quick()).fit(X, some_labels(truth)), X, truth


REGIMES = {
    "unsupervised": (lambda truth: np.full(len(truth), -1), 4),
    "semi-supervised": (lambda truth: np.where(np.arange(len(truth)) % 3 == 0, truth, -1), 0),
    "semi-unsupervised": (some_labels, 2),
    "supervised": (lambda truth: truth, 0),
}


FITS = [*((GMDGM, regime) for regime in REGIMES), (SSVAE, "unsupervised"), (SSVAE, "semi-unsupervised")]


@pytest.mark.parametrize(("estimator", "regime"), FITS)
def test_every_regime_follows_from_y_and_n_new(estimator, regime):
    X, truth = blobs()
    make_y, n_new = REGIMES[regime]
    y = make_y(truth)
    model = estimator(n_new=n_new, **quick()).fit(X, y)
    known = np.unique(y[y >= 0])
    assert model.regime_ == regime
    assert model.classes_.tolist() == [*known, *range(len(known), len(known) + n_new)]
    assert model.is_new_.tolist() == [False] * len(known) + [True] * n_new
    assert model.predict_proba(X).shape == (len(X), len(known) + n_new)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.transform(X).shape == (len(X), 2)
    assert np.isfinite(model.score_samples(X)).all()


def test_it_finds_blobs_that_nobody_labelled():
    X, truth = blobs(n=400)
    settings = quick(hidden_layer_sizes=(50, 50), max_epochs=40, pretrain_epochs="auto")
    model = GMDGM(n_new=2, **settings).fit(X, some_labels(truth))
    evaluation = evaluate(truth, model.predict(X), known=[0, 1])
    assert evaluation.one_to_one.known > 0.95
    assert evaluation.one_to_one.new > 0.95
    assert model.predict_new_proba(X)[truth >= 2].mean() > 0.95
    assert model.predict_new_proba(X)[truth < 2].mean() < 0.05


def test_what_begins_with_k_means_is_taught_nothing_and_has_no_tree():
    """As in the paper's tables: labels and a number, no discovery and no PU term."""
    X, truth = blobs()
    model = GMDGM(n_new=2, **quick(init="kmeans")).fit(X, some_labels(truth))
    assert (model.tree_, model.selection_, model.evidence_) == (None, None, {})
    assert (model.history_["pu_loss"] == 0).all()
    assert (model.n_new_, model.n_new_range_) == (2, (2, 2))
    is_labelled = some_labels(truth) >= 0
    np.testing.assert_array_equal(model.labels_[~is_labelled], model.predict(X)[~is_labelled])
    with pytest.raises(ValueError, match="no class tree to cut"):
        model.cut(1)


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
    model = GMDGM(n_new=2, **quick(max_epochs=1, pretrain_epochs=1)).fit(X, y)
    assert model.classes_.tolist() == classes
    assert set(model.predict(X)) <= set(classes)


def test_thresholds_move_without_a_fit(fitted):
    model, X, _ = fitted
    usual, best = model.predict(X), model.predict_proba(X).max(axis=1)
    assert set(model.predict(X, known_only=True)) <= {0, 1}
    assert set(model.predict(X, new_threshold=0.0)) <= {2, 3}
    cautious = model.predict(X, abstain=float(np.median(best)))
    assert 0 < (cautious == -1).sum() < len(X)
    assert cautious.dtype == usual.dtype
    np.testing.assert_array_equal(cautious[cautious != -1], usual[cautious != -1])
    with pytest.raises(ValueError, match="abstain must be a number of at least 0 and at most 1"):
        model.predict(X, abstain=90)


def test_sample_makes_rows_of_a_class_in_the_users_units(fitted):
    model, X, _ = fitted
    assert model.sample(7).shape == (7, X.shape[1])
    assert np.array_equal(model.sample(3, 1, random_state=5), model.sample(3, class_name=1, random_state=5))
    assert model.sample_grid(6).shape == (6, 4, X.shape[1])
    with pytest.raises(ValueError, match="There is no class 'cat'. The classes are 0, 1, 2, 3"):
        model.sample(3, class_name="cat")
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1; got 0"):
        model.sample(0)


def test_sample_of_a_known_class_is_near_its_rows():
    X, truth = blobs(n=400)
    X = 10 * X + 100
    settings = quick(hidden_layer_sizes=(50, 50), max_epochs=40, pretrain_epochs="auto")
    model = GMDGM(n_new=2, **settings).fit(X, some_labels(truth))
    generated = model.sample(200, class_name=1, random_state=0).mean(axis=0)
    np.testing.assert_allclose(generated, X[truth == 1].mean(axis=0), atol=6)


def test_pickle_clone_pipeline(fitted):
    model, X, truth = fitted
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), GMDGM(n_new=2, **quick())).fit(X, some_labels(truth))
    assert pipeline.predict(X).shape == (len(X),)
    assert pipeline[-1].get_feature_names_out().tolist() == ["gmdgm0", "gmdgm1"]


@pytest.mark.parametrize("estimator", [GMDGM, SSVAE])
def test_a_notebook_shows_what_each_parameter_means(estimator):
    """From scikit-learn 1.8 on; without the name of any host."""
    page = estimator()._repr_mimebundle_()["text/html"]
    if "param-doc-description" not in page:
        pytest.skip("this scikit-learn shows no documentation of parameters")
    described = re.findall(r'param-doc-description"[^>]*>(.*?)</span>', page, re.DOTALL)
    names = [text.strip().partition(":")[0] for text in described]
    assert sorted(names) == sorted(estimator().get_params())
    assert any("How many new classes there are." in text for text in described)
    assert "http" not in "".join(re.findall('href="([^"]*)"', page))


def test_a_notebook_shows_a_fitted_model(fitted):
    page = fitted[0]._repr_mimebundle_()["text/html"]
    assert "GMDGM" in page
    make_pipeline(StandardScaler(), fitted[0])._repr_mimebundle_()


def test_best_of_several_restarts_is_the_one_with_the_best_validation_elbo():
    X, truth = blobs()
    model = GMDGM(n_new=2, **quick(n_init=3)).fit(X, some_labels(truth))
    elbos = [restart.validation_elbo for restart in model.restarts_]
    assert len(set(elbos)) == 3
    assert model.best_restart_ == int(np.argmax(elbos))
    assert model.termination_condition_ is Termination.MAX_EPOCHS


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
        model = GMDGM(n_new=2, **quick()).fit(X, some_labels(truth))
    assert model.termination_condition_ is Termination.INTERRUPTED
    assert model.predict(X).shape == (len(X),)


def test_constant_columns_are_dropped_with_a_note_and_come_back_in_samples():
    X, truth = blobs()
    X = np.insert(X, 2, 7.5, axis=1)
    with pytest.warns(UserWarning, match="1 of 6 columns do not vary .* the first is column 2"):
        model = GMDGM(n_new=2, **quick()).fit(X, some_labels(truth))
    assert (model.sample(4)[:, 2] == 7.5).all()


def test_uint8_images_are_read_as_grey_values():
    rng = np.random.default_rng(0)
    X = (255 * (rng.random((60, 9)) < 0.5)).astype(np.uint8)
    model = GMDGM(n_new=3, **quick()).fit(X)
    assert model.architecture_.likelihood == "bernoulli"
    floats = GMDGM(n_new=3, **quick(likelihood="bernoulli")).fit(X / 255)
    np.testing.assert_allclose(model.predict_proba(X), floats.predict_proba(X / 255), atol=1e-3)
    assert model.sample(5, mean=True).max() > 1


def test_answers_do_not_depend_on_the_rows_beside(fitted):
    model, X, _ = fitted
    many = np.tile(X, (10, 1))  # more than one batch
    rounding = 0 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 1e-6  # the BLAS of earlier ones sums by blocks
    np.testing.assert_allclose(model.predict_proba(many)[: len(X)], model.predict_proba(X), rtol=0, atol=rounding)
    one = model.predict_proba(X[5:6])  # a product of one row is summed in another order
    np.testing.assert_allclose(one, model.predict_proba(X)[5:6], atol=1e-6)


def test_where_every_row_has_a_label_nothing_is_new():
    X, truth = blobs(n=200)
    model = GMDGM(**quick(max_epochs=1, pretrain_epochs=1)).fit(X, truth)
    assert len(model.classes_) == 4
    assert (model.n_new_, model.n_new_range_) == (0, (0, 0))


def test_labels_that_mean_unlabelled_are_told():
    X, truth = blobs()
    y = np.where(some_labels(truth) >= 0, np.array(["cat", "dog", "", ""])[truth], "NA")
    with pytest.warns(UserWarning, match=r"These labels mean unlabelled: 'NA' \(100 rows\)"):
        model = GMDGM(n_new=2, **quick(max_epochs=1, pretrain_epochs=1)).fit(X, y)
    assert model.classes_.tolist() == ["cat", "dog", "new-1", "new-2"]


def test_every_model_of_the_registry_has_an_estimator(monkeypatch):
    assert [estimator_of(name).model for name in MODELS] == list(MODELS)
    assert estimator_of("gmdgm") is GMDGM
    monkeypatch.setitem(MODELS, "another", MODELS["gmdgm"]._replace(p_z=None))  # one line in the registry
    X, truth = blobs()
    model = estimator_of("another")(n_new=2, **quick(max_epochs=1)).fit(X, some_labels(truth))
    assert model.predict(X).shape == (len(X),)
    assert model.sample(3, random_state=0).shape == (3, X.shape[1])  # by its own equations
    with pytest.raises(ValueError, match="model must be 'gmdgm' or 'ssvae'"):
        estimator_of("gan")


def test_settings_are_whole_and_plain():
    settings = GMDGM(n_new=3, config=Config().replace(n_trees=7)).settings()
    assert settings["config"]["initialisation"]["n_trees"] == 7
    assert settings["config"]["objective"] == to_json(Config())["objective"]
    assert settings.keys() == GMDGM().get_params().keys()
    assert GMDGM().settings()["config"] == to_json(Config())


def test_configurations_can_be_searched_as_values():
    from sklearn.model_selection import ParameterGrid

    grid = {"config": [Config().replace(temperature=t) for t in (0.3, 0.7)]}
    found = [clone(GMDGM()).set_params(**choice).config["temperature"] for choice in ParameterGrid(grid)]
    assert found == [0.3, 0.7]


def test_a_fit_leaves_the_settings_of_jax_alone(tmp_path):
    import os
    import subprocess
    import sys

    code = """
import jax, numpy as np
from newfound import GMDGM
names = [name for name in jax.config.values if "cache" in name]
before = {name: jax.config.values[name] for name in names}
GMDGM(n_new=2, max_epochs=1, hidden_layer_sizes=(4,), verbose=False).fit(np.random.default_rng(0).random((30, 3)))
print([name for name in names if jax.config.values[name] != before[name]])
"""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "NEWFOUND_"))}
    plain["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    asked = plain | {"NEWFOUND_CACHE": str(tmp_path)}
    changed = [
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        for env in (plain | {"HOME": str(tmp_path / "home")}, asked)
    ]
    assert changed[0] == "[]\n"
    assert "jax_compilation_cache_dir" in changed[1]
    assert "jax_compilation_cache_max_size" in changed[1]
    assert list((tmp_path / "programs").iterdir())
    assert not (tmp_path / "home").exists()
