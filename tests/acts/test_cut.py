"""Another number of new classes without a second fit: what changes, and all that must not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import blobs, quick

from newfound import GMDGM, load
from newfound.classes import Classes
from newfound.discovery import groups

UNTOUCHED = ("predict_component_proba", "predict_new_proba", "transform", "score_samples")


@pytest.fixture(scope="module")
def fitted():
    """Three new classes that touch a little, each of several components, beside two known ones."""
    X, truth = blobs(500, k=5, distance=1.2)
    picked = np.random.default_rng(0).random(500) < 0.3
    y = np.where(picked & (truth < 2), np.array(["cat", "dog", "", "", ""])[truth], "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "FRAGMENT_RESOLUTION", 8.0)
        return GMDGM(**quick(max_epochs=10, pretrain_epochs=10, mixture_max_rows=1)).fit(X, y), X, y


def new_classes(model):
    """For each new class, its components."""
    return {i: frozenset(model.fitted_.classes.components(int(i)).tolist()) for i in np.flatnonzero(model.is_new_)}


def test_there_is_something_to_cut(fitted):
    model, _, _ = fitted
    assert model.n_new_ == 3
    assert model.tree_.n_fragments > 4


@pytest.mark.parametrize("n_new", [1, 2, 3, 4])
def test_a_cut_changes_which_components_are_a_class_and_nothing_else(fitted, n_new):
    model, X, y = fitted
    cut = model.cut(n_new)
    assert (cut.n_new_, model.n_new_) == (n_new, 3)  # the model itself stays as it was
    assert cut.classes_.tolist()[:2] == ["cat", "dog"]
    assert set(cut.classes_[2:]) <= {"new-1", "new-2", "new-3", "new-4"}
    assert "new-1" in cut.classes_  # the largest keeps its name, whatever it joins
    for method in UNTOUCHED:
        np.testing.assert_allclose(getattr(cut, method)(X), getattr(model, method)(X), rtol=1e-6)
    np.testing.assert_array_equal(cut.labels_[y != ""], y[y != ""])
    assert set(cut.labels_) | set(cut.predict(X)) <= set(cut.classes_)
    assert cut.predict_proba(X).shape == (len(X), 2 + n_new)
    components = [model.predict_component_proba(X)[:, cut.component_class_ == i].sum(axis=1) for i in range(2 + n_new)]
    np.testing.assert_allclose(cut.predict_proba(X), np.stack(components, axis=1), atol=1e-9)
    np.testing.assert_array_equal(cut.labels_, cut.classes_[cut.component_class_[model.fitted_.row_components]])


@pytest.mark.parametrize("n_new", [4, 3, 2])
def test_merging_two_classes_leaves_all_other_rows_as_they_were(fitted, n_new):
    model, X, _ = fitted
    finer, coarser = model.cut(n_new), model.cut(n_new - 1)
    before, after = new_classes(finer), new_classes(coarser)
    renamed = {i: j for i, own in before.items() for j, other in after.items() if own == other} | {0: 0, 1: 1}
    assert len(renamed) == 2 + n_new - 2
    (merged,) = set(after) - set(renamed.values())
    parts = sorted(set(before) - set(renamed))
    p, q = finer.predict_proba(X), coarser.predict_proba(X)
    np.testing.assert_allclose(q[:, merged], p[:, parts].sum(axis=1), atol=1e-12)
    for i, j in renamed.items():
        np.testing.assert_array_equal(q[:, j], p[:, i])
        rows = finer.labels_ == finer.classes_[i]
        assert (coarser.labels_[rows] == coarser.classes_[j]).all()
    assert (
        np.isin(coarser.labels_, coarser.classes_[merged]).sum() == np.isin(finer.labels_, finer.classes_[parts]).sum()
    )
    names, now = finer.predict(X), coarser.predict(X)
    for i, j in renamed.items():
        np.testing.assert_array_equal(names == finer.classes_[i], now == coarser.classes_[j])


def test_a_cut_into_what_was_found_is_the_model_itself_but_for_the_id_that_retired(fitted):
    model, X, _ = fitted
    joined = model.cut(2)
    same = joined.cut(3)
    (retired,) = set(model.class_ids_) - set(joined.class_ids_)
    assert set(same.class_ids_) == set(model.class_ids_) - {retired} | {"new-4"}
    np.testing.assert_array_equal(np.where(same.predict(X) == "new-4", retired, same.predict(X)), model.predict(X))
    np.testing.assert_array_equal(np.where(same.labels_ == "new-4", retired, same.labels_), model.labels_)
    np.testing.assert_array_equal(same.is_sure_, model.is_sure_)


def test_a_person_who_cuts_has_chosen_the_number(fitted):
    model, _, _ = fitted
    assert model.n_new_range_[0] <= 3 <= model.n_new_range_[1]
    assert model.cut(2).n_new_range_ == (2, 2)


def test_evidence_of_joined_classes_is_the_sum_of_theirs(fitted):
    model, _, _ = fitted
    for n_new in (1, 2, 4):
        cut = model.cut(n_new)
        assert list(cut.evidence_) == cut.classes_[cut.is_new_].tolist()
        for name in ("n_rows", "labels_expected", "labels_held"):
            whole = sum(of[name] for of in model.evidence_.values())
            assert sum(of[name] for of in cut.evidence_.values()) == pytest.approx(whole)
    assert model.cut(1).evidence_["new-1"]["p_value"] <= min(of["p_value"] for of in model.evidence_.values())


@pytest.mark.parametrize("n_new", [2, 4])
def test_a_cut_is_kept_on_disk(fitted, tmp_path, n_new):
    model, X, _ = fitted
    cut = model.cut(n_new)
    cut.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.classes_.tolist() == cut.classes_.tolist()
    assert loaded.evidence_ == cut.evidence_
    for name in ("labels_", "is_sure_", "component_class_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(cut, name))
    for method in ("predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(cut, method)(X))
    for part in ("sizes", "children", "affinity"):
        np.testing.assert_array_equal(getattr(loaded.tree_, part), getattr(cut.tree_, part))
    back = loaded.cut(3)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_rows_that_are_not_sure_can_be_left_without_an_answer(fitted):
    from copy import copy
    from dataclasses import replace

    model, X, y = fitted
    some = copy(model)
    is_sure = (np.arange(len(X)) % 3 > 0) | (y != "")
    certain = np.eye(model.fitted_.classes.n_components, dtype=np.float32)[model.fitted_.row_components]
    undecided = np.full_like(certain, 1 / certain.shape[1])
    some.fitted_ = replace(model.fitted_, row_probabilities=np.where(is_sure[:, None], certain, undecided))
    np.testing.assert_array_equal(some.is_sure_, is_sure)
    np.testing.assert_array_equal(some.sure_labels_, np.where(is_sure, some.labels_, ""))
    one = some.cut(1)  # which holds most components, and so most of what was undecided
    np.testing.assert_array_equal(one.is_sure_, is_sure | (one.labels_ == "new-1"))
    np.testing.assert_array_equal(one.sure_labels_, np.where(one.is_sure_, one.labels_, ""))


def test_numbers_that_cannot_be_cut(fitted):
    model, _, _ = fitted
    most = model.tree_.n_fragments
    with pytest.raises(ValueError, match=rf"into 1 to {most} groups; got {most + 1}. .*fit again with n_new"):
        model.cut(most + 1)
    for absurd in (0, -1, 1.5, "two"):
        with pytest.raises(ValueError, match="n_new must be a whole number of at least 1; got"):
            model.cut(absurd)


def test_what_has_no_tree_says_so():
    X, truth = blobs()
    model = GMDGM(0, **quick(max_epochs=1)).fit(X, truth)
    with pytest.raises(ValueError, match="There is no class tree to cut: no new class was discovered. Fit again"):
        model.cut(1)


# ---- the same, of any probabilities ----------------------------------------------------------------------------------


@given(
    st.integers(0, 2),
    st.lists(st.integers(0, 3), min_size=2, max_size=6),
    st.integers(0, 3),
    st.integers(0, 10_000),
)
def test_laws_of_a_merge(n_known, named, into, seed):
    """Rows of other classes stay, with their probabilities; those of the two are in the merged one."""
    group = np.unique(named, return_inverse=True)[1]
    if group.max() == 0:
        return
    merged = np.where(group == group.max(), min(into, group.max() - 1), group)
    known = np.array(["a", "b"][:n_known], dtype="<U5")
    before, after = Classes.of_fragments(known, group), Classes.of_fragments(known, merged)
    q = np.random.default_rng(seed).dirichlet(np.full(before.n_components, 0.5), 20)
    one, other = before.answer(q), after.answer(q)
    assert set(other.position) <= set(range(len(after)))
    np.testing.assert_allclose(one.p_new, other.p_new)
    np.testing.assert_array_equal(one.position < n_known, other.position < n_known)
    target = n_known + min(into, group.max() - 1)
    was_merged = np.isin(one.position, (target, len(before) - 1))
    np.testing.assert_array_equal(other.position, np.where(was_merged, target, one.position))
    np.testing.assert_allclose(other.probability[~was_merged], one.probability[~was_merged])


# ---- the order of classes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ways", [(2,), (1,), (4,), (5, 1), (1, 5, 2)])
def test_the_order_of_classes_does_not_depend_on_the_way(fitted, ways):
    model, X, _ = fitted
    direct, around = model.cut(3), model
    for n_new in ways:
        around = around.cut(n_new)
    around = around.cut(3)
    np.testing.assert_array_equal(around.component_class_, direct.component_class_)
    np.testing.assert_array_equal(around.predict_proba(X), direct.predict_proba(X))
    sizes = [model.tree_.sizes[np.flatnonzero(direct.component_class_ == i) - 2].sum() for i in (2, 3, 4)]
    assert sizes == sorted(sizes, reverse=True)
