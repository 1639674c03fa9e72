"""Many experiments: finished ones are kept, the others are computed, one or more at a time, and saved."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from experiments.baselines import BASELINES
from experiments.experiment import Experiment, run_experiment
from experiments.presets import Changes, by_name
from experiments.records import Record, lines_file, read_records, save_record

Show = Callable[[Experiment, Record], None]


def missing(experiments: Iterable[Experiment], folder: Path, changes: Changes) -> list[Experiment]:
    """The experiments still to be computed; one that was made with other settings is refused, not mixed in."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file, not a folder for results. Give another --out.")
    experiments = list(experiments)
    done = {preset: read_records(folder, preset) for preset in {e.preset for e in experiments}}
    for experiment in experiments:
        if experiment.name in done[experiment.preset]:
            check_settings(experiment, done[experiment.preset][experiment.name], changes, folder)
    return [e for e in experiments if e.name not in done[e.preset]]


def check_settings(experiment: Experiment, record: Record, changes: Changes, folder: Path) -> None:
    """Refuse a record whose settings differ from the present ones: those asked for, and the defaults of all others."""
    now, then = by_name(experiment.settings(changes)), by_name(record["settings"])
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            raise ValueError(
                f"{experiment.name} in {str(folder)!r} was made with {name} = {then.get(name)}, now it is "
                f"{now.get(name)}. Give another folder with --out, or remove its record from "
                f"{lines_file(folder, experiment.preset).name} and from the folder work."
            )


def compute(to_do: list[Experiment], folder: Path, changes: Changes, jobs: int, show: Show) -> None:
    """Compute and save; `show` is called for each experiment once it is saved. Ctrl-C loses only those under way.

    In a `joblib.parallel_config`, such as of backend="dask", joblib computes them.
    """
    results: Iterable[tuple[Experiment, Record]]
    if jobs > 1:
        results = _in_parallel(to_do, folder, changes, jobs)
    elif effective_n_jobs() > 1:
        results = _by_joblib(to_do, folder, changes)
    else:
        results = (_compute_one((experiment, folder, changes)) for experiment in to_do)
    for experiment, record in results:
        show(experiment, record)


def _by_joblib(to_do: list[Experiment], folder: Path, changes: Changes) -> Iterator[tuple[Experiment, Record]]:
    """Computed anywhere and saved here, as workers may not have this disk."""
    tasks = (delayed(_computed)(experiment, changes) for experiment in to_do)
    for experiment, record, arrays in Parallel(return_as="generator_unordered")(tasks):
        save_record(folder, experiment, record, arrays)
        yield experiment, record


def _computed(experiment: Experiment, changes: Changes) -> tuple[Experiment, Record, Any]:
    return experiment, *run_experiment(experiment, changes)


def _in_parallel(
    to_do: list[Experiment], folder: Path, changes: Changes, jobs: int
) -> Iterator[tuple[Experiment, Record]]:
    """Processes that share nothing: such small networks use one core each better than a share of several."""
    context = get_context("spawn")
    cores = context.Queue()
    for share in shares_of_cores(jobs):
        cores.put(share)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("newfound: ended"))  # the processes end with this one
    try:
        with context.Pool(jobs, initializer=_begin_worker, initargs=(cores,)) as pool:
            yield from pool.imap_unordered(_compute_in_worker, [(experiment, folder, changes) for experiment in to_do])
    finally:
        signal.signal(signal.SIGTERM, before)


def shares_of_cores(jobs: int) -> list[list[int]]:
    """The cores of this machine, each given to one of the jobs; none where the system cannot set that."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(jobs)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[job % len(cores) :: jobs] for job in range(jobs)]


def _begin_worker(cores: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # with this signal
    share = cores.get()
    if share:
        os.sched_setaffinity(0, share)


def _compute_in_worker(order: tuple[Experiment, Path, Changes]) -> tuple[Experiment, Record]:
    if order[0].model not in BASELINES:  # which compile nothing
        from newfound.training.steps import keep_compiled_programs

        keep_compiled_programs()  # the process is newfound's own, and JAX's settings with it
    return _compute_one(order)


def _compute_one(order: tuple[Experiment, Path, Changes]) -> tuple[Experiment, Record]:
    experiment, folder, changes = order
    record, arrays = run_experiment(experiment, changes)
    save_record(folder, experiment, record, arrays)
    return experiment, record
