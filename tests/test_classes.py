import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newfound.classes import Classes, new_names

ONE_EACH = Classes.one_component_each(np.array(["a", "b"]), 2)
TWO_IN_ONE = Classes(np.array(["a", "b", "new-1"]), np.array([False, False, True]), np.array([0, 1, 2, 2]))


def test_a_known_class_wins_only_against_all_new_ones_together():
    probabilities = np.array([[0.4, 0.1, 0.2, 0.3], [0.6, 0.0, 0.2, 0.2], [0.3, 0.3, 0.4, 0.0], [0.0, 0.5, 0.25, 0.25]])
    assert ONE_EACH.choose(probabilities).tolist() == [3, 0, 2, 1]
    nothing_new, all_new = (Classes(np.arange(4), np.full(4, flag), np.arange(4)) for flag in (False, True))
    assert nothing_new.choose(probabilities).tolist() == [0, 0, 2, 1]
    assert all_new.choose(probabilities).tolist() == [0, 0, 2, 1]


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
        np.testing.assert_array_equal(answer.position, classes.choose(classes.probabilities(q)))
    merged = TWO_IN_ONE.answer(q)
    np.testing.assert_array_equal(np.minimum(ONE_EACH.answer(q).position, 2), merged.position)  # a merge moves no other


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
    with pytest.raises(ValueError, match=r"must be one of classes_ \('a', 'b', 'new-1'\); got 'cat'"):
        TWO_IN_ONE.position("cat")
