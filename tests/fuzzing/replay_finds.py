"""Read every find, and print what comes of each."""

import json
import sys
from pathlib import Path

from fuzz_one import outcome
from fuzz_targets import TARGETS, prepare

FINDS = Path(__file__).parent / "finds"


def main(folder: str) -> None:
    outcomes = {}
    for path in sorted(FINDS.iterdir()):
        if path.name == "README.md":
            continue
        name = next(name for name in TARGETS if name.replace(" ", "-") == path.name.rpartition("-")[0])
        place = Path(folder) / name.replace(" ", "-")
        place.mkdir(exist_ok=True)
        prepare(name, place)
        outcomes[path.name] = outcome(name, path.read_bytes(), place)
    json.dump(outcomes, sys.stdout)
