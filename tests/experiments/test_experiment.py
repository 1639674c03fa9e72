"""One experiment: what its record holds, and the baselines beside it."""

import numpy as np
import pytest
from tiny import TINY

from experiments.baselines import BASELINES
from experiments.experiment import Experiment, run_experiment
from experiments.presets import by_name
from experiments.records import read_arrays, read_records
from experiments.scores import evaluate_task, evaluation_of, recorded_classes, scores
from experiments.tasks import Task, make_task
from newfound.classes import Classes
from newfound.labels import Labels


@pytest.fixture(scope="module")
def record(done):
    return read_records(done, "quick")["har-gmdgm-semi-unsupervised-0"]


def test_a_record_has_all_that_is_needed_to_judge_it(record):
    assert (record["dataset"], record["model"], record["regime"], record["seed"]) == (
        *("har", "gmdgm", "semi-unsupervised"),
        0,
    )
    assert record["n_labelled"] == 30  # one in five of half the rows
    assert np.sum(record["counts"]) == record["n_test"] == 120
    assert np.shape(record["counts"]) == (6, 43)
    assert record["known_classes"] == record["classes"][:3]
    assert record["acc_many_to_one"] >= record["acc_one_to_one"]["all"] > 0
    assert set(record["acc_one_to_one"]) == {"all", "known", "new"}
    assert record["training"]["termination_condition"] == "max_epochs"
    assert record["training"]["validation_elbo"] is None  # no row is held out
    assert record["seconds"] > 0
    assert {"newfound", "jax", "numpy", "python"} <= set(record["versions"])


def test_a_record_has_the_whole_configuration_it_was_made_with(record):
    settings = by_name(record["settings"])
    assert settings["init"] == "kmeans"  # of the preset
    assert {name: settings[name] for name in TINY} == TINY | {"hidden_layer_sizes": [16, 16]}
    assert settings["new_class_p"] == 0.01  # a default


def test_scores_are_those_of_the_counts(record):
    again = scores(evaluation_of(record), recorded_classes(record))
    assert again == {name: record[name] for name in again}


def test_figures_get_every_component(done):
    arrays = read_arrays(done, Experiment("quick", "mnist", "ssvae", "accidental", 0))
    assert arrays["grid"].shape == (8, 5, 784)
    assert arrays["most_confident"].shape == (5, 10, 784)
    assert len(arrays["entropy"]) == len(arrays["is_known"]) == 200
    assert 0 <= arrays["entropy"].min() <= arrays["entropy"].max() <= np.log(5) + 1e-5


def test_only_experiments_of_figures_leave_arrays():
    assert Experiment("quick", "mnist", "ssvae", "unsupervised", 0, 20).has_arrays
    assert Experiment("quick", "mnist-0-4", "ssvae", "semi-supervised", 0).has_arrays
    assert not Experiment("quick", "mnist", "ssvae", "accidental", 1).has_arrays
    assert not Experiment("quick", "mnist", "gmdgm", "unsupervised", 0).has_arrays


def test_several_components_of_one_class():
    """Two components are of class a: a row of it is right in either."""
    labels = Labels.read(["a", "a", "b", "b", "c", "c"], 6)
    task = Task(np.zeros((6, 1)), labels.keep(np.arange(4)), labels, 1, np.zeros((6, 1)), labels)
    classes = Classes(np.array(["a", "b", "new-1"]), np.array([False, False, True]), np.array([0, 0, 1, 2]))
    evaluation = evaluate_task(task, np.array([0, 1, 2, 3, 3, 1]), classes)
    assert evaluation.counts.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    found = scores(evaluation, classes)
    assert found["acc_own_component"] == 75.0
    assert found["assigned_to_known"] == round(100 * 4 / 6, 2)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_tell_components(name):
    task = make_task("wine", "semi-unsupervised", 0, n_components=3)
    component = BASELINES[name].fit(task, 0).predict_component(task.X_test)
    assert component.shape == (45,)
    assert set(component) <= set(range(3))


def test_self_training_learns_the_known_classes_by_their_position():
    task = make_task("digits", "semi-unsupervised", 0, n_components=10)
    component = BASELINES["self-training"].fit(task, 0).predict_component(task.X_test)
    is_known = np.isin(task.truth.codes, task.known)
    assert (component[is_known] == task.truth.codes[is_known]).mean() > 0.8


def test_newfounds_own_answers_count_all_new_components_together(data, monkeypatch):
    """The paper takes the most probable component; the defaults are scored as `predict` decides."""
    asked = []

    class Model:
        def predict_component_proba(self, X):
            asked.append("most probable")
            return np.ones((len(X), 43))

        def predict_component(self, X):
            asked.append("own")
            return np.zeros(len(X), int)

    monkeypatch.setattr("experiments.experiment.fit_method", lambda *_: Model())
    for preset in ("quick", "default"):
        run_experiment(Experiment(preset, "har", "gmdgm", "semi-unsupervised", 0), {})
    assert asked == ["most probable", "own"]
