"""Seconds to start: imports, the command line, a saved model, the first steps of a fit (cache empty and full).

    taskset -c 0 python benchmarks/start_up.py [--without-fit]

Imports, commands and saved models are CPU seconds of a fresh process: on one core, what a user waits for.
"first chunk" is the time from the call of `fit` until 32 steps are done; "traced" and "compiled" are what all programs
of a whole fit take JAX to write down and XLA to compile, or to load.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Run, children_time, in_process, in_turn

FIT = """
import json, time
import jax
import numpy as np
from newfound import GMDGM, Config
from newfound.training import loop

rng = np.random.default_rng(0)
X = rng.integers(0, 256, (6000, 784), dtype=np.uint8)
y = np.where(rng.random(6000) < 0.2, rng.integers(0, 5, 6000), -1)
spent = {"traced": 0.0, "compiled": 0.0}
parts = {"jaxpr_trace": "traced", "jaxpr_to_mlir_module": "traced", "backend_compile": "compiled"}

def note(event, seconds, **_):
    part = parts.get(event.rpartition("/")[2].removesuffix("_duration"))
    if part:
        spent[part] += seconds

jax.monitoring.register_event_duration_secs_listener(note)
firsts = []
advance = loop.Restarts.advance

def noting(self, states, info):
    advance(self, states, info)
    firsts.append(time.perf_counter() - began)

loop.Restarts.advance = noting
began = time.perf_counter()
GMDGM(40, random_state=0, verbose=False, max_epochs=1, config=Config().replace(pretrain_epochs=1)).fit(X, y)
print(json.dumps({"first chunk": firsts[0], **spent}))
"""


SAVE = """
import sys
import numpy as np
from newfound import GMDGM, Config
X = np.random.default_rng(0).standard_normal((1000, 50)).astype("f4")
brief = {"max_epochs": 1, "random_state": 0, "verbose": False, "config": Config().replace(pretrain_epochs=0)}
GMDGM(0, **brief).fit(X, np.arange(1000) % 10).save(sys.argv[1])
"""
PREDICT = "import sys, numpy as np; from newfound import {0}; {0}(sys.argv[1]).predict(np.zeros((1, 50), 'f4'))"


def measure(rounds: int = 5, with_fit: bool = True) -> dict[str, float]:
    results = starts(rounds)
    fits = first_steps(rounds) if with_fit else {}
    for name, seconds in (results | fits).items():
        print(f"{name:<48} {seconds:.2f} s")
    over = results["from newfound import GMDGM"] - results["import sklearn"]
    print(f"{'GMDGM over scikit-learn':<48} {over:.2f} s")
    return results | fits


def starts(rounds: int) -> dict[str, float]:
    """CPU seconds of fresh processes."""
    command = shutil.which("newfound", path=str(Path(sys.executable).parent)) or "newfound"

    def python(code: str, *arguments: str) -> Run:
        return lambda: subprocess.run([sys.executable, "-c", code, *arguments], check=True)

    with tempfile.TemporaryDirectory() as folder:
        python(SAVE, folder)()
        runs = {
            "python alone": python("pass"),
            "import newfound": python("import newfound"),
            "import sklearn": python("import sklearn"),
            "from newfound import GMDGM": python("from newfound import GMDGM"),
            "newfound --help": lambda: subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL),
            "load_predictor(...).predict(one row)": python(PREDICT.format("load_predictor"), folder),
            "load(...).predict(one row)": python(PREDICT.format("load"), folder),
        }
        return {name: round(took, 3) for name, took in in_turn(runs, rounds, clock=children_time).items()}


def first_steps(rounds: int) -> dict[str, float]:
    results: dict[str, Any] = {}
    fits: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in range(max(rounds // 2, 1)):
        with tempfile.TemporaryDirectory() as cache:
            for state in fits.values():
                state.append(in_process(FIT, NEWFOUND_CACHE=cache))
    for state, runs_of_state in fits.items():
        for what in runs_of_state[0]:
            results[f"{what}, {state}"] = round(min(run[what] for run in runs_of_state), 2)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-fit", action="store_true", help="only imports, commands and saved models")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    measure(arguments.rounds, with_fit=not arguments.without_fit)
