"""Seconds to start: the import, the command line, and the first step of a fit, with an empty cache and a full one.

python benchmarks/start_up.py
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import in_process, in_turn

FIRST_STEP = """
import json, os, time
import numpy as np
import newfound
rng = np.random.default_rng(0)
X = rng.integers(0, 256, (6000, 784), dtype=np.uint8)
y = np.where(rng.random(6000) < 0.2, rng.integers(0, 5, 6000), -1)
import newfound.estimator
from newfound.training import loop

class FirstChunk(BaseException):
    pass

advance = loop.Runs.advance
def stop(self, states, info):
    advance(self, states, info)
    raise FirstChunk
loop.Runs.advance = stop
began = time.perf_counter()
try:
    newfound.GMDGM(40, random_state=0, progress=False).fit(X, y)
except FirstChunk:
    print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
    os._exit(0)  # the thread that feeds training was left in the middle of its work
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
    cold, warm = [], []
    for _ in range(max(rounds // 2, 1)):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(in_process(FIRST_STEP, NEWFOUND_CACHE=cache)["seconds"])
            warm.append(in_process(FIRST_STEP, NEWFOUND_CACHE=cache)["seconds"])
    results |= {"first chunk, cold": round(min(cold), 2), "first chunk, warm": round(min(warm), 2)}
    for name, seconds in results.items():
        print(f"{name:<20} {seconds:.2f} s")
    return results


if __name__ == "__main__":
    measure()
