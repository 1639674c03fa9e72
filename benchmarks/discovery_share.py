"""What discovery adds to a fit of MNIST's 60,000 rows: the seconds of each of its parts, and their share of the whole.

    NEWFOUND_DATA=path/to/data python benchmarks/discovery_share.py

The graph of neighbours and the PU estimate were there before, for a given number of classes as well; what finding the
number adds are communities of the graph, at several resolutions.
"""

import importlib
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import repository  # noqa: F401

from experiments.tasks import make_task
from newfound.estimator import GMDGM

PARTS = {
    "feature_sets": "features, graph and eigenvectors",
    "estimate_class_probabilities": "PU estimate",
    "choose_resolutions": "communities: resolutions",
    "label_selection": "communities: labels at random?",
    "voted_groups": "communities: new classes",
    "cut_into_fragments": "communities: fragments",
}


def timed(function: Callable[..., Any], seconds: dict[str, float], name: str) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*args, **keywords)
        finally:
            seconds[name] += time.perf_counter() - began

    return call


def main() -> None:
    seconds: dict[str, float] = defaultdict(float)
    for module in map(importlib.import_module, ("newfound.discovery.discover", "newfound.fit")):
        for name in filter(partial(hasattr, module), PARTS):
            setattr(module, name, timed(getattr(module, name), seconds, name))
    task = make_task("mnist", "half-hidden", 0)
    began = time.perf_counter()
    model = GMDGM(image_shape=(28, 28), random_state=0).fit(task.X, task.labels)
    whole = time.perf_counter() - began
    print(f"fit of {len(task.X):,} rows: {whole:.0f} s, {model.n_new_} new classes found")
    for name, title in PARTS.items():
        print(f"  {title:40} {seconds[name]:6.1f} s  {seconds[name] / whole:5.1%}")
    added = sum(value for name, value in seconds.items() if PARTS[name].startswith("communities"))
    print(f"  finding the number adds {added:.1f} s, {added / whole:.0%} of the fit")


if __name__ == "__main__":
    main()
