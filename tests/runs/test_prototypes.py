"""The rows that stand for a class: near its centre, and not all the same."""

import numpy as np

from newfound.runs.map import prototypes


def test_prototypes_lie_near_the_centre_the_nearest_first():
    z = np.random.default_rng(0).normal(size=(400, 3))
    chosen = prototypes(z, 12)
    distance = np.linalg.norm(z - np.median(z, axis=0), axis=1)
    assert len(set(chosen.tolist())) == 12
    assert chosen[0] == distance.argmin()
    assert (np.diff(distance[chosen]) >= 0).all()
    assert distance[chosen].max() < np.median(distance)


def test_they_differ_more_than_the_nearest_rows_do():
    z = np.random.default_rng(1).normal(size=(400, 3))
    nearest = np.argsort(np.linalg.norm(z - np.median(z, axis=0), axis=1))[:12]

    def spread(rows):
        return np.linalg.norm(z[rows][:, None] - z[rows], axis=2).mean()

    assert spread(prototypes(z, 12)) > 1.2 * spread(nearest)


def test_a_class_of_few_rows_shows_them_all():
    assert sorted(prototypes(np.arange(5.0)[:, None], 12)) == [0, 1, 2, 3, 4]
    assert prototypes(np.zeros((1, 2)), 12).tolist() == [0]
    assert len(prototypes(np.zeros((30, 2)), 12)) == 12
