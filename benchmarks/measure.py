"""Timing on a noisy machine: what is compared runs in turn, several rounds, and the best time of each counts."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Run = Callable[[], Any]
Clock = Callable[[], float]


def in_turn(
    runs: Mapping[Any, Run], rounds: int = 5, seconds: float = 0.3, clock: Clock = time.perf_counter
) -> dict[Any, float]:
    """The best seconds of one call of each; every round calls each for about `seconds`, or once if it is slow.

    On a machine that is not idle, `time.process_time` and `children_time` count what was computed, not what was waited.
    """
    for run in runs.values():
        run()  # whatever is compiled or allocated on the first call
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            spent = 0.0
            while spent < seconds:
                took = seconds_of(run, clock)
                best[name], spent = min(best[name], took), spent + took
    return best


def seconds_of(run: Run, clock: Clock = time.perf_counter) -> float:
    began = clock()
    run()
    return clock() - began


def children_time() -> float:
    """CPU seconds of all processes that this one has started and waited for."""
    used = os.times()
    return used.children_user + used.children_system


def product_run(n: int = 2048) -> Run:
    """A product of BLAS that reaches the machine's peak: 2 n³ operations."""
    matrix = np.random.default_rng(0).random((n, n), dtype=np.float32)
    out = np.empty_like(matrix)
    return lambda: np.matmul(matrix, matrix, out=out)


def copy_run(n_bytes: int = 2**28) -> Run:
    """A copy far larger than any cache: 2 n bytes go over the bus."""
    source, target = np.ones(n_bytes // 8), np.empty(n_bytes // 8)
    return lambda: np.copyto(target, source)


PEAK_GB = """
def peak_gb():
    # Not getrusage: its peak includes that of the process which started this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20
"""


def in_process(code: str, **environment: str) -> dict[str, Any]:
    """Run Python code, which may call `peak_gb`, in a fresh process; the last line it prints is its result, as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEAK_GB + code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    if done.returncode:
        raise RuntimeError(f"A measured process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """p of the power law value ~ size^p through the points."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
