"""From figures of one row, measured here, to a plan for a thousand million rows of a thousand columns, on paper.

    python benchmarks/billion_rows.py [--rows 20000] [--columns 1000]

Scan and prediction are CPU microseconds of one core, in turn, the best of several. Cluster and price are what
docs/billion_rows.md says they are, and can be changed here: they are the only numbers that are not measured.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import Run, in_turn

ALL_ROWS = 1_000_000_000


class Cluster(NamedTuple):
    """Machines of one kind; half of a cloud's virtual cores are real ones."""

    kind: str = "c6i.8xlarge"
    machines: int = 16
    cores: int = 16  # real ones of each
    gigabits: float = 12.5  # a second, of each
    dollars: float = 1.36  # an hour, of each: look it up before you rely on it


CLUSTER = Cluster()


def measure(n_rows: int, n_columns: int) -> dict[str, float]:
    """Microseconds of a row for each way, and its bytes on disk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from newfound import GMDGM, Config, load_predictor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(n_columns)}), path, n_rows, use_dictionary=False)
        brief = {"max_epochs": 1, "random_state": 0, "verbose": False, "config": Config().replace(pretrain_epochs=0)}
        GMDGM(0, **brief).fit(X[:2_000], np.arange(2_000) % 20).save(Path(folder, "model"))
        predictor = load_predictor(Path(folder, "model"))

        def read() -> np.ndarray:
            table = pq.read_table(path, use_threads=False)
            return np.stack([column.to_numpy() for column in table.columns], axis=1)

        ways: dict[str, Run] = {
            "scan": lambda: pq.read_table(path, use_threads=False),
            "scan, as rows": read,
            "predict": lambda: predictor.predict_proba(X),
            "scan and predict": lambda: predictor.predict_proba(read()),
        }
        took = in_turn(ways, 5, 0.1, clock=time.process_time)
        figures = {name: 1e6 * seconds / n_rows for name, seconds in took.items()}
        return figures | {"bytes": path.stat().st_size / n_rows}


def plan(figures: dict[str, float], cluster: Cluster = CLUSTER) -> dict[str, str]:
    """What all rows take."""
    core_seconds = ALL_ROWS * figures["scan and predict"] / 1e6
    by_cores = core_seconds / (cluster.machines * cluster.cores)
    terabytes = ALL_ROWS * figures["bytes"] / 1e12
    by_network = 8e3 * terabytes / (cluster.machines * cluster.gigabits)
    seconds = max(by_cores, by_network)
    dollars = seconds / 3600 * cluster.machines * cluster.dollars
    return {
        "read, TB": f"{terabytes:.1f}",
        "core hours": f"{core_seconds / 3600:.0f}",
        f"s on {cluster.machines} x {cluster.kind}, by cores": f"{by_cores:.0f}",
        "s, by network": f"{by_network:.0f}",
        "dollars for the slower of both": f"{dollars:.2f}",
        "answers written, GB (class, two probabilities, a flag)": f"{ALL_ROWS * 19 / 1e9:.0f}",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=1_000)
    arguments = parser.parse_args()
    found = measure(arguments.rows, arguments.columns)
    print("of a row: " + ", ".join(f"{name} {value:,.1f}" for name, value in found.items()) + " (microseconds; bytes)")
    for what, value in plan(found).items():
        print(f"{what}: {value}")
