"""A folder of Parquet files larger than memory, with known and new classes: `python benchmarks/make_big_table.py big/`.

Rows are drawn from Gaussians in a few latent dimensions, one for each class, and seen through a fixed random network;
a category and missing cells come with them. Some classes never carry a label, the others rarely. The column `truth` is
there to score by, and no feature: give `--ignore truth`.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_CLASSES, N_KNOWN = 8, 5
N_LATENT, N_HIDDEN = 6, 32
PLACES = ("north", "south", "east", "west")


def block(rng: np.random.Generator, n: int, n_columns: int, label_share: float) -> pa.Table:
    """Rows of all classes, in random order; single precision, as sensors and embeddings are."""
    fixed = np.random.default_rng(0)  # the same classes in every block
    centres = 3.0 * fixed.standard_normal((N_CLASSES, N_LATENT))
    first = fixed.standard_normal((N_LATENT, N_HIDDEN)) / np.sqrt(N_LATENT)
    second = fixed.standard_normal((N_HIDDEN, n_columns)) / np.sqrt(N_HIDDEN)
    truth = rng.choice(N_CLASSES, n, p=_shares())
    z = (centres[truth] + rng.standard_normal((n, N_LATENT))).astype(np.float32)
    x = np.tanh(z @ first.astype(np.float32)) @ second.astype(np.float32)
    x += 0.1 * rng.standard_normal(x.shape, dtype=np.float32)
    x[rng.random(n) < 0.01, 0] = np.nan
    is_labelled = (truth < N_KNOWN) & (rng.random(n) < label_share)
    columns = {f"sensor {chr(97 + i // 26)}{chr(97 + i % 26)}": x[:, i] for i in range(n_columns)}
    names = np.array([f"kind {k}" for k in range(N_CLASSES)])
    return pa.table(
        columns
        | {
            "place": pa.array(np.array(PLACES)[rng.integers(len(PLACES), size=n)])
            .dictionary_encode()
            .cast(pa.string()),
            "kind": pa.array(np.where(is_labelled, names[truth], "")),
            "truth": pa.array(names[truth]),
        }
    )


def _shares() -> np.ndarray:
    shares = np.linspace(1.5, 0.5, N_CLASSES)
    return shares / shares.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rows-a-file", type=int, default=1_000_000)
    parser.add_argument("--rows-a-group", type=int, default=100_000)
    parser.add_argument("--labels", type=float, default=0.001, help="Share of the rows of a known class with a label.")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    written = i = n_rows = 0
    while written < options.gigabytes * 1e9:
        path = options.folder / f"part-{i:05d}.parquet"
        write_file(path, np.random.default_rng((options.seed, i)), options)
        written += path.stat().st_size
        n_rows += options.rows_a_file
        i += 1
    print(f"{i} files, {n_rows:,} rows, {written / 1e9:.2f} GB in {options.folder}")


def write_file(path: Path, rng: np.random.Generator, options: argparse.Namespace) -> None:
    writer = None
    for start in range(0, options.rows_a_file, options.rows_a_group):
        n = min(options.rows_a_group, options.rows_a_file - start)
        table = block(rng, n, options.columns, options.labels)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table)
    writer.close()


if __name__ == "__main__":
    main()
