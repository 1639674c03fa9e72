"""Every benchmark in one run: prints, and saves as JSON, as a page and as a chart.

    pip install -e '.[dev]'
    NEWFOUND_DATA=... python benchmarks/run.py [--keep] [--before COMMIT]

is what a user waits for, before and after the work on speed, as ratios (`before_after.py`): a quarter of an hour.

    pip install -e '.[bench]'
    NEWFOUND_DATA=... python benchmarks/run.py --all, or steps accuracy alternatives start-up prediction growth

are the others, beside PyTorch and other methods. What is finished is saved at once; `--keep` leaves alone what an
earlier run has saved. Nothing else should be running.
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import alternatives
import before_after
import chart
import growth
import page
import prediction
import start_up
import step_time
import time_to_accuracy

RESULTS = Path(__file__).parent / "results"
PARTS = ("steps", "start-up", "prediction", "growth", "accuracy", "alternatives")


def measure(part: str, is_full: bool) -> dict[str, Any]:
    if part == "steps":
        return step_time.measure(is_full)
    modules = {"accuracy": time_to_accuracy, "start-up": start_up, "alternatives": alternatives}
    return (modules | {"prediction": prediction, "growth": growth})[part].measure()


def machine() -> dict[str, Any]:
    from newfound.runs.records import versions

    others = {name: version(name) for name in ("torch", "clustpy", "umap-learn") if find_spec(name.partition("-")[0])}
    return {"processor": _processor(), "cores": os.cpu_count(), "versions": versions() | others}


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"which: {', '.join((*before_after.PIECES, *PARTS))}")
    parser.add_argument(
        "--all", action="store_true", help="every part but that of before and after; steps of every size"
    )
    parser.add_argument("--keep", action="store_true", help="do not measure again what is saved")
    parser.add_argument(
        "--before",
        metavar="COMMIT",
        default=before_after.BEFORE,
        help="compare with this commit; the default is %(default)s",
    )
    arguments = parser.parse_args()
    pieces = [part for part in arguments.parts if part in before_after.PIECES]
    parts = [part for part in arguments.parts if part not in pieces]
    for part in set(parts) - set(PARTS):
        parser.error(f"there is no part {part!r}; parts are {', '.join((*PARTS, *before_after.PIECES))}")
    RESULTS.mkdir(exist_ok=True)
    if pieces or not (parts or arguments.all):
        names = pieces or list(before_after.PIECES)
        before_after.measure(RESULTS, machine, names, keep=arguments.keep, commit=arguments.before)
    if not (parts or arguments.all):
        return
    path = RESULTS / "benchmarks.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for part in parts or PARTS:
        if arguments.keep and part in results:
            continue
        print(f"\n{part}", flush=True)
        began = time.perf_counter()
        results[part] = measure(part, arguments.all) | {"measured_in_seconds": round(time.perf_counter() - began)}
        results["machine"] = machine()
        path.write_text(json.dumps(results, indent=1) + "\n")
    chart.draw(results, RESULTS / "benchmarks.png")
    (RESULTS / "benchmarks.md").write_text(page.render(results))


if __name__ == "__main__":
    main()
