import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newfound.classes import DEFAULT_DECISION, Classes, Decision, new_names

ONE_EACH = Classes.one_component_each(np.array(["a", "b"]), 2)
TWO_IN_ONE = Classes(np.array(["a", "b", "new-1"]), np.array([False, False, True]), np.array([0, 1, 2, 2]))


def test_a_known_class_wins_only_against_all_new_ones_together():
    probabilities = np.array([[0.4, 0.1, 0.2, 0.3], [0.6, 0.0, 0.2, 0.2], [0.3, 0.3, 0.4, 0.0], [0.0, 0.5, 0.25, 0.25]])
    assert ONE_EACH.answer(probabilities).position.tolist() == [3, 0, 2, 1]
    nothing_new, all_new = (Classes(np.arange(4), np.full(4, flag), np.arange(4)) for flag in (False, True))
    assert nothing_new.answer(probabilities).position.tolist() == [0, 0, 2, 1]
    assert all_new.answer(probabilities).position.tolist() == [0, 0, 2, 1]


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), min_size=1, max_size=8))
def test_laws_of_an_answer(rows):
    q = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    for classes in (ONE_EACH, TWO_IN_ONE):
        answer = classes.answer(q)
        np.testing.assert_allclose(classes.probabilities(q).sum(axis=1), 1)
        assert (classes.component_class[answer.component] == answer.position).all()  # of its own class,
        of_class = classes.component_class == answer.position[:, None]
        assert (q[np.arange(len(q)), answer.component] >= np.where(of_class, q, 0).max(axis=1)).all()  # the best
        np.testing.assert_allclose(answer.p_new, q[:, 2:].sum(axis=1))
        is_new = q[:, 2:].sum(axis=1) > q[:, :2].max(axis=1)
        np.testing.assert_array_equal(classes.is_new[answer.position], is_new)
    merged = TWO_IN_ONE.answer(q)
    np.testing.assert_array_equal(np.minimum(ONE_EACH.answer(q).position, 2), merged.position)  # a merge moves no other


@given(
    st.lists(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), min_size=1, max_size=8),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_laws_of_a_decision(rows, abstain, threshold):
    q = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    for classes in (ONE_EACH, TWO_IN_ONE):
        usual = classes.named(classes.answer(q))
        for decision in (DEFAULT_DECISION, Decision(known_only=True), Decision(new_threshold=threshold)):
            full, cautious = classes.answer(q, decision), classes.answer(q, decision._replace(abstain=abstain))
            given = full.probability >= abstain
            np.testing.assert_array_equal(classes.named(cautious), np.where(given, classes.named(full), ""))
            np.testing.assert_array_equal(cautious.probability, full.probability)  # withheld, not changed
        forced = classes.answer(q, Decision(known_only=True))
        assert not classes.is_new[forced.position].any()
        kept = ~np.isin(usual, classes.names[classes.is_new])
        np.testing.assert_array_equal(classes.named(forced)[kept], usual[kept])
        moved = classes.answer(q, Decision(new_threshold=threshold))
        np.testing.assert_array_equal(classes.is_new[moved.position], moved.p_new > threshold)


def test_no_answer_is_what_means_unlabelled():
    q, half = np.array([[0.9, 0.1], [0.4, 0.6]]), Decision(abstain=0.7)
    names = (np.array([3, 7]), np.array(["a", "b"]), np.array([False, True]))
    answers = [classes.named(classes.answer(q, half)).tolist() for classes in map(without_new, names)]
    assert answers == [[3, -1], ["a", ""], [False, None]]


def without_new(names):
    return Classes.one_component_each(names, 0)


def test_where_all_is_new_or_nothing_is_a_threshold_decides_nothing():
    q = np.array([[0.3, 0.7], [0.6, 0.4]])
    for classes in (without_new(np.array([3, 7])), Classes.one_component_each(np.array([], dtype=int), 2)):
        for threshold in (0.0, 0.5, 1.0):
            assert classes.answer(q, Decision(new_threshold=threshold)).position.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Decision(abstain=1.5), "abstain must be a number of at least 0 and at most 1, or None; got 1.5"),
        (Decision(abstain=True), "abstain must be"),
        (Decision(new_threshold=-0.1), "new_threshold must be"),
        (Decision(known_only="yes"), "known_only must be True or False; got 'yes'"),
        (Decision(known_only=True, new_threshold=0.5), "known_only calls no row new.*Leave one of them out"),
    ],
)
def test_decisions_that_are_refused(decision, message):
    with pytest.raises(ValueError, match=message):
        decision.check(ONE_EACH)


def test_known_only_needs_a_known_class():
    with pytest.raises(ValueError, match="known_only needs a known class, but all 2 classes are new.*fit with labels"):
        Decision(known_only=True).check(Classes.one_component_each(np.array([], dtype=int), 2))


def test_components_of_classes():
    assert TWO_IN_ONE.known_components == (0, 1)
    assert TWO_IN_ONE.new_components == (2, 3)
    assert TWO_IN_ONE.components(2).tolist() == [2, 3]
    assert TWO_IN_ONE.component_of(np.array([1, -1, 0])).tolist() == [1, -1, 0]
    moved = Classes(np.array(["a", "b"]), np.array([False, False]), np.array([1, 0, 1]))
    assert moved.component_of(np.array([0, 1, -1])).tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("known", "names"),
    [
        (np.array([3, 7]), [8, 9]),
        (np.array([], dtype=int), [0, 1]),
        (np.array(["a", "b"]), ["new-1", "new-2"]),
        (np.array(["a", "new-1"]), ["new-2", "new-3"]),
        (np.array([False, True]), ["new-1", "new-2"]),
    ],
)
def test_new_classes_get_names_that_are_free(known, names):
    assert new_names(known, 2) == names


def test_a_class_that_is_not_there():
    with pytest.raises(ValueError, match="There is no class 'cat'. The classes are 'a', 'b', 'new-1'"):
        TWO_IN_ONE.position("cat")
