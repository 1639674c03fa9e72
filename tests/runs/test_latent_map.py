"""The map: every row has a place, near those that are like it, in the time that a sample takes."""

import numpy as np
from small import blobs

from newfound.runs import map


class Flat:
    """A model whose latent space is the data."""

    def __init__(self, truth):
        self.labels_ = truth

    def transform(self, X):
        return X


def test_rows_beside_the_sample_lie_among_their_own_kind(monkeypatch):
    monkeypatch.setattr(map, "SAMPLE_ROWS", 120)
    X, truth = blobs(n=1200, d=5, k=4)
    placed = map.latent_map(Flat(truth), X)
    assert placed["map_rows"].tolist() == list(range(1200))
    centres = np.array([np.median(placed["map"][truth == k], axis=0) for k in range(4)])
    nearest = np.linalg.norm(placed["map"][:, None] - centres, axis=2).argmin(axis=1)
    assert np.mean(nearest == truth) > 0.98
    assert len(np.unique(placed["map"], axis=0)) == 1200  # none on top of another
    again = map.latent_map(Flat(truth), X)
    np.testing.assert_array_equal(again["map"], placed["map"])


def test_a_rare_class_is_in_the_sample():
    classes = np.array(["common"] * 50_000 + ["rare"] * 20)
    sample = map.choose_sample(classes, np.random.default_rng(0))
    assert len(np.unique(sample)) == len(sample) == map.SAMPLE_ROWS
    assert (classes[sample] == "rare").sum() >= map.MIN_ROWS_A_CLASS


def test_few_rows_and_few_dimensions_still_have_places():
    for shape in [(1, 3), (2, 1), (30, 4), (200, 2)]:
        placed = map.in_two_dimensions(np.random.default_rng(0).random(shape))
        assert placed.shape == (shape[0], 2)
