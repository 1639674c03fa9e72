"""Whether there are classes without labels: right on made data, and honest about what cannot be seen."""

from math import comb

import numpy as np
import pytest
from small import blobs

import newfound
from newfound import Config, DataError
from newfound._internal.records import converted, to_json
from newfound.discovery.discover import discover
from newfound.discovery.record import Discovery
from newfound.discovery.rows import Rows
from newfound.discovery.tree import grow_tree
from newfound.estimator import GMDGM
from newfound.explain import audit as make_audit
from newfound.explain.audit import (
    Sample,
    audit_rows,
    classes_to_hide,
    compare,
    hide,
    judge,
    missing_label_p_value,
    sample_rows,
    with_random_labels,
)
from newfound.explain.audit_record import Audit, HiddenClass, headline, sentences
from newfound.labels import UNLABELLED, Labels
from newfound.preprocessing.columns import Scaling

CONFIG = Config().replace(n_trees=30)  # forests cost most, and blobs are easy
SETTINGS = CONFIG.initialisation
NAMES = np.array(["ant", "bee", "cat", "dog", "emu"])


def labelled(truth, known, share=0.2, seed=0):
    """Names of a share of the rows of the known classes, "" elsewhere."""
    is_kept = (np.random.default_rng(seed).random(len(truth)) < share) & np.isin(truth, known)
    return np.where(is_kept, NAMES[truth], "")


@pytest.fixture(scope="module")
def one_hidden():
    X, truth = blobs(600, d=6)
    return newfound.audit(X, labelled(truth, (0, 1, 2)), config=CONFIG), truth


# ---- the verdict -----------------------------------------------------------------------------------------------------


def test_a_class_that_nobody_labelled_is_seen(one_hidden):
    audit, truth = one_hidden
    assert (audit.verdict, audit.n_new) == ("yes", 1)
    assert audit.p_value < 1e-6
    assert audit.share_new == pytest.approx(np.mean(truth == 3), abs=0.02)
    assert audit.n_new_range[0] <= 1 <= audit.n_new_range[1]


def test_nothing_is_seen_where_every_class_has_labels():
    """Eight draws of labels, nowhere a false alarm."""
    for seed in range(8):
        X, truth = blobs(400, seed=seed, distance=2.5)
        labels = Labels.read(labelled(truth, (0, 1, 2, 3), seed=seed), len(X))
        found = discover(rows_of(X), labels.codes, 4, SETTINGS, seed)
        assert judge(found, labels.codes, 4).answer == "none seen"


def rows_of(X):
    return Rows(X, Scaling(np.zeros(X.shape[1], "f4"), np.ones(X.shape[1], "f4")))


def discovered(n_new, answer, targets, p_new):
    """New classes of one fragment each."""
    tree = grow_tree(np.zeros((n_new, n_new)), np.arange(n_new, 0, -1), np.arange(n_new))
    sure = np.ones(len(answer), bool)
    return Discovery(n_new, (n_new, n_new), tree, answer, targets, p_new, sure, evidence=None, selection=None)


def a_discovery(n_rows, n_new_rows, n_new=1):
    """Two known classes, then rows that are called new."""
    is_new = np.arange(n_rows) >= n_rows - n_new_rows
    p_new = np.where(is_new, 0.9, 0.0)
    known = np.eye(2)[np.arange(n_rows) % 2] * (1 - p_new)[:, None]
    targets = np.hstack([known, p_new[:, None]]) if n_new else known / known.sum(axis=1, keepdims=True)
    answer = np.where(is_new & (n_new > 0), 2, np.arange(n_rows) % 2)
    return discovered(n_new, answer, targets, p_new)


@pytest.mark.parametrize("n_new", [0, 1])
@pytest.mark.parametrize("n_held", [0, 2])
def test_the_p_value_is_the_binomial_sum(n_new, n_held):
    codes = np.full(100, UNLABELLED)
    codes[:20] = np.arange(20) % 2
    codes[70 : 70 + n_held] = np.arange(n_held) % 2
    found = a_discovery(100, 30, n_new)
    frequency = (20 + n_held) / (70 + 30 * 0.1)
    expected = sum(comb(30, k) * frequency**k * (1 - frequency) ** (30 - k) for k in range(n_held + 1))
    assert missing_label_p_value(found, codes, 2) == pytest.approx(expected)


def test_yes_needs_both_a_class_and_a_small_p_value():
    codes = np.where(np.arange(100) < 40, np.arange(100) % 2, UNLABELLED)
    few = np.where(np.arange(100) < 4, np.arange(100) % 2, UNLABELLED)
    answers = {
        "yes": (a_discovery(100, 30), codes),
        "perhaps, a class but few labels": (a_discovery(100, 30), few),
        "perhaps, labels but no class": (a_discovery(100, 30, n_new=0), codes),
        "none seen": (a_discovery(100, 0, n_new=0), codes),
    }
    for expected, (found, labels) in answers.items():
        assert judge(found, labels, 2).answer == expected.partition(",")[0]


# ---- each known class hidden -----------------------------------------------------------------------------------------


def test_separate_classes_are_found_again(one_hidden):
    audit, _ = one_hidden
    assert [hidden.name for hidden in audit.hidden] == ["ant", "bee", "cat"]
    for hidden in audit.hidden:
        assert hidden.is_found
        assert hidden.found_share > 0.95
        assert hidden.f1 > 0.95
        assert hidden.auroc > 0.99


def test_a_class_that_looks_like_another_is_said_to_be_called_so():
    """Classes 0 and 1 are one cloud; 2 and 3 are apart."""
    X, truth = blobs(600, d=6)
    X[truth == 1] += X[truth == 0].mean(axis=0) - X[truth == 1].mean(axis=0)
    audit = newfound.audit(X, labelled(truth, (0, 1, 2, 3), share=0.3), config=CONFIG)
    ant, bee, cat, _ = audit.hidden
    assert audit.verdict == "none seen"
    assert (ant.called, bee.called) == ("bee", "ant")
    assert max(ant.found_share, bee.found_share) < 0.5 < min(ant.called_share, bee.called_share)
    assert not ant.is_found
    assert cat.is_found
    assert "called bee" in str(audit)


def test_what_became_of_a_hidden_class_is_counted():
    """Of four rows of class b, three are in new class 0, one is called c; of others, one labelled row is called new."""
    labels = Labels.read(["a", "a", "b", "b", "b", "b", "c", ""], 8)
    answer = np.array([0, 0, 2, 2, 2, 1, 1, 2])
    targets = np.eye(3)[answer]
    targets[6] = [0, 0.1, 0.9]  # labelled c, but out of fold it looks new
    hidden = compare(discovered(1, answer, targets, targets[:, 2]), labels, 1, np.array([0, 2]))
    pairs = [(p > q) + (p == q) / 2 for p in (1, 1, 1, 0) for q in (0, 0, 0.9)]
    assert hidden == HiddenClass(
        "b", 4, 0.75, "c", 0.25, f1=2 * 3 / (4 + 4), auroc=pytest.approx(np.mean(pairs)), known_accuracy=2 / 3
    )


def test_fragments_of_one_new_class_count_together():
    """Two fragments of one class: its F1 is that of the class, not of its best part."""
    labels = Labels.read(["a", "a", "b", "b", "b", "b"], 6)
    answer = np.array([0, 0, 1, 1, 2, 2])
    tree = grow_tree(np.ones((2, 2)), np.array([2, 2]), np.zeros(2, int))
    found = discovered(1, answer, np.eye(3)[answer], (answer > 0).astype(float))._replace(tree=tree)
    hidden = compare(found, labels, 1, np.array([0]))
    assert (hidden.found_share, hidden.f1, hidden.auroc) == (1.0, 1.0, 1.0)


def test_hiding_gives_discovery_the_other_labels_only():
    labels = Labels.read(["a", "b", "c", "c", "", "b"], 6)
    seen = []

    def discover_nothing(codes, n_known):
        seen.append((codes.tolist(), n_known))
        targets = np.tile([1.0, 0.0], (6, 1))
        return discovered(0, np.zeros(6, int), targets, np.zeros(6))

    hidden = hide(Sample(labels, discover_nothing), 1).hidden
    assert seen == [([0, -1, 1, 1, -1, -1], 2)]
    assert (hidden.found_share, hidden.called, hidden.called_share, hidden.f1) == (0, "a", 1, 0)


def test_with_labels_at_random_none_is_seen(one_hidden):
    audit, _ = one_hidden
    assert audit.control == "none seen"


def test_a_control_that_fails_is_said_and_takes_the_yes_back(monkeypatch):
    yes = make_audit.Verdict("yes", 1e-9, 10)
    monkeypatch.setattr(make_audit, "with_random_labels", lambda *_: yes)
    X, truth = blobs(200)
    audit = newfound.audit(X, labelled(truth, (0, 1), share=0.4), config=CONFIG)
    assert (audit.verdict, audit.control) == ("perhaps", "yes")
    assert any("artefact" in note for note in audit.notes)


def test_the_control_hands_out_the_same_labels():
    labels = Labels.read(np.repeat(["a", "b", ""], [10, 20, 70]), 100)
    seen = []

    def remember(codes, n_known):
        seen.append(codes)
        return a_discovery(100, 0, n_new=0)

    assert with_random_labels(Sample(labels, remember), 0).answer == "none seen"
    assert np.bincount(seen[0] + 1).tolist() == [70, 10, 20]
    assert (seen[0] != labels.codes).any()


# ---- which rows and classes ------------------------------------------------------------------------------------------


def test_a_sample_holds_labelled_rows_first_and_is_full():
    codes = np.where(np.arange(1000) < 300, 0, UNLABELLED)
    for max_rows, n_labelled in ((1000, 300), (800, 300), (400, 200)):
        rows = sample_rows(codes, max_rows, seed=0)
        assert len(np.unique(rows)) == max_rows
        assert (codes[rows] == 0).sum() == n_labelled
    nearly_all = np.where(np.arange(1000) < 950, 0, UNLABELLED)
    assert (nearly_all[sample_rows(nearly_all, 400, seed=0)] == UNLABELLED).sum() == 50


@pytest.mark.slow
def test_large_data_are_sampled_and_that_is_said():
    X, truth = blobs(900, d=6)
    audit = newfound.audit(X, labelled(truth, (0, 1, 2)), config=CONFIG.replace(audit_max_rows=400))
    assert (audit.verdict, audit.n_rows, audit.n_rows_hidden) == ("yes", 900, 400)
    assert audit.n_found == 3
    assert "Classes were hidden in a sample of 400 of the 900 rows." in audit.notes


def test_notes_name_the_classes_that_are_not_hidden(monkeypatch):
    labels = Labels.read(np.repeat(["a", "b", "c", "d", ""], [9, 3, 8, 7, 10]), 37)
    monkeypatch.setattr(make_audit, "MAX_HIDDEN", 2)
    codes, notes = classes_to_hide(labels)
    assert codes == [0, 2]
    assert notes == [
        "Not hidden, because they have fewer than 5 labels: b.",
        "Only the 2 classes with most labels were hidden, of 3.",
    ]


def test_one_known_class_cannot_be_hidden():
    X, truth = blobs(200)
    audit = newfound.audit(X, labelled(truth, (0,), share=0.5), config=CONFIG)
    assert audit.hidden == ()
    assert "one known class only" in str(audit)
    assert audit.verdict != "none seen"


@pytest.mark.parametrize(
    ("y", "message"), [([""] * 80, "None of the 80 rows has a label"), (["a", "b"] * 40, "All 80")]
)
def test_labels_that_leave_nothing_to_ask_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        newfound.audit(blobs(80)[0], y)


@pytest.mark.slow
def test_the_same_seed_says_the_same():
    X, truth = blobs(200)
    y = labelled(truth, (0, 1), share=0.4)
    first, second = (newfound.audit(X, y, config=CONFIG, random_state=3) for _ in range(2))
    assert first == second


def test_rows_are_read_as_the_estimator_reads_them():
    X, truth = blobs(200)
    y = labelled(truth, (0, 1), share=0.4)
    rows, labels = GMDGM(config=CONFIG).rows_and_labels(1000 * X + 7, y)
    direct = audit_rows(rows, labels, SETTINGS, 5)
    assert direct.n_new == newfound.audit(X, y, config=CONFIG).n_new == 2  # in any units
    with pytest.raises(ValueError, match="NaN"):
        newfound.audit(np.where(X > 4, np.nan, X), y)


# ---- words -----------------------------------------------------------------------------------------------------------


def test_json_there_and_back(one_hidden):
    audit, _ = one_hidden
    assert converted(to_json(audit), Audit, "The audit", "") == audit


def an_audit(**changes):
    hidden = (
        HiddenClass("login", 50, 0.93, "password", 0.07, 0.9, 0.99),
        HiddenClass("<b>", 12, 0.4, "login", 0.5, 0.5, 0.8),
    )
    said = {"verdict": "yes", "p_value": 3e-9, "n_new": 2, "n_new_range": (1, 3), "n_rows_new": 412, "n_rows": 1212}
    return Audit(**said | {"n_labels": 90, "hidden": hidden, "control": "none seen", "n_rows_hidden": 1212} | changes)


def test_the_answer_comes_first():
    assert sentences(an_audit()) == [
        "Probably yes: about 2 kinds of rows (1–3) without labels, 412 rows (34%). Labels are missing there "
        "beyond chance (p = 3e-09).",
        "How far to trust this: 2 known classes were hidden in turn, and 2 of 2 were found again.",
        "  login: 93% found again, the rest was called password.",
        "  <b>: 40% found again, 50% was called login (from 12 labels only).",
        "A class that looks like a known one cannot be seen this way.",
        "With random labels the answer is: none seen.",
    ]
    assert headline(an_audit(verdict="none seen", n_new=0)).startswith("None seen: ")
    assert headline(an_audit(verdict="perhaps", p_value=0.2)).endswith("by chance (p = 0.2).")
    assert "no group of rows" in headline(an_audit(verdict="perhaps", n_new=0))
    assert "below 1e-99" in headline(an_audit(p_value=0.0))


def test_a_notebook_shows_names_as_text():
    html = an_audit()._repr_html_()
    assert html.startswith("<p><b>Probably yes")
    assert "&lt;b&gt;: 40%" in html


def test_progress_is_told_and_interruption_keeps_what_there_is(monkeypatch):
    X, truth = blobs(200)
    steps, real, calls = [], make_audit.hide, []

    def hide_one_then_stop(sample, code):
        calls.append(code)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(sample, code)

    monkeypatch.setattr(make_audit, "hide", hide_one_then_stop)
    labels = Labels.read(labelled(truth, (0, 1, 2), share=0.4), len(X)).observed()
    audit = audit_rows(
        rows_of(X), labels, SETTINGS, 0, show=lambda done, total, text: steps.append((done, total, text))
    )
    assert steps[0] == (0, 6, "finding neighbours")
    assert steps[-1] == (4, 6, "hiding bee")
    assert [hidden.name for hidden in audit.hidden] == ["ant"]
    assert audit.notes[-1] == "Interrupted: 2 classes were not hidden."
