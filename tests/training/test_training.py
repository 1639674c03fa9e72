"""Training as the estimator never shows it: many restarts in one program, how they end, going back, compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small import blobs, some_labels

from newfound.classes import Classes
from newfound.config import Config
from newfound.discovery.rows import Assignment
from newfound.fitted import Termination
from newfound.labels import UNLABELLED
from newfound.models.architecture import MODELS, Architecture, log_prior
from newfound.models.in_numpy import Posterior
from newfound.preprocessing.columns import Scaling
from newfound.training import loop, steps
from newfound.training.batches import BatchStream, ShuffledStream, make_chunk, prefetch
from newfound.training.loop import train
from newfound.training.phases import (
    LatentPosterior,
    TrainingData,
    TrainingSettings,
    _in_components,
    component_init,
    has_pu_term,
)

D_X, N_KNOWN, N_NEW = 4, 2, 2
SAME = Scaling(np.zeros(D_X, "f4"), np.ones(D_X, "f4"))
CLASSES = Classes.one_component_each(np.array(["a", "b"]), N_NEW)


def task(n=200, classes=CLASSES, found=None):
    X, truth = blobs(n, d=D_X, distance=3)
    rows = np.arange(n)
    return TrainingData(X, some_labels(truth, share=0.4), rows[20:], rows[:20], SAME, classes, found=found)


def discovered(n=200):
    """What discovery says of the rows of `task`: of each blob its class, and how surely."""
    truth = blobs(n, d=D_X, distance=3)[1]
    targets = np.where(np.eye(4)[truth] > 0, 0.85, 0.05).astype("f4")
    return Assignment(truth, targets)


def settings(pu_weight=0.0, pretrain_epochs=0, learning_rate=1e-3, max_epochs=30, **config):
    return TrainingSettings(
        batch_size=16,
        max_epochs=max_epochs,
        pretrain_epochs=pretrain_epochs,
        learning_rate=learning_rate,
        pu_weight=pu_weight,
        config=Config().replace(**{"label_weight": 1.0} | config),
    )


def run(seeds=(0,), data=None, model="gmdgm", sigma=1.0, likelihood="gaussian", callback=lambda event: None, **changes):
    architecture = Architecture(model, D_X, N_KNOWN + N_NEW, 2, (16, 16), likelihood)
    prior = log_prior(np.array([20, 20]), N_NEW, 0.5)
    return train(architecture, prior, sigma, data or task(), settings(**changes), list(seeds), callback)


def components_of(result, x):
    """The most probable one of each row."""
    architecture = Architecture("gmdgm", D_X, N_KNOWN + N_NEW, 2, (16, 16), "gaussian")
    return Posterior.of(architecture, result.weights).log_q_y(x).argmax(axis=1)


def leaves(result):
    return list(result.weights.values())


@pytest.mark.parametrize(
    ("model", "pretrain_epochs", "vae_min_rows"),
    [("gmdgm", 0, 0), ("gmdgm", 5, 0), ("gmdgm", 5, 1000), ("ssvae", 5, 0)],
)
def test_seed_i_among_many_is_seed_i_alone(model, pretrain_epochs, vae_min_rows):
    how = {"model": model, "pretrain_epochs": pretrain_epochs, "vae_min_rows": vae_min_rows, "max_epochs": 8}
    together = run([5, 6], **how)
    for result in together:
        (alone,) = run([result.seed], **how)
        for a, b in zip(leaves(result), leaves(alone), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_same_seed_same_result_other_seed_other_result():
    (first,), (again,), (other,) = run([1]), run([1]), run([2])
    assert all(np.array_equal(a, b) for a, b in zip(leaves(first), leaves(again), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(leaves(first), leaves(other), strict=True))


@pytest.mark.parametrize("found", [lambda: None, discovered], ids=["k-means", "discovered"])
def test_which_component_a_known_class_has_is_for_the_classes_to_say(found):
    """Known classes are learned if their components follow the new ones, too."""
    moved = Classes(CLASSES.names, CLASSES.is_new, np.array([2, 3, 1, 0]))
    data = task(classes=moved, found=found())
    (result,) = run(data=data, pretrain_epochs=5, pu_weight=0.3, vae_min_rows=0, label_weight=30.0)
    assert result.history["validation_accuracy"][-1] > 0.9
    codes = data.labels[data.labels != UNLABELLED]
    component = components_of(result, data.X[data.labels != UNLABELLED])
    assert (moved.component_class[component] == codes).mean() > 0.9


def test_history_holds_every_term_and_they_add_up():
    data = task(found=discovered())
    (result,) = run(data=data, label_weight=3.0, pu_weight=0.5, pretrain_epochs=5)
    h = result.history
    classified = h["cross_entropy"] + 0.5 * h["pu_loss"]
    total = -h["reconstruction"] + h["kl_z"] + h["kl_y"] + 3 * classified
    np.testing.assert_allclose(h["loss"], total, rtol=1e-4)
    assert h["pu_loss"][-1] > 0
    assert (np.diff(h["step"]) > 0).all()
    assert result.termination_condition is Termination.MAX_EPOCHS


def test_learning_rate_is_flat_in_pretraining_then_falls_as_a_cosine():
    (result,) = run(pretrain_epochs=30, max_epochs=60)
    is_pretraining = result.history["is_pretraining"].astype(bool)
    assert is_pretraining.any()
    assert not is_pretraining.all()
    assert np.allclose(result.history["learning_rate"][is_pretraining], 1e-3)
    assert result.history["learning_rate"][-1] < 1e-5


PRETRAINING = ["VAE pretraining", "pseudo-labels"]


@pytest.mark.parametrize(("vae_min_rows", "phases"), [(0, PRETRAINING), (1000, PRETRAINING[1:])])
def test_few_rows_are_not_pretrained_as_a_vae(vae_min_rows, phases):
    events = []
    (result,) = run(pretrain_epochs=32, max_epochs=32, vae_min_rows=vae_min_rows, callback=events.append)
    assert list(dict.fromkeys(event.phase for event in events)) == [*phases, "objective"]
    n_pretraining = result.history["step"][result.history["is_pretraining"].astype(bool)].max()
    assert n_pretraining == result.history["step"][-1] * len(phases) / (len(phases) + 1)


def test_a_loss_that_is_not_finite_goes_back_at_half_the_rate(monkeypatch):
    """A spread of 1e-25 squares to nothing in single precision: every step of every try diverges."""
    monkeypatch.setattr(steps, "MAX_LEARNING_RATE_REDUCTIONS", 3)
    (result,) = run(likelihood="gaussian-fixed", sigma=1e-25)
    assert result.termination_condition is Termination.DIVERGED
    assert result.learning_rate_reductions == 3
    assert all(np.isfinite(leaf).all() for leaf in leaves(result))


def test_one_bad_restart_does_not_cost_the_good_ones(monkeypatch):
    real = loop.compiled_train_chunk()

    def second_breaks(states, *args, **kwargs):
        states, info = real(states, *args, **kwargs)
        return states, info._replace(loss=info.loss.at[1].set(np.nan))

    monkeypatch.setattr(loop, "compiled_train_chunk", lambda is_brief: second_breaks)
    monkeypatch.setattr(steps, "MAX_LEARNING_RATE_REDUCTIONS", 2)
    good, bad = run([0, 1])
    assert (good.termination_condition, bad.termination_condition) == (Termination.MAX_EPOCHS, Termination.DIVERGED)
    assert good.learning_rate_reductions == 0
    assert np.isfinite(good.validation_elbo)


def test_a_restart_can_recover(monkeypatch):
    seen = []
    real = loop.Restarts.advance

    def fails_once(self, states, info):
        if len(seen) == 5:
            info = info._replace(loss=info.loss * np.nan)
        seen.append(1)
        real(self, states, info)

    monkeypatch.setattr(loop.Restarts, "advance", fails_once)
    (result,) = run()
    assert result.termination_condition is Termination.MAX_EPOCHS
    assert result.learning_rate_reductions == 1
    assert result.history["loss"][-1] < result.history["loss"][0]


def test_interrupt_keeps_the_best_state_so_far():
    events = []

    def callback(event):
        events.append(event)
        if len(events) == 2:
            raise KeyboardInterrupt

    (result,) = run(callback=callback, max_epochs=100)
    assert result.termination_condition is Termination.INTERRUPTED
    assert len(result.history["step"]) == 2
    assert result.validation_elbo == pytest.approx(result.history["validation_elbo"].max())


def test_early_stopping_keeps_the_best_state():
    (result,) = run(max_epochs=2000, learning_rate=5e-3, early_stopping=True, n_iter_no_change=3)
    assert result.termination_condition is Termination.EARLY_STOPPING
    h = result.history["validation_elbo"]
    assert result.validation_elbo == pytest.approx(h.max())
    assert len(h) - 1 - h.argmax() == 3


def test_other_row_counts_and_settings_compile_nothing_new():
    """Counted, not timed: a second fit of the same width starts at once; one of another width does not."""
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    run(data=task(200))
    compiled.clear()
    changes = {"label_weight": 2.0, "temperature": 0.7, "learning_rate": 1e-4, "max_epochs": 7}
    run(data=task(333), sigma=0.5, **changes)
    assert compiled == []
    run(data=task(200), n_z_samples=3)
    assert compiled  # the count can fail


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_stream_visits_every_row_once_a_pass():
    stream = ShuffledStream(np.arange(10, 17), np.random.default_rng(0))
    taken = stream.take(21).reshape(3, 7)
    assert all(sorted(one_pass) == list(range(10, 17)) for one_pass in taken)
    assert not np.array_equal(taken[0], taken[1])


def test_batches_hold_the_two_kinds_apart():
    labels = np.array([0, UNLABELLED, 1, UNLABELLED, UNLABELLED])
    batches = BatchStream(labels, np.arange(5), batch_size=3, seed=0).take(4)
    assert batches.shape == (4, 6)
    assert (labels[batches[:, :3]] != UNLABELLED).all()
    assert (labels[batches[:, 3:]] == UNLABELLED).all()


def test_a_chunk_comes_with_the_state_to_go_on_from():
    """Whoever has trained on a chunk can go on with the next one, however far the streams were read ahead."""
    data = task()
    streams = [BatchStream(data.labels, data.training, 16, seed) for seed in (0, 1)]
    chunks = [make_chunk(data.X, [data.labels] * 2, None, streams, 8) for _ in range(4)]
    later = [BatchStream(data.labels, data.training, 16, seed=99) for _ in range(2)]
    for stream, state in zip(later, chunks[1][1], strict=True):
        stream.state = state
    for expected, _ in chunks[2:]:
        chunk, _ = make_chunk(data.X, [data.labels] * 2, None, later, 8)
        np.testing.assert_array_equal(chunk.rows, expected.rows)


def test_prefetch_hands_on_items_in_order_and_errors_too():
    assert list(prefetch(iter(range(50)))) == list(range(50))

    def breaks():
        yield 1
        raise OSError("disk gone")

    items = prefetch(breaks())
    assert next(items) == 1
    with pytest.raises(OSError, match="disk gone"):
        next(items)


def test_prefetch_stops_reading_when_nobody_wants_more():
    taken = []
    items = prefetch((taken.append(i) or i for i in range(1000)), ahead=2)
    next(items)
    items.close()
    assert len(taken) <= 4


def test_one_program_serves_every_phase():
    """The terms are the same in all phases, also where VAE pretraining has no use for one of them."""
    data = task(found=discovered())
    with_pu = settings(pu_weight=0.3, pretrain_epochs=5)
    assert has_pu_term(with_pu, data)
    assert not has_pu_term(settings(pu_weight=0.3), data)  # no pretraining, nothing to teach
    assert not has_pu_term(settings(pretrain_epochs=5), data)  # pu_weight = 0
    assert not has_pu_term(with_pu, task())  # nothing discovered


def test_the_network_is_taught_what_was_discovered():
    """Two blobs without labels, and a discovery that gives each the component of the other."""
    swapped = Assignment(np.array([0, 1, 3, 2])[discovered().labels], discovered().targets[:, [0, 1, 3, 2]])
    for found in (discovered(), swapped):
        data = task(found=found)
        (result,) = run(data=data, pretrain_epochs=20, pu_weight=0.3, label_weight=30.0)
        assert (components_of(result, data.X) == found.labels).mean() > 0.95


def test_targets_stand_in_the_order_of_the_models_components():
    moved = Classes(CLASSES.names, CLASSES.is_new, np.array([2, 3, 1, 0]))  # a has component 3, b 2
    found = _in_components(discovered(), moved)
    truth = discovered().labels
    np.testing.assert_array_equal(found.labels, np.array([3, 2, 0, 1])[truth])
    np.testing.assert_array_equal(found.targets.argmax(axis=1), found.labels)
    np.testing.assert_array_equal(found.targets.max(axis=1), np.float32(0.85))


# ---- components in z-space -------------------------------------------------------------------------------------------


def test_components_are_placed_where_their_rows_are():
    Z, truth = blobs(200, d=D_X)
    placed = component_init(LatentPosterior(Z, np.full_like(Z, 0.25)), truth, 4)
    for k in range(4):
        rows = Z[truth == k]
        np.testing.assert_allclose(placed.mean[k], rows.mean(axis=0), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(np.exp(placed.log_var[k]), rows.var(axis=0) + 0.25, rtol=1e-3)


def test_a_component_without_rows_lies_among_all_of_them():
    Z = np.repeat(np.array([[0.0, 0.0], [4.0, 4.0]]), 10, axis=0)
    placed = component_init(LatentPosterior(Z, np.zeros_like(Z) + 0.1), np.repeat([0, 1], 10), 5)
    np.testing.assert_allclose(placed.mean[4], Z.mean(axis=0), rtol=1e-5)
    assert np.isfinite(placed.log_var).all()


@pytest.mark.parametrize("posterior", ["structured", "mean-field"])
@pytest.mark.parametrize("model", MODELS)
def test_a_model_with_placed_components_treats_each_like_the_first(model, posterior):
    architecture = Architecture(model, D_X, 4, 2, (16, 16), "gaussian", posterior)
    fresh = MODELS[model].in_jax.init(
        np.random.default_rng(0), architecture, jnp.log(jnp.full(4, 0.25)), jnp.float32(1)
    )
    mean, log_var = jnp.arange(8.0).reshape(4, 2), jnp.zeros((4, 2))
    placed = fresh.place_components(mean, log_var)
    x, ys = jnp.ones(D_X), jnp.eye(4)
    for y in ys:
        np.testing.assert_allclose(placed.q_z(x, y).mean, fresh.q_z(x, ys[0]).mean, rtol=1e-5)
        z = jnp.ones(2)
        np.testing.assert_allclose(placed.p_x(y, z), fresh.p_x(ys[0], z), rtol=1e-5)
    if model == "gmdgm":
        np.testing.assert_allclose(placed.p_z(ys[3]).mean, [6, 7])
