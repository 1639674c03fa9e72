"""Cross-validation and searches of scikit-learn, where only some rows carry a label."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from small import blobs, quick, some_labels

from newfound import GMDGM, mask_labels
from newfound.metrics import labelled_accuracy_scorer
from newfound.model_selection import LabelledKFold

SOME = st.lists(st.sampled_from(["a", "b", ""]), min_size=20, max_size=60)


@pytest.fixture(scope="module")
def digits():
    """300 digits, half of them labelled; of their pixels those that vary in every fold, so that one program does."""
    X, y = load_digits(return_X_y=True)
    X = X[:300] / 16
    return X[:, X.std(axis=0) > 0.1], mask_labels(y[:300], keep=0.5, random_state=0)


def by_hand(model, X, y, folds):
    """Accuracy of the labelled rows of each fold."""
    scores = []
    for train, test in folds.split(X, y):
        test = test[y[test] != -1]
        scores.append((clone(model).fit(X[train], y[train]).predict(X[test]) == y[test]).mean())
    return scores


@given(SOME, st.integers(2, 4), st.booleans())
def test_every_label_is_tested_once_and_every_other_row_always_trained_on(y, n_splits, shuffle):
    y = np.array([*["a", "b"] * 4, *y])
    splits = list(LabelledKFold(n_splits, shuffle=shuffle).split(None, y))
    is_labelled = y != ""
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(y)))
    for train, test in splits:
        assert not is_labelled[np.intersect1d(train, test)].any()
        assert set(np.flatnonzero(~is_labelled)) <= set(train)
        assert sorted(set(train) | set(test)) == list(range(len(y)))
    for label in "ab":  # as evenly as it goes
        counts = [(y[test] == label).sum() for _, test in splits]
        assert max(counts) - min(counts) <= 1


@given(SOME, st.integers(0, 2**16))
def test_a_group_is_trained_on_or_tested(y, seed):
    y = np.array([*["a", "b"] * 6, *y])
    groups = np.append(np.arange(12) // 2, np.random.default_rng(seed).integers(0, 9, len(y) - 12))
    splits = list(LabelledKFold(3, random_state=0).split(None, y, groups))
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(y)))
    for train, test in splits:
        both = np.intersect1d(groups[train], groups[test])
        assert set(y[np.isin(groups, both)]) <= {""}  # of groups in both, no row has a label


def test_a_seed_gives_the_same_folds_and_what_cannot_be_divided_is_refused():
    y = some_labels(blobs()[1])
    first, again, other = ([t.tolist() for _, t in LabelledKFold(3, random_state=s).split(None, y)] for s in (0, 0, 1))
    assert first == again != other
    with pytest.raises(ValueError, match="y has no label"):
        next(LabelledKFold().split(None, [-1, -1]))
    with pytest.raises(ValueError, match="n_splits must be a whole number of at least 2"):
        next(LabelledKFold(1).split(None, y))


def test_cross_val_score_on_half_labelled_digits_is_the_score_by_hand(digits):
    X, y = digits
    model, folds = GMDGM(**quick(n_new=0)), LabelledKFold(2, random_state=0)
    assert (y != -1).sum() == pytest.approx(150, abs=5)
    expected = by_hand(model, X, y, folds)
    assert cross_val_score(model, X, y, cv=folds).tolist() == expected
    assert cross_val_score(model, X, y, cv=folds, scoring=labelled_accuracy_scorer).tolist() == expected


def test_a_grid_over_pu_weight_chooses_by_labelled_rows_also_in_two_processes(digits):
    X, y = digits
    model, folds = GMDGM(**quick(n_new=0)), LabelledKFold(2, random_state=0)
    grid = {"pu_weight": [0.0, 0.3], "learning_rate": [1e-6, 1e-3]}
    search = GridSearchCV(model, grid, cv=folds, refit=False, n_jobs=2).fit(X, y)
    expected = [np.mean(by_hand(clone(model).set_params(**p), X, y, folds)) for p in search.cv_results_["params"]]
    assert search.cv_results_["mean_test_score"] == pytest.approx(expected)
    assert search.best_score_ == pytest.approx(max(expected))
    assert search.best_params_["learning_rate"] == 1e-3


@pytest.mark.parametrize("none", [-1, np.nan, None, ""])
def test_unlabelled_rows_survive_whatever_marks_them(none):
    X, truth = blobs()
    labels = some_labels(truth, known=(0, 1, 2, 3))
    values = np.array(["a", "b", "c", "d"]) if none in ("", None) else np.arange(4)
    y = np.array([none if label == -1 else values[label] for label in labels], dtype=float if none != none else object)
    folds = LabelledKFold(2, random_state=0)
    model = GMDGM(**quick(n_new=0))
    assert np.isfinite(cross_val_score(model, X, y, cv=folds)).all()
    said = cross_val_predict(model, X, y, cv=folds)
    assert len(said) == len(X)
    assert set(said.tolist()) <= set(values.tolist())


def test_groups_are_routed_to_fit_and_to_the_folds():
    X, truth = blobs()
    y, groups = some_labels(truth, known=(0, 1, 2, 3)), np.arange(120) // 4 % 6
    with sklearn.config_context(enable_metadata_routing=True):
        model = GMDGM(**quick(n_new=0)).set_fit_request(groups=True)
        search = GridSearchCV(model, {"pu_weight": [0.3]}, cv=LabelledKFold(2, random_state=0))
        search.fit(X, y, groups=groups)
        held_out = search.best_estimator_.validation_indices_
    assert set(groups[held_out]).isdisjoint(groups[np.setdiff1d(np.arange(120), held_out)])
