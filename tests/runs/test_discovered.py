"""What a run says of the classes that were discovered, in numbers and in words."""

import numpy as np
import pytest

from newfound._internal.records import converted, to_json
from newfound.classes import Classes
from newfound.discovery.tree import grow_tree
from newfound.explain.describe import near_and_wide
from newfound.runs.answer import Discovered, discovery_sentences, evidence_sentence, headline
from newfound.runs.records import MissingLabels
from newfound.runs.run import open_run

FOUND = Discovered(
    n_new=3,
    n_new_range=(2, 4),
    is_given=False,
    has_labels=True,
    method="graph",
    n_rows=1000,
    n_unsure=37,
    closest=["new-2", "new-3"],
    divisible="new-1",
    agreement=0.99,
    moves=[("new-1", "cat", 6), ("new-2", "new-3", 4)],
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "3 new classes (2–4)"),
        ({"n_new": 1, "n_new_range": (1, 1)}, "1 new class"),
        ({"n_new": 0, "n_new_range": (0, 0)}, "No new class"),
        ({"n_new": 0, "n_new_range": (0, 1)}, "No new class (0–1)"),
        ({"n_new_range": (3, 3), "is_given": True}, "3 new classes, as asked for"),
        ({"has_labels": False}, "3 classes (2–4)"),
    ],
)
def test_the_answer_in_a_few_words(change, said):
    assert headline(FOUND.replace(**change)) == said


def test_what_the_answer_rests_on():
    assert discovery_sentences(FOUND) == [
        "Found on the graph of neighbours.",
        "37 rows (4%) are not sure of their class.",
        "Among the new classes, “new-2” and “new-3” are closest to each other.",
        "If one of them should be two classes, it is “new-1”.",
    ]
    small = FOUND.replace(n_new=1, method="mixture", n_unsure=1, closest=[], divisible=None)
    assert discovery_sentences(small) == [
        "Found by a mixture of Gaussians, because the table is small.",
        "1 row (<1%) is not sure of its class.",
    ]
    assert discovery_sentences(small.replace(n_new=0, n_unsure=0)) == []


def test_predictions_that_differ_are_told_class_by_class():
    told = discovery_sentences(FOUND.replace(agreement=0.9))[-1]
    assert told == (
        "The model predicts 10% of the rows as another class than was discovered: "
        "“new-1” as “cat” (6 rows) and “new-2” as “new-3” (4 rows)."
    )


def test_evidence_in_plain_words():
    evidence = MissingLabels(n_rows=68.0, labels_expected=14.2, labels_held=0.3, p_value=2e-6)
    assert evidence_sentence(evidence) == (
        "It would hold about 14 labels if it were known, and holds none (p = 2e-06)."
    )
    assert "holds none, though 2 labelled rows are close by (p = " in evidence_sentence(
        evidence.replace(labels_held=1.8)
    )
    assert "less than one label" in evidence_sentence(evidence.replace(labels_expected=0.4, p_value=0.7))
    assert "(p < 1e-12)" in evidence_sentence(evidence.replace(p_value=0.0))
    assert evidence_sentence(None) == ""


def test_neighbours_in_the_tree():
    links = np.array([[0, 9, 1, 1], [9, 0, 1, 1], [1, 1, 0, 5], [1, 1, 5, 0.0]])  # 0 with 1, 2 with 3
    tree = grow_tree(links, np.array([40, 30, 20, 10]), np.array([0, 0, 1, 2]))

    def classes(n_new):
        return Classes.of_fragments(np.array(["cat", "dog"]), tree.cut(n_new))

    assert near_and_wide(tree, classes(3)) == (["new-2", "new-3"], "new-1")
    assert near_and_wide(tree, classes(4)) == (["new-1", "new-2"], None)
    assert near_and_wide(tree, classes(1)) == ([], "new-1")
    assert near_and_wide(None, classes(2)) == ([], None)
    by_hand = Classes.of_fragments(np.array(["cat", "dog"]), np.array([0, 1, 0, 1]))
    assert near_and_wide(tree, by_hand) == ([], None)


def test_a_run_holds_what_was_discovered(workplace):
    run = open_run(workplace / "run")
    found, model, table = run.discovered, run.model, run.predictions
    assert (found.n_new, found.is_given, found.n_rows) == (2, True, 240)
    assert found.method == model.fitted_.method == "mixture"
    assert table["discovered_class"].tolist() == model.labels_.tolist()
    assert found.n_unsure == (~table["is_sure"]).sum() == (~model.is_sure_).sum()
    assert found.agreement == np.mean(table["discovered_class"] == table["class"])
    assert sum(n for _, _, n in found.moves) == (table["discovered_class"] != table["class"]).sum()
    assert [c.n_discovered for c in run.classes] == [(table["discovered_class"] == c.name).sum() for c in run.classes]
    assert [to_json(c.evidence) for c in run.classes] == [model.evidence_.get(c.name) for c in run.classes]
    assert converted(to_json(found), Discovered, "run.json", "") == found
