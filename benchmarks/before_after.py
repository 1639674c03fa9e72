"""What a user waits for, before and after the work on speed: ratios, peak memory, and the bars that were set.

    NEWFOUND_DATA=... python benchmarks/run.py [--keep] [--before COMMIT]

"Before" is another commit, whose source is unpacked into a temporary folder; by default BEFORE, the last one before
classes were discovered and before NumPy predicted, for which the bars were set. Both run in turn, each measurement in a
process of its own, on the same machine and with the same libraries. Ratios are of CPU seconds (of the process and its
children), which other work on the machine changes least; a limit in seconds is of the clock. About a quarter of an hour
on two idle cores. Every piece is saved when it is finished, and `--keep` goes on where a run stopped.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import prediction
import start_up
import time_to_accuracy
from measure import children_time, exponent, in_process, seconds_of
from repository import ROOT

BEFORE = "108ae4e"
HERE = Path(__file__).parent
SOURCES = ("src", "experiments")  # folders that Python searches; old commits have no `experiments` of their own
ROUNDS = 3

Piece = dict[str, Any]

TIMED = """
import json, time
def timed(run):
    clock, cpu = time.perf_counter(), time.process_time()
    run()
    return {"seconds": time.perf_counter() - clock, "cpu": time.process_time() - cpu, "peak_gb": peak_gb()}
"""

# Code of both sides: each name is taken from where either commit has it.

LOAD_MNIST = """
try:
    from newfound.data import load_named
except ImportError:
    from experiments.named import load_named
mnist = load_named("mnist").train
"""

PREDICT = """
import sys
import numpy as np
try:
    from newfound import load_predictor as load
except ImportError:
    from newfound import load
load(sys.argv[1]).predict(np.zeros((1, 50), "f4"))
"""

TABLE = """
import numpy as np
from newfound import GMDGM
rng = np.random.default_rng(0)
truth = rng.integers(0, 10, ROWS)
X = rng.standard_normal((ROWS, 50), dtype=np.float32) + 2 * rng.standard_normal((10, 50), dtype=np.float32)[truth]
y = np.where((truth < 5) & (rng.random(ROWS) < 0.2), truth, -1)
print(json.dumps(timed(lambda: GMDGM(random_state=0, verbose=False).fit(X, y))))
"""

MNIST = (
    LOAD_MNIST
    + """
import numpy as np
from scipy.optimize import linear_sum_assignment
from newfound import GMDGM, mask_labels
truth = np.asarray(mnist.labels.codes)
y = mask_labels(truth, hide=range(5, 10), keep=0.2, random_state=0)
model = GMDGM(image_shape=(28, 28), random_state=0, verbose=False)
took = timed(lambda: model.fit(mnist.X, y))
found = np.unique(model.predict(mnist.X), return_inverse=True)[1]
counts = np.zeros((10, found.max() + 1))
np.add.at(counts, (truth, found), 1)
right = counts[linear_sum_assignment(-counts)].sum() / len(truth)
print(json.dumps(took | {"one_to_one": 100 * right, "classes": int(found.max()) + 1}))
"""
)

PENGUINS = """
import numpy as np
from palmerpenguins import load_penguins
from newfound import GMDGM
table = load_penguins().dropna()
X = table[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]].to_numpy("f4")
kind = np.unique(table["species"], return_inverse=True)[1]
y = np.where((kind < 2) & (np.random.default_rng(0).random(len(kind)) < 0.3), kind, -1)
print(json.dumps(timed(lambda: GMDGM(random_state=0, verbose=False).fit(X, y))))
"""

NEIGHBOURS = (
    LOAD_MNIST
    + """
import numpy as np
from newfound import mask_labels
from newfound.config import Initialisation
from newfound.discovery import graph as graphs
from newfound.discovery.features import whitened
from newfound.discovery.rows import Images, Rows, projected
from scipy.sparse import diags_array
from scipy.sparse.linalg import eigsh
settings = Initialisation()
labels = np.asarray(mask_labels(np.asarray(mnist.labels.codes), hide=range(5, 10), keep=0.2, random_state=0))
points = whitened(projected(Rows(mnist.X, None, Images(mnist.X, (28, 28))), settings, 0).projection, labels, settings)
points = np.ascontiguousarray(points, np.float32)
found = {}
def find(name, how, rows):
    def run():
        found[name] = how(rows, points, settings.n_neighbors + 1)
    return run
index = timed(find("index", graphs._by_index, points))
brute = timed(find("brute", graphs._by_comparison, points))
hits = (found["index"][:, :, None] == found["brute"][:, None, :]).any(axis=2).mean()
graph = graphs.neighbour_graph([points], settings, 0).weights
def double():
    shrink = diags_array(1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12)))
    eigsh((shrink @ graph @ shrink).astype(float), settings.n_eigenvectors, which="LA", v0=np.ones(graph.shape[0]))
before = timed(double)
after = timed(lambda: graphs._eigenvectors(graph, settings.n_eigenvectors))
print(json.dumps({"index": index, "brute": brute, "recall": float(hits), "double": before, "single": after}))
"""
)

PU = (
    LOAD_MNIST
    + """
from importlib import import_module
import numpy as np
from newfound import GMDGM, mask_labels
from sklearn.metrics import roc_auc_score
try:
    user = import_module("newfound.discovery.discover")  # not the function of this name
except ImportError:
    user = import_module("newfound.initialisation.components")
truth = np.asarray(mnist.labels.codes)
estimate = user.estimate_class_probabilities
class Estimated(Exception):
    pass
def looked_at(features, labels, *others, **options):
    found = {}
    took = timed(lambda: found.update(p=estimate(features, labels, *others, **options)))
    free = labels == -1
    p_new = 1 - found["p"][free].sum(axis=1)
    print(json.dumps(took | {"auroc": roc_auc_score(truth[free] >= 5, p_new)}))
    raise Estimated
user.estimate_class_probabilities = looked_at
y = mask_labels(truth, hide=range(5, 10), keep=0.2, random_state=0)
try:
    GMDGM(image_shape=(28, 28), random_state=0, verbose=False).fit(mnist.X, y)
except Estimated:
    pass
"""
)

REPORT = """
import sys
from newfound.report import page
from newfound.runs import map as latent_map
spent = {"report": 0.0, "map": 0.0}
def counted(module, name, part):
    real = getattr(module, name)
    def call(*args, **keywords):
        began = time.process_time()
        try:
            return real(*args, **keywords)
        finally:
            spent[part] += time.process_time() - began
    setattr(module, name, call)
counted(page, "write_report", "report")
counted(latent_map, "in_two_dimensions", "map")
counted(latent_map, "among_neighbours", "map")
from newfound.cli.app import app
sys.argv = ["newfound", "fit", TABLE, "--label", "label", "--no-audit", "--out", OUT]
def fit():
    try:
        app()
    except SystemExit as end:
        assert not end.code, end.code
print(json.dumps(timed(fit) | spent))
"""

RUN = """
import runpy
import newfound.report
newfound.report.write_report = lambda run: None  # that of 108ae4e needs a library that is not installed
runpy.run_module("newfound", run_name="__main__")
"""

SCAN = "import pyarrow.parquet as pq\nfor _ in pq.ParquetFile(TABLE).iter_batches(32_768): pass"
READ = """
import numpy as np, pyarrow.parquet as pq
table = pq.read_table(TABLE)
np.stack([table.column(name).to_numpy() for name in table.column_names if name != "label"], axis=1).astype("f4")
"""


class Side(NamedTuple):
    """One of the two states of the code."""

    name: str
    root: Path  # of the repository

    @property
    def environment(self) -> dict[str, str]:
        """With compiled modules kept, as pip leaves them, and without the folder in which this program runs."""
        path = os.pathsep.join(map(str, (self.root / "src", self.root)))
        return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1", "NEWFOUND_CACHE": "", "PYTHONDONTWRITEBYTECODE": ""}

    def run(self, code: str, **environment: str) -> dict[str, Any]:
        return in_process(TIMED + code, **self.environment | environment)

    def cpu(self, *command: str) -> float:
        """CPU seconds of a Python process with these arguments."""
        return seconds_of(lambda: self.output(*command), children_time)

    def output(self, *command: str) -> str:
        """What a Python process with these arguments prints."""
        environment = os.environ | self.environment
        done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"A measured process failed:\n{done.stderr[-2000:]}")
        return done.stdout


@contextmanager
def sides(commit: str) -> Iterator[tuple[Side, Side]]:
    """Before, in a folder that is removed afterwards, and the code as it is here."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout

    with tempfile.TemporaryDirectory() as folder:
        names = git("ls-tree", "--name-only", commit, *SOURCES).decode().split()
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit, *names))) as files:
            files.extractall(folder, filter="data")
        yield Side("before", Path(folder)), Side("after", ROOT)


# ---- what is measured ------------------------------------------------------------------------------------------------


def starts(before: Side, after: Side) -> Piece:
    """CPU seconds of fresh processes, the best of a few."""
    with tempfile.TemporaryDirectory() as folder:
        for side in (before, after):
            side.cpu("-c", start_up.SAVE, str(Path(folder, side.name)))

        def commands(side: Side) -> dict[str, tuple[str, ...]]:
            return {
                "import sklearn": ("-c", "import sklearn"),
                "import": ("-c", "from newfound import GMDGM"),
                "saved": ("-c", PREDICT, str(Path(folder, side.name))),
            }

        best: Piece = {side.name: dict.fromkeys(commands(side), float("inf")) for side in (before, after)}
        for _ in range(ROUNDS):
            for side in (before, after):
                for name, command in commands(side).items():
                    best[side.name][name] = min(best[side.name][name], side.cpu(*command))
    return best


def arrays(before: Side, after: Side) -> Piece:
    """Microseconds of `predict_proba`, beside scikit-learn's MLP, by the number of rows; one thread."""
    code = (
        f"import sys, json\nsys.path.insert(0, {str(HERE)!r})\nimport prediction\nprediction.SIZES = (1, 100, 1_000)\n"
    )
    code += "print(json.dumps(prediction.of_arrays(9)))"
    return {side.name: side.run(code, OMP_NUM_THREADS="1") for side in (before, after)}


def parquet(before: Side, after: Side, n_rows: int = 1_000_000) -> Piece:
    """CPU seconds of `newfound predict` for the answer's columns, and of pyarrow's scan of the same file."""
    results: Piece = {"rows": n_rows}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, many = str(folder / "few.parquet"), str(folder / "many.parquet")
        prediction.make_table(Path(few), 5_000)
        prediction.make_table(Path(many), n_rows)
        empty = min(after.cpu("-c", "import pyarrow.parquet") for _ in range(ROUNDS))
        for what, code in (("scan", SCAN), ("read", READ)):
            took = min(after.cpu("-c", code.replace("TABLE", repr(many))) for _ in range(ROUNDS))
            results[what] = took - empty
        for side in (before, after):
            run, outs = str(folder / side.name), [str(folder / f"{side.name}-{i}.parquet") for i in range(ROUNDS)]
            side.cpu("-c", RUN, "fit", few, "--label", "label", "--n-new", "5", "--epochs", "5", "--out", run)
            has_columns = "--columns" in side.output("-m", "newfound", "predict", "--help")
            only = ["--columns", ",".join(prediction.ANSWER)] if has_columns else []  # old commits write no others
            predict = ("-m", "newfound", "predict", run, many, *only, "--out")
            results[side.name] = min(side.cpu(*predict, out) for out in outs)
    return results


def small(before: Side, after: Side) -> Piece:
    """The first fit of 333 penguins in a process: nothing compiled yet, and everything."""
    results: Piece = {}
    for side in (before, after):
        runs = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as cache:
                runs.append([side.run(PENGUINS, NEWFOUND_CACHE=cache) for _ in range(2)])
        cold, warm = zip(*runs, strict=True)
        results[side.name] = {
            "cold": min(cold, key=lambda fit: fit["cpu"]),
            "warm": min(warm, key=lambda fit: fit["cpu"]),
        }
    return results


def of_mnist(before: Side, after: Side) -> Piece:
    return {side.name: side.run(MNIST) for side in (before, after)}


def of_table(before: Side, after: Side) -> Piece:
    return {side.name: side.run(TABLE.replace("ROWS", "200_000")) for side in (before, after)}


def growth(before: Side, after: Side, sizes: tuple[int, ...] = (100_000, 1_000_000)) -> Piece:
    """Of what there is now: before, a million rows took more than a quarter of an hour."""
    fits = {str(n): after.run(TABLE.replace("ROWS", str(n))) for n in sizes}
    return fits | {"exponent": exponent(sizes, [fits[str(n)]["cpu"] for n in sizes])}


def graph(before: Side, after: Side) -> Piece:
    return after.run(NEIGHBOURS)


def pu(before: Side, after: Side) -> Piece:
    """Of MNIST with half the classes hidden: what the estimate takes, and how well it tells rows of these."""
    return {side.name: side.run(PU) for side in (before, after)}


def report(before: Side, after: Side) -> Piece:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.parquet")
        prediction.make_table(table, 6_000)
        return after.run(REPORT.replace("TABLE", repr(str(table))).replace("OUT", repr(str(Path(folder, "run")))))


def accuracy(before: Side, after: Side) -> Piece:
    """Seconds of the clock until the paper's accuracy, nothing compiled yet."""
    results = {}
    for dataset, papers in time_to_accuracy.PAPERS.items():
        with tempfile.TemporaryDirectory() as cache:
            fit = after.run(time_to_accuracy.code_of(dataset), NEWFOUND_CACHE=cache)
        passed = next((seconds for seconds, reached in fit["looks"] if reached >= papers), None)
        results[dataset] = {"papers": papers, "seconds": passed, "last": fit["looks"][-1], "in_all": fit["seconds"]}
    return results


PIECES: dict[str, Callable[[Side, Side], Piece]] = {
    "starts": starts,
    "arrays": arrays,
    "small": small,
    "parquet": parquet,
    "graph": graph,
    "pu": pu,
    "report": report,
    "mnist": of_mnist,
    "table": of_table,
    "time-to-accuracy": accuracy,
    "million": growth,
}


# ---- as a table ------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """What was measured, and the bar that `value` should stay below (or above, for a share that is to be high)."""

    what: str
    measured: str
    value: float | None
    bar: float
    above: bool = False

    @property
    def is_reached(self) -> bool:
        return self.value is not None and (self.value >= self.bar if self.above else self.value <= self.bar)


def lines(results: dict[str, Piece]) -> list[Line]:
    made = {
        "starts": _starts,
        "arrays": _arrays,
        "small": _small,
        "parquet": _parquet,
        "graph": _graph,
        "pu": _pu,
        "report": _report,
        "mnist": lambda part: _fits("MNIST, 60,000 images", part, 0.6),
        "table": lambda part: _fits("200,000 x 50", part, 0.5),
        "time-to-accuracy": _accuracy,
        "million": _growth,
    }
    return [line for name, make in made.items() if name in results for line in make(results[name])]


def _starts(part: Piece) -> list[Line]:
    over = {side: part[side]["import"] - part[side]["import sklearn"] for side in ("before", "after")}
    saved = {side: part[side]["saved"] for side in ("before", "after")}
    return [
        Line("`from newfound import GMDGM`, CPU s over scikit-learn's import", _pair(over), over["after"], 1.0),
        Line("a fresh process loads a model and predicts a row, CPU s", _pair(saved), saved["after"], 1.0),
    ]


def _arrays(part: Piece) -> list[Line]:
    made = []
    for n, bar in (("1", 1.0), ("100", 1.1), ("1000", 1.1)):
        of = {side: part[side][n]["newfound"] / part[side][n]["MLPClassifier"] for side in ("before", "after")}
        rows = "1 row" if n == "1" else f"{int(n):,} rows"
        made.append(Line(f"{rows}, x scikit-learn's MLP", _pair(of), of["after"], bar))
    return made


def _small(part: Piece) -> list[Line]:
    made = []
    for state, bar in (("cold", 5.0), ("warm", 2.0)):
        of = {side: part[side][state] for side in ("before", "after")}
        cpu = _pair({side: fit["cpu"] for side, fit in of.items()})
        seconds = {side: fit["seconds"] for side, fit in of.items()}
        made.append(
            Line(f"first fit of 333 penguins, {state}, s", f"{_pair(seconds)}; CPU s {cpu}", seconds["after"], bar)
        )
    return made


def _parquet(part: Piece) -> list[Line]:
    what = f"`newfound predict`, {part['rows']:,} rows of Parquet, x pyarrow"
    made = []
    for name, does in (("read", "reads them into an array"), ("scan", "scans them")):
        times = {side: part[side] / part[name] for side in ("before", "after")}
        told = f"{_pair(times)}; CPU s {_pair(part)}, pyarrow {part[name]:.2f}"
        made.append(Line(f"{what} {does}", told, times["after"], 3.0))
    return made


def _graph(part: Piece) -> list[Line]:
    index = part["index"]["cpu"] / part["brute"]["cpu"]
    single = part["single"]["cpu"] / part["double"]["cpu"]
    return [
        Line("neighbours of MNIST's 60,000 rows, x brute force", f"{index:.2f}", index, 0.3),
        Line("of whom are found", f"{part['recall']:.4f}", part["recall"], 0.99, above=True),
        Line("eigenvectors of that graph, x double precision", f"{single:.2f}", single, 1.0),
    ]


def _pu(part: Piece) -> list[Line]:
    ratio = part["after"]["cpu"] / part["before"]["cpu"]
    auroc = {side: part[side]["auroc"] for side in ("before", "after")}
    return [
        Line("PU estimate of MNIST, x before", f"{ratio:.2f}: CPU s {_pair(_cpu(part))}", ratio, 0.5),
        Line(
            "its AUROC on hidden classes", f"{_pair(auroc, 4)}", auroc["after"], round(auroc["before"], 4), above=True
        ),
    ]


def _report(part: Piece) -> list[Line]:
    share = (part["report"] + part["map"]) / part["cpu"]
    told = f"{share:.1%}: {part['report']:.2f} + {part['map']:.2f} of {part['cpu']:.1f} CPU s"
    return [Line("report and map, share of `newfound fit` of 6,000 x 50", told, share, 0.1)]


def _fits(what: str, part: Piece, bar: float) -> list[Line]:
    ratio = part["after"]["cpu"] / part["before"]["cpu"]
    told = f"{ratio:.2f}: CPU s {_pair(_cpu(part))}"
    told += f", peak GB {_pair({side: part[side]['peak_gb'] for side in part})}"
    if "one_to_one" in part["after"]:
        told += f", one-to-one % {_pair({side: part[side]['one_to_one'] for side in part})}"
    return [Line(f"fit of {what}, x before", told, ratio, bar)]


def _accuracy(part: Piece) -> list[Line]:
    bars = {"mnist": 45.0, "fashion-mnist": 60.0}
    return [
        Line(f"{name}: s to the paper's {fit['papers']} %, cold", f"{fit['seconds']}", fit["seconds"], bars[name])
        for name, fit in part.items()
    ]


def _growth(part: Piece) -> list[Line]:
    million = part["1000000"]
    return [
        Line(
            "fit of 1,000,000 x 50, s", f"{million['seconds']:.0f}; CPU s {million['cpu']:.0f}", million["seconds"], 300
        ),
        Line("its peak, GB", f"{million['peak_gb']:.2f}", million["peak_gb"], 3.0),
        Line("CPU s ~ rows^p from 100,000 on", f"p = {part['exponent']:.2f}", part["exponent"], 1.0),
    ]


def _cpu(part: Piece) -> dict[str, float]:
    return {side: part[side]["cpu"] for side in ("before", "after")}


def _pair(of: dict[str, float], digits: int = 2) -> str:
    return f"{of['before']:.{digits}f} → {of['after']:.{digits}f}"


def render(results: dict[str, Any]) -> str:
    """Markdown of what has been measured so far."""
    machine = results["machine"]
    said = (
        f"# Before and after\n\nWritten by `benchmarks/run.py`. Before is commit {results['before']}. "
        "Ratios are of CPU seconds of a process and its children; bars in s are of the clock. "
        f"{machine['cores']} cores, {machine['processor']}, load {machine['load']:.1f} after the last piece.\n\n"
        "| what | before → after | bar | reached |\n|---|---|---|---|\n"
    )
    sign = {True: "≥", False: "≤"}
    rows = (
        f"| {line.what} | {line.measured} | {sign[line.above]} {line.bar:g} | {'yes' if line.is_reached else 'no'} |"
        for line in lines(results["pieces"])
    )
    return said + "\n".join(rows) + "\n"


def measure(
    folder: Path, machine: Callable[[], dict[str, Any]], names: list[str], *, keep: bool, commit: str = BEFORE
) -> None:
    """Every piece that is not there yet, saved at once; each commit has files of its own."""
    path = folder / ("before_after.json" if commit == BEFORE else f"before_after_{commit}.json")
    saved = json.loads(path.read_text()) if keep and path.exists() else {"pieces": {}}
    saved["before"] = commit
    with sides(commit) as (before, after):
        for name in names:
            if name in saved["pieces"]:
                continue
            began = time.perf_counter()
            saved["pieces"][name] = PIECES[name](before, after)
            saved["machine"] = machine() | {"load": os.getloadavg()[0]}
            path.write_text(json.dumps(saved, indent=1) + "\n")
            path.with_suffix(".md").write_text(render(saved))
            for line in lines({name: saved["pieces"][name]}):
                print(f"{'   ' if line.is_reached else 'no:'} {line.what}: {line.measured} (bar {line.bar:g})")
            print(f"    {name} took {time.perf_counter() - began:.0f} s", flush=True)
