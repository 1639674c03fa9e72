"""Which rows to label next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import made_up

from newfound.labelling.suggest import doubts, suggest_rows


def suggested(fitted, latent, n, is_open=None):
    is_open = np.ones(len(latent), bool) if is_open is None else is_open
    return suggest_rows(fitted.classes, fitted.row_probabilities, np.asarray(latent, float), n, is_open)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 60))
def test_suggestions_are_different_open_rows_and_no_more_than_asked_for(seed, n, n_rows):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(4, 0.3), n_rows)
    fitted = made_up(np.zeros(n_rows, int), probabilities=probabilities)
    latent = rng.integers(0, 5, (n_rows, 2))  # many rows are at the same place
    is_open = rng.random(n_rows) < 0.7
    found = suggested(fitted, latent, n, is_open)
    places = {tuple(latent[row]) for row in found.rows}
    assert len(places) == len(found) == min(n, len({tuple(place) for place in latent[is_open]}))
    assert is_open[found.rows].all()
    assert len(found.reasons) == len(found.class_names) == len(found.probabilities) == len(found)


def test_the_doubtful_rows_come_before_the_sure_ones():
    rng = np.random.default_rng(0)
    is_doubtful = np.arange(1000) < 100
    sure, doubtful = np.eye(4)[rng.integers(0, 4, 1000)], np.tile([0.5, 0, 0.5, 0], (1000, 1))
    probabilities = np.where(is_doubtful[:, None], doubtful, sure)
    found = suggested(made_up(np.zeros(1000, int), probabilities=probabilities), rng.normal(size=(1000, 2)), 5)
    assert is_doubtful[found.rows[1:]].all()  # the first is typical of a class that has no name


def test_suggestions_are_spread_over_the_places_where_doubt_is():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(6), 50)
    latent = np.stack([10 * np.cos(place), 10 * np.sin(place)], axis=1) + 0.1 * rng.normal(size=(300, 2))
    fitted = made_up(np.zeros(300, int), n_new=0, probabilities=np.tile([0.5, 0.5], (300, 1)))
    assert sorted(place[suggested(fitted, latent, 6).rows]) == [0, 1, 2, 3, 4, 5]


def test_what_is_said_of_a_row():
    probabilities = np.array(
        [[0.5, 0.1, 0.4, 0], [0, 0, 0.55, 0.45], [0.55, 0.45, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0.9, 0.1]]
    )
    fitted = made_up([0, 2, 0, 0, 2, 2], probabilities=probabilities)
    found = suggested(fitted, np.arange(6)[:, None], 6)
    reasons = {int(row): why for row, why in zip(found.rows, found.reasons, strict=True)}
    assert reasons[0] == "known or new? ape or new-1"
    assert reasons[2] == "between ape and bee"
    assert reasons[3] == "one of many alike, probably ape"
    assert sorted(reasons.values()).count("typical of new-1, which has no name yet") == 1
    assert [s.row for s in found] == found.rows.tolist()


def test_a_class_that_has_a_name_needs_no_typical_row():
    from dataclasses import replace

    fitted = made_up(np.full(40, 2), n_new=1)
    named = replace(fitted, classes=replace(fitted.classes, is_named=np.ones(3, bool)))
    latent = np.random.default_rng(0).normal(size=(40, 2))
    assert suggested(fitted, latent, 8).reasons[0].startswith("typical of new-1")
    assert not any("typical" in why for why in suggested(named, latent, 8).reasons)


@pytest.mark.parametrize("known", [("ape",), ()])
def test_one_class_is_in_no_doubt(known):
    fitted = made_up([0, 0], known=known, n_new=1 - len(known), probabilities=np.ones((2, 1)))
    assert (doubts(fitted.classes, fitted.row_probabilities).margin == 1).all()
    assert len(suggested(fitted, [[0], [1]], 5)) == 2
