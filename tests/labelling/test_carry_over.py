"""What a second fit of the same rows keeps of the first one's classes: ids, names; and what it says has changed."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_up import made_up, names

from newfound.acts import ACTS
from newfound.labelling import Changes, HeldOut, Named, compare, sentences
from newfound.labelling.carry_over import carried_over
from newfound.labelling.given import FEW, called_now, label_share, labels_to_learn

BEFORE = np.repeat([0, 1, 2, 3], 30)  # ape, bee, new-1, new-2


def renamed(fitted, **chosen):
    return ACTS["rename"].apply(fitted, names={old.replace("_", "-"): new for old, new in chosen.items()})


# ---- ids and names ---------------------------------------------------------------------------------------------------


def test_the_same_rows_in_another_order_of_classes_keep_ids_and_names():
    after = made_up(np.array([0, 1, 3, 2])[BEFORE])
    assert carried_over(made_up(BEFORE), after, {}).ids.tolist() == ["ape", "bee", "new-2", "new-1"]


def test_a_name_stays_with_its_rows_and_the_parts_of_a_named_class_stay_one():
    before = renamed(made_up(BEFORE), new_2="cow")
    component = BEFORE.copy()
    component[BEFORE == 3] = np.repeat([2, 4], 15)
    component[BEFORE == 2] = 3
    classes = carried_over(before, made_up(component, n_new=3), called_now(before, names(120)))
    assert classes.names.tolist() == ["ape", "bee", "cow", "new-1"]
    assert classes.ids.tolist() == ["ape", "bee", "new-2", "new-1"]
    assert classes.component_class.tolist() == [0, 1, 2, 3, 2]
    assert classes.is_named.tolist() == [True, True, True, False]


def test_a_class_that_has_labels_now_is_known_and_keeps_its_id():
    before = renamed(made_up(BEFORE), new_1="cow")
    after = made_up(BEFORE, known=("ape", "bee", "cow"), n_new=1)
    classes = carried_over(before, after, called_now(before, names(120, cow=range(60, 70))))
    assert dict(zip(classes.names.tolist(), classes.ids.tolist(), strict=True)) == {
        **{"ape": "ape", "bee": "bee", "cow": "new-1", "new-2": "new-2"},
    }
    assert classes.is_new.tolist() == [False, False, False, True]


def test_what_was_not_there_gets_an_id_that_was_never_given():
    before = made_up(BEFORE)
    before = replace(before, classes=replace(before.classes, next_new=9))  # up to new-8 were given, and retired
    component = np.where(np.arange(120) % 30 < 3, 4, BEFORE)  # a few rows of every class
    classes = carried_over(before, made_up(component, n_new=3), {})
    assert classes.ids.tolist() == ["ape", "bee", "new-1", "new-2", "new-9"]
    assert classes.next_new == 10


def test_numbers_stay_numbers():
    before = made_up(BEFORE, known=(0, 1))
    after = made_up(BEFORE, known=(0, 1, 7), n_new=1)
    classes = carried_over(before, after, called_now(before, names(120)))
    assert classes.names.dtype.kind == classes.ids.dtype.kind == "i"
    assert classes.ids.tolist() == [0, 1, 7, 3]


@given(st.integers(0, 10_000))
def test_no_id_is_given_twice_and_none_that_has_retired(seed):
    rng = np.random.default_rng(seed)
    n_before, n_after = rng.integers(1, 6, 2)
    before = made_up(rng.integers(0, 2 + n_before, 80), n_new=n_before)
    before = replace(before, classes=replace(before.classes, next_new=20))
    some = rng.permutation(np.arange(2, 2 + n_before))[: rng.integers(0, n_before + 1)]
    called = {int(position): f"name {position}" for position in some}
    after = made_up(rng.integers(0, 2 + n_after, 80), n_new=n_after)
    classes = carried_over(before, after, called)
    assert len(set(classes.ids.tolist())) == len(set(classes.names.tolist())) == len(classes)
    fresh = set(classes.ids.tolist()) - set(before.classes.ids.tolist())
    assert all(int(i.removeprefix("new-")) >= 20 for i in fresh)
    assert set(classes.component_class.tolist()) == set(range(len(classes)))


# ---- what given labels say -------------------------------------------------------------------------------------------


def test_labels_name_a_class_where_most_of_them_agree_on_a_new_name():
    before = made_up(BEFORE)
    assert called_now(before, names(120, cow=[60, 61, 90], dog=[91])) == {2: "cow"}  # one of each names nothing
    assert called_now(before, names(120, ape=range(60, 70))) == {}  # these rows are of a known class
    assert called_now(renamed(before, new_1="cow"), names(120, dog=range(60, 70))) == {2: "cow"}


def test_a_class_with_few_labels_learns_from_more_of_its_rows_as_many_as_known_classes_have():
    labels = np.where(np.arange(120) % 3 == 0, np.array(["ape", "bee", "", ""])[BEFORE], "")
    before = made_up(BEFORE, labels=labels)
    given = names(120, ape=range(0, 30, 3), bee=range(30, 60, 3), cow=[60, 61, 62], dog=range(90, 90 + FEW))
    learned = labels_to_learn(before, given)
    assert label_share(before) == 1 / 3
    assert learned.added == {"cow": 7}
    assert learned.labels.counts.tolist() == [10, 10, 10, FEW]
    assert set(np.flatnonzero(learned.labels.names == "cow")) <= set(range(60, 90))


def test_a_single_label_of_an_unknown_class_is_left_out():
    learned = labels_to_learn(made_up(BEFORE), names(120, ape=[0, 1], cow=[60]))
    assert learned.alone == ("cow",)
    assert learned.labels.classes.tolist() == ["ape"]


# ---- what changed ----------------------------------------------------------------------------------------------------


def changed(before, after):
    return compare(*(Named(ids, {i: i for i in set(ids.tolist())}) for ids in map(np.array, (before, after))))


def test_what_appeared_vanished_split_merged_and_moved():
    split = changed(["a"] * 10 + ["b"] * 10, ["a"] * 6 + ["c"] * 4 + ["b"] * 10)
    assert split.split == [("a", ["a", "c"])]
    assert (split.appeared, split.vanished, split.n_moved) == ([("c", 4)], [], 4)
    merged = changed(["a"] * 10 + ["b"] * 10, ["b"] * 20)
    assert merged.merged == [(["a", "b"], "b")]
    assert (merged.appeared, merged.vanished) == ([], [("a", 10)])
    moved = changed(["a"] * 20 + ["b"] * 20, ["a"] * 19 + ["b"] * 21)
    assert (moved.split, moved.merged, moved.moved) == ([], [], [("a", "b", 1)])


def test_changes_survive_json_and_are_told_in_sentences():
    changes = changed(["a"] * 10 + ["b"] * 10, ["a"] * 6 + ["c"] * 4 + ["b"] * 10)
    changes = replace(changes, held_out=HeldOut(12, 0.5, 0.75), added={"c": 3}, became_known=["c"])
    assert Changes.from_json(changes.to_json()) == changes
    assert sentences(changes) == [
        "“c” is known now.",
        "“a” was split into “a” and “c”.",
        "“c” (4 rows) appeared.",
        "4 rows (20%) moved: “a” to “c” (4 rows).",
        "In classes with few labels, rows that were surely theirs counted as labelled, too: “c” (3).",
        "Better on 12 labels that neither fit was trained on: 50% were right before, 75% are now. That is few: one row "
        "more or less is chance.",
    ]


def test_a_class_with_another_name_is_the_same_class():
    before, after = Named(np.array(["new-1"] * 5), {"new-1": "new-1"}), Named(np.array(["new-1"] * 5), {"new-1": "cow"})
    same = compare(before, after)
    assert (same.appeared, same.vanished, same.n_moved) == ([], [], 0)
    assert sentences(same)[0] == "No row moved to another class."
