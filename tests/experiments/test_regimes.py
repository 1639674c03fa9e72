"""Regimes in which the number is not given: which labels are hidden, and that newfound is not told."""

import numpy as np
import pytest

from experiments import default_tables
from experiments.experiment import Experiment, run_experiment
from experiments.records import Group
from experiments.tasks import REGIMES, Rows, load_parts, make_task, one_by_seed, regime_named
from newfound.labels import Labels


def rows_of(n_classes, seed=0, keep=0.5, groups=None, per_class=40):
    labels = Labels.read(np.arange(n_classes * per_class) % n_classes, n_classes * per_class)
    return Rows("made-up", labels, groups, keep, seed)


@pytest.mark.parametrize(
    ("name", "n_classes", "hidden"),
    [
        ("half-hidden", 6, {3, 4, 5}),
        ("odd-hidden", 6, {1, 3, 5}),
        ("none-hidden", 6, set()),
        ("one-hidden", 10, {1}),
        ("class-2-hidden", 3, {2}),
        ("novel-only", 6, {3, 4, 5}),
    ],
)
def test_classes_that_are_hidden_have_no_label(name, n_classes, hidden):
    rows = rows_of(n_classes)
    left = regime_named(name)(rows)
    assert {k for k in range(n_classes) if left.labels.counts[k] == 0} == hidden
    kept = left.labels.is_labelled
    assert (left.labels.codes[kept] == rows.labels.codes[kept]).all()
    share = 1.0 if name == "novel-only" else 0.5
    assert all(left.labels.counts[k] == 40 * share for k in set(range(n_classes)) - hidden)


def test_four_seeds_hide_four_classes():
    for n_classes in (6, 10):
        assert len({one_by_seed(n_classes, seed) for seed in range(4)}) == 4
    assert {one_by_seed(3, seed) for seed in range(3)} == {0, 1, 2}


def test_every_other_class_is_rare():
    rows = rows_of(6)
    left = REGIMES["rare-10"](rows)
    assert np.bincount(rows.labels.codes[left.rows]).tolist() == [40, 4, 40, 4, 40, 4]
    assert left.labels.counts.tolist() == [20, 2, 20, 0, 0, 0]


def test_labels_are_those_of_three_people():
    people = np.repeat(np.arange(12), 20)
    left = REGIMES["three-people"](rows_of(6, groups=people))
    labelled = np.unique(people[left.labels.is_labelled])
    assert len(labelled) == 3
    assert np.isin(people, labelled).sum() == left.labels.n_labelled
    half = REGIMES["three-people-half-hidden"](rows_of(6, groups=people))
    assert half.labels.counts[3:].tolist() == [0, 0, 0]


def test_newfound_is_not_told_the_number_and_baselines_are():
    task = make_task("iris", "class-1-hidden", 0)
    assert (task.finds_number, task.n_new) == (True, 1)
    assert task.classes.n_components == 3
    assert not make_task("iris", "class-1-hidden", 0, n_components=3).finds_number


def test_only_novel_rows_count_in_tabular_ncd():
    task = make_task("digits", "novel-only", 0)
    assert set(task.truth.codes[task.is_scored]) == {5, 6, 7, 8, 9}


def test_penguins_are_read_from_their_package():
    parts = load_parts("penguins", 0)
    assert len(parts.X) + len(parts.X_test) == 344
    assert parts.labels.classes.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert len(parts.feature_types) == parts.X.shape[1]


def test_a_sample_is_of_the_training_rows():
    whole, some = load_parts("digits", 3), load_parts("digits-100-rows", 3)
    assert len(some.X) == 100
    assert len(some.X_test) == len(whole.X_test)


@pytest.mark.parametrize(("regime", "n_true"), [("none-hidden", 0), ("one-hidden", 1)])
def test_discovery_alone_is_scored_on_its_own_rows(regime, n_true):
    record, arrays = run_experiment(Experiment("default", "penguins", "discovery", regime, 0), {})
    assert record["found"]["n_true"] == n_true == record["found"]["n_new"]
    assert record["found"]["rows_fitted_on"]["all"] > 95
    assert record["n_test"] == record["n_train"]
    assert arrays == {}


def test_a_table_counts_numbers_over_all_cases():
    found = [{"n_new": n, "n_true": 1, "rows_fitted_on": {"all": 90.0}} for n in (1, 0, 3)]
    row = default_tables._screen_row("one-hidden", "all", [Group([{"found": f} for f in found], 3)])
    assert row == ["one-hidden", "all", "3", "1", "2", "2", "90.0"]
