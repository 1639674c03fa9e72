"""Slow: real data from the folder NEWFOUND_DATA names."""

import os

import pytest

from experiments.tasks import paper_setup
from newfound import GMDGM
from newfound.config import Config
from newfound.evaluation import evaluate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("NEWFOUND_DATA" not in os.environ, reason="NEWFOUND_DATA names no folder of real data"),
]


def test_mnist_half_of_whose_digits_nobody_labelled():
    from experiments.named import load_named

    mnist = load_named("mnist")
    y, n_new = paper_setup("semi-unsupervised", mnist.train.labels, random_state=0)
    model = GMDGM(n_new=n_new, latent_dim=5, random_state=0, config=Config().replace(min_std=0.1))
    component = model.fit(mnist.train.X, y).predict_component(mnist.test.X)
    evaluation = evaluate(mnist.test.labels.codes, component, known=range(5))
    assert evaluation.many_to_one.all > 0.9
    assert evaluation.many_to_one.known > 0.96
    assert (evaluation.counts.sum(axis=0) > 0).sum() >= 10
