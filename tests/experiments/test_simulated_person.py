"""The person who names and labels in experiments."""

import numpy as np
import pytest
from small import blobs, quick

from experiments.default_tables import BUDGETS, N_DRAWS, suggestion_series
from experiments.experiment import Experiment
from experiments.person import is_simulated, named_by_majority
from newfound import GMDGM


def test_which_methods_have_a_person():
    assert [is_simulated(method) for method in ("named", "suggested-20", "random-5-draw-0", "gmdgm", "discovery")] == [
        *(True, True, True, False, False),
    ]


def test_every_budget_is_there_with_suggested_and_random_rows():
    methods = {series.model for series in suggestion_series()}
    drawn = {f"random-{n}-draw-{draw}" for n in BUDGETS for draw in range(N_DRAWS)}
    assert methods == {"named", *(f"suggested-{n}" for n in BUDGETS), *drawn}


def test_the_settings_on_record_are_those_of_the_model():
    ours, plain = (
        Experiment("default", "digits", m, "half-hidden", 0).settings({}) for m in ("random-5-draw-0", "gmdgm")
    )
    assert ours == plain


@pytest.fixture(scope="module")
def found():
    """Three clouds, of which one is known; four new classes are asked for."""
    X, truth = blobs(n=120, k=3)
    kinds = np.array(["ape", "bee", "cow"])[truth]
    y = np.where((truth == 0) & (np.arange(120) < 60), kinds, "")
    return GMDGM(**quick(n_new=4, max_epochs=2, pretrain_epochs=1)).fit(X, y), kinds


def test_classes_of_one_name_are_merged_also_into_a_known_one(found):
    model, kinds = found
    named = named_by_majority(model, kinds)
    most = {name: kinds[model.labels_ == name] for name in np.unique(model.labels_)}
    for name, of in most.items():
        common = max(sorted(set(of)), key=list(of).count)
        assert set(named.labels_[model.labels_ == name]) == {name if name == "ape" else common}
