"""What a refit keeps of the classes there were: ids, names, components; and what it says has changed."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_up import made_up, names

from newfound._internal.records import converted, to_json
from newfound.acts import ACTS
from newfound.discovery.tree import ClassTree
from newfound.labelling.changes import Changes, HeldOut, RowClasses, change_sentences, compare
from newfound.labelling.given import labels_to_learn, new_class_names, with_current_names
from newfound.labelling.lineage import ClassMapping

BEFORE = np.repeat([0, 1, 2, 3], 30)  # ape, bee, new-1, new-2
USUAL = {"ape": range(5), "bee": range(30, 35)}


def renamed(fitted, **chosen):
    return ACTS["rename"].apply(fitted, names={old.replace("_", "-"): new for old, new in chosen.items()})


def lineage(before, **given):
    labels = with_current_names(before, names(len(before.row_components), **given)).observed()
    return ClassMapping(before, labels.classes, new_class_names(before, labels))


# ---- ids and names ---------------------------------------------------------------------------------------------------


def test_without_other_labels_all_stays_as_it_was():
    before = renamed(made_up(BEFORE), new_2="cow")
    after = lineage(before, **USUAL)
    assert after.classes.names.tolist() == ["ape", "bee", "new-1", "cow"]
    assert after.classes.ids.tolist() == ["ape", "bee", "new-1", "new-2"]
    assert after.classes.is_named.tolist() == [True, True, False, True]
    assert after.classes.next_new == before.classes.next_new
    np.testing.assert_allclose(after.targets(after.class_probabilities()), before.row_probabilities, atol=1e-6)
    assert after.sources(before.row_probabilities).tolist() == [0, 1, 2, 3]


def test_a_class_that_has_labels_now_is_known_and_keeps_its_id():
    before = renamed(made_up(BEFORE), new_1="cow")
    after = lineage(before, **USUAL, cow=[61], dog=[90, 91, 92])  # nobody named new-2, but labels agree
    assert dict(zip(after.classes.names.tolist(), after.classes.ids.tolist(), strict=True)) == {
        **{"ape": "ape", "bee": "bee", "cow": "new-1", "dog": "new-2"},
    }
    assert not after.classes.is_new.any()
    np.testing.assert_array_equal(after.column, [0, 1, 2, 3])


def test_a_name_that_no_class_has_is_a_class_of_its_own():
    before = renamed(made_up(BEFORE), new_1="cow")
    after = lineage(before, **USUAL, cow=[60, 61, 62], emu=[63, 64])
    assert after.classes.names.tolist() == ["ape", "bee", "cow", "emu", "new-2"]
    assert after.classes.ids.tolist() == ["ape", "bee", "new-1", "emu", "new-2"]
    probabilities = after.class_probabilities()
    assert (probabilities[:, 3] == 0).all()  # nothing was said of it
    targets = np.where(np.isin(np.arange(120), range(60, 70))[:, None], np.eye(5)[3], probabilities)
    assert after.sources(targets).tolist() == [0, 1, 2, 2, 3]  # its rows were cows, so it begins as one


def test_what_was_merged_is_one_component_and_what_was_discarded_ends():
    before = made_up(np.repeat(np.arange(6), 20), n_new=4)
    before = ACTS["merge"].apply(before, classes=["new-1", "new-3"], into="ape")
    before = ACTS["discard"].apply(before, class_name="new-2")
    after = lineage(before, ape=range(5), bee=range(20, 25))
    assert after.classes.names.tolist() == ["ape", "bee", "new-4"]
    assert after.column.tolist() == [0, 1, 0, -1, 0, 2]
    probabilities = after.class_probabilities()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities[40:60].argmax(axis=1) == 0).all()


def test_fragments_of_a_new_class_and_their_tree_go_on():
    before = made_up(np.repeat(np.arange(5), 20), n_new=3)
    tree = ClassTree(np.array([20, 20, 20]), np.array([[0, 1], [2, 3]]), np.array([2.0, 1.0]))
    before = ACTS["merge"].apply(replace(before, tree=tree), classes=["new-2", "new-3"])
    after = lineage(before, ape=range(5), bee=range(20, 25), cow=[40, 41])
    assert after.classes.component_class.tolist() == [0, 1, 2, 3, 3]
    assert after.tree.n_fragments == 2
    assert after.n_new_range == (1, 1)
    halves = after.targets(after.class_probabilities())
    np.testing.assert_allclose(halves, before.row_probabilities, atol=1e-6)


def test_numbers_stay_numbers():
    after = ClassMapping(made_up(BEFORE, known=(0, 1)), np.array([0, 1, 7]), {})
    assert after.classes.names.dtype.kind == after.classes.ids.dtype.kind == "i"
    assert after.classes.ids.tolist() == [0, 1, 7, 2, 3]
    assert after.classes.next_new == 8


@given(st.integers(0, 10_000))
def test_no_id_is_there_twice_and_all_components_have_a_class(seed):
    rng = np.random.default_rng(seed)
    n_new = rng.integers(1, 6)
    before = made_up(rng.integers(0, 2 + n_new, 80), n_new=n_new)
    some = {f"new-{i}": f"name {i}" for i in rng.permutation(np.arange(1, n_new + 1))[: rng.integers(0, n_new + 1)]}
    before = ACTS["rename"].apply(before, names=some) if some else before
    given = rng.choice(["ape", "bee", "name 1", "name 2", "emu", "new-1"], 6, replace=False)[: rng.integers(2, 7)]
    after = lineage(before, **{name: rng.integers(0, 80, 3) for name in given})
    assert len(set(after.classes.ids.tolist())) == len(set(after.classes.names.tolist())) == len(after.classes)
    assert set(after.classes.component_class.tolist()) == set(range(len(after.classes)))
    targets = after.targets(after.class_probabilities())
    assert targets.shape == (80, after.classes.n_components)
    np.testing.assert_allclose(targets.sum(axis=1), 1)
    kept = dict(zip(after.classes.ids.tolist(), after.classes.names.tolist(), strict=True))
    was = dict(zip(before.classes.ids.tolist(), before.classes.names.tolist(), strict=True))
    named = set(before.classes.ids[before.classes.is_named & before.classes.is_new].tolist())
    assert all(kept[i] == was[i] for i in named & kept.keys())


# ---- what given labels say -------------------------------------------------------------------------------------------


def test_labels_name_a_class_where_most_of_them_agree_on_a_new_name():
    before = made_up(BEFORE)
    assert new_class_names(before, names(120, cow=[60, 61, 90], dog=[91])) == {2: "cow"}  # one of each names nothing
    assert new_class_names(before, names(120, ape=range(60, 70))) == {}  # these rows are of a known class
    assert new_class_names(renamed(before, new_1="cow"), names(120, dog=range(60, 70))) == {2: "cow"}


def test_a_single_label_of_a_name_that_nobody_knows_is_left_out():
    before = renamed(made_up(BEFORE), new_1="cow")
    learned = labels_to_learn(before, names(120, ape=[0, 1], cow=[60], emu=[61]))
    assert learned.alone == ("emu",)
    assert learned.labels.classes.tolist() == ["ape", "cow"]  # a person named that class: one more is enough


# ---- what changed ----------------------------------------------------------------------------------------------------


def changed(before, after):
    return compare(*(RowClasses(ids, {i: i for i in set(ids.tolist())}) for ids in map(np.array, (before, after))))


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
    changes = changes.replace(held_out=HeldOut(12, 0.5, 0.75), became_known=["c"])
    assert converted(to_json(changes), Changes, "changes.json", "") == changes
    assert change_sentences(changes) == [
        "“c” is known now.",
        "“a” was split into “a” and “c”.",
        "“c” (4 rows) appeared.",
        "4 rows (20%) moved: “a” to “c” (4 rows).",
        "Better on 12 labels that neither fit was trained on: 50% were right before, 75% are now. With so few "
        "labels, a difference of one row is chance.",
    ]


def test_a_class_with_another_name_is_the_same_class():
    same = compare(*(RowClasses(np.array(["new-1"] * 5), {"new-1": name}) for name in ("new-1", "cow")))
    assert (same.appeared, same.vanished, same.n_moved) == ([], [], 0)
    assert change_sentences(same)[0] == "No row moved to another class."
