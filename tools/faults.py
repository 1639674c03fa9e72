"""Every fault that can be thought of, at every moment: is anything of the user's ever lost, or a broken run believed?

    python tools/faults.py            # all parts; goes on where it stopped; results/faults.json and docs/faults.md
    python tools/faults.py writes     # one part
    python tools/faults.py --table    # only the page, from what was recorded

Parts: `writes` (a kill, a full disk, an error or a refusal at every call that changes the disk), `saves` and `kills`
(SIGKILL at random moments of a save, and of commands), `signals` (SIGINT and SIGTERM in each phase), `processes` (two
at a time), `damage` (files of a run cut, changed, removed), `people` (a user who may not write), `memory` (a limit),
`clock` (a lock from another time), `resume` (interrupted fits go on with the same bits). After each fault: the user's
files are as they were; the run that opens is the old or the new one, whole; what failed was said in one sentence;
nothing hangs; and the command works when it is given again.
"""

import contextlib
import errno
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parent.parent
RECORD, PAGE = ROOT / "results" / "faults.json", ROOT / "docs" / "faults.md"
KINDS = ("kill", "full", "error", "refusal")
HANG = 600  # seconds after which a command is said to hang, on a machine that is busy otherwise
N_KILLS = {"fit": 30, "refit --replace": 30, "report": 20, "predict": 20, "export": 20, "name": 20}
N_SAVES = 100  # of each kind
NOTES = b"my own notes\n"
Recorder = Callable[[str, int, list[str]], None]  # what was tried, how often, what went wrong
Done = dict[str, int]  # how often, of what was tried before and went well


# ---- faults at every change of the disk ------------------------------------------------------------------------------


class Killed(BaseException):
    """The process is dead: nothing it does later reaches the disk."""


class Faults:
    """A disk on which the n-th call fails in some way. By `kill` and `full` all later ones do, too."""

    CALLS = ("make_folder", "create", "write", "sync", "replace", "rename", "remove", "remove_folder")

    def __init__(self, at: int = 0, kind: str = ""):
        self.at, self.kind, self.n, self.calls = at, kind, 0, list[str]()

    @contextlib.contextmanager
    def injected(self) -> Iterator["Faults"]:
        from newfound._internal.files import Disk, disk

        def call(name: str) -> Callable[..., Any]:
            real = getattr(Disk, name)
            return lambda *args, **options: self._call(name, lambda: real(disk, *args, **options), args)

        with contextlib.ExitStack() as stack:
            for name in self.CALLS:
                stack.enter_context(mock.patch.object(disk, name, call(name)))
            yield self

    def _call(self, name: str, real: Callable[[], Any], args: tuple[Any, ...]) -> Any:
        self.n += 1
        self.calls.append(name)
        takes_room = name in ("make_folder", "create", "write")
        if self.kind == "full" and self.at and self.n >= self.at and takes_room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.kind == "kill" and self.at and self.n > self.at:
            raise Killed
        if self.n == self.at and self.kind != "full":
            if name == "write":  # half of it arrives
                os.write(args[0], bytes(args[1])[: len(args[1]) // 2])
            if self.kind == "kill":
                raise Killed
            number = errno.EIO if self.kind == "error" else errno.EACCES
            raise OSError(number, os.strerror(number))
        return real()


class Bench:
    """A run to start from, and what commands on it would write, computed once."""

    def __init__(self, base: Path, csv: Path, more: Path):
        from newfound.report.content import content_of
        from newfound.report.page import render
        from newfound.runs.run import open_run
        from newfound.tables.read import read_dataset

        self.base, self.csv, self.more = base, csv, more
        self.run = open_run(base)
        self.model, self.rows = self.run.model, self.run.rows
        self.dataset = read_dataset(csv, label="species", id="name")
        self.files = {name: self.run.read(name) for name in self._derived()}
        self.report = render(content_of(self.run)).encode()
        self.tables: list[Any] = []

    def _derived(self) -> list[str]:
        from newfound.runs.manifest import read_manifest

        fixed = ("rows.parquet", "own.parquet", "history.parquet", "report.html", "acts.jsonl")
        manifest = read_manifest(self.base)
        return [name for name in manifest.files if "/" not in name and name not in fixed]

    @contextlib.contextmanager
    def without_computing(self) -> Iterator[None]:
        """Saving as it is, with contents that were computed before."""
        derived, page, labelled = (
            importlib.import_module(f"newfound.{name}") for name in ("runs.derived", "report.page", "runs.predict")
        )
        with contextlib.ExitStack() as stack:
            for module, name, value in (
                (derived, "derived_files", lambda *args: self._with_acts(args[3])),
                (derived, "rows_of_fit", lambda *args: self.rows),
                (derived, "latent_map", lambda *args: {}),
                (page, "render", lambda content: self.report.decode()),
                (page, "content_of", lambda run: None),
                (labelled, "predict_batches", lambda *args: iter(self.tables)),
            ):
                stack.enter_context(mock.patch.object(module, name, value))
            yield

    def _with_acts(self, description: dict[str, Any]) -> dict[str, bytes]:
        about = json.loads(self.files["run.json"]) | {"n_acts": description["n_acts"]}
        return self.files | {"run.json": json.dumps(about).encode()}


def save(bench: Bench, folder: Path, *, replace: bool) -> None:
    """All that follows training, up to the run in its place."""
    from newfound.report.page import write_report
    from newfound.runs.derived import Origin
    from newfound.runs.new_run import NewRun, run_of

    new = NewRun(bench.dataset, None, Origin("again.csv"), folder / "run", replace=replace, finish=write_report)
    run_of(lambda labels, building: bench.model, new)


def act(bench: Bench, folder: Path) -> None:
    from newfound.report.page import write_report
    from newfound.runs.derived import act_on
    from newfound.runs.run import open_run

    act_on(open_run(folder / "run"), "rename", {"names": [["new-1", "emu"]]}, write_report)


def write_again(bench: Bench, folder: Path) -> None:
    from newfound.report.page import write_report
    from newfound.runs.manifest import alone
    from newfound.runs.run import open_run

    run = open_run(folder / "run")
    with alone(run.folder):
        write_report(run)


def predict(bench: Bench, folder: Path) -> None:
    from newfound.runs.predict import predict_file
    from newfound.runs.run import open_run

    predict_file(open_run(folder / "run"), str(folder / "more.csv"), folder / "out" / "labelled.csv", replace=True)


def predict_parquet(bench: Bench, folder: Path) -> None:
    from newfound.runs.predict import predict_file
    from newfound.runs.run import open_run

    predict_file(open_run(folder / "run"), str(folder / "more.csv"), folder / "out.parquet", replace=True)


def export(bench: Bench, folder: Path) -> None:
    from newfound.runs.map import write_atlas
    from newfound.runs.run import open_run

    write_atlas(open_run(folder / "run"), folder / "atlas" / "map.parquet", replace=True)


def save_model(bench: Bench, folder: Path) -> None:
    bench.model.save(folder / "model")


SCENARIOS: dict[str, tuple[Callable[[Bench, Path], None], bool]] = {  # and whether a run is there before
    "fit, new": (lambda bench, folder: save(bench, folder, replace=False), False),
    "fit --replace": (lambda bench, folder: save(bench, folder, replace=True), True),
    "an act": (act, True),
    "report": (write_again, True),
    "predict, CSV": (predict, True),
    "predict, Parquet": (predict_parquet, True),
    "export": (export, True),
    "model.save": (save_model, False),
}


def one_fault(bench: Bench, name: str, at: int, kind: str, place: Path) -> tuple[list[str], int]:
    """What went wrong, in words, and how many calls there were."""
    scenario, has_run = SCENARIOS[name]
    folder = Path(tempfile.mkdtemp(dir=place))
    try:
        for path in (bench.csv, bench.more):
            shutil.copy(path, folder / path.name)
        (folder / "notes.txt").write_bytes(NOTES)
        if has_run:
            shutil.copytree(bench.base, folder / "run")
        said, faults = "", Faults(at, kind)
        with bench.without_computing(), faults.injected():
            try:
                scenario(bench, folder)
            except (Killed, OSError, ValueError) as error:
                said = f"{type(error).__name__}: {error}"
        wrong = _after(bench, folder, has_run, kind)
        if kind and not wrong:
            wrong = _again(bench, name, folder)
        return [f"{name}, {kind} at call {at} ({faults.calls[at - 1]}): {one} [{said}]" for one in wrong], faults.n
    finally:
        shutil.rmtree(folder)


def _after(bench: Bench, folder: Path, has_run: bool, kind: str) -> list[str]:
    """The invariants: the user's files, and a run that is the old or the new one."""
    wrong = [f"{path.name} changed" for path in (bench.csv, bench.more) if not same(path, folder / path.name)]
    wrong += ["notes.txt changed"] * ((folder / "notes.txt").read_bytes() != NOTES)
    runs = whole_runs(folder)
    if has_run and not runs:
        wrong.append("no whole run is left")
    if has_run and kind != "kill" and not is_whole_run(folder / "run"):
        wrong.append(f"the run is not in its place: {why_not(folder / 'run')}")
    if has_run and "whole in" not in why_not(folder / "run") and not is_whole_run(folder / "run"):
        wrong.append(f"nobody says where the run is: {why_not(folder / 'run')}")
    return wrong


def _again(bench: Bench, name: str, folder: Path) -> list[str]:
    """The same command, on a disk that works: it ends well, and tidies up."""
    from newfound.runs.leftovers import former_folders, lock_of, unfinished_folders

    is_done = False
    with bench.without_computing():
        try:
            SCENARIOS[name][0](bench, folder)
        except ValueError as error:
            is_done = "already" in str(error)  # holds a run, or has that name: the fault came after it was done
            if not is_done:
                return [f"the next command fails: {error}"]
    run, left = folder / "run", list[Path]()
    if name.startswith("fit") and not is_done:
        left += [*unfinished_folders(run), *former_folders(run), *run.rglob(".newfound-*")]
    if lock_of(run).exists() and not is_done:
        left.append(lock_of(run))
    wrong = [f"{path.name} is left" for path in left]
    return wrong if name == "model.save" or is_whole_run(run) else [*wrong, why_not(run)]


def same(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def is_whole_run(folder: Path) -> bool:
    return why_not(folder) == ""


def why_not(folder: Path) -> str:
    """Why a folder cannot be read as a run; nothing where it can, every file of it."""
    from newfound.runs.run import open_run

    try:
        run = open_run(folder)
        changed = run.check()
        run.predictions, run.classes, run.rows, run.acts  # noqa: B018
    except ValueError as error:
        return str(error)
    return f"changed: {changed}" if changed else ""


def whole_runs(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob("*/manifest.json") if is_whole_run(path.parent)] + [
        path.parent for path in folder.glob(".run*/manifest.json") if is_whole_run(path.parent)
    ]


def writes(record: Recorder, done: Done, names: Any = None, step: int = 1) -> None:
    """Every call of every scenario, in every way; `step` leaves some out, for a short form."""
    with bench_in_a_folder() as (bench, place):
        for name in names or SCENARIOS:
            _, n_calls = one_fault(bench, name, 0, "", place)
            for kind in KINDS:
                what = f"{name}: {kind}"
                if what not in done:
                    found = [one_fault(bench, name, at, kind, place)[0] for at in range(1, n_calls + 1, step)]
                    record(what, len(found), [one for some in found for one in some])


@contextlib.contextmanager
def bench_in_a_folder() -> Iterator[tuple[Bench, Path]]:
    from newfound.runs import predict as predictions

    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        prepare(place)
        bench = Bench(place / "run", place / "pets.csv", place / "more.csv")
        bench.tables = list(predictions.predict_batches(bench.run, str(place / "more.csv")))
        yield bench, place


# ---- real commands ---------------------------------------------------------------------------------------------------

FIT = ["fit", "pets.csv", "--label", "species", "--id", "name", "--epochs", "1", "--n-new", "1", "--no-audit"]
COMMANDS: dict[str, list[str]] = {
    "fit": [*FIT, "--out", "other"],
    "refit --replace": [*FIT, "--out", "run", "--replace"],
    "report": ["report", "run"],
    "predict": ["predict", "run", "more.csv", "--out", "labelled.csv", "--replace"],
    "export": ["export", "run", "--atlas", "map.parquet", "--replace"],
    "name": ["name", "run", "new-1=emu"],
}


def write_tables(place: Path) -> None:
    """A small table with two known kinds and a new one, and more rows of it."""
    rng = random.Random(0)
    kinds = {"cat": (4, 25), "dog": (20, 60), "emu": (40, 180)}
    for name, n in (("pets.csv", 48), ("more.csv", 24)):
        lines = ["name,weight,height,species"]
        for i in range(n):
            kind, (weight, height) = list(kinds.items())[i % 3]
            label = kind if kind != "emu" and i % 2 == 0 and name == "pets.csv" else ""
            lines.append(f"pet {i},{rng.gauss(weight, 1):.2f},{rng.gauss(height, 4):.1f},{label}")
        (place / name).write_text("\n".join(lines) + "\n")
    (place / "notes.txt").write_bytes(NOTES)


def prepare(place: Path) -> None:
    """The tables, and a run that the command wrote."""
    write_tables(place)
    command = Command([*FIT, "--out", "run"], place)
    code, _, errors = command.end()
    if code:
        sys.exit(f"The first fit failed ({code}):\n{errors}")


class Command:
    """`newfound …` in a process of its own, forked from this one, which has imported all and computed nothing."""

    def __init__(self, arguments: list[str], cwd: Path, before: Callable[[], None] = lambda: None):
        handle, self.out = tempfile.mkstemp(suffix=".out")
        os.close(handle)
        self.err = self.out.replace(".out", ".err")
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(arguments, cwd, before)

    def _run(self, arguments: list[str], cwd: Path, before: Callable[[], None]) -> None:
        code = 1
        try:
            os.chdir(cwd)
            for number, path in ((1, self.out), (2, self.err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
            sys.argv = ["newfound", *arguments]
            signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores in the background
            before()
            from newfound.cli.app import app

            app(arguments, prog_name="newfound")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def is_over(self) -> bool:
        """Without taking its exit code."""
        return bool(os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG))

    def said(self, text: str) -> bool:
        return text in Path(self.err).read_text(errors="replace") if Path(self.err).exists() else False

    def end(self) -> tuple[int, str, str]:
        """Exit code (negative: by which signal), what was printed, and errors; a hang is a code of 1,000."""
        until = self.began + HANG
        while not self.is_over() and time.monotonic() < until:
            time.sleep(0.005)
        hangs = not self.is_over()
        if hangs:
            self.kill()
        _, status = os.waitpid(self.pid, 0)
        self.seconds = time.monotonic() - self.began
        texts = [Path(path).read_text(errors="replace") if Path(path).exists() else "" for path in (self.out, self.err)]
        for path in (self.out, self.err):
            Path(path).unlink(missing_ok=True)
        return (1000 if hangs else os.waitstatus_to_exitcode(status)), texts[0], texts[1]


def import_all() -> None:
    """So that a forked command begins at once. Nothing is computed here: JAX does not survive a fork after that."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.filterwarnings("ignore", "os.fork")  # what is forked here computes afresh, or not at all
    for name in (
        "newfound.cli.app",
        "newfound.cli.fit",
        "newfound.cli.predict",
        "newfound.cli.decide",
        "newfound.estimator",
        "newfound.report.page",
        "newfound.runs.new_run",
        "newfound.fit",
    ):
        importlib.import_module(name)
    for name in (
        "encodings.utf_8_sig",
        "encodings.latin_1",
        "pyarrow.parquet",
        "pyarrow.csv",
        "sklearn.manifold",
        "sklearn.mixture",
        "scipy.stats",
    ):
        importlib.import_module(name)


def state_of(place: Path) -> list[str]:
    """What is wrong in a folder after a fault."""
    wrong = ["notes.txt changed"] * ((place / "notes.txt").read_bytes() != NOTES)
    for name in ("run", "other"):
        if (place / name).exists() and not is_whole_run(place / name):
            wrong.append(f"{name} is there and broken: {why_not(place / name)}")
    if not is_whole_run(place / "run") and not any(".run" in str(path) for path in whole_runs(place)):
        wrong.append("the run is lost")
    for path in place.glob("labelled.csv"):
        if len(path.read_text().splitlines()) != 25:
            wrong.append("labelled.csv is not whole")
    return wrong


def kills(record: Recorder, done: Done) -> None:
    """SIGKILL at random moments of commands."""
    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        (place / "base").mkdir()
        prepare(place / "base")
        for name, n in N_KILLS.items():
            if done.get(name, 0) >= n:
                continue
            command = Command(COMMANDS[name], _fresh(place))
            code, _, errors = command.end()
            wrong = [f"{name} fails: {errors}"] if code else []
            rng = random.Random(done.get(name, 0))
            for i in range(done.get(name, 0), n):
                wrong += _killed_once(place, name, rng.random() * command.seconds, try_again=i % 10 == 0)
                record(name, i + 1, wrong)


def saves(record: Recorder, done: Done) -> None:
    """SIGKILL at random moments of what follows training, and of an act."""
    rng = random.Random(3)
    with bench_in_a_folder() as (bench, place):
        for name in ("fit, new", "fit --replace", "an act"):
            if done.get(name, 0) >= N_SAVES:
                continue
            seconds, wrong = _time_of(bench, name, place), list[str]()
            for _ in range(N_SAVES):
                wrong += _save_killed(bench, name, place, rng.random() * seconds)
            record(name, N_SAVES, wrong)


def _time_of(bench: Bench, name: str, place: Path) -> float:
    began = time.monotonic()
    one_fault(bench, name, 0, "", place)
    return time.monotonic() - began


def _save_killed(bench: Bench, name: str, place: Path, after: float) -> list[str]:
    scenario, has_run = SCENARIOS[name]
    folder = Path(tempfile.mkdtemp(dir=place))
    try:
        for path in (bench.csv, bench.more):
            shutil.copy(path, folder / path.name)
        (folder / "notes.txt").write_bytes(NOTES)
        if has_run:
            shutil.copytree(bench.base, folder / "run")
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException), bench.without_computing():
                scenario(bench, folder)
            os._exit(0)
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        wrong = _after(bench, folder, has_run, "kill") or _again(bench, name, folder)
        return [f"{name}, killed after {after:.3f} s: {one}" for one in wrong]
    finally:
        shutil.rmtree(folder)


def _fresh(place: Path) -> Path:
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(place / "base", work)
    return work


def _killed_once(place: Path, name: str, after: float, *, try_again: bool) -> list[str]:
    work = _fresh(place)
    command = Command(COMMANDS[name], work)
    time.sleep(after)
    command.kill()
    code, _, errors = command.end()
    wrong = state_of(work) + ["a traceback"] * ("Traceback" in errors) + ["a hang"] * (code == 1000)
    if try_again and not wrong:
        code, _, errors = Command(COMMANDS[name], work).end()
        finished_before = "already holds a run" in errors or "already" in errors
        wrong = [f"then fails: {errors}"] * (code != 0 and not finished_before) + state_of(work)
        wrong += [f"{path.name} is left" for path in work.iterdir() if path.name.startswith(".") and code == 0]
    return [f"{name}, killed after {after:.2f} s: {one}" for one in wrong]


PHASES = {  # how it is seen that a command is there, and the exit codes that are right for SIGINT and SIGTERM
    "reading": (lambda command, place: time.monotonic() - command.began > 0.05, (130, -2, 0), (143, -15, 0)),
    "discovery": (lambda command, place: command.said("looking for new"), (130, 0), (143,)),
    "training": (lambda command, place: command.said("compiling"), (130, 0), (143,)),
    "saving": (lambda command, place: command.said("predicting …"), (130,), (143,)),
    "writing the report": (lambda command, place: command.said("writing the report"), (130, 0), (143, 0)),
}


def signals(record: Recorder, done: Done) -> None:
    """SIGINT and SIGTERM in each phase of a fit, and of other commands."""
    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        (place / "base").mkdir()
        prepare(place / "base")
        for phase, (is_there, after_int, after_term) in PHASES.items():
            for number, codes in ((signal.SIGINT, after_int), (signal.SIGTERM, after_term)):
                what = f"fit, {phase}: {number.name}"
                if what not in done:
                    record(what, 1, _signalled(_fresh(place), "refit --replace", is_there, number, codes))
        for name in ("report", "predict", "export", "name"):
            for number, codes in ((signal.SIGINT, (130, 0, -2)), (signal.SIGTERM, (143, 0, -15))):
                what = f"{name}: {number.name}"
                if what not in done:
                    soon = PHASES["reading"][0]
                    record(what, 1, _signalled(_fresh(place), name, soon, number, codes))


def _signalled(work: Path, name: str, is_there: Any, number: int, codes: tuple[int, ...]) -> list[str]:
    command = Command(COMMANDS[name], work)
    while not command.is_over() and not is_there(command, work):
        time.sleep(0.002)
    command.kill(number)
    code, _, errors = command.end()
    wrong = state_of(work) + ["a traceback"] * ("Traceback" in errors)
    if code not in codes:
        wrong.append(f"ended with {code}, not {' or '.join(map(str, codes))}: {errors[-300:]}")
    return wrong


def processes(record: Recorder, done: Done) -> None:
    """Two at a time on one run."""
    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        (place / "base").mkdir()
        prepare(place / "base")
        for one, other, codes in (
            ("fit", "fit", ({0, 2},)),
            ("refit --replace", "refit --replace", ({0, 2}, {0})),
            ("refit --replace", "name", ({0}, {0, 2})),
            ("name", "report", ({0},)),
            ("name", "predict", ({0},)),
            ("predict", "predict", ({0},)),
        ):
            what = f"{one} and {other}"
            if what not in done:
                work = _fresh(place)
                both = [Command(COMMANDS[name], work) for name in (one, other)]
                ends = [command.end() for command in both]
                wrong = state_of(work) + [f"a traceback: {end[2]}" for end in ends if "Traceback" in end[2]]
                if {end[0] for end in ends} not in codes:
                    wrong.append(f"ended with {[end[0] for end in ends]}: {[end[2][-200:] for end in ends]}")
                if one == other == "fit" and not any("process" in end[2] for end in ends):
                    wrong.append("nobody was told who is at work")
                record(what, 1, wrong)


def damage(record: Recorder, done: Done) -> None:
    """Every file of a run cut, grown, changed in one byte, emptied or removed: noticed, by name."""
    from newfound.runs.manifest import read_manifest

    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        prepare(place)
        names = [*read_manifest(place / "run").files, "manifest.json"]
        ways = {
            "cut": lambda content: content[:-1],
            "grown": lambda content: content + b" ",
            "one byte": lambda content: (
                content[: len(content) // 2]
                + bytes([content[len(content) // 2] ^ 1])
                + content[len(content) // 2 + 1 :]
            ),
            "emptied": lambda content: b"",
            "removed": None,
        }
        for way, change in ways.items():
            if way not in done:
                found = [one for name in names for one in _damaged(place, name, change)]
                record(way, len(names), found)


def _damaged(place: Path, name: str, change: Any) -> list[str]:
    copy = place / "copy"
    shutil.copytree(place / "run", copy)
    try:
        content = (copy / name).read_bytes()
        if change is None:
            (copy / name).unlink()
        else:
            (copy / name).write_bytes(change(content))
        why = why_not(copy)
        if name == "manifest.json" and change is not None and (why == "" or "is damaged" in why):
            return []  # a space more is the same list; another name in it is that of a file that is missing
        return [] if Path(name).name in why else [f"{name}: {why or 'not noticed'}"]
    finally:
        shutil.rmtree(copy)


def people(record: Recorder, done: Done) -> None:
    """A user who may read but not write: a sentence, and nothing changes."""
    if os.getuid() != 0:
        sys.exit("The part `people` becomes another user, which only root may.")

    def nobody() -> None:
        os.environ["NEWFOUND_CACHE"] = ""
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        os.chmod(place, 0o755)
        (place / "base").mkdir()
        prepare(place / "base")
        for name, arguments in COMMANDS.items():
            if name in done:
                continue
            work = _fresh(place)
            code, _, errors = Command(arguments, work, nobody).end()
            wrong = state_of(work) + ["a traceback"] * ("Traceback" in errors)
            wrong += [f"ended with {code}: {errors[-300:]}"] * (code not in (1, 2) or "ermission" not in errors)
            if "fit" in name and "compiling" in errors:
                wrong.append("was noticed only after training")
            record(name, 1, wrong)


def memory(record: Recorder, done: Done) -> None:
    """A limit on memory: whatever ends it, the run that was there stays."""
    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        place = Path(text)
        (place / "base").mkdir()
        prepare(place / "base")
        for more in (64, 256, 1024):

            def limited(more: int = more) -> None:
                used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (used + more * 2**20,) * 2)

            if f"{more} MB more" not in done:
                work = _fresh(place)
                code, _, _ = Command(COMMANDS["refit --replace"], work, limited).end()
                wrong = state_of(work) + ["a hang"] * (code == 1000)
                record(f"{more} MB more", 1, wrong)


def clock(record: Recorder, done: Done) -> None:
    """A lock that a dead process left, from a time to come or long ago."""
    from newfound._internal.files import Holder, held
    from newfound._internal.records import to_json

    with tempfile.TemporaryDirectory(prefix="faults-") as text:
        for since in ("1970-01-01T00:00:00+00:00", "2199-01-01T00:00:00+00:00"):
            path, wrong = Path(text) / ".run.lock", list[str]()
            path.write_text(json.dumps(to_json(Holder.this().replace(since=since))))
            try:
                with held(path, "the run"):
                    pass
            except ValueError as error:
                wrong.append(str(error))
            if since not in done:
                record(since, 1, wrong + ["the lock is left"] * path.exists())


def resume(record: Recorder, done: Done) -> None:
    """Twenty interruptions of fits of several kinds: what goes on ends with the same bits."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import same_bits

    from newfound._internal.files import Terminated
    from newfound.training import checkpoints, loop

    chosen = ("gaussian", "several-seeds", "mixed", "early-stopping", "bernoulli-unsupervised")
    fits = same_bits.small_fits()
    for name in chosen:
        if name in done:
            continue
        model, X, y, parameters = fits[name]
        whole = same_bits.answers(same_bits.fit(model, X, y, parameters), X)
        wrong = []
        for stop in (1, 2, 5, 6):
            with tempfile.TemporaryDirectory(prefix="faults-") as folder:
                advance, n = loop.Training._advance, [0]

                def until(training: Any, *args: Any, advance: Any = advance, n: Any = n, stop: int = stop) -> None:
                    advance(training, *args)
                    n[0] += 1
                    if n[0] == stop:
                        raise Terminated

                with mock.patch.object(loop.Training, "_advance", until), contextlib.suppress(Terminated):
                    _fit_again(same_bits, model, X, y, parameters, checkpoints.Checkpoints(Path(folder)))
                kept = checkpoints.latest(Path(folder))
                if kept is None:
                    wrong.append(f"stopped after {stop}: no checkpoint")
                    continue
                again = same_bits.answers(_fit_again(same_bits, model, X, y, parameters, kept), X)
                differ = [what for what in whole if whole[what].tobytes() != again[what].tobytes()]
                wrong += [f"stopped after {stop}: {what} differs" for what in differ]
        record(name, 4, wrong)


def _fit_again(same_bits: Any, model: str, X: Any, y: Any, parameters: dict[str, Any], kept: Any) -> Any:
    from newfound.config import NAMES, Config
    from newfound.estimator import estimator_of

    parameters = same_bits.BRIEF | parameters
    settings = {name: value for name, value in parameters.items() if name in set().union(*NAMES.values())}
    keywords = {name: value for name, value in parameters.items() if name not in settings}
    return estimator_of(model)(**keywords, config=Config().replace(**settings))._fit(X, y, checkpoints=kept)


# ---- the record and its page -----------------------------------------------------------------------------------------

PARTS: dict[str, tuple[str, Callable[..., None]]] = {
    "writes": ("disk change", writes),
    "saves": ("SIGKILL while saving", saves),
    "kills": ("SIGKILL", kills),
    "signals": ("signal", signals),
    "processes": ("two commands", processes),
    "damage": ("damaged file", damage),
    "people": ("no permission", people),
    "memory": ("little memory", memory),
    "clock": ("old lock", clock),
    "resume": ("resumed fit", resume),
}


def load() -> dict[str, dict[str, Any]]:
    return json.loads(RECORD.read_text()) if RECORD.is_file() else {}


def run_part(part: str) -> None:
    stored = load()

    def record(what: str, n: int, wrong: list[str]) -> None:
        stored.setdefault(part, {})[what] = {"faults": n, "failures": wrong}
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
        print(f"{part} · {what}: {n} faults, {len(wrong)} failures", *wrong[:3], sep="\n    ", flush=True)

    done = {what: one["faults"] for what, one in stored.get(part, {}).items() if not one["failures"]}
    PARTS[part][1](record, done)


def page() -> str:
    lines = [
        "# Faults injected",
        "",
        "`python tools/faults.py` injects these faults and resumes where it stopped;",
        "[safety.md](safety.md#files-and-runs) has the promises that it checks. *Disk change*: every call that",
        "changes the disk is killed, finds a full disk, fails or is refused. *SIGKILL*: at a random moment. *Two",
        "commands*: at once, on one run. *Damaged file*: each file of a run. *Old lock*: of a dead process, with",
        "another time. *Resumed fit*: does it end with the same bits?",
        "",
        "| fault | where | faults | failures |",
        "|---|---|---:|---:|",
    ]
    n_all = n_wrong = 0
    for part, (title, _) in PARTS.items():
        for what, one in load().get(part, {}).items():
            lines.append(f"| {title} | {what} | {one['faults']:,} | {len(one['failures'])} |")
            title = ""  # each is named once
            n_all, n_wrong = n_all + one["faults"], n_wrong + len(one["failures"])
    return "\n".join([*lines, f"| **all** | | **{n_all:,}** | **{n_wrong}** |", ""])


def main(arguments: list[str]) -> None:
    unknown = [one for one in arguments if one not in (*PARTS, "--table")]
    if unknown:
        sys.exit(__doc__)
    import_all()
    for part in [one for one in arguments if one in PARTS] or ([] if arguments else [*PARTS]):
        pid = os.fork()  # each part in a process of its own: some compute, and those that fork may not have
        if pid == 0:
            code = 1
            try:
                run_part(part)
                code = 0
            except SystemExit as end:
                print(end.code, file=sys.stderr)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        if os.waitpid(pid, 0)[1]:
            sys.exit(1)
    PAGE.write_text(page())
    stored = load()
    sys.exit(any(one["failures"] for part in stored.values() for one in part.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
