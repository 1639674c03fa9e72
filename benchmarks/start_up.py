"""Seconds to start: the import, the command line, the first steps of a fit, with an empty cache and a full one.

    python benchmarks/start_up.py

"first chunk" is the time from the call of `fit` until 32 steps are done; "traced" and "compiled" are what all programs
of a whole fit take JAX to write down and XLA to compile, or to load.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import in_process, in_turn

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


def measure(rounds: int = 5) -> dict[str, float]:
    command = shutil.which("newfound", path=str(Path(sys.executable).parent)) or "newfound"

    def python(code: str):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    runs = {
        "python alone": python("pass"),
        "import newfound": python("import newfound"),
        "newfound --help": lambda: subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL),
    }
    results: dict[str, Any] = {name: round(seconds, 3) for name, seconds in in_turn(runs, rounds).items()}
    fits: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in range(max(rounds // 2, 1)):
        with tempfile.TemporaryDirectory() as cache:
            for state in fits.values():
                state.append(in_process(FIT, NEWFOUND_CACHE=cache))
    for state, runs_of_state in fits.items():
        for what in runs_of_state[0]:
            results[f"{what}, {state}"] = round(min(run[what] for run in runs_of_state), 2)
    for name, seconds in results.items():
        print(f"{name:<20} {seconds:.2f} s")
    return results


if __name__ == "__main__":
    measure()
