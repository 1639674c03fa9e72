"""Seconds until a fit with newfound's defaults passes the paper's accuracy, cold (nothing compiled yet) and warm.

    NEWFOUND_DATA=... python benchmarks/time_to_accuracy.py

Semi-unsupervised, 40 new components; many-to-one accuracy on the test set, looked at whenever training looks at its
held-out rows. The looks themselves are not counted.
"""

import tempfile
from typing import Any

from measure import in_process

PAPERS = {"mnist": 92.5, "fashion-mnist": 78.2}

FIT = """
import json, time
import numpy as np
began = time.perf_counter()
from newfound import GMDGM
from newfound.data import load_named
from newfound.evaluation import evaluate
from newfound.features import decide, in_batches
from newfound.inference import component_probabilities
from newfound.labels import most_probable
from newfound.masking import paper_setup
from newfound.training import loop
import jax

data = load_named({dataset!r})
y, n_new = paper_setup("semi-unsupervised", data.train.y, random_state=0)
known = np.unique(y[y >= 0])
looks, lost = [], 0.0
look_before = loop._evaluate
kept = decide(data.train.X, "auto", "auto", 0.0, None).kept

def look(runs, *arguments):
    global lost
    line = look_before(runs, *arguments)
    started = time.perf_counter()
    model = jax.tree.map(lambda array: array[0], runs.states.model)
    scaling = arguments[0].data.scaling
    rows = data.test.X[:, kept]
    probabilities = in_batches(lambda some: component_probabilities(model, some, scaling), rows)
    component = most_probable(probabilities, np.arange(len(known) + n_new) >= len(known))
    accuracy = evaluate(data.test.y, component, len(known) + n_new, known).many_to_one.all
    lost += time.perf_counter() - started
    looks.append((round(started - began - lost + time.perf_counter() - started, 1), round(100 * accuracy, 2)))
    return line

loop._evaluate = look
fitting = time.perf_counter()
GMDGM(n_new, image_shape=data.train.image_shape, random_state=0, progress=False).fit(data.train.X, y)
print(json.dumps({{"looks": looks, "before_fit": fitting - began, "seconds": time.perf_counter() - began - lost}}))
"""


def measure() -> dict[str, Any]:
    results = {}
    for dataset, papers in PAPERS.items():
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                fit = in_process(FIT.format(dataset=dataset), NEWFOUND_CACHE=cache)
                passed = next((seconds for seconds, accuracy in fit["looks"] if accuracy >= papers), None)
                results[f"{dataset}, {state}"] = {"seconds_to_papers_accuracy": passed, "papers": papers, **fit}
                last = fit["looks"][-1][1]
                print(f"{dataset}, {state}: past {papers} % after {passed} s; {last} % after {fit['seconds']:.0f} s")
    return results


if __name__ == "__main__":
    measure()
