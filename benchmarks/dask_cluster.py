"""A Dask cluster on this machine: `python benchmarks/dask_cluster.py` (pip install 'newfound[distributed]').

A scheduler and two workers, each a process that listens on 127.0.0.1, answer 10,000,000 rows of Parquet by
`newfound predict --dask`'s own function. In the middle one worker is killed. Then this process answers the same rows by
itself, and both answers are compared row by row. Writes benchmarks/results/dask_cluster.json and .md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import make_big_table
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from newfound.runs.cluster import predict_on_cluster
from newfound.runs.derived import Origin
from newfound.runs.new_run import fit_run
from newfound.runs.predict import predict_file
from newfound.runs.run import Run
from newfound.tables.read import read_dataset

RESULTS = Path(__file__).parent / "results"
HERE = ["--host", "127.0.0.1", "--no-dashboard"]


class Watched:
    """Processes, and the most memory that each of them ever had resident."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen] = {}
        self.peak: dict[str, int] = {}
        self.over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def start(self, name: str, *arguments: str, cwd: Path) -> None:
        command = [sys.executable, "-m", "dask", *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes[name] = subprocess.Popen(command, cwd=cwd, **quiet)

    def _watch(self) -> None:
        while not self.over.wait(0.2):
            for name, process in list(self.processes.items()):
                try:
                    status = Path(f"/proc/{process.pid}/status").read_text()
                except OSError:
                    continue
                found = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
                self.peak[name] = max(self.peak.get(name, 0), *found, 0)

    def end(self) -> None:
        self.over.set()
        for process in self.processes.values():
            process.kill()
            process.wait()


def make_rows(folder: Path, n_rows: int, n_columns: int, rows_a_file: int = 500_000) -> None:
    folder.mkdir()
    for i in range(-(-n_rows // rows_a_file)):
        n = min(rows_a_file, n_rows - i * rows_a_file)
        options = argparse.Namespace(rows_a_file=n, rows_a_group=100_000, columns=n_columns, labels=0.01)
        make_big_table.write_file(folder / f"part-{i:05d}.parquet", np.random.default_rng((1, i)), options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--sample-rows", type=int, default=20_000)
    parser.add_argument("--epochs", default=5, type=int)
    options = parser.parse_args()
    watched = Watched()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_rows(folder / "rows", options.rows, options.columns)
        some = folder / "rows" / "part-00000.parquet"  # to fit on: what is measured here are answers
        dataset = read_dataset(some, label="kind", ignore=["truth"], sample_rows=options.sample_rows)
        settings = {"random_state": 0, "max_epochs": options.epochs, "verbose": False}
        run = fit_run(dataset, folder / "run", Origin("rows"), settings=settings)
        try:
            result = on_cluster(watched, folder, run, options.rows)
        finally:
            watched.end()
        begun, cpu = time.monotonic(), time.process_time()
        predict_file(run, str(folder / "rows"), folder / "here.parquet")
        result["here"] = {"seconds": time.monotonic() - begun, "cpu_seconds": time.process_time() - cpu}
        result |= compare(folder / "there.parquet", folder / "here.parquet")
    result |= {
        "rows": options.rows,
        "columns": options.columns,
        "peak_resident_mb": {name: round(kb / 1e3) for name, kb in watched.peak.items()},
        "machine": f"{os.cpu_count()} cores, shared with other work",
        "versions": {name: version(name) for name in ("newfound", "dask", "distributed", "pyarrow", "numpy")},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "dask_cluster.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "dask_cluster.md").write_text(as_markdown(result))
    print(as_markdown(result))


def on_cluster(watched: Watched, folder: Path, run: Run, n_rows: int) -> dict:
    about = folder / "scheduler.json"
    watched.start("scheduler", "scheduler", *HERE, "--port", "0", "--scheduler-file", str(about), cwd=folder)
    join = ["worker", "--scheduler-file", str(about), *HERE, "--nthreads", "1", "--no-nanny", "--memory-limit", "1GB"]
    for name in ("worker 1", "worker 2"):
        watched.start(name, *join, cwd=folder)
    while not about.exists():
        time.sleep(0.1)
    address = json.loads(about.read_text())["address"]
    killed: list[int] = []

    def kill_in_the_middle(n_done: int) -> None:
        if not killed and n_done >= n_rows // 2:
            watched.processes["worker 1"].kill()
            killed.append(n_done)

    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    begun = time.monotonic()
    out = folder / "there.parquet"
    n = predict_on_cluster(run, str(folder / "rows"), out, address, timeout=60, progress=kill_in_the_middle)
    seconds = time.monotonic() - begun
    with Client(address, set_as_default=False) as client:
        jax = client.run(lambda: "jax" in sys.modules)
    return {
        "rows_answered": n,
        "killed_after_rows": killed[0],
        "cluster_seconds": seconds,
        "jax_on_workers": any(jax.values()),
    }


def compare(there: Path, here: Path) -> dict:
    """Row by row: the same classes, and how far probabilities are apart."""
    n = differ = 0
    apart = 0.0
    pairs = zip(*(pq.ParquetFile(path).iter_batches(batch_size=1 << 18) for path in (there, here)), strict=True)
    for a, b in pairs:
        assert a.num_rows == b.num_rows
        own = [name for name in a.schema.names if not name.startswith("newfound_")]
        assert all(_same(a[name], b[name]) for name in own), "rows are lost, doubled or in another order"
        differ += int((a["newfound_class"].to_numpy(False) != b["newfound_class"].to_numpy(False)).sum())
        apart = max(apart, float(np.abs(a["newfound_p_new"].to_numpy() - b["newfound_p_new"].to_numpy()).max()))
        n += a.num_rows
    return {"rows_compared": n, "classes_that_differ": differ, "largest_difference_of_p_new": apart}


def _same(a: pa.Array, b: pa.Array) -> bool:
    """Bit by bit where they are numbers: NaN is no number, and Arrow calls it different from itself."""
    if pa.types.is_floating(a.type):
        return a.to_numpy(False).tobytes() == b.to_numpy(False).tobytes()
    return a.equals(b)


def as_markdown(result: dict) -> str:
    peak = ", ".join(f"{name} {mb:,} MB" for name, mb in result["peak_resident_mb"].items())
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    lines = [
        "# A Dask cluster on one machine",
        "",
        f"{result['rows_answered']:,} rows of {result['columns']} numbers were answered by two workers in "
        f"{result['cluster_seconds']:,.0f} s; worker 1 was killed after {result['killed_after_rows']:,} of them. "
        f"Compared with the answers of one process ({result['here']['seconds']:,.0f} s): {result['rows_compared']:,} "
        f"rows in the same order, none lost and none twice; {result['classes_that_differ']:,} classes differ, "
        f"P(new) by {result['largest_difference_of_p_new']:.0e} at most. The most memory resident: {peak}. "
        f"JAX was imported on {'a worker' if result['jax_on_workers'] else 'no worker'}.",
        "",
        f"{result['machine']}; {versions}. Made by `benchmarks/dask_cluster.py`.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
