"""Inference in NumPy: every model of the registry, in JAX, is its slow oracle; and what it must not cost."""

import logging
import pickle
import tracemalloc
from dataclasses import replace
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from cases import BLOCKS, CASES, D_X, Case, K
from small import blobs, imported_by, quick, some_labels, unscaled

from newfound import GMDGM, load, load_predictor
from newfound.config import Optimisation
from newfound.models import in_numpy
from newfound.models.architecture import LIKELIHOODS, MODELS, Architecture, posterior_shapes
from newfound.models.base import DeepGenerativeModel, model_of, weights_of
from newfound.models.in_numpy import Inference, Perceptron, Posterior, normalised
from newfound.models.likelihoods import Likelihood
from newfound.models.networks import Mlp, key_of
from newfound.predictor import Predictor
from newfound.preprocessing.columns import Scaling

HEAVY = ("jax", "equinox", "optax")


def shape_of(case: Case) -> Architecture:
    return Architecture(case.model, D_X, K, 3, (8, 7), case.likelihood, case.posterior, blocks=BLOCKS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_posterior_is_that_of_the_model(case):
    model = case.build()
    x = np.random.default_rng(0).standard_normal((50, D_X)).astype("f4")
    posterior = Posterior.of(shape_of(case), weights_of(model))
    shapes = {name: array.shape for name, array in weights_of(model).items()}
    assert posterior_shapes(shape_of(case)).items() <= shapes.items()

    @jax.jit
    @jax.vmap
    def slow(x):
        return model.log_q_y(x), jax.vmap(lambda y: model.q_z(x, y).mean)(jnp.eye(K))

    log_q, means = map(np.asarray, slow(x))
    np.testing.assert_allclose(posterior.log_q_y(x), log_q, atol=2e-6)
    np.testing.assert_allclose(np.exp(posterior.log_q_y(x)), np.exp(log_q), atol=1e-6)
    np.testing.assert_allclose(posterior.mean_z(x), np.einsum("nk,nkz->nz", np.exp(log_q), means), atol=3e-6)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_generated_rows_are_those_of_the_model(case):
    model, architecture, rng = case.build(), shape_of(case), np.random.RandomState(0)
    if not in_numpy.is_known(architecture):
        pytest.skip("it generates by its own equations, in JAX")
    components, epsilon = rng.randint(K, size=40), rng.standard_normal((40, 3)).astype("f4")
    ys = np.eye(K, dtype="f4")[components]

    @jax.jit
    def slow(ys, epsilon):
        output = jax.vmap(lambda y, e: model.p_x(y, model.p_z(y).reparameterise(e)))(ys, epsilon)
        draws = jax.vmap(lambda key: model.likelihood.sample(output[0], key))(jax.random.split(key_of(1), 4_000))
        return output, jax.vmap(model.likelihood.mean)(output), draws

    output, mean, draws = map(np.asarray, slow(ys, epsilon))
    here = in_numpy.decoded(architecture, weights_of(model), components, epsilon)
    np.testing.assert_allclose(here, output, atol=1e-5)
    np.testing.assert_allclose(in_numpy.means(architecture, here), mean, atol=1e-5)
    drawn = in_numpy.draws(architecture, weights_of(model), np.repeat(mean[:1], 4_000, axis=0), rng)
    np.testing.assert_allclose(drawn.mean(axis=0), draws.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(drawn.std(axis=0), draws.std(axis=0), atol=0.15)


def test_every_line_of_the_tables_has_a_class_in_jax():
    assert all(issubclass(kind.in_jax, DeepGenerativeModel) for kind in MODELS.values())
    assert all(issubclass(kind.in_jax, Likelihood) for kind in LIKELIHOODS.values())


@pytest.mark.parametrize("activation", Optimisation.__dataclass_fields__["activation"].metadata["rules"][0].values)
def test_activations_are_those_of_training(activation):
    network = Mlp.init(np.random.default_rng(0), (5,), (7, 6), (4,), activation)
    x = 3 * np.random.default_rng(0).standard_normal((30, 5)).astype("f4")
    (expected,) = jax.jit(jax.vmap(network))(x)
    weights = {f".net{name}": array for name, array in weights_of(network).items()}
    here = Perceptron.of(weights, "net", activation)
    np.testing.assert_allclose(here.outputs[0](here.last(here.first(x))), expected, atol=2e-6)


@jax.jit
def log_q_y(model, x):
    return jax.vmap(model.log_q_y)(x)


def by_hand(shift, scale, is_kept) -> tuple[Inference, object]:
    case = CASES[0]
    scaling = Scaling(np.float32(shift) * np.ones(D_X, "f4"), np.float32(scale) * np.ones(D_X, "f4"))
    preprocessing = unscaled(is_kept, scaling)
    return Inference(Posterior.of(shape_of(case), weights_of(case.build())), preprocessing), case.build()


@pytest.mark.parametrize(("shift", "scale", "dtype"), [*product([0, 3], [1, 0.25], ["f4", "u1"])])
@pytest.mark.parametrize("is_kept", [[True] * D_X, [True, False] * 2 + [True] * (D_X - 2)], ids=["all", "some"])
def test_rows_are_chosen_and_scaled_block_by_block(monkeypatch, shift, scale, dtype, is_kept):
    asked, model = by_hand(shift, scale, np.array(is_kept))
    X = np.random.default_rng(0).integers(0, 9, (300, len(is_kept))).astype(dtype)
    before = X.copy()
    whole = asked.component_probabilities(X, 1.7)
    x = (X[:, is_kept].astype("f4") - shift) * scale
    expected = normalised(np.exp(np.asarray(log_q_y(model, x)) / 1.7))
    np.testing.assert_allclose(normalised(whole), expected, atol=1e-6)
    monkeypatch.setattr(in_numpy, "BLOCK_BYTES", 1)
    in_blocks = replace(asked)  # 64 rows at a time: the last block is not full
    np.testing.assert_allclose(in_blocks.component_probabilities(X, 1.7), whole, atol=1e-6)
    np.testing.assert_allclose(in_blocks.latent_means(X), asked.latent_means(X), atol=3e-6)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_x_is_never_copied_as_a_whole(dtype):
    asked, _ = by_hand(1, 0.5, np.ones(D_X, bool))
    X = np.ones((200_000, D_X), dtype)
    tracemalloc.start()
    answers = asked.component_probabilities(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    blocks = 8 * in_numpy.BLOCK_BYTES
    assert peak < 2 * answers.nbytes + blocks
    assert len(answers) == len(X)


@pytest.fixture(scope="module")
def fitted():
    X, truth = blobs()
    return GMDGM(n_new=2, **quick()).fit(X, some_labels(truth)), X


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    fitted[0].save(folder)
    return folder


ANSWERS = ("predict", "predict_proba", "predict_new_proba", "predict_component", "predict_component_proba", "transform")


@pytest.mark.parametrize("method", ANSWERS)
def test_estimator_loaded_estimator_and_predictor_give_the_same_bits(fitted, saved, method):
    model, X = fitted
    expected = getattr(model, method)(X)
    for other in (load(saved), load_predictor(saved), pickle.loads(pickle.dumps(load_predictor(saved)))):
        np.testing.assert_array_equal(getattr(other, method)(X), expected)


def test_a_predictor_finds_columns_by_name_and_refuses_what_does_not_fit(fitted):
    model, X = fitted
    predictor = Predictor(replace(model.fitted_, feature_names=tuple("abcde")))
    frame = pd.DataFrame(X, columns=list("abcde"))[list("edcba")].assign(id="row")
    np.testing.assert_array_equal(predictor.predict_proba(frame), model.predict_proba(X))
    assert [*predictor.predict_frame(frame).columns][:6] == [*"edcba", "id"]
    for rows, message in (
        (frame.drop(columns="a"), "has no column 'a'"),
        (frame.assign(a="text"), "numbers only, got text in column 'a'"),
        (X[:, :3], r"X must have 5 columns, as in fit; got shape \(120, 3\)"),
        (X * np.nan, "contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            predictor.predict(rows)
    with pytest.raises(ValueError, match="predict_frame needs a model that was fitted on a data frame"):
        Predictor(model.fitted_).predict_frame(frame)


def test_the_networks_answers_are_the_models(fitted):
    model, X = fitted
    trained = model_of(model.architecture_, model.restarts_[0].weights)
    x = model.preprocessing_.scaling.apply(model.preprocessing_.select(X))
    expected = normalised(np.exp(np.asarray(log_q_y(trained, x)) / model.temperature_))
    np.testing.assert_allclose(model.predict_component_proba(X), expected, atol=1e-6)


def test_nothing_is_compiled_to_predict(fitted, saved, caplog):
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        for model in (fitted[0], load(saved)):
            for method in ANSWERS:
                getattr(model, method)(fitted[1])
            model.score(fitted[1], np.zeros(len(fitted[1]), int))
            model.sample(2)
        assert not [record for record in caplog.records if "Compiling" in record.getMessage()]


def test_a_saved_model_answers_without_jax(saved, fitted):
    code = """
import sys, numpy as np
from newfound import load
model, X = load(sys.argv[1]), np.zeros((3, int(sys.argv[2])), "f4")
for method in sys.argv[3:]:
    getattr(model, method)(X)
model.sample(2)
model.sample(2, mean=True, random_state=0)
model.score(X, [0, 1, -1])
model.rename({model.classes_[0]: 77}).merge(model.classes_[-2:]).split(model.classes_[-2]).predict(X)
"""
    assert not imported_by(code, saved, fitted[1].shape[1], *ANSWERS) & {*HEAVY, "matplotlib", "pyarrow.parquet"}


def test_a_predictor_needs_numpy_and_nothing_else(saved, fitted):
    code = """
import sys, numpy as np
from newfound import load_predictor
model = load_predictor(sys.argv[1])
for method in sys.argv[3:]:
    getattr(model, method)(np.zeros((3, int(sys.argv[2])), "f4"))
"""
    others = {*HEAVY, "sklearn", "scipy", "pandas", "pyarrow", "narwhals", "matplotlib"}
    assert not imported_by(code, saved, fitted[1].shape[1], *ANSWERS) & others


def test_the_estimator_is_imported_without_what_only_a_fit_needs():
    assert not imported_by("from newfound import GMDGM; GMDGM()") & {*HEAVY, "matplotlib", "rich", "typer"}
