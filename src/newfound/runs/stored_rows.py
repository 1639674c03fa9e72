"""The rows of a run as they were fitted on, so that whatever a person decides later, the source is not needed again."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from newfound.data import Dataset, own_table
from newfound.labels import Labels
from newfound.runs.columnar import Columns, parquet_bytes, parquet_columns, parquet_table, table_bytes

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = "rows.parquet"
OWN = "own.parquet"


class StoredRows(NamedTuple):
    """What a fit saw of each row, and what its network says of it; no act changes this."""

    row_ids: np.ndarray
    observed: np.ndarray  # the label by its name in the source, "" where there is none
    X: np.ndarray
    q: np.ndarray  # (rows, components): q(y | x)^(1/T) in single precision, not normed
    truth: np.ndarray | None = None  # the label in the source, where some were hidden on purpose
    groups: np.ndarray | None = None  # the person, site or machine, where that was told
    own: "pa.Table | None" = None  # the user's own columns, unchanged; None where there are none


def rows_of_fit(model: Any, dataset: Dataset, observed: Labels | None) -> StoredRows:
    """For `observed` see `write_run`."""
    fitted = model.fitted_
    return StoredRows(
        row_ids=dataset.row_ids.astype(str),
        observed=(dataset.labels if observed is None else observed).names,
        X=dataset.X,
        q=fitted.inference.component_probabilities(dataset.X, fitted.temperature),
        truth=None if observed is None else dataset.labels.names,
        groups=None if dataset.groups is None else dataset.groups.astype(str),
        own=None if dataset.source is None else own_table(dataset.source, len(dataset)),
    )


def row_files(rows: StoredRows) -> dict[str, bytes]:
    columns: Columns = {n: array for n, array in rows._asdict().items() if array is not None and n != "own"}
    files = {ROWS: parquet_bytes(columns, compression="zstd")}
    return files if rows.own is None else files | {OWN: table_bytes(rows.own, compression="zstd")}


def rows_from(rows: bytes, own: bytes | None) -> StoredRows:
    """From what `row_files` made."""
    return StoredRows(**parquet_columns(rows), own=None if own is None else parquet_table(own))
