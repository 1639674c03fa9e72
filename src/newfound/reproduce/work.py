"""Many cells: those that are done are kept, the others are computed, one or several at a time, and saved at once."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from newfound.reproduce.cells import Cell, read_cell, run_cell, save_cell

Tell = Callable[[Cell, dict[str, Any]], None]


def missing(cells: Iterable[Cell], folder: Path, changes: dict[str, Any]) -> list[Cell]:
    """The cells that are still to be computed; one that was made with other settings is refused, not mixed in."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file, not a folder for cells. Give another --out.")
    found = {cell: read_cell(folder, cell) for cell in cells}
    for cell, record in found.items():
        if record is not None:
            _check_settings(cell, record, changes, folder)
    return [cell for cell, record in found.items() if record is None]


def _check_settings(cell: Cell, record: dict[str, Any], changes: dict[str, Any], folder: Path) -> None:
    asked = cell.settings(changes)
    for name in asked.keys() | record["settings"].keys():
        now, then = asked.get(name), record["settings"].get(name)
        now = list(now) if isinstance(now, tuple) else now
        if now != then:
            raise ValueError(
                f"The cell {cell.name} in {str(folder)!r} was made with {name} = {then}, now it is {now}. "
                f"Give another folder with --out, or remove that cell."
            )


def compute(cells: list[Cell], folder: Path, changes: dict[str, Any], jobs: int, tell: Tell) -> None:
    """Compute and save cells; `tell` hears of each when it is saved. Ctrl-C loses only those under way."""
    results = _in_turn(cells, folder, changes) if jobs == 1 else _in_parallel(cells, folder, changes, jobs)
    for cell, record in results:
        tell(cell, record)


def _in_turn(cells: list[Cell], folder: Path, changes: dict[str, Any]) -> Iterator[tuple[Cell, dict[str, Any]]]:
    for cell in cells:
        yield _compute_one((cell, folder, changes))


def _in_parallel(
    cells: list[Cell], folder: Path, changes: dict[str, Any], jobs: int
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Processes that share nothing: networks this small keep a core of their own busier than a share of several."""
    context = get_context("spawn")
    cores = context.Queue()
    for share in shares_of_cores(jobs):
        cores.put(share)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("newfound: ended"))  # so that the processes end with this one
    with context.Pool(jobs, initializer=_take_cores, initargs=(cores,)) as pool:
        yield from pool.imap_unordered(_compute_one, [(cell, folder, changes) for cell in cells])


def shares_of_cores(jobs: int) -> list[list[int]]:
    """The cores of this machine dealt out to the jobs, every core to one of them; none where that cannot be set."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(jobs)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[job % len(cores) :: jobs] for job in range(jobs)]


def _take_cores(cores: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and ends this process,
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # by this
    share = cores.get()
    if share:
        os.sched_setaffinity(0, share)


def _compute_one(order: tuple[Cell, Path, dict[str, Any]]) -> tuple[Cell, dict[str, Any]]:
    cell, folder, changes = order
    record, arrays = run_cell(cell, changes)
    save_cell(folder, cell, record, arrays)
    return cell, record
