"""Fuzz everything that reads what a user hands over (tests/fuzzing/fuzz_targets.py), each target in child processes.

    python tools/fuzz.py run --inputs 1000000      counts are in benchmarks/results/fuzzing.json; goes on from there
    python tools/fuzz.py run --only feather        one target
    python tools/fuzz.py table                     the table of docs/safety.md

A child has a limit of memory and of seconds for each input. A traceback, a crash, a hang or memory beyond the limit is
a find: it is made as small as it goes, and kept under tests/fuzzing/finds, which the tests replay. Mutations are guided
by the lines of newfound that they reach, through atheris (`pip install atheris`); without it they are not guided.
"""

import argparse
import hashlib
import json
import mmap
import os
import platform
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
FUZZING = ROOT / "tests" / "fuzzing"
FINDS = FUZZING / "finds"
LOG = ROOT / "benchmarks" / "results" / "fuzzing.json"
sys.path.insert(0, str(FUZZING))

MEMORY = 1 << 30  # bytes beyond what the libraries take
SECONDS = 10  # of computing, for one input
SLICE = 50_000  # inputs of a child, and
SLICE_SECONDS = 40  # of computing, after which it ends: beginning takes two
MAX_BYTES = 65_536
HEADER = struct.Struct("<QQQQ")  # inputs, of them read, of them refused, length of the present one


class Shared:
    """What a child leaves behind, however it ends: its counts, and the input it was at."""

    def __init__(self, path: Path):
        if not path.is_file():
            path.write_bytes(bytes(HEADER.size + MAX_BYTES))
        with path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), HEADER.size + MAX_BYTES)

    def counts(self) -> tuple[int, int, int, int]:
        return HEADER.unpack_from(self.map)

    def begin(self, data: bytes) -> None:
        n, n_read, n_refused, _ = self.counts()
        HEADER.pack_into(self.map, 0, n + 1, n_read, n_refused, len(data))
        self.map[HEADER.size : HEADER.size + len(data)] = data

    def end(self, how: str) -> None:
        n, n_read, n_refused, length = self.counts()
        HEADER.pack_into(self.map, 0, n, n_read + (how == "read"), n_refused + (how == "refused"), length)

    def present(self) -> bytes:
        return self.map[HEADER.size : HEADER.size + self.counts()[3]]


class Seen:
    """Which inputs were tried already, by the first bytes of their hashes: what is counted are different inputs."""

    WIDTH = 12

    def __init__(self, path: Path):
        known = path.read_bytes() if path.is_file() else b""
        self.known = {known[i : i + self.WIDTH] for i in range(0, len(known), self.WIDTH)}
        self.file = path.open("ab", buffering=0)  # a child that crashes keeps what it tried

    def is_new(self, data: bytes) -> bool:
        mark = hashlib.sha256(data).digest()[: self.WIDTH]
        if mark in self.known:
            return False
        self.known.add(mark)
        self.file.write(mark)
        return True


# ---- the child ---------------------------------------------------------------------------------------------------


def child(name: str, folder: Path, n: int, seed: int) -> None:
    """Run n inputs; finds that are exceptions are written down, and it goes on."""
    import atheris_or_none

    with atheris_or_none.instrumented():
        from fuzz_one import outcome
        from fuzz_targets import prepare, seeds_of

    prepare(name, folder)
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for data in seeds_of(name, folder):
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        outcome(name, data, folder)  # imports what is imported late, before memory is limited
    shared, seen = Shared(folder / "shared"), Seen(folder / "seen")
    _limit_memory()
    os.chdir(folder)

    end = time.process_time() + SLICE_SECONDS

    def one_input(data: bytes) -> None:
        if time.process_time() > end:
            os._exit(0)  # what was counted and what is worth going on from are on the disk
        data = data[:MAX_BYTES]
        if not seen.is_new(data):  # the corpus is run again by every child, for what it covers
            outcome(name, data, folder)
            return
        shared.begin(data)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        how = outcome(name, data, folder)
        signal.setitimer(signal.ITIMER_PROF, 0)
        shared.end(how)
        if how not in ("read", "refused"):
            _note(folder, how, data)

    atheris_or_none.fuzz(name, one_input, corpus, n, seed, MAX_BYTES)


def _limit_memory() -> None:
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


def _note(folder: Path, how: str, data: bytes) -> None:
    """One input of each kind of find, the shortest."""
    path = folder / "found" / hashlib.sha256(how.encode()).hexdigest()[:12]
    path.parent.mkdir(exist_ok=True)
    if not path.is_file() or path.stat().st_size > len(data):
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(how)


# ---- the parent --------------------------------------------------------------------------------------------------


def run(names: list[str], n_inputs: int, seconds: float, folder: Path) -> None:
    """Slices of all targets in turn, the one that is behind first."""
    begin = time.monotonic()
    log = read_log()
    spent = dict.fromkeys(names, 0.0)
    while (todo := _behind(spent, log, n_inputs)) and time.monotonic() - begin < seconds:
        spent[todo] += one_slice(todo, folder, log)
        write_log(log)
        about = log["targets"][todo]
        total = sum(of["inputs"] for of in log["targets"].values())
        print(f"{todo}: {about['inputs']:,} inputs, {len(about['finds'])} kinds of finds; {total:,} in all", flush=True)


def _behind(spent: dict[str, float], log: dict, n_inputs: int) -> str | None:
    """The target to go on with: that with the fewest seconds, so that slow ones do not take all the time."""
    from fuzz_targets import READERS

    done = log["targets"]
    is_enough = sum(done.get(name, {}).get("inputs", 0) for name in READERS) >= n_inputs
    if is_enough and spent.keys() >= set(READERS):
        return None
    return min(spent, key=spent.__getitem__)


def one_slice(name: str, folder: Path, log: dict) -> float:
    """Seconds of computing that it took."""
    about = log["targets"].setdefault(
        name, {"inputs": 0, "read": 0, "refused": 0, "seconds": 0.0, "crashes": 0, "finds": {}}
    )
    place = folder / name.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    shared = Shared(place / "shared")
    before = shared.counts()
    begin = _computed()
    command = [sys.executable, __file__, "child", name, str(place), str(SLICE), str(about["inputs"] + 1)]
    with tempfile.TemporaryFile() as output:
        ended = subprocess.run(command, stdout=output, stderr=output).returncode
        output.seek(0)
        said = output.read().decode(errors="replace")
    after = shared.counts()
    for key, i in (("inputs", 0), ("read", 1), ("refused", 2)):
        about[key] += after[i] - before[i]
    took = _computed() - begin
    about["seconds"] = round(about["seconds"] + took, 1)
    if ended != 0:
        if after[0] == before[0]:
            raise SystemExit(f"{name} does not begin:\n{said[-3000:]}")
        about["crashes"] += 1
        how = "hang" if ended == -signal.SIGPROF else "crash" if "MemoryError" not in said else "memory"
        _note(place, f"{how} {_native_frame(said)}", shared.present())
    _collect(name, place, about)
    return took


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _native_frame(said: str) -> str:
    """The line of newfound that a crashed process was at, from faulthandler's words."""
    lines = [line for line in said.splitlines() if "/newfound/" in line and "File" in line]
    return f"in {Path(lines[0].split(chr(34))[1]).name}" if lines else ""


def _collect(name: str, place: Path, about: dict) -> None:
    """Finds of a kind that is new are made small and kept."""
    for path in sorted((place / "found").glob("*.txt")) if (place / "found").is_dir() else []:
        how = path.read_text()
        if how not in about["finds"]:
            data = smaller(name, how, place, path.with_suffix(""))
            kept = FINDS / f"{name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(data)
            about["finds"][how] = kept.name
            print(f"find in {name}: {how} ({len(data)} bytes, {kept.name})", flush=True)
        path.unlink()
        path.with_suffix("").unlink()


def smaller(name: str, how: str, place: Path, path: Path) -> bytes:
    """Without the parts that the same find does not need, as far as that goes in a process of its own."""
    with tempfile.TemporaryFile() as output:
        subprocess.run(
            [sys.executable, __file__, "shrink", name, str(place), str(path), how], stdout=output, stderr=output
        )
    return path.read_bytes()


def shrink(name: str, place: Path, path: Path, how: str, tries: int = 400) -> None:
    """Try it without one part after the other, halves first; each try is a fork, which may crash."""
    from fuzz_targets import prepare

    prepare(name, place)
    data = path.read_bytes()
    part = len(data) // 2
    while part >= 1:
        at = 0
        while at < len(data) and tries > 0:
            shorter, tries = data[:at] + data[at + part :], tries - 1
            if _how_in_a_fork(name, shorter, place) == how.split(" in ")[0]:
                data = shorter
                path.write_bytes(data)
            else:
                at += part
        part //= 2


def _how_in_a_fork(name: str, data: bytes, place: Path) -> str:
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        from fuzz_one import outcome

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        os.write(writer, outcome(name, data, place).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        how = pipe.read()
    status = os.waitpid(child, 0)[1]
    return how.split(" in ")[0] if os.WIFEXITED(status) else "crash"


def one(name: str, place: Path, path: Path) -> None:
    from fuzz_one import outcome
    from fuzz_targets import prepare

    prepare(name, place)
    print(outcome(name, path.read_bytes(), place))


# ---- the log -----------------------------------------------------------------------------------------------------


def read_log() -> dict:
    if LOG.is_file():
        return json.loads(LOG.read_text())
    return {"targets": {}}


def write_log(log: dict) -> None:
    libraries = ("newfound", "numpy", "pyarrow", "pillow", "safetensors", "typer", "scikit-learn")
    log["versions"] = {"python": platform.python_version()} | {name: _version(name) for name in libraries}
    log["limits"] = {"megabytes": MEMORY >> 20, "seconds": SECONDS, "bytes": MAX_BYTES}
    LOG.write_text(json.dumps(log, indent=1) + "\n")


def _version(name: str) -> str:
    import newfound

    return newfound.__version__ if name == "newfound" else version(name)


def table() -> str:
    """Inputs by the log; finds by the files that are kept, also of runs before the log began."""
    from fuzz_targets import READERS, TARGETS

    targets = {name: of for name, of in read_log()["targets"].items() if name in TARGETS}
    finds = {name: len(list(FINDS.glob(f"{name.replace(' ', '-')}-" + "?" * 12))) for name in TARGETS}
    lines = ["| what | inputs | read | refused in one sentence | inputs kept |", "|---|--:|--:|--:|--:|"]
    groups = [(name, [name]) for name in TARGETS if name in targets or finds[name]]
    for title, names in (*groups, ("**all readers**", READERS), ("**all**", TARGETS)):
        some = [targets[name] for name in names if name in targets]
        sums = [f"{sum(of[key] for of in some):,}" for key in ("inputs", "read", "refused")]
        lines.append(f"| {title} | {' | '.join(sums)} | {sum(finds[name] for name in names)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument(
        "--inputs", type=int, default=1_000_000, help="over all readers, those of earlier runs included"
    )
    running.add_argument("--seconds", type=float, default=float("inf"))
    running.add_argument("--only", nargs="*", help="targets")
    running.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "newfound-fuzz")
    commands.add_parser("table")
    inner_commands = {
        "child": ("name", "folder", "n", "seed"),
        "one": ("name", "folder", "path"),
        "shrink": ("name", "folder", "path", "how"),
    }
    for name, arguments in inner_commands.items():
        inner = commands.add_parser(name)
        for argument in arguments:
            inner.add_argument(argument)
    given = parser.parse_args()
    if given.command == "child":
        child(given.name, Path(given.folder), int(given.n), int(given.seed))
    elif given.command == "one":
        one(given.name, Path(given.folder), Path(given.path))
    elif given.command == "shrink":
        shrink(given.name, Path(given.folder), Path(given.path), given.how)
    elif given.command == "table":
        print(table())
    else:
        from fuzz_targets import TARGETS

        run(given.only or list(TARGETS), given.inputs, given.seconds, given.folder)


if __name__ == "__main__":
    main()
