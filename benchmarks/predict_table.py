"""Rows a second and peak memory of `newfound predict` on a CSV of 1,000,000 x 50, beside pandas' own read of the file.

All of the file's own columns are carried along. Seconds of the processor tell more than those of the clock where other
work runs.

    python benchmarks/predict_table.py [--rows 1000000]

The file is made, a model is fitted to its first rows, then each way runs in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

N_COLUMNS = 50

MEASURED = """
import json, resource, sys, time
began = time.perf_counter()
{job}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20]))
"""

PREDICT = """
from pathlib import Path
from newfound.runs.predict import predict_file
from newfound.runs.run import open_run
predict_file(open_run({run!r}), {table!r}, Path({out!r}))
"""

PANDAS = """
import pandas
pandas.read_csv({table!r})
"""


def make_table(path: Path, n_rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, n_rows, 100_000):
        n = min(100_000, n_rows - start)
        kind = rng.integers(0, 5, n)
        columns = {f"x{j}": np.round(rng.standard_normal(n) + (kind == j % 5), 4) for j in range(N_COLUMNS)}
        columns["label"] = np.where((kind < 3) & (rng.random(n) < 0.2), kind.astype(str), "")
        table = pa.table(columns)
        writer = writer or pa.csv.CSVWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def measure(job: str) -> tuple[float, float, float]:
    """Seconds, seconds of the processor, gigabytes."""
    result = subprocess.run(
        [sys.executable, "-c", MEASURED.format(job=job)], capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_table(folder / "few.csv", 5000)
        make_table(folder / "many.csv", n_rows)
        fit = ["fit", folder / "few.csv", "--label", "label", "--n-new", "5", "--epochs", "5"]
        fit += ["--no-audit", "--out", folder / "run"]
        subprocess.run([sys.executable, "-m", "newfound", *map(str, fit)], check=True, capture_output=True)
        words = {"run": str(folder / "run"), "table": str(folder / "many.csv"), "out": str(folder / "out.csv")}
        for what, job in (("newfound predict", PREDICT), ("pandas.read_csv alone", PANDAS)):
            seconds, cpu_seconds, gigabytes = measure(job.format(**words))
            print(f"{what:24}{n_rows / seconds:12,.0f} rows/s {seconds:8.1f} s", end=" ")
            print(f"{cpu_seconds:8.1f} CPU s {gigabytes:8.2f} GB peak resident", flush=True)


if __name__ == "__main__":
    main()
