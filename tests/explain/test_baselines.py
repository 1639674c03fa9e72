"""Simpler methods: right on easy data, scored by the same measure, and reported if one wins."""

import numpy as np
import pytest
from small import blobs

import newfound
from newfound._internal.records import converted, to_json
from newfound.explain.audit_record import Audit, BaselineScore, HiddenClass, baseline_sentences, sentences
from newfound.explain.baselines import (
    METHODS,
    BaselineRound,
    Problem,
    Space,
    best_f1,
    score_round,
    starting_centres,
    summarise,
)
from newfound.labels import UNLABELLED, Labels


def problem(n_new=1, n_known=2, share=3):
    """Four clouds; some rows of the first classes are labelled, and no row of the third and the fourth is."""
    X, truth = blobs(200)
    codes = np.where((truth < n_known) & (np.arange(200) % (4 * share) < 4), truth, UNLABELLED)
    return Problem(Space(X, truth), codes, n_known, n_new, seed=0), truth


@pytest.mark.parametrize("title", [title for title in METHODS if title != "self-training"])
def test_clouds_that_are_far_apart_are_found_by_every_method(title):
    asked, truth = problem(n_new=2)
    answer = METHODS[title](asked)
    for code in (0, 1):
        assert (answer[truth == code] == code).all()
    assert len({*answer[truth == 2]}) == len({*answer[truth == 3]}) == 1
    assert answer[truth == 2][0] != answer[truth == 3][0]
    assert answer[truth >= 2].min() >= 2


def test_self_training_knows_no_class_without_a_label():
    asked, truth = problem()
    answer = METHODS["self-training"](asked)
    assert set(answer) == {0, 1}
    assert (answer[truth < 2] == truth[truth < 2]).all()
    assert (METHODS["self-training"](problem(n_known=1)[0]) == 0).all()


def test_the_first_centres_are_the_class_means():
    asked, _ = problem(n_new=3)
    centres = starting_centres(asked)
    assert len(centres) == 5
    assert centres[1] == pytest.approx(asked.space.points[asked.codes == 1].mean(axis=0))


def test_rows_that_are_all_alike_are_no_obstacle():
    alike = Problem(
        Space(np.ones((30, 2), np.float32), np.zeros(30, int)), np.array([0] * 5 + [1] * 5 + [-1] * 20), 2, 1, 0
    )
    labels = Labels(np.array(["a", "b", "c"]), np.array([0] * 5 + [1] * 5 + [2] * 20))
    scores = score_round(alike, labels, 2, np.array([0, 1]))
    assert set(scores) == set(METHODS)


def test_f1_is_of_the_best_group_on_labelled_rows():
    own = np.array([True, True, True, False, False, False])
    labelled = np.array([True, True, True, True, True, False])
    group = np.array([0, 0, 1, 1, UNLABELLED, 0])
    assert best_f1(group, own, labelled) == pytest.approx(2 * 2 / (3 + 2))
    assert best_f1(np.full(6, UNLABELLED), own, labelled) == 0


def test_held_out_labels_are_not_seen_and_tell_the_accuracy():
    asked, truth = problem(share=1)
    labels = Labels(np.array(["a", "b", "c"]), np.where(truth < 3, truth, UNLABELLED))
    seen = []

    def remember(given):
        seen.append(given.codes)
        return np.where(given.codes == UNLABELLED, 0, given.codes)

    scores = score_round(asked, labels, 2, np.array([0, 1]), {"memory": remember})
    assert (seen[0] != UNLABELLED).sum() == 80  # of 100
    assert scores["memory"] == BaselineRound(0.0, 2, 10, 20)  # what it has not seen it calls 0
    (summary,) = summarise([scores, scores])
    assert summary == BaselineScore("memory", 0.0, 2, 0.5)


# ---- in an audit -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def audited():
    X, truth = blobs(200)
    y = np.where((truth < 3) & (np.random.default_rng(0).random(200) < 0.4), np.array(list("abcd"))[truth], "")
    return newfound.audit(X, y, config=newfound.Config().replace(n_trees=30))


def test_every_audit_holds_the_baselines(audited):
    assert [one.title for one in audited.baselines] == list(METHODS)
    assert all(0 <= one.f1 <= 1 and one.n_classes >= 1 for one in audited.baselines)
    assert {one.title: one.f1 for one in audited.baselines}["self-training"] == 0
    assert all(hidden.known_accuracy > 0.9 for hidden in audited.hidden)
    assert baseline_sentences(audited)[0] in sentences(audited)


def test_an_audit_with_baselines_is_read_back(audited):
    assert converted(to_json(audited), Audit, "audit.json", "") == audited
    assert baseline_sentences(audited.replace(baselines=())) == []


def with_scores(audit, own, *f1s):
    hidden = tuple(HiddenClass(name, 40, own, None, 0.0, own, 0.9) for name in "ab")
    scores = (BaselineScore("xyz"[i], f1, 3, 0.9) for i, f1 in enumerate(f1s))
    return audit.replace(hidden=hidden, baselines=tuple(scores))


def test_a_baseline_that_wins_is_told(audited):
    assert baseline_sentences(with_scores(audited, 0.7, 0.69, 0.93)) == [
        "Y (F1 0.93) finds hidden classes better than newfound (F1 0.70; mean over 2 hidden classes). Compare with it "
        "before you rely on this."
    ]
    (both,) = baseline_sentences(with_scores(audited, 0.7, 0.8, 0.93))
    assert both.startswith("Y (F1 0.93) and x (F1 0.80) find hidden classes better than newfound")


def test_a_hairs_breadth_is_no_win(audited):
    assert baseline_sentences(with_scores(audited, 0.9, 0.91, 0.2)) == [
        "No baseline is more than 0.02 better at finding hidden classes: "
        "newfound's F1 is 0.90, that of x 0.91 (mean over 2 hidden classes)."
    ]
