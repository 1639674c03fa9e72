"""Training as the estimator never shows it: many runs in one program, endings, going back, compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from newfound.features import Scaling
from newfound.models import MODELS, Architecture, log_prior
from newfound.models.objective import UNLABELLED, Expectation
from newfound.models.randomness import key_of
from newfound.training import Ending, Plan, TrainingData, train
from newfound.training.batches import BatchStream, ShuffledStream, prefetch
from newfound.training.evidence import Views, pooled, weigh_labels
from newfound.training.neighbours import averages_of_walks, coordinates, join_neighbours
from newfound.training.warm_start import Positions, Rows, cluster, find_start, places

D_X, N_KNOWN, N_NEW = 4, 2, 2


def blobs(n=200, seed=0):
    """Four blobs; two are known, each by 20 labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    X = (3 * np.eye(4)[truth] + 0.3 * rng.standard_normal((n, D_X))).astype(np.float32)
    labels = np.full(n, UNLABELLED)
    for known in range(N_KNOWN):
        rows = np.flatnonzero(truth == known)[:20]
        labels[rows] = known
    return X, labels, truth


def task(n=200):
    X, labels, _ = blobs(n)
    rows = np.arange(n)
    return TrainingData(X, labels, rows[20:], rows[:20], Scaling(np.zeros(D_X, "f4"), np.ones(D_X, "f4")))


def plan(**changes):
    settings = {
        "batch_size": 16,
        "max_epochs": 30,
        "warm_epochs": 0,
        "learning_rate": 1e-3,
        "alpha": 1.0,
        "temperature": 0.5,
        "max_gradient_norm": 100.0,
        "expectation": Expectation(),
    }
    return Plan(**settings | changes)


def run(seeds=(0,), data=None, model="gmdgm", sigma=1.0, likelihood="gaussian", **kwargs):
    data = data or task()
    architecture = Architecture(model, D_X, N_KNOWN + N_NEW, 2, (16, 16), likelihood)
    plan_changes = {k: kwargs.pop(k) for k in list(kwargs) if k != "watch"}
    prior = log_prior(np.array([20, 20]), N_NEW, 0.5)
    return train(architecture, prior, sigma, data, plan(**plan_changes), list(seeds), N_KNOWN, **kwargs)


def leaves(result):
    return jax.tree.leaves(result.model)


@pytest.mark.parametrize(("warm_epochs", "shaped_from"), [(0, 0), (5, 0), (5, 1000)])
@pytest.mark.parametrize("model", ["gmdgm", "ssvae"])
def test_seed_i_among_many_is_seed_i_alone(model, warm_epochs, shaped_from, monkeypatch):
    monkeypatch.setattr("newfound.training.loop.ROWS_FOR_SHAPING", shaped_from)
    together = run([5, 6, 7], model=model, warm_epochs=warm_epochs)
    for result in together:
        (alone,) = run([result.seed], model=model, warm_epochs=warm_epochs)
        for a, b in zip(leaves(result), leaves(alone), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_same_seed_same_result_other_seed_other_result():
    (first,), (again,), (other,) = run([1]), run([1]), run([2])
    assert all(np.array_equal(a, b) for a, b in zip(leaves(first), leaves(again), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(leaves(first), leaves(other), strict=True))


def test_history_holds_every_term_and_they_add_up():
    (result,) = run(alpha=3.0)
    h = result.history
    total = -h["reconstruction"] + h["kl_z"] + h["kl_y"] + 3 * h["cross_entropy"]
    np.testing.assert_allclose(h["loss"], total, rtol=1e-4)
    assert h["loss"][-1] < h["loss"][0]
    assert (np.diff(h["step"]) > 0).all()
    assert result.ending is Ending.REACHED_LIMIT


def test_learning_rate_is_flat_while_warming_then_falls_as_a_cosine():
    (result,) = run(warm_epochs=30, max_epochs=60)
    is_warm = result.history["is_warming"].astype(bool)
    assert is_warm.any()
    assert not is_warm.all()
    assert np.allclose(result.history["learning_rate"][is_warm], 1e-3)
    assert result.history["learning_rate"][-1] < 1e-5


@pytest.mark.parametrize(("shaped_from", "n_phases"), [(0, 2), (1000, 1)])
def test_few_rows_are_not_shaped_first(monkeypatch, shaped_from, n_phases):
    monkeypatch.setattr("newfound.training.loop.ROWS_FOR_SHAPING", shaped_from)
    (result,) = run(warm_epochs=32, max_epochs=32)
    n_warm = result.history["step"][result.history["is_warming"].astype(bool)].max()
    assert n_warm == result.history["step"][-1] * n_phases / (n_phases + 1)


def test_a_loss_that_is_not_finite_goes_back_at_half_the_rate():
    """A spread of 1e-25 squares to nothing in single precision: every step of every try diverges."""
    (result,) = run(likelihood="gaussian-fixed", sigma=1e-25, max_halvings=3)
    assert result.ending is Ending.DIVERGED
    assert result.halvings == 3
    assert all(np.isfinite(leaf).all() for leaf in leaves(result))


def test_one_bad_run_does_not_cost_the_good_ones(monkeypatch):
    from newfound.training import loop

    real = loop.compiled_train_chunk()

    def second_run_breaks(states, *args, **kwargs):
        states, info = real(states, *args, **kwargs)
        return states, info._replace(loss=info.loss.at[1].set(np.nan))

    monkeypatch.setattr(loop, "compiled_train_chunk", lambda: second_run_breaks)
    good, bad = run([0, 1], max_halvings=2)
    assert (good.ending, bad.ending) == (Ending.REACHED_LIMIT, Ending.DIVERGED)
    assert good.halvings == 0
    assert np.isfinite(good.heldout_elbo)


def test_a_run_can_recover():
    from newfound.training import loop
    from newfound.training.runs import Runs

    seen = []
    real = Runs.advance

    def fails_once(self, states, info):
        if len(seen) == 5:
            info = info._replace(loss=info.loss * np.nan)
        seen.append(self.halvings.copy())
        real(self, states, info)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Runs, "advance", fails_once)
        (result,) = run()
    assert result.ending is Ending.REACHED_LIMIT
    assert result.halvings == 1
    assert result.history["loss"][-1] < result.history["loss"][0]


def test_interrupt_keeps_the_best_state_so_far():
    moments = []

    def watch(moment):
        moments.append(moment)
        if len(moments) == 2:
            raise KeyboardInterrupt

    (result,) = run(watch=watch, max_epochs=100)
    assert result.ending is Ending.INTERRUPTED
    assert len(result.history["step"]) == 2
    assert result.heldout_elbo == pytest.approx(result.history["heldout_elbo"].max())


def test_early_stop_keeps_the_best_state():
    (result,) = run(max_epochs=2000, learning_rate=5e-3, patience=3)
    assert result.ending is Ending.CONVERGED
    h = result.history["heldout_elbo"]
    assert result.heldout_elbo == pytest.approx(h.max())
    assert len(h) - 1 - h.argmax() == 3


def test_other_row_counts_and_settings_compile_nothing_new():
    """Counted, not timed: a second fit of the same width starts at once."""
    run(data=task(200))
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    run(data=task(333), alpha=2.0, temperature=0.7, learning_rate=1e-4, max_epochs=7, sigma=0.5)
    assert compiled == []


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


def test_prefetch_hands_on_items_in_order_and_errors_too():
    assert list(prefetch(iter(range(50)))) == list(range(50))

    def breaks():
        yield 1
        raise OSError("disk gone")

    items = prefetch(breaks())
    assert next(items) == 1
    with pytest.raises(OSError, match="disk gone"):
        next(items)


SAME = Scaling(np.zeros(D_X, "f4"), np.ones(D_X, "f4"))


@pytest.mark.parametrize("by", ["neighbours", "distances"])
@pytest.mark.parametrize("weighs_labels", [True, False])
def test_a_start_keeps_labels_and_finds_the_other_blobs(by, weighs_labels):
    X, labels, truth = blobs()
    start = find_start(Rows(X, SAME, None, None, labels), N_KNOWN, N_NEW, by, weighs_labels, seed=0)
    is_labelled = labels != UNLABELLED
    assert (start.labels[is_labelled] == labels[is_labelled]).all()
    assert set(start.labels) == set(range(N_KNOWN + N_NEW))
    assert ((start.labels < N_KNOWN) == (truth < N_KNOWN)).mean() > 0.95
    assert start.shares.shape == (len(X), N_KNOWN if weighs_labels else 0)
    nothing = Rows(X, SAME, None, Positions(X, np.ones_like(X)), np.full(len(X), UNLABELLED))
    assert set(find_start(nothing, 0, 4, by, weighs_labels, seed=0).labels) == set(range(4))


@pytest.mark.parametrize("n_same", [3, 200])
def test_a_start_is_found_among_few_or_equal_rows(n_same):
    X = np.repeat(np.array([[0.0, 0.0], [4.0, 4.0]], "f4"), n_same, axis=0)
    scaling = Scaling(np.zeros(2, "f4"), np.ones(2, "f4"))
    labels = np.full(2 * n_same, UNLABELLED)
    labels[0] = 0
    start = find_start(Rows(X, scaling, None, None, labels), 1, 4, "neighbours", True, seed=0)
    assert np.isfinite(start.shares).all()
    assert start.labels[0] == 0
    assert ((start.labels >= 0) & (start.labels < 5)).all()


def test_a_start_is_found_where_no_column_varies():
    X, labels, _ = blobs()
    start = find_start(Rows(np.zeros_like(X), SAME, None, None, labels), N_KNOWN, N_NEW, "neighbours", True, seed=0)
    assert np.isfinite(start.shares).all()


def test_rows_in_a_ring_and_inside_it_are_told_apart_by_their_neighbours():
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    ring = np.c_[np.cos(angles), np.sin(angles)]
    rows = np.concatenate([ring, 0.2 * ring]).astype("f4")
    where = coordinates(join_neighbours([rows], seed=0), 2)
    same = where @ where[0]
    assert (same[:300] > 0.99).all()
    assert (same[300:] < 0.99).all()
    np.testing.assert_allclose(np.linalg.norm(where, axis=1), 1, rtol=1e-5)


def test_groups_that_nothing_joins_are_all_told_apart():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 1500)
    X = (10 * np.eye(10)[truth] + 0.3 * rng.standard_normal((1500, 10))).astype("f4")
    where = coordinates(join_neighbours([X], seed=0), 10)
    centres = np.stack([where[truth == k].mean(axis=0) for k in range(10)])
    np.testing.assert_allclose(np.abs(centres @ centres.T), np.eye(10), atol=0.05)


def test_groups_that_touch_take_more_modes_than_there_are_groups():
    X = np.random.default_rng(0).standard_normal((1500, 5)).astype("f4")  # no gap after any mode
    graph = join_neighbours([X], seed=0)
    assert coordinates(graph, 3).shape == (1500, 20)
    assert coordinates(graph, 30).shape == (1500, 30)
    assert coordinates(graph, 100).shape == (1500, 40)
    few = join_neighbours([X[:150]], seed=0)
    assert coordinates(few, 4).shape == (150, 4)


@pytest.mark.parametrize("n_found", [0, 2])
def test_modes_that_cannot_be_found_are_done_without(n_found, monkeypatch):
    X, _, _ = blobs(1200)
    graph = join_neighbours([X], seed=0)

    def some_found(matrix, n, **how):
        eigenvalues, modes = np.linalg.eigh(matrix.toarray())
        found = slice(len(X) - n_found, None)
        raise ArpackNoConvergence("no convergence", eigenvalues[found], modes[:, found])

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", some_found)
    where = coordinates(graph, 4)
    assert where.shape == (1200, max(n_found, 1))
    assert np.isfinite(where).all()


def test_no_component_is_spent_on_a_handful_of_odd_rows():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0, 0], [4, 0], [200, 200], [-300, 0]], [500, 500, 3, 1], axis=0)
    X = (centres + rng.standard_normal(centres.shape)).astype("f4")
    clusters = cluster(X, np.arange(len(X)), 2, seed=0, starts=3, smallest=0.1)
    assert np.bincount(clusters).min() > 400
    assert len(clusters) == len(X)
    assert np.bincount(cluster(X, np.arange(len(X)), 2, seed=0)).min() < 10  # what it would be without


def test_an_odd_row_has_a_component_where_there_is_nothing_else_to_cut():
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], [50, 1], axis=0).astype("f4")
    clusters = cluster(X, np.arange(51), 2, seed=0, smallest=0.5)
    assert np.bincount(clusters).tolist() in ([50, 1], [1, 50])


def test_a_row_beside_the_sample_lies_where_its_neighbours_lie(monkeypatch):
    X, _, truth = blobs(800)
    monkeypatch.setattr("newfound.training.neighbours.ROWS_OF_GRAPH", 200)
    where = coordinates(join_neighbours([X, 2 * X], seed=0), 4)
    centres = np.stack([where[truth == k].mean(axis=0) for k in range(4)])
    nearest = ((where[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == truth).all()


def test_missing_labels_tell_new_classes_from_known_ones():
    X, labels, truth = blobs(2000)
    labels[:] = UNLABELLED
    picked = np.random.default_rng(1).random(len(X)) < 0.2
    labels[picked & (truth < N_KNOWN)] = truth[picked & (truth < N_KNOWN)]
    noise = np.random.default_rng(2).standard_normal(X.shape)
    shares = weigh_labels(
        Views(noise, noise, X, None), labels, N_KNOWN, seed=0
    )  # the view that tells something is found
    assert (shares.sum(axis=1) <= 1 + 1e-6).all()
    for known in range(N_KNOWN):
        assert shares[truth == known, known].mean() > 0.9
    assert shares[truth >= N_KNOWN].sum(axis=1).max() < 0.2


def test_walks_end_on_the_labels_of_their_own_group():
    X, _, truth = blobs(800)
    graph = join_neighbours([X], seed=0)
    ends = averages_of_walks(graph, np.eye(4)[truth], staying=0.9)
    np.testing.assert_allclose(ends, np.eye(4)[truth], atol=1e-3)
    shared = averages_of_walks(graph, np.arange(800.0)[:, None], staying=0.99)[:, 0]
    assert np.isfinite(shared).all()
    assert shared.min() >= 0
    assert shared.max() <= 800


@pytest.mark.parametrize("staying", [0.5, 0.9])
def test_walks_are_what_the_matrix_of_all_steps_says(staying):
    X, _, _ = blobs(60)
    graph = join_neighbours([X], seed=0)
    values = np.random.default_rng(0).random((60, 2))
    weights = graph.weights.toarray()
    steps = np.linalg.inv(np.diag(weights.sum(axis=1)) - staying * weights)
    nodes = graph.belonging.toarray()
    expected = nodes @ ((steps @ nodes.T @ values) / (steps @ nodes.T @ np.ones((60, 1))))
    np.testing.assert_allclose(averages_of_walks(graph, values, staying), expected, rtol=0.02)


def test_a_few_labels_in_each_group_name_all_of_it():
    X, labels, truth = blobs(2000)
    labels[:] = UNLABELLED
    for known in range(N_KNOWN):
        labels[np.flatnonzero(truth == known)[:5]] = known
    graph = join_neighbours([X], seed=0)
    shares = weigh_labels(Views(X, X, X, graph), labels, N_KNOWN, seed=0)
    assert (shares.argmax(axis=1) == truth)[truth < N_KNOWN].mean() > 0.95
    assert shares[truth >= N_KNOWN].sum(axis=1).mean() < 0.1


def test_judges_are_weighed_by_what_each_adds_to_the_others():
    outcomes = np.repeat([0, 1, 2], 200)
    knows_0, knows_1, knows_nothing = (np.full((600, 3), 1 / 3) for _ in range(3))
    knows_0[:200], knows_0[200:] = [0.98, 0.01, 0.01], [0.02, 0.49, 0.49]
    knows_1[200:400], knows_1[:200], knows_1[400:] = [0.01, 0.98, 0.01], [0.49, 0.02, 0.49], [0.49, 0.02, 0.49]
    answer = pooled([knows_0, knows_1, knows_nothing], outcomes)
    np.testing.assert_allclose(answer.sum(axis=1), 1)
    right = answer[np.arange(600), outcomes]
    assert (right[:400] > 0.6).all()  # either alone gives half to one of them
    alone = pooled([knows_0, knows_nothing], outcomes)
    assert np.abs(alone - knows_0).max() < 0.03


def test_few_labels_do_not_decide_which_judge_is_right():
    sure, unsure = np.tile([0.9, 0.1], (50, 1)), np.tile([0.6, 0.4], (50, 1))
    outcomes = np.full(50, UNLABELLED)
    outcomes[:2] = 0
    answer = pooled([sure, unsure], outcomes)
    assert (answer[:, 0] > 0.65).all()
    assert (answer[:, 0] < 0.85).all()


def test_evidence_leaves_ambiguous_rows_in_doubt():
    """Among rows that cannot be told apart, as many are thought known as there are."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 4000)
    X = np.c_[np.where(truth == 0, rng.random(4000) < 0.5, 1), rng.random(4000)].astype(
        "f4"
    )  # half of class 0 is apart
    labels = np.where((truth == 0) & (rng.random(4000) < 0.3), 0, UNLABELLED)
    shares = weigh_labels(Views(X, X, X, None), labels, 1, seed=0)[:, 0]
    assert shares[X[:, 0] == 0].mean() > 0.9
    assert shares[X[:, 0] == 1].mean() == pytest.approx(1 / 3, abs=0.15)


def test_components_are_put_where_their_rows_are():
    Z, _, truth = blobs()
    place = places(Positions(Z, np.full_like(Z, 0.25)), truth, 4)
    for k in range(4):
        rows = Z[truth == k]
        np.testing.assert_allclose(place.mean[k], rows.mean(axis=0), rtol=1e-4)
        np.testing.assert_allclose(np.exp(place.log_var[k]), rows.var(axis=0) + 0.25, rtol=1e-4)


def test_a_component_without_rows_lies_among_all_of_them():
    Z = np.repeat(np.array([[0.0, 0.0], [4.0, 4.0]]), 10, axis=0)
    place = places(Positions(Z, np.zeros_like(Z) + 0.1), np.repeat([0, 1], 10), 5)
    np.testing.assert_allclose(place.mean[4], Z.mean(axis=0), rtol=1e-5)
    assert np.isfinite(place.log_var).all()


@pytest.mark.parametrize("posterior", ["structured", "mean-field"])
@pytest.mark.parametrize("model", ["gmdgm", "ssvae"])
def test_a_settled_model_treats_every_component_like_the_first(model, posterior):
    architecture = Architecture(model, D_X, 4, 2, (16, 16), "gaussian", posterior)
    fresh = MODELS[model].init(key_of(0), architecture, jnp.log(jnp.full(4, 0.25)), jnp.float32(1))
    mean, log_var = jnp.arange(8.0).reshape(4, 2), jnp.zeros((4, 2))
    settled = fresh.settled(mean, log_var)
    x, ys = jnp.ones(D_X), jnp.eye(4)
    for y in ys:
        np.testing.assert_allclose(settled.q_z(x, y).mean, fresh.q_z(x, ys[0]).mean, rtol=1e-5)
        z = jnp.ones(2)
        np.testing.assert_allclose(settled.p_x(y, z), fresh.p_x(ys[0], z), rtol=1e-5)
    if model == "gmdgm":
        np.testing.assert_allclose(settled.p_z(ys[3]).mean, [6, 7])
