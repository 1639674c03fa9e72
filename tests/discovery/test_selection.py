"""Labels that were not picked at random within their class: detected, reported, and no sign of new classes."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from small import blobs, quick

from newfound import GMDGM, load
from newfound._internal.words import DataError
from newfound.config import Initialisation
from newfound.discovery.discover import discover
from newfound.discovery.graph import neighbour_graph
from newfound.discovery.rows import Rows
from newfound.discovery.selection import (
    DOUBTFUL,
    NOT_RANDOM,
    RANDOM,
    TOO_FEW,
    describe,
    label_selection,
    labelled_pairs,
)
from newfound.labels import UNLABELLED
from newfound.preprocessing.columns import Scaling
from newfound.tables.read import read_dataset
from newfound.training.batches import split_rows

SETTINGS = Initialisation()


def clouds(n=900, k=3, seed=0):
    """k classes, each of five rooms that overlap with the next: X, the class and the room of each row."""
    rng = np.random.default_rng(seed)
    truth, room = np.arange(n) % k, rng.integers(5, size=n)
    X = rng.standard_normal((n, 4)) + 40 * np.eye(k, 4)[truth]
    X[:, 3] += 0.8 * room
    return X.astype("f4"), truth, room


def labelled(truth, is_candidate, share, hidden=(), seed=0):
    picked = np.random.default_rng(seed).random(len(truth)) < share
    return np.where(picked & is_candidate & ~np.isin(truth, hidden), truth, UNLABELLED)


def selection_of(X, labels, groups=None):
    graph = neighbour_graph([X], SETTINGS, seed=0)
    of_groups = None if groups is None else groups[graph.sample]
    return label_selection(graph.weights.tocsr(), labels[graph.sample], of_groups, 0.25, SETTINGS, seed=0)


# ---- the test itself -------------------------------------------------------------------------------------------------


def test_pairs_are_those_that_a_slow_count_finds():
    rng = np.random.default_rng(0)
    territory, part = rng.integers(3, size=60), rng.integers(4, size=60)
    labels = np.where(rng.random(60) < 0.5, territory % 2, UNLABELLED)  # territories 0 and 2 are of class 0
    observed, expected = np.zeros(2), np.zeros(2)
    for t in range(3):
        pairs = list(combinations(np.flatnonzero(territory == t), 2))
        both = [labels[i] != UNLABELLED and labels[j] != UNLABELLED for i, j in pairs]
        same = [part[i] == part[j] for i, j in pairs]
        observed[t % 2] += sum(b and s for b, s in zip(both, same, strict=True))
        expected[t % 2] += sum(both) * sum(same) / len(pairs)
    found = labelled_pairs(territory, part, labels)
    np.testing.assert_allclose(found.observed, observed)
    np.testing.assert_allclose(found.expected, expected)


def test_the_ratio_is_one_on_average_where_labels_are_shuffled():
    rng = np.random.default_rng(1)
    territory, part = np.zeros(400, int), rng.integers(8, size=400)
    codes = np.where(np.arange(400) < 60, 0, UNLABELLED)
    ratios = [labelled_pairs(territory, part, rng.permutation(codes)).ratio for _ in range(300)]
    assert np.mean(ratios) == pytest.approx(1, abs=0.02)


def test_the_ratio_is_the_number_of_times_that_the_labelled_part_is_contained_in_the_class():
    part = np.arange(1000) % 5
    found = labelled_pairs(np.zeros(1000, int), part, np.where(part == 2, 0, UNLABELLED))
    assert found.ratio == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("hidden", [(), (2,), (1, 2)])
def test_labels_picked_at_random_are_not_suspected(share, hidden):
    X, truth, room = clouds()
    for seed in range(3):
        labels = labelled(truth, np.full(len(X), True), share, hidden, seed)
        assert selection_of(X, labels, room).grade in (RANDOM, TOO_FEW)


@pytest.mark.parametrize("hidden", [(), (2,), (1, 2)])
def test_labels_of_one_part_of_each_class_are_noticed(hidden):
    X, truth, room = clouds()
    found = selection_of(X, labelled(truth, room < 2, 0.5, hidden))
    assert found.grade == NOT_RANDOM
    assert found.is_biased
    assert found.parts == "neighbours"
    assert found.ratio > found.at_least > SETTINGS.selection_ratio


def test_labels_of_few_groups_are_noticed_even_where_groups_look_alike():
    X, truth, _ = clouds()
    groups = np.random.default_rng(3).integers(20, size=len(X))  # nothing in X tells them apart
    labels = labelled(truth, groups < 3, 0.5)
    assert selection_of(X, labels).grade == RANDOM
    found = selection_of(X, labels, groups)
    assert found.grade == NOT_RANDOM
    assert found.parts == "groups"
    assert found.ratio == pytest.approx(20 / 3, rel=0.2)


def test_the_class_whose_labels_are_gathered_is_named():
    X, truth, room = clouds()
    labels = np.where(truth == 1, labelled(truth, room == 0, 1.0), labelled(truth, room < 5, 0.2))
    found = selection_of(X, labels)
    assert found.grade == DOUBTFUL  # in one class of three: a new class beside it would look the same
    assert found.worst[0] == 1
    assert "most of all in 'emu'" in describe(found, np.array(["cat", "emu", "dog"]))


def test_nothing_is_said_of_a_few_labels():
    X, truth, room = clouds()
    labels = labelled(truth, room == 0, 1.0)
    labels[np.flatnonzero(labels != UNLABELLED)[29:]] = UNLABELLED
    found = selection_of(X, labels)
    assert (found.grade, found.n_labels) == (TOO_FEW, 29)
    assert "29 labels are too few" in describe(found, np.array(["a", "b", "c"]))


def test_each_grade_has_its_sentence():
    X, truth, room = clouds()
    found = selection_of(X, labelled(truth, room < 2, 0.5))
    sentences = [describe(found.replace(grade=grade), np.arange(3)) for grade in (RANDOM, DOUBTFUL, NOT_RANDOM)]
    assert len(set(sentences)) == 3


# ---- what follows from it --------------------------------------------------------------------------------------------


def test_discovery_takes_no_missing_label_for_a_new_class_then():
    X, truth, room = clouds()
    rows = Rows(X, Scaling(np.zeros(4, "f4"), np.ones(4, "f4")))
    labels = labelled(truth, room == 0, 0.8)
    assert discover(rows, labels, 3, SETTINGS, seed=0, uses_pu=True).n_new > 0
    found = discover(rows, labels, 3, SETTINGS, seed=0)
    assert found.n_new == 0
    assert found.selection.is_biased
    assert np.mean(found.labels == truth) > 0.99


def test_hidden_classes_are_still_found_then():
    X, truth, room = clouds()
    rows = Rows(X, Scaling(np.zeros(4, "f4"), np.ones(4, "f4")))
    found = discover(rows, labelled(truth, room == 0, 0.8, hidden=(2,)), 2, SETTINGS, seed=0)
    assert found.selection.is_biased
    assert found.n_new == 1
    assert np.mean((found.classes == 2) == (truth == 2)) > 0.99


def fitted(X, labels, groups=None, **changes):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = quick(max_epochs=1, pretrain_epochs=1, standardize=False, **changes)  # rooms stay side by side
        model = GMDGM(**settings).fit(X, labels, groups)
    return model, [str(w.message) for w in caught if "picked at random" in str(w.message)]


def test_a_fit_warns_once_and_keeps_what_it_saw(tmp_path):
    X, truth, room = clouds(600)
    model, warned = fitted(X, labelled(truth, room == 0, 0.8))
    assert len(warned) == 1
    assert "missing labels are not used as a sign" in warned[0]
    assert (model.n_new_, model.selection_.grade) == (0, NOT_RANDOM)
    model.save(tmp_path)
    assert load(tmp_path).selection_ == model.selection_


def test_a_number_given_for_the_pu_weight_is_used():
    X, truth, room = clouds(600)
    labels = labelled(truth, room == 0, 0.8)
    model, warned = fitted(X, labels, pu_weight=0.3, mixture_max_rows=1)
    assert model.n_new_ > 0
    assert len(warned) == 1
    assert "may look new" in warned[0]
    model, warned = fitted(X, labels, pu_weight=0.0)
    assert model.n_new_ == 0
    assert warned == []


def test_random_labels_are_no_reason_to_warn():
    X, truth, room = clouds(600)
    model, warned = fitted(X, labelled(truth, room < 5, 0.3), room)
    assert warned == []
    assert model.selection_.grade == RANDOM


@pytest.mark.slow
def test_the_pu_weight_is_an_ordinary_one_where_labels_are_random():
    X, truth, room = clouds(600)
    labels = labelled(truth, room < 5, 0.3, hidden=(2,))
    model, _ = fitted(X, labels, room)
    assert (model.selection_.grade, model.n_new_) == (RANDOM, 1)
    same, _ = fitted(X, labels, room, pu_weight=0.3)  # what "auto" is then
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    other, _ = fitted(X, labels, room, pu_weight=0.0)
    assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_whole_groups_are_held_out():
    rng = np.random.RandomState(0)
    groups, codes = np.repeat(np.arange(20), 30), np.tile([0, 1, UNLABELLED], 200)
    training, validation = split_rows(codes, 0.1, rng, groups)
    assert not set(groups[training]) & set(groups[validation])
    assert sorted([*training, *validation]) == list(range(600))
    assert len(set(groups[validation])) == 2
    assert set(codes[validation]) == {0, 1, UNLABELLED}


@pytest.mark.parametrize("seed", range(10))
def test_a_class_that_one_group_alone_has_stays_in_training(seed):
    groups, codes = np.repeat(np.arange(5), 20), np.tile([0, 1], 50)
    codes[groups == 3] = 2
    training, validation = split_rows(codes, 0.5, np.random.RandomState(seed), groups)
    assert set(codes[training]) == {0, 1, 2}
    assert len(validation)


def test_groups_without_labels_are_held_out_too():
    groups, codes = np.repeat(np.arange(20), 10), np.full(200, UNLABELLED)
    codes[groups < 3] = np.arange(30) % 2
    _, validation = split_rows(codes, 0.2, np.random.RandomState(0), groups)
    held_out = set(groups[validation])
    assert len(held_out & {0, 1, 2}) == 1
    assert len(held_out) == 4


def test_rows_are_held_out_where_no_group_can_be():
    groups, codes = np.repeat([0, 1], 20), np.repeat([0, 1], 20)
    with pytest.warns(UserWarning, match="No whole group can be held out"):
        training, validation = split_rows(codes, 0.1, np.random.RandomState(0), groups)
    assert set(codes[training]) == set(codes[validation]) == {0, 1}


def test_groups_of_another_length_are_refused():
    X, truth = blobs(60)
    with pytest.raises(ValueError, match="groups must have one value for each row: X has 60 rows"):
        GMDGM(**quick()).fit(X, truth, groups=[1, 2])


def test_the_names_of_groups_do_not_matter():
    X, truth, room = clouds(300)
    labels = labelled(truth, room < 5, 0.4)
    of_numbers, _ = fitted(X, labels, room)
    of_names, _ = fitted(X, labels, np.array(["a", "b", "c", "d", "e"])[room])
    assert set(room[of_numbers.validation_indices_]).isdisjoint(np.delete(room, of_numbers.validation_indices_))
    np.testing.assert_array_equal(of_numbers.validation_indices_, of_names.validation_indices_)


def test_a_group_column_is_no_feature(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,site,y\n1,north,a\n2,south,b\n3,,a\n")
    dataset = read_dataset(path, label="y", group="site")
    assert dataset.feature_names == ["x"]
    assert dataset.groups.tolist() == ["north", "south", ""]
    assert any("'site' gives 3 groups" in sentence for sentence in dataset.log)
    again = read_dataset(path, schema=dataset.schema)
    assert again.feature_names == ["x"]
    assert not any("Not used" in sentence for sentence in again.log)


def test_a_group_column_that_is_not_there_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,site,y\n1,north,a\n2,south,b\n")
    with pytest.raises(DataError, match="person"):
        read_dataset(path, label="y", group="person")
    with pytest.raises(DataError, match="no groups"):
        read_dataset(np.eye(3), group="person")
