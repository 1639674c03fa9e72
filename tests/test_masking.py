import numpy as np
import pytest

from newfound import mask_labels


def test_it_hides_classes_and_keeps_a_share_of_the_others():
    y = np.repeat(np.arange(4), 50)
    masked = mask_labels(y, hide=(2, 3), keep=0.2, random_state=0)
    assert np.bincount(masked[masked >= 0]).tolist() == [10, 10]
    assert (masked[masked >= 0] == y[masked >= 0]).all()
    assert (mask_labels(y, keep=3, random_state=0) >= 0).sum() == 12
    assert np.array_equal(masked, mask_labels(y, hide=(2, 3), keep=0.2, random_state=0))
    assert set(mask_labels(y.astype(str), hide=("0",))) == {"", "1", "2", "3"}


@pytest.mark.parametrize(
    ("y", "hide", "expected"),
    [
        (np.array([True, False, True]), [True], [None, False, None]),
        (np.array([1, 2, 1], np.uint8), [1], [-1, 2, -1]),
        (np.array([1.0, np.nan, 2.0]), [2], [1, -1, -1]),
        (["cat", "dog", ""], ["dog"], ["cat", "", ""]),
    ],
    ids=["booleans", "bytes", "floats with gaps", "text"],
)
def test_labels_of_every_kind_can_be_hidden(y, hide, expected):
    assert mask_labels(y, hide=hide).tolist() == expected


def test_a_class_keeps_at_least_one_label_of_a_share_and_none_of_nothing():
    y = np.repeat(["a", "b"], [2, 100])
    assert (mask_labels(y, keep=0.01, random_state=0) == "a").sum() == 1
    assert (mask_labels(y, keep=0.0) == "").all()


def test_groups_keep_their_labels_together():
    y, groups = np.repeat(["a", "b"], 100), np.tile(np.repeat(np.arange(10), 10), 2)
    masked = mask_labels(y, keep=0.2, random_state=0, groups=groups)
    assert all(len(np.unique(groups[masked == label])) == 2 for label in ("a", "b"))


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="Cannot hide 9: no row has that label"):
        mask_labels(np.arange(3), hide=[9])
    with pytest.raises(ValueError, match="share must be at most 1.0, got 20.0; for a number of labels give an int"):
        mask_labels(np.arange(3), keep=20.0)
    with pytest.raises(ValueError, match="keep must be"):
        mask_labels(np.arange(3), keep=-1)
