"""One sentence about a run, and how honest its grade is."""

import pytest
from test_discovered import FOUND

from newfound.discovery.record import Selection
from newfound.explain.audit_record import Audit, HiddenClass
from newfound.runs.answer import answer
from newfound.runs.records import ClassSummary

CLASSES = [
    ClassSummary("cat", False, [0], 50, 50, 40, 0.9, None),
    ClassSummary("dog", False, [1], 50, 50, 40, 0.9, None),
    ClassSummary("new-1", True, [2], 68, 68, 0, 0.9, None),
]
BIASED = Selection("not at random", 2.0, 1.5, 40, "groups", ())
ONE = FOUND.replace(n_new=1, n_new_range=(1, 2))


def hidden(name: str, share: float, n_labels: int = 40) -> HiddenClass:
    return HiddenClass(name, n_labels, share, None, 0.0, f1=share, auroc=0.9)


def audit(*shares: float, n_labels: int = 40, **changes) -> Audit:
    found = {"verdict": "yes", "p_value": 1e-9, "n_new": 1, "n_new_range": (1, 2), "n_rows_new": 68, "n_rows": 168}
    classes = tuple(hidden(f"class {i}", share, n_labels) for i, share in enumerate(shares))
    whole = {"n_labels": 80, "hidden": classes, "control": "none seen", "n_rows_hidden": 168}
    return Audit(**found | whole | changes)


def test_the_sentence_of_the_first_screen():
    assert str(answer(ONE, CLASSES, audit(0.93))) == (
        "2 known classes, 1 new class (1–2) of 68 rows; hiding a known class, 93% of it was found again: "
        "you can trust this."
    )
    assert str(answer(ONE, CLASSES, audit(1.0, 0.9))).startswith(
        "2 known classes, 1 new class (1–2) of 68 rows; hiding each known class in turn, 95% of it was found again: "
    )


@pytest.mark.parametrize(
    ("audit", "selection", "grade", "reason"),
    [
        (audit(0.93, 0.9), None, "trust", "92% of it was found again"),
        (audit(0.93, 0.9), BIASED.replace(grade="random"), "trust", "again"),
        (audit(0.7, 0.7), None, "care", "70% of it was found again"),
        (audit(1.0, 1.0, 0.2), None, "care", "2 of 3 were found again"),
        (audit(0.95, n_labels=12), None, "care", "again (from 12 labels only)"),
        (
            audit(0.95, verdict="perhaps"),
            None,
            "care",
            "again, but the labels that are missing may be missing by chance",
        ),
        (
            audit(0.95),
            BIASED,
            "care",
            "again, but labels do not look picked at random",
        ),
        (audit(0.1, 0.2), None, "doubt", "none of 2 were found again"),
        (audit(0.1), None, "doubt", "it was not found again"),
        (audit(0.95, control="yes"), None, "doubt", "but so are classes with labels handed out at random"),
        (audit(), None, "unknown", "no known class was hidden to check it"),
        (None, None, "unknown", "no known class was hidden to check it"),
    ],
)
def test_grades_are_no_better_than_what_they_rest_on(audit, selection, grade, reason):
    said = answer(ONE, CLASSES, audit, selection)
    assert said.grade == grade
    assert said.reason.endswith(reason)


def test_nothing_new_and_nothing_labelled():
    none = FOUND.replace(n_new=0, n_new_range=(0, 0))
    assert answer(none, CLASSES[:2], audit(0.9)).found == "2 known classes, no new class"
    groups = [c.replace(is_new=True) for c in CLASSES]
    said = answer(FOUND.replace(has_labels=False), groups, None)
    assert said.found == "3 classes (2–4) of 168 rows"
    assert (said.reason, said.grade) == ("no row has a label", "unknown")
