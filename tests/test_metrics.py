"""Scores count labelled rows only, and a class never seen in training is right where it is called new."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small import blobs, quick, some_labels

from newfound import GMDGM, metrics, model_selection
from newfound.metrics import labelled_accuracy, labelled_accuracy_scorer, open_set_accuracy, open_set_accuracy_scorer

NAMES = st.sampled_from(["cat", "dog", "emu", "new-1", ""])
ROWS = st.lists(st.tuples(NAMES, NAMES, st.floats(0.1, 10)), min_size=1)


@pytest.mark.parametrize("module", [metrics, model_selection])
def test_examples_in_the_docstrings_are_true(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@given(ROWS)
def test_scores_are_what_counting_row_by_row_gives(rows):
    labelled = [row for row in rows if row[0] != ""]
    y_true, y_pred, weights = zip(*rows, strict=True)
    if not labelled:
        with pytest.raises(ValueError, match="nothing to score"):
            labelled_accuracy(y_true, y_pred)
        return
    total = sum(weight for *_, weight in labelled)
    plain = sum(weight for true, said, weight in labelled if true == said) / total
    known = ("cat", "dog")
    right = sum(w for t, s, w in labelled if (t == s if t in known else s not in (*known, ""))) / total
    assert labelled_accuracy(y_true, y_pred, sample_weight=weights) == pytest.approx(plain)
    assert open_set_accuracy(y_true, y_pred, known=known, sample_weight=weights) == pytest.approx(right)


@pytest.mark.parametrize("none", [-1, np.nan, None])
def test_any_way_to_say_unlabelled_counts_in_no_score(none):
    y_true = np.array([0, 1, none, 5], dtype=object)
    assert labelled_accuracy(y_true, [0, 0, 1, 2]) == pytest.approx(1 / 3)
    assert open_set_accuracy(y_true, [0, 0, 1, 2], known=[0, 1]) == pytest.approx(2 / 3)
    assert open_set_accuracy(y_true, [0, 0, 1, -1], known=[0, 1]) == pytest.approx(1 / 3)  # no answer is not right


@pytest.fixture(scope="module")
def fitted():
    """Two known classes by name, and two without labels."""
    X, truth = blobs()
    names = np.array(["cat", "dog", "emu", "fox"])
    labels = some_labels(truth)
    y = np.where(labels < 0, "", names[labels])
    return GMDGM(**quick(n_new=2, max_epochs=30)).fit(X, y), X, y, names[truth]


def test_score_is_open_set_accuracy_and_the_plain_one_stands_beside_it(fitted):
    model, X, y, truth = fitted
    said = model.predict(X)
    is_labelled = y != ""
    assert model.score(X, y) == (said == y)[is_labelled].mean()
    is_new_right = np.isin(truth, ["emu", "fox"]) & np.isin(said, ["new-1", "new-2"])
    assert model.score(X, truth) == ((said == truth) | is_new_right).mean()
    assert model.score(X, truth) > labelled_accuracy_scorer(model, X, truth) == (said == truth).mean()
    weights = np.linspace(1, 2, len(X))
    assert model.score(X, truth, weights) == np.average((said == truth) | is_new_right, weights=weights)


def test_a_named_class_must_be_called_by_its_name_and_a_renamed_one_is_found_by_its_label(fitted):
    model, X, y, truth = fitted
    named = model.rename({"cat": "felis", "new-1": "emu"})
    said = named.predict(X)
    assert named.score(X, y) == model.score(X, y)
    is_right = (said == np.where(truth == "cat", "felis", truth)) | ((truth == "fox") & (said == "new-2"))
    assert named.score(X, truth) == is_right.mean()


def test_scorers_see_through_pipelines_and_refuse_what_is_no_model(fitted):
    model, X, y, _ = fitted
    pipeline = make_pipeline(StandardScaler(), GMDGM(**quick(n_new=2, max_epochs=30))).fit(X, y)
    assert open_set_accuracy_scorer(pipeline, X, y) == pipeline.score(X, y)
    with pytest.raises(ValueError, match="got StandardScaler"):
        open_set_accuracy_scorer(StandardScaler().fit(X), X, y)
    with pytest.raises(ValueError, match="y is None"):
        model.score(X, None)
