"""What speed rests on, counted: operations and bytes of a step, programs of a fit, what passes between host and device.

Nothing here is timed. A change that makes a step do more, or a fit compile more, shows here.
"""

import logging
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_digits
from small import quick

from experiments.tasks import paper_setup
from newfound._internal.threads import in_batches
from newfound.config import Config
from newfound.estimator import GMDGM
from newfound.evaluation import evaluate
from newfound.fit import prepared_rows
from newfound.labels import UNLABELLED, Labels
from newfound.models.architecture import Architecture, log_prior
from newfound.models.in_numpy import MIN_LABELS
from newfound.models.objective import Expectation, Weights
from newfound.preprocessing.columns import Scaling
from newfound.training import loop
from newfound.training.phases import STEPS_PER_CHUNK
from newfound.training.steps import Hyperparameters, compiled_train_chunk, init_states, select

pytestmark = pytest.mark.usefixtures("optimised")

WAS = {"loss": 155.7, "all": 0.966, "known": 0.970}
INPUTS, LATENT, N_KNOWN, N_COMPONENTS, STEPS = 444, 5, 5, 45, 4


def compiled_chunk(batch, units):
    architecture = Architecture("gmdgm", INPUTS, N_COMPONENTS, LATENT, (units, units), "bernoulli")
    prior = log_prior(np.ones(N_KNOWN), N_COMPONENTS - N_KNOWN, 0.5)
    states = init_states([0], prior, 1.0, architecture)
    sizes = (1, STEPS, 2 * batch)
    rows = np.zeros((*sizes, INPUTS), np.uint8)
    labels = np.full(sizes, UNLABELLED, np.int32)
    scaling = Scaling(np.zeros(INPUTS, np.float32), np.ones(INPUTS, np.float32))
    hyperparameters = Hyperparameters(Weights(*map(jnp.float32, (1, 0))), *map(jnp.float32, (1, 0.5, 100)))
    rates = np.full(sizes[:2], 1e-3, np.float32)
    return compiled_train_chunk().lower(
        *(states, rows, labels, None, rates, scaling, hyperparameters),
        n_labelled=batch,
        expectation=Expectation(),
    )


def parameters(units):
    classifier = INPUTS * units + units**2 + units * N_COMPONENTS
    encoder = (INPUTS + N_COMPONENTS) * units + units**2 + 2 * units * LATENT
    decoder = LATENT * units + units**2 + units * INPUTS
    return classifier + encoder + decoder


@pytest.fixture(scope="module")
def cost(optimised):
    """Of the body of the loop: one step."""
    return compiled_chunk(64, 200).compile().cost_analysis()


def test_a_step_computes_little_beside_its_matrix_products(cost):
    products = 2 * 2 * 64 * (3 * parameters(200) - 2 * INPUTS * 200)  # no gradient towards the data
    assert products < cost["flops"] < 1.08 * products


def test_a_step_passes_over_its_parameters_no_more_often_than_now(cost):
    assert cost["bytes accessed"] < 32 * 4 * parameters(200)


def test_the_rows_of_a_chunk_reach_the_device_as_bytes():
    arguments = compiled_chunk(4, 8).in_avals[0]
    rows = [a for a in jax.tree.leaves(arguments) if a.shape == (1, STEPS, 8, INPUTS)]
    assert [a.dtype for a in rows] == [np.uint8]


def fit(n_rows, **changes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 6)).astype("f4")
    y = np.where(rng.random(n_rows) < 0.3, rng.integers(0, 2, n_rows), -1)
    brief = {"hidden_layer_sizes": (8, 8), "latent_dim": 3, "max_epochs": 2, "pretrain_epochs": 2}
    return GMDGM(3, **quick(**brief | changes)).fit(X, y)


def test_a_fit_compiles_one_program_to_train_and_a_second_fit_none(caplog):
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        first = fit(400)
        programs = [record.getMessage() for record in caplog.records if "Compiling jit(" in record.getMessage()]
        assert sum("jit(train_chunk)" in program for program in programs) == 1
        caplog.clear()
        second = fit(531)  # other rows, as many columns
        assert first.architecture_ == second.architecture_
        assert min(model.fitted_.n_held_out_labels for model in (first, second)) >= MIN_LABELS  # both fit a temperature
        assert not [record for record in caplog.records if "Compiling jit(" in record.getMessage()]


def test_a_chunk_costs_one_call_of_the_device_and_one_answer(monkeypatch):
    calls, answers, chunks = [], [], []
    program, device_get, make_chunk = compiled_train_chunk(), jax.device_get, loop.make_chunk
    monkeypatch.setattr(
        loop, "compiled_train_chunk", lambda is_brief: lambda *a, **k: (calls.append(1), program(*a, **k))[1]
    )
    monkeypatch.setattr(jax, "device_get", lambda x: (answers.append(1), device_get(x))[1])
    monkeypatch.setattr(loop, "make_chunk", lambda *a: (chunks.append(1), make_chunk(*a))[1])
    model = fit(200, validation_fraction=0.0, pretrain_epochs=0, max_epochs=40)
    n_evaluations = len(model.history_["step"])
    assert len(calls) == len(chunks) == model.history_["step"][-1] // STEPS_PER_CHUNK
    assert len(calls) <= len(answers) <= len(calls) + 2 * n_evaluations + 2


@pytest.mark.parametrize(("n_rows", "calls"), [(1, [8]), (8, [8]), (9, [512]), (513, [512, 512])])
def test_rows_are_passed_on_in_calls_of_two_sizes_and_come_back_in_order(n_rows, calls):
    sizes = []
    rows = np.arange(2 * n_rows).reshape(n_rows, 2)
    answers = in_batches(lambda some: (sizes.append(len(some)), 3 * some)[1], rows)
    assert sizes == calls
    np.testing.assert_array_equal(answers, 3 * rows)


def peak_bytes(call):
    """What NumPy allocates meanwhile, at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_predictions_copy_no_table():
    model = fit(200, validation_fraction=0.0, pretrain_epochs=0)
    X = np.random.default_rng(0).standard_normal((400_000, 6)).astype("f4")
    answer = model.predict_proba(X).nbytes
    assert peak_bytes(lambda: model.fitted_.inference.component_probabilities(X)) < answer + 0.5 * X.nbytes


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_rows_are_copied_once_to_be_fitted_and_bytes_never(dtype):
    X = (40 * np.random.default_rng(0).standard_normal((200_000, 10)) + 128).clip(0, 255).astype(dtype)
    parameters = GMDGM().get_params(deep=False) | {"config": Config()}
    once = 0 if dtype == "u1" else 4 * X.size  # in single precision
    assert peak_bytes(lambda: prepared_rows(X, parameters)) < once + 0.3 * 4 * X.size


def test_restarts_that_agree_need_no_program_to_select(caplog):
    new, old = {"a": jnp.ones((2, 3))}, {"a": jnp.zeros((2, 3))}
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        assert select(np.array([True, True]), new, old) is new
        assert select(np.array([False, False]), new, old) is old
        assert not caplog.records
    mixed = select(np.array([True, False]), new, old)
    np.testing.assert_array_equal(mixed["a"], [[1] * 3, [0] * 3])


def test_accuracy_after_so_many_steps_is_what_it_was():
    """An optimisation may change the last digits of a sum, and nothing that a user would notice."""
    digits = load_digits()
    y, _ = paper_setup("semi-unsupervised", Labels.read(digits.target, len(digits.target)), random_state=0)
    how = {"max_epochs": 5, "pretrain_epochs": 10, "hidden_layer_sizes": (200, 200), "latent_dim": 10, "batch_size": 64}
    model = GMDGM(10, **quick(**how)).fit(digits.data.astype("f4"), y)
    component = model.predict_component(digits.data.astype("f4"))
    accuracy = evaluate(digits.target, component, known=range(5)).many_to_one
    assert model.history_["loss"][-1] == pytest.approx(WAS["loss"], rel=0.02)
    assert accuracy.all == pytest.approx(WAS["all"], abs=0.02)
    assert accuracy.known == pytest.approx(WAS["known"], abs=0.02)
