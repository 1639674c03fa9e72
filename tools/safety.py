"""What was tried to break newfound, and what came of it: the table at the beginning of docs/safety.md.

    python tools/safety.py            # print it
    python tools/safety.py --write    # put it into docs/safety.md

It reads what the other commands recorded: tools/faults.py, tools/fuzz.py, benchmarks/endurance.py, benchmarks/units.py;
and counts the bad inputs of tests/hostile.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "safety.md"
BEGIN, END = "<!-- table of what was tried -->\n", "<!-- end of the table -->\n"
HEAD = "| what was tried | at least | tried | went wrong | by |\n|---|--:|--:|--:|---|\n"


def recorded(path: str) -> dict[str, Any]:
    return json.loads((ROOT / path).read_text())


def faults(*parts: str) -> tuple[int, int]:
    """How many were injected, and how many of them did harm."""
    of_parts = [one for part in parts for one in recorded("results/faults.json")[part].values()]
    return sum(one["faults"] for one in of_parts), sum(len(one["failures"]) for one in of_parts)


def fuzzed() -> tuple[int, int, int]:
    """Different inputs over all readers and over all else; finds that are kept, every one of which is read again."""
    sys.path.insert(0, str(ROOT / "tests" / "fuzzing"))
    from fuzz_targets import READERS

    inputs = {name: of["inputs"] for name, of in recorded("benchmarks/results/fuzzing.json")["targets"].items()}
    of_readers = sum(n for name, n in inputs.items() if name in READERS)
    kept = [path for path in (ROOT / "tests" / "fuzzing" / "finds").iterdir() if path.name != "README.md"]
    return of_readers, sum(inputs.values()) - of_readers, len(kept)


def n_bad_inputs() -> int:
    sys.path.insert(0, str(ROOT / "tests" / "hostile"))
    from all_bad_inputs import ALL

    return sum(map(len, ALL.values()))


def rows() -> list[tuple[str, str, str, str, str]]:
    every, of_every = faults("writes")
    kills, of_kills = faults("saves", "kills")
    others, of_others = faults("signals", "processes", "damage", "people", "memory", "clock")
    resumed, of_resumed = faults("resume")
    of_readers, of_rest, n_finds = fuzzed()
    units, fits = recorded("benchmarks/results/units.json"), recorded("benchmarks/results/endurance.json")
    apart = units["tables"] - min(units["seen alike"], units["as many new classes"])
    growth = f"{fits['bytes a fit'] / 1024:.1f} kB a fit"
    return [
        (
            "a kill, a full disk, an error, a refusal at every call that changes the disk",
            "all",
            f"{every:,}",
            str(of_every),
            "`tools/faults.py writes`",
        ),
        ("SIGKILL at a random moment", "200", f"{kills:,}", str(of_kills), "`tools/faults.py saves kills`"),
        (
            "signals, two processes, damaged files, no permission, no memory, wrong clocks",
            "",
            f"{others:,}",
            str(of_others),
            "`tools/faults.py`",
        ),
        (
            "interrupted fits that go on to the same bits",
            "20",
            f"{resumed}",
            str(of_resumed),
            "`tools/faults.py resume`",
        ),
        ("named bad inputs, each with its message", "160", f"{n_bad_inputs()}", "0", "`pytest tests/hostile`"),
        ("fuzzed inputs over all readers", "1,000,000", f"{of_readers:,}", "0", "`tools/fuzz.py run`"),
        ("fuzzed runs, models, settings, command lines, arrays", "", f"{of_rest:,}", "0", "`tools/fuzz.py run`"),
        (
            "inputs that the fuzzer found, fixed and read again by every test run",
            "",
            f"{n_finds}",
            "0",
            "`pytest tests/fuzzing`",
        ),
        ("random tables seen in other units", "500", "500", "0", "`pytest tests/test_preprocessing.py`"),
        ("of them, classes discovered in other units", "", f"{units['tables']}", f"{apart}", "`benchmarks/units.py`"),
        ("fits in one process, and what each leaves", "200", f"{fits['fits']}", growth, "`benchmarks/endurance.py`"),
        (
            f"predictions by {fits['threads']} threads at a time",
            "16 threads",
            f"{fits['predictions']}",
            f"{fits['that differ']}",
            "`benchmarks/endurance.py`",
        ),
    ]


def table() -> str:
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows())


def main(arguments: list[str]) -> None:
    if arguments not in ([], ["--write"]):
        sys.exit(__doc__)
    if arguments:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + table() + END + rest.split(END)[1])
    print(table(), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
