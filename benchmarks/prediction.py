"""What prediction costs: arrays beside scikit-learn's MLP of the same size, Parquet beside pyarrow's own scan.

    taskset -c 0 python benchmarks/prediction.py [--rows 1000000]

CPU seconds, in turn, in one process; on one core these are the seconds that a user waits.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from measure import Run, in_turn

N_COLUMNS, N_CLASSES = 784, 45
SIZES = (1, 100, 1_000, 20_000)
PARQUET_ROWS, PARQUET_COLUMNS = 1_000_000, 50
ANSWER = ["newfound_class", "newfound_probability", "newfound_p_new", "newfound_is_new"]


def measure(rounds: int = 9, parquet_rows: int = PARQUET_ROWS) -> dict[str, Any]:
    return {"arrays": of_arrays(rounds), "parquet": of_parquet(parquet_rows, max(rounds // 3, 1))}


def of_arrays(rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds of a call, by the number of rows."""
    from sklearn.neural_network import MLPClassifier

    from newfound import GMDGM, Config

    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (max(SIZES), N_COLUMNS), dtype=np.uint8)
    y = np.arange(len(X)) % N_CLASSES
    brief = {"max_epochs": 1, "random_state": 0, "verbose": False, "config": Config().replace(pretrain_epochs=0)}
    newfound = GMDGM(0, **brief).fit(X[:1_000], y[:1_000])
    unit = (X / 255).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pass does not converge, nor need it
        perceptron = MLPClassifier((200, 200), max_iter=1, random_state=0).fit(unit[:1_000], y[:1_000])
    results = {}
    for n in SIZES:
        runs = {
            "newfound": lambda n=n: newfound.predict_proba(X[:n]),
            "MLPClassifier": lambda n=n: perceptron.predict_proba(unit[:n]),
        }
        took = in_turn(runs, rounds, clock=time.process_time)
        results[str(n)] = {name: round(1e6 * seconds, 1) for name, seconds in took.items()}
        told = ", ".join(f"{name} {1e6 * seconds:,.0f} µs" for name, seconds in took.items())
        print(f"{n:>9,} rows: {told}; ratio {took['newfound'] / took['MLPClassifier']:.2f}", flush=True)
    return results


def of_parquet(n_rows: int, rounds: int) -> dict[str, float]:
    """CPU seconds of `newfound predict`, of the least that it could take, and of what pyarrow does with the file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_table(folder / "few.parquet", 5_000)
        make_table(folder / "many.parquet", n_rows)
        fit = ["fit", folder / "few.parquet", "--label", "label", "--n-new", "5", "--epochs", "5", "--no-audit"]
        command = [sys.executable, "-m", "newfound", *map(str, fit), "--out", str(folder / "run")]
        subprocess.run(command, check=True, capture_output=True)
        took = in_turn(ways(folder), rounds, clock=time.process_time)
    for what, seconds in took.items():
        print(f"{what:<44} {seconds:6.2f} s  {seconds / took[SCAN]:5.2f} x the scan", flush=True)
    return {what: round(seconds, 3) for what, seconds in took.items()}


SCAN = "pyarrow: scan"


def ways(folder: Path) -> dict[str, Run]:
    import pyarrow.parquet as pq

    from newfound.runs.predict import OutputOptions, predict_file
    from newfound.runs.run import open_run

    run, table, out = open_run(folder / "run"), folder / "many.parquet", folder / "out.parquet"
    only_answers = OutputOptions(False, ANSWER)
    of = run.model.fitted_.inference
    rows = np.zeros((8_192, PARQUET_COLUMNS), np.float32)
    n_blocks = pq.ParquetFile(table).metadata.num_rows // len(rows)

    def copy() -> None:
        file = pq.ParquetFile(table)
        with pq.ParquetWriter(out, file.schema_arrow) as writer:
            for batch in file.iter_batches(32_768):
                writer.write_batch(batch)

    return {
        SCAN: lambda: [None for _ in pq.ParquetFile(table).iter_batches(32_768)],
        "pyarrow: read and write": copy,
        "the network alone, rows in memory": lambda: [of.component_probabilities(rows) for _ in range(n_blocks)],
        "newfound predict, the answer's columns": lambda: predict_file(
            run, str(table), out, options=only_answers, replace=True
        ),
        "newfound predict, all columns": lambda: predict_file(run, str(table), out, replace=True),
    }


def make_table(path: Path, n_rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, n_rows)
    columns = {f"x{j}": rng.standard_normal(n_rows) + 3 * (kind == j % 5) for j in range(PARQUET_COLUMNS)}
    columns["label"] = np.where((kind < 3) & (rng.random(n_rows) < 0.2), kind.astype(str), "")
    pq.write_table(pa.table(columns), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=PARQUET_ROWS, help="of the Parquet file")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    measure(arguments.rounds, arguments.rows)
