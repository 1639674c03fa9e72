"""Seconds until a fit with newfound's defaults passes the paper's accuracy, cold (nothing compiled yet) and warm.

    NEWFOUND_DATA=... python benchmarks/time_to_accuracy.py

Semi-unsupervised, 40 new components; many-to-one accuracy (purity) on the test set, computed whenever training
evaluates its validation rows. The seconds of that are not counted.
"""

import tempfile
from typing import Any

from measure import in_process
from repository import ROOT

PAPERS = {"mnist": 92.5, "fashion-mnist": 78.2}

FIT = """
import json, sys, time
import numpy as np
sys.path.insert(0, {root!r})
began = time.perf_counter()
from newfound import GMDGM
from experiments.named import load_named
from experiments.tasks import paper_setup
from newfound.evaluation import evaluate
from newfound.models.architecture import Architecture
from newfound.models.base import weights_of
from newfound.models.in_numpy import Inference, Posterior
from newfound.preprocessing.columns import decide
from newfound.training import loop
import jax

data = load_named({dataset!r})
labels, n_new = paper_setup("semi-unsupervised", data.train.labels, random_state=0)
looks, lost = [], 0.0
evaluate_before = loop.Training._evaluate
preprocessing = decide(data.train.X, "auto", 0.0, unit_interval=True)
architecture = Architecture("gmdgm", 1, 1, 1, (1,), "bernoulli")  # only its activation is read

def evaluate_and_look(self, *arguments):
    global lost
    evaluate_before(self, *arguments)
    started = time.perf_counter()
    model = jax.tree.map(lambda array: array[0], self.restarts.states.model)
    inference = Inference(Posterior.of(architecture, weights_of(model)), preprocessing)
    probabilities = inference.component_probabilities(data.test.X)
    component = self.data.classes.answer(probabilities).component
    known = range(self.data.classes.n_known)
    accuracy = evaluate(data.test.labels.codes, component, known).many_to_one.all
    lost += time.perf_counter() - started
    looks.append((round(started - began - lost + time.perf_counter() - started, 1), round(100 * accuracy, 2)))

loop.Training._evaluate = evaluate_and_look
fitting = time.perf_counter()
GMDGM(n_new, image_shape=data.train.image_shape, random_state=0, verbose=False).fit(data.train.X, labels)
print(json.dumps({{"looks": looks, "before_fit": fitting - began, "seconds": time.perf_counter() - began - lost}}))
"""


def code_of(dataset: str) -> str:
    """The code of one fit."""
    return FIT.format(dataset=dataset, root=str(ROOT))


def measure() -> dict[str, Any]:
    results = {}
    for dataset, papers in PAPERS.items():
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                fit = in_process(code_of(dataset), NEWFOUND_CACHE=cache)
                passed = next((seconds for seconds, accuracy in fit["looks"] if accuracy >= papers), None)
                results[f"{dataset}, {state}"] = {"seconds_to_papers_accuracy": passed, "papers": papers, **fit}
                last = fit["looks"][-1][1]
                print(f"{dataset}, {state}: past {papers} % after {passed} s; {last} % after {fit['seconds']:.0f} s")
    return results


if __name__ == "__main__":
    measure()
