"""The loop in Python: fit, name, suggest, label, refit, predict."""

import warnings

import numpy as np
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM, load


@pytest.fixture(scope="module")
def loop():
    """Four clouds, two of them known; a person names one of the others and labels 12 suggested rows."""
    X, truth = blobs(n=240)
    kinds = np.array(["ape", "bee", "cow", "dog"])[truth]
    y = np.where(some_labels(truth) == -1, "", kinds)
    model = GMDGM(**quick(n_new=2)).fit(X, y)
    found = {name: np.unique(kinds[model.labels_ == name])[0] for name in model.classes_[2:]}
    before = model.rename({next(name for name, kind in found.items() if kind == "cow"): "cow"})
    suggestions = before.suggest(X, 12)
    labels = y.copy()
    labels[suggestions.rows] = kinds[suggestions.rows]
    labels[np.flatnonzero(kinds == "cow")[:2]] = "cow"  # whatever was suggested
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        after = before.refit(X, labels)
    return X, kinds, labels, before, suggestions, after


def test_rows_with_a_label_are_not_suggested(loop):
    X, _, _, before, suggestions, _ = loop
    assert not before.fitted_.row_is_labelled[suggestions.rows].any()
    more = before.suggest(X, 12, np.where(np.isin(np.arange(len(X)), suggestions.rows), "cow", ""))
    assert not set(more.rows) & set(suggestions.rows)


def test_a_refit_knows_what_was_labelled_and_leaves_the_first_model_as_it_was(loop):
    X, kinds, labels, before, _, after = loop
    assert before.classes_[before.is_new_].tolist()[0] == "cow" or "cow" in before.classes_
    assert "cow" in after.classes_[~after.is_new_]
    ids = dict(zip(after.classes_.tolist(), after.class_ids_.tolist(), strict=True))
    assert ids["cow"] == dict(zip(before.classes_.tolist(), before.class_ids_.tolist(), strict=True))["cow"]
    assert (after.predict(X) == kinds)[np.isin(kinds, after.classes_)].mean() > 0.9
    is_known = np.isin(labels, after.classes_[~after.is_new_])
    np.testing.assert_array_equal(after.fitted_.row_is_labelled, is_known)
    np.testing.assert_array_equal(after.labels_[is_known], labels[is_known])


def test_labels_held_out_before_are_held_out_again_and_compared(loop):
    _, _, _, before, _, after = loop
    assert set(after.validation_indices_) <= set(before.validation_indices_)
    assert after.changes_.held_out.n_labels == before.fitted_.row_is_labelled[after.validation_indices_].sum() > 0


def test_a_refitted_model_is_saved_with_its_ids(loop, tmp_path):
    _, _, _, _, _, after = loop
    after.save(tmp_path)
    again = load(tmp_path)
    np.testing.assert_array_equal(again.class_ids_, after.class_ids_)
    np.testing.assert_array_equal(again.labels_, after.labels_)


def test_other_rows_are_refused(loop):
    X, _, labels, before, _, _ = loop
    with pytest.raises(ValueError, match="expected 240, got 239"):
        before.suggest(X[1:])
    with pytest.raises(ValueError, match="expected 240, got 239"):
        before.refit(X[1:], labels[1:])
    with pytest.raises(ValueError, match="n must be"):
        before.suggest(X, 0)
