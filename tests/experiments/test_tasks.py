"""The rows, labels and test rows of every experiment: which they are, and that they are the same as ever."""

import numpy as np
import pytest

from experiments.tasks import (
    HIDDEN_KNOWN,
    Parts,
    hide_known_classes,
    make_task,
    paper_setup,
    shuffle_parts,
    split_rows,
    task_of,
)
from newfound.labels import Labels


def cyclic(n_rows, n_classes):
    return Labels.read(np.arange(n_rows) % n_classes, n_rows)


@pytest.mark.parametrize(
    ("setup", "kept", "n_new"),
    [
        ("unsupervised", [], 43),
        ("semi-supervised", [2, 19, 22, 24, 27, 30, 32, 46, 47, 49, 53, 57], 0),
        ("semi-unsupervised", [2, 19, 24, 30, 32, 49], 40),
        ("accidental", [2, 19, 24, 30, 32, 49], 0),
    ],
)
def test_labels_are_kept_as_in_the_recorded_results(setup, kept, n_new):
    """The rows were noted down when the committed results were computed."""
    labels, new = paper_setup(setup, cyclic(60, 6), random_state=3)
    assert np.flatnonzero(labels.is_labelled).tolist() == kept
    assert new == n_new
    assert (labels.codes[kept] == np.array(kept) % 6).all()


@pytest.mark.parametrize(
    ("seed", "kept", "validation"),
    [
        (0, [1, 10, 11, 20, 30, 32, 41, 50], [44, 22, 31, 34, 12, 52]),
        (1, [1, 23, 24, 33, 41, 43, 44, 53, 54], [52, 11, 34, 12, 10, 31]),
    ],
)
def test_known_classes_are_hidden_as_in_the_recorded_results(seed, kept, validation):
    labels, _ = paper_setup("semi-unsupervised", cyclic(60, 10), keep=4, random_state=0)
    left, rows = hide_known_classes(labels, seed)
    assert np.flatnonzero(left.is_labelled).tolist() == kept
    assert rows.tolist() == validation


def test_rows_are_shuffled_as_in_the_recorded_results():
    rows, labels = np.arange(9)[:, None], cyclic(9, 9)
    parts = shuffle_parts(Parts(rows[:6], labels.take(np.arange(6)), rows[6:], labels.take(np.arange(6, 9))), 0)
    assert parts.X.ravel().tolist() == parts.labels.codes.tolist() == [4, 5, 2, 6, 3, 8]
    assert parts.X_test.ravel().tolist() == parts.truth.codes.tolist() == [7, 0, 1]


def test_an_unknown_setup_is_refused():
    with pytest.raises(ValueError, match="must be one of unsupervised, .*; got 'supervised'"):
        paper_setup("supervised", cyclic(6, 3))


@pytest.mark.parametrize(
    ("regime", "n_known", "n_new"),
    [("unsupervised", 0, 45), ("semi-supervised", 10, 0), ("semi-unsupervised", 5, 40), ("accidental", 5, 0)],
)
def test_tasks_are_the_papers(data, regime, n_known, n_new):
    task = make_task("mnist", regime, seed=0)
    assert (len(task.known), task.n_new) == (n_known, n_new)
    assert task.classes.n_components == n_known + n_new
    assert set(task.truth.codes[task.is_scored]) == set(range(5 if regime == "accidental" else 10))


def test_the_semi_supervised_half_of_table_1_has_never_seen_the_other_classes(data):
    half, whole = make_task("mnist-0-4", "semi-supervised", 0), make_task("mnist", "accidental", 0)
    assert len(half.X) < len(whole.X)
    assert half.known.tolist() == whole.known.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(half.X_test[half.is_scored], whole.X_test[whole.is_scored])


def test_a_random_split_has_the_same_rows_otherwise_split(data):
    published, shuffled = make_task("har", "unsupervised", 0), make_task("har-random-split", "unsupervised", 0)
    assert shuffled.X.shape == published.X.shape

    def pool(task):
        return sorted(map(tuple, np.concatenate([task.X, task.X_test])))

    assert pool(shuffled) == pool(published)
    assert not np.array_equal(shuffled.X, published.X)


@pytest.mark.parametrize("seed", [0, 1])
def test_validation_on_hidden_known_classes_reads_labels_that_a_user_has(data, seed):
    known, task = make_task("mnist", "semi-unsupervised", seed), make_task("mnist", HIDDEN_KNOWN, seed)
    assert len(set(known.known) - set(task.known)) == 2
    assert set(task.truth.codes) <= set(known.known)
    assert task.labels.n_labelled + len(task.truth) <= known.labels.n_labelled
    scored = set(map(bytes, task.X_test))
    assert not scored & set(map(bytes, task.X[task.labels.is_labelled]))


@pytest.mark.parametrize(("labels", "kept"), [(None, 0.2), (3, 3)])
def test_few_labels_a_class(data, labels, kept):
    task = make_task("har", "semi-unsupervised", 0, labels_per_class=labels)
    totals = task.all_labels.counts[task.known]
    np.testing.assert_array_equal(task.labels.counts[task.known], kept if labels else np.round(kept * totals))


def test_the_number_of_components_can_be_given():
    labels = cyclic(80, 4)
    task = task_of(split_rows(np.zeros((80, 2)), labels, 0), "semi-unsupervised", 0, n_components=4)
    assert (len(task.known), task.n_new) == (2, 2)
    assert task.classes.is_new.tolist() == [False, False, True, True]
