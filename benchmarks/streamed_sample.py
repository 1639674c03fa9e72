"""Is what is discovered in a streamed sample what is discovered in memory? `python benchmarks/streamed_sample.py`.

Two million rows of `make_big_table.py` stream past, and a sample is drawn of them, with all their labels. Beside it, as
many rows that never were part of more, with as many labels: both are given to discovery. Nothing is trained.
"""

import argparse
import time

import make_big_table
import numpy as np
import pyarrow as pa

from newfound import GMDGM, Config
from newfound.discovery.discover import discover
from newfound.labels import Labels
from newfound.tables.sampling import Drawing

N_BLOCKS, BLOCK = 25, 80_000
NEW = [f"kind {k}" for k in range(make_big_table.N_KNOWN, make_big_table.N_CLASSES)]


def arrays(table: pa.Table, n_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, labels and true classes."""
    X = np.column_stack([np.nan_to_num(table.column(i).to_numpy()) for i in range(n_columns)])
    return X.astype(np.float32), np.array(table["kind"].to_pylist()), np.array(table["truth"].to_pylist())


def streamed(size: int, n_columns: int, labels: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, drawing = np.random.default_rng(5), Drawing(size, (0,))
    for _ in range(N_BLOCKS):
        X, y, truth = arrays(make_big_table.block(rng, BLOCK, n_columns, labels), n_columns)
        number = np.array([int(name[-1]) for name in truth], np.float32)
        drawing.add(np.column_stack([X, number]), Labels.read(y, len(y)))
    sample = drawing.sample()
    assert sample is not None
    truth = np.array([f"kind {int(k)}" for k in sample.rows[:, -1]])
    return np.ascontiguousarray(sample.rows[:, :-1]), sample.labels, truth


def discovered(X: np.ndarray, y: np.ndarray, truth: np.ndarray) -> str:
    begun = time.process_time()
    rows, labels = GMDGM(random_state=0).rows_and_labels(X, y)
    found = discover(rows, labels.codes, len(labels.classes), Config().initialisation, 0)
    is_open, is_new, truly = y == "", found.labels >= len(labels.classes), np.isin(truth, NEW)
    return (
        f"{len(X):,} | {labels.n_labelled:,} | {found.n_new} {found.n_new_range} | {is_new[is_open].mean():.3f} | "
        f"{truly[is_open].mean():.3f} | {is_new[is_open & truly].mean():.3f} | {is_new[is_open & ~truly].mean():.3f} | "
        f"{time.process_time() - begun:.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--labels", type=float, default=0.001)
    options = parser.parse_args()
    print("| | rows | labels | new classes | said to be new | are | found of these | of others | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    X, y, truth = streamed(options.rows, options.columns, options.labels)
    print(f"| streamed | {discovered(X, y, truth)} |", flush=True)
    share = (y != "").sum() / (~np.isin(truth, NEW)).sum()
    table = make_big_table.block(np.random.default_rng(6), len(X), options.columns, share)
    print(f"| in memory | {discovered(*arrays(table, options.columns))} |")


if __name__ == "__main__":
    main()
