"""Named columns and arrays on disk: Parquet, CSV, safetensors. None of them can run code."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Columns = dict[str, np.ndarray]


def as_arrow(columns: Columns) -> "pa.Table":
    import pyarrow as pa

    return pa.table({name: pa.array(column) for name, column in columns.items()})


def write_parquet(path: Path, columns: Columns) -> None:
    import pyarrow.parquet as pq

    pq.write_table(as_arrow(columns), path)


def write_csv(path: Path, columns: Columns) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(as_arrow(columns), path)


def read_parquet(path: Path) -> Columns:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def write_tensors(path: Path, tensors: Columns) -> None:
    from safetensors.numpy import save

    # `save_file` would leave a file that nobody else may read
    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def read_tensors(path: Path) -> Columns:
    from safetensors.numpy import load_file

    return load_file(path)
