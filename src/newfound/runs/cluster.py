"""Prediction of a file or a folder of tables on a running Dask cluster: `newfound predict --dask ADDRESS`.

A worker reads a part of the source (it must see the files under the same path) and sends back the user's columns with
the answer. This process writes the parts in their order. The model is a task like any other: if a worker dies, other
workers repeat its tasks, and every row is written once.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from newfound import __version__
from newfound._internal.files import atomic_file, make_folders, sweep
from newfound._internal.words import DataError, quoted_list, reason_of
from newfound.classes import DEFAULT_DECISION, Decision
from newfound.predictor import Predictor
from newfound.runs.leftovers import check_file_out
from newfound.runs.manifest import MANIFEST
from newfound.runs.predict import ALL, FORMATS_OUT, OutputOptions, answered_tables, write_tables
from newfound.runs.run import Run
from newfound.tables.dataset import Schema
from newfound.tables.own_columns import open_own
from newfound.tables.sources import TableFile, table_files

PATIENCE = 10.0  # seconds to wait for a scheduler, and for its workers
AHEAD = 2  # parts in progress for each thread of the workers


class Part(NamedTuple):
    """A file, or one row group of a Parquet file."""

    path: str
    row_group: int | None = None


class Order(NamedTuple):
    """How to answer every part."""

    schema: Schema
    decision: Decision
    options: OutputOptions


def predict_on_cluster(
    run: Run,
    source: str,
    out: Path,
    address: str,
    *,
    timeout: float = PATIENCE,
    progress: Callable[[int], None] = lambda n_rows: None,
    decision: Decision = DEFAULT_DECISION,
    options: OutputOptions = ALL,
    replace: bool = False,
) -> int:
    """Do the same as `predict_file` with the workers of the cluster at `address`; return the number of rows."""
    if out.suffix.lower() not in FORMATS_OUT:
        raise DataError(f"--out must end in {' or '.join(FORMATS_OUT)}; got {out.name!r}. Name another file.")
    decision.check(run.class_map)
    check_file_out(out, [source], replace=replace)
    parts = parts_of(source)
    order = Order(run.schema, decision, options)
    with connected(address, timeout) as client:
        check_workers(client, address, timeout)
        make_folders(out.absolute().parent)
        if not (out.absolute().parent / MANIFEST).is_file():
            sweep(out.absolute().parent)
        with atomic_file(out) as file:
            tables = answers_in_order(client, run.predictor._for_workers(), order, parts)
            n_rows = write_tables(file, out.suffix.lower(), tables, progress)
            if not n_rows and not options.only_new:
                raise DataError(f"{source!r} holds no rows, so there is nothing to predict. Give a file with rows.")
    return n_rows or 0


def parts_of(source: str) -> list[Part]:
    """Return the parts, one for each task: a row group of Parquet, else a file."""
    opened = open_own(source)
    if opened is None:
        raise DataError(f"{source!r} is no table file and no folder of them, which --dask needs. Leave --dask out.")
    files = table_files(Path(source)) if opened.is_in_parts else [Path(source)]
    return [part for path in files for part in _parts_of_file(path.absolute())]


def _parts_of_file(path: Path) -> list[Part]:
    if path.suffix.lower() not in (".parquet", ".pq"):
        return [Part(str(path))]
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return [Part(str(path), i) for i in range(file.metadata.num_row_groups)]


@contextmanager
def connected(address: str, timeout: float) -> Iterator[Any]:
    """Yield a client of a running scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise DataError("--dask needs Dask: pip install 'newfound[distributed]'.") from None
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise DataError(
            f"No Dask scheduler answers at {address!r} within {timeout:g} s ({reason_of(error)}). Start one with `dask "
            f"scheduler`, check host and port, or wait longer with --dask-timeout."
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=timeout)


def check_workers(client: Any, address: str, timeout: float) -> None:
    """Refuse a cluster without workers, or with workers that lack this version of newfound."""
    from distributed import TimeoutError as NobodyCame

    try:
        client.wait_for_workers(1, timeout=timeout)
    except (NobodyCame, TimeoutError):
        raise DataError(
            f"The Dask scheduler at {address!r} has no workers, and none came within {timeout:g} s. Start some with "
            f"`dask worker {address}`, or wait longer with --dask-timeout."
        ) from None
    other = {where: found for where, found in client.run(_version_here()).items() if found != __version__}
    if other:
        where, found = next(iter(other.items()))
        has = f"newfound {found}" if found else "no newfound"
        raise DataError(
            f"The Dask worker {where} has {has}, but this is newfound {__version__} (workers that differ: "
            f"{quoted_list(other)}). Install the same version on all of them."
        )


def _version_here() -> Callable[[], str]:
    """Return a function that is sent as code: on a worker without newfound, its name would not be found."""

    def version() -> str:
        try:
            from newfound import __version__ as found
        except ImportError:
            return ""
        return found

    return version


def answers_in_order(client: Any, predictor: Predictor, order: Order, parts: list[Part]) -> Iterator[Any]:
    """Yield Arrow tables of the parts, in order; AHEAD × threads parts are in progress at a time."""
    model = client.submit(_sent, predictor, pure=False)
    n_threads = sum(client.nthreads().values())
    waiting: deque[Any] = deque()
    left = iter(parts)
    while True:
        while len(waiting) < AHEAD * max(1, n_threads) and (part := next(left, None)) is not None:
            waiting.append(client.submit(answer_part, part, model, order, pure=False))
        if not waiting:
            return
        yield from waiting.popleft().result()


def _sent(predictor: Predictor) -> Predictor:
    return predictor


def answer_part(part: Part, predictor: Predictor, order: Order) -> list[Any]:
    """On a worker, return the rows of a part with their answers, in blocks of a few thousand."""
    path = Path(part.path)
    if not path.is_file():
        raise DataError(f"The worker on {_host()} sees no file {part.path!r}. Put it where all workers see it.")
    return list(answered_tables(TableFile(path, part.row_group), predictor, *order))


def _host() -> str:
    import socket

    return socket.gethostname()
