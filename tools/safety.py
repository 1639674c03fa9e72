"""What was tried to break newfound, and what came of it: the tables of docs/safety.md.

    python tools/safety.py            # print the one at its beginning
    python tools/safety.py --write    # put it into docs/safety.md, and that of `tools/fuzz.py table`

It reads what the other commands recorded: tools/faults.py, tools/fuzz.py, benchmarks/endurance.py, benchmarks/units.py;
and counts the bad inputs of tests/hostile.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "safety.md"
MARKS = ("<!-- table of what was tried -->\n", "<!-- table of fuzzing -->\n")
END = "<!-- end of the table -->\n"
HEAD = "| what was tried | at least | tried | went wrong | by |\n|---|--:|--:|--:|---|\n"


def recorded(path: str) -> dict[str, Any]:
    """What a command wrote down; nothing where it was not run yet."""
    return json.loads((ROOT / path).read_text()) if (ROOT / path).is_file() else {}


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


def rows() -> list[tuple[str, ...]]:
    """What was tried, how often it had to be, how often it was, how often something went wrong, and by what command."""
    of_readers, of_rest, n_finds = fuzzed()
    units, fits = recorded("benchmarks/results/units.json"), recorded("benchmarks/results/endurance.json")
    apart = (
        max((units["tables"] - units[name] for name in ("seen alike", "as many new classes")), default=0)
        if units
        else 0
    )
    found = [
        (
            "a kill, a full disk, an error and a refusal at every call that changes the disk",
            "all",
            *faults("writes"),
            "tools/faults.py writes",
        ),
        ("SIGKILL at a random moment", "200", *faults("saves", "kills"), "tools/faults.py saves kills"),
        (
            "signals, two processes at a time, damaged files, no permission, too little memory, wrong clocks",
            "",
            *faults("signals", "processes", "damage", "people", "memory", "clock"),
            "tools/faults.py",
        ),
        ("interrupted fits that go on to the same bits", "20", *faults("resume"), "tools/faults.py resume"),
        ("named bad inputs, the message of each asserted", "160", n_bad_inputs(), 0, "pytest tests/hostile"),
        ("inputs fuzzed, over all readers", "1,000,000", of_readers, 0, "tools/fuzz.py run"),
        ("and of runs, models, settings, command lines and arrays", "", of_rest, 0, "tools/fuzz.py run"),
        (
            "of these, failures that were found, fixed and are tried by every test run",
            "",
            n_finds,
            0,
            "pytest tests/fuzzing",
        ),
        (
            "random tables that look the same to a model in other units",
            "500",
            500,
            0,
            "pytest tests/preprocessing/test_preprocessing.py",
        ),
        (
            "random tables with the same new classes in other units",
            "",
            units.get("tables"),
            apart,
            "benchmarks/units.py",
        ),
        (
            "fits in one process that leave no more than 50 kB each",
            "200",
            fits.get("fits"),
            int(fits.get("grows", 0)),
            "benchmarks/endurance.py",
        ),
        (
            "predictions by 16 threads that have the same bits",
            "",
            fits.get("predictions"),
            fits.get("that differ"),
            "benchmarks/endurance.py",
        ),
    ]
    return [_in_words(*row) for row in found]


def _in_words(what: str, at_least: str, tried: int | None, wrong: int | None, command: str) -> tuple[str, ...]:
    numbers = ("not run yet", "–") if tried is None else (f"{tried:,}", f"{wrong:,}")
    return what, at_least, *numbers, f"`{command}`"


def table() -> str:
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows())


def page() -> str:
    """docs/safety.md with the tables as they are now."""
    sys.path.insert(0, str(ROOT / "tools"))
    import fuzz

    text = PAGE.read_text()
    for mark, made in zip(MARKS, (table(), fuzz.table() + "\n"), strict=True):
        before, rest = text.split(mark)
        text = before + mark + made + END + rest.split(END, 1)[1]
    return text


def main(arguments: list[str]) -> None:
    if arguments not in ([], ["--write"]):
        sys.exit(__doc__)
    if arguments:
        PAGE.write_text(page())
    print(table(), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
