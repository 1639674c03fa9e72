"""Single acts: what is said, what is refused, and which names there can be."""

import numpy as np
import pytest
from by_hand import fitted_by_hand

from newfound import GMDGM
from newfound.acts import perform

FITTED = {
    "text": fitted_by_hand("text", 2, 6, 4, seed=0),
    "numbers": fitted_by_hand("numbers", 2, 6, 4, seed=0),
    "no labels": fitted_by_hand("numbers", 0, 6, 4, seed=0),
}


def after(fitted, *acts):
    for act, arguments in acts:
        fitted, _ = perform(fitted, act, arguments)
    return fitted


def rename(**names):
    return "rename", {"names": [[old.replace("_", "-"), new] for old, new in names.items()]}


def merge(*classes, into=None):
    return "merge", {"classes": list(classes), "into": into}


def discard(name):
    return "discard", {"class_name": name}


def split(name):
    return "split", {"class_name": name}


def test_there_is_something_to_act_on():
    assert FITTED["text"].classes.names.tolist() == ["ape", "bee", "new-1", "new-2", "new-3", "new-4"]
    assert FITTED["numbers"].classes.names.tolist() == [3, 7, 8, 9, 10, 11]
    assert FITTED["no labels"].classes.names.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (rename(new_1="fox"), r"“new-1” is now called “fox”\."),
        (rename(new_1="fox", ape="apes"), "“new-1” is now called “fox” and “ape” is now called “apes”."),
        (merge("new-1", "new-2"), r"“new-1” and “new-2” are one class now: “new-\d”, \d+ rows\."),
        (merge("new-1", into="bee"), r"“new-1” and “bee” are one class now: “bee”, \d+ rows\."),
        (("cut", {"n_new": 1}), r"There is 1 new class now: “new-\d” \(\d+ rows\)\."),
        (("cut", {"n_new": 2}), r"There are 2 new classes now: “new-\d” \(\d+ rows\) and “new-\d” \(\d+ rows\)\."),
        (
            discard("new-3"),
            r"“new-3” is discarded: its \d+ rows? moved to the best remaining class, none .* sure\.",
        ),
    ],
)
def test_what_is_said(act, said):
    import re

    assert re.fullmatch(said, perform(FITTED["text"], *act)[1])


def test_what_is_said_of_a_split():
    sentence = perform(after(FITTED["text"], merge("new-1", into="bee")), *split("bee"))[1]
    assert sentence.startswith("“bee” is two classes now: “bee”, ")
    assert "and “new-5”, " in sentence


@pytest.mark.parametrize(
    ("kind", "act", "message"),
    [
        ("text", rename(new_9="fox"), "There is no class 'new-9'. The classes are 'ape', 'bee', 'new-1', .*"),
        ("text", rename(new_1=""), "'' means unlabelled, so no class can be called that. Choose another name"),
        ("text", rename(new_1=" "), "'' means unlabelled"),
        ("text", rename(new_1="NA"), "'NA' means unlabelled"),
        ("text", rename(new_1="-1"), "'-1' means unlabelled"),
        ("text", rename(new_1="?"), r"'\?' means unlabelled"),
        ("text", rename(new_1="a\nb"), r"one line of printable text; got 'a\\nb'"),
        ("text", rename(new_1="bee"), "'bee' is or was the id of another class"),
        ("text", rename(new_1="new-2"), "'new-2' is or was the id of another class, and ids are never reused"),
        ("text", rename(new_1="fox", new_2="fox"), "Two classes would be called 'fox'. If they are one, merge them"),
        ("text", rename(new_1=5), "The new name must be text, as the names of all classes are; got 5"),
        ("text", rename(new_1=None), "The new name must be text"),
        ("text", ("rename", {"names": {}}), r"Give names or ids with their new names, such as \{'new-1': 'fox'\}; got"),
        ("text", ("rename", {"names": "new-1"}), "Give names or ids with their new names"),
        (
            "text",
            ("rename", {"names": [["ape", "a"], ["ape", "b"]]}),
            "'ape' is given two names. Give it one",
        ),
        ("numbers", ("rename", {"names": {8: "fox"}}), "The new name must be a whole number, .*; got 'fox'"),
        ("numbers", ("rename", {"names": {8: True}}), "The new name must be a whole number"),
        ("numbers", ("rename", {"names": {8: -1}}), "-1 means unlabelled"),
        ("numbers", ("rename", {"names": {8: 9}}), "9 is or was the id of another class"),
        ("text", merge("new-1"), r"A merge needs at least two different classes; got 'new-1'\."),
        ("text", merge("new-1", into="new-1"), "A merge needs at least two different classes"),
        ("text", ("merge", {"classes": "new-1"}), r"as a list, such as \['new-2', 'new-5'\]; got 'new-1'"),
        ("text", merge("ape", "bee"), "'ape' and 'bee' are both known: rows carry the label of each. Give these rows"),
        (
            "text",
            merge("ape", into="new-1"),
            "'ape' is known and keeps its name, .* the other way round, into='ape'",
        ),
        ("text", split("ape"), "The class 'ape' is a single component of the model and cannot be split. Fit again"),
        ("text", ("cut", {"n_new": 7}), "can be cut into 1 to 6 groups; got 7"),
        ("text", ("cut", {"n_new": 1.5}), "n_new must be a whole number of at least 1; got 1.5"),
        ("text", discard("ape"), "The class 'ape' is known: rows carry its label. Only new classes can be discarded"),
    ],
)
def test_what_is_refused(kind, act, message):
    with pytest.raises(ValueError, match=message):
        perform(FITTED[kind], *act)


def test_the_last_class_cannot_be_discarded():
    fitted = after(FITTED["no labels"], discard(0), discard(1), discard(2))
    with pytest.raises(ValueError, match="The class 3 is the only one, and cannot be discarded"):
        perform(fitted, *discard(3))


def test_there_is_nothing_to_cut_once_all_new_classes_are_known():
    fitted = after(FITTED["text"], merge("new-1", "new-2", "new-3", "new-4", into="bee"))
    assert fitted.classes.is_new.sum() == 0
    with pytest.raises(ValueError, match="There is no class tree to cut"):
        perform(fitted, "cut", {"n_new": 1})


def test_a_class_that_was_merged_into_a_known_one_comes_out_as_it_was_but_for_its_id():
    fitted = after(FITTED["text"], merge("new-3", into="ape"), split("ape"))
    assert fitted.classes.ids.tolist() == ["ape", "bee", "new-1", "new-2", "new-5", "new-4"]  # where it was
    was, now = FITTED["text"].labels == "new-3", fitted.labels == "new-5"
    np.testing.assert_array_equal(was, now)


def test_a_name_of_a_person_is_kept():
    fitted = FITTED["text"]
    smallest = min(fitted.classes.names[fitted.classes.is_new], key=lambda name: (fitted.labels == name).sum())
    named = after(fitted, ("rename", {"names": {smallest: "fox"}}), ("cut", {"n_new": 1}))
    assert named.classes.names.tolist() == ["ape", "bee", "fox"]
    assert named.classes.ids[2] == smallest
    assert after(named, rename(fox="elk")).classes.position(smallest) == 2  # its id still finds it


def test_classes_found_without_labels_may_have_names_of_either_kind():
    numbers = after(FITTED["no labels"], ("rename", {"names": {0: 17}}))
    assert numbers.classes.names.tolist() == [17, 1, 2, 3]
    texts = after(FITTED["no labels"], ("rename", {"names": {0: "fox"}}), ("merge", {"classes": [0, 1]}))
    assert texts.classes.names.tolist() == ["fox", "2", "3"]
    assert texts.classes.ids.tolist() == [0, 2, 3]
    finer = after(texts, ("cut", {"n_new": 5}))
    assert finer.classes.names.dtype.kind == "U"
    assert set(finer.classes.ids.tolist()) >= {4}


def test_booleans_keep_their_names():
    from dataclasses import replace

    from newfound.classes import Classes

    fitted = replace(FITTED["text"], classes=Classes.one_component_each(np.array([False, True]), 0))
    with pytest.raises(ValueError, match="Classes that are True and False keep these names"):
        perform(fitted, "rename", {"names": {True: "yes"}})


def test_methods_of_an_estimator_leave_it_as_it_was(tmp_path):
    model = GMDGM(latent_dim=1, hidden_layer_sizes=(2,), verbose=False)
    model.fitted_, model.n_features_in_ = FITTED["text"], 2
    X = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
    acted = (
        model.rename({"new-1": "fox"})
        .merge(["new-2", "fox"])
        .merge(["new-3"], into="ape")
        .discard("new-4")
        .split("ape")
    )
    assert model.classes_.tolist() == ["ape", "bee", "new-1", "new-2", "new-3", "new-4"]
    assert acted.classes_.tolist() == ["ape", "bee", "fox", "new-5"]
    assert acted.class_ids_.tolist() == ["ape", "bee", "new-1", "new-5"]
    assert acted.is_named_.tolist() == [True, True, True, False]
    assert list(acted.evidence_) == ["fox", "new-5"]
    assert set(acted.predict(X)) <= set(acted.classes_)
    np.testing.assert_allclose(acted.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(acted.predict_new_proba(X), acted.predict_proba(X)[:, 2:].sum(axis=1))
    for name in ("fox", "new-1", None):
        assert acted.sample(3, class_name=name, random_state=0).shape == (3, 2)
    with pytest.raises(ValueError, match="There is no class 'new-4'"):
        acted.sample(1, class_name="new-4")
    acted.save(tmp_path)
    from newfound import load

    np.testing.assert_array_equal(load(tmp_path).predict_proba(X), acted.predict_proba(X))
