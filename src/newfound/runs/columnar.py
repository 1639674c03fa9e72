"""Named columns and arrays as files: Parquet, CSV, safetensors. None of them can run code."""

import io
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Columns = dict[str, np.ndarray]


def as_arrow(columns: Columns) -> "pa.Table":
    """A column for each array; of a matrix, one of lists."""
    import pyarrow as pa

    def column(array: np.ndarray) -> "pa.Array":
        if array.ndim == 1:
            return pa.array(array)
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(array).ravel()), array.shape[1])

    return pa.table({name: column(array) for name, array in columns.items()})


def parquet_bytes(columns: Columns, compression: str = "snappy") -> bytes:
    return table_bytes(as_arrow(columns), compression)


def table_bytes(table: "pa.Table", compression: str = "snappy") -> bytes:
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(table, content, compression=compression, write_page_checksum=True)
    return content.getvalue()


def parquet_writer(file: BinaryIO, schema: "pa.Schema") -> "pq.ParquetWriter":
    """Writes tables of this schema. Only text repeats itself: a dictionary of numbers takes most of the time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = [field.name for field in schema if not (pa.types.is_primitive(field.type) or pa.types.is_nested(field.type))]
    return pq.ParquetWriter(file, schema, use_dictionary=text, write_page_checksum=True)


def csv_bytes(columns: Columns) -> bytes:
    import pyarrow.csv

    content = io.BytesIO()
    pyarrow.csv.write_csv(as_arrow(columns), content)
    return content.getvalue()


def tensor_bytes(tensors: Columns) -> bytes:
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in tensors.items()})


def parquet_columns(content: bytes) -> Columns:
    """Arrays, and matrices where there are lists of one length."""
    import pyarrow as pa

    def array(column: "pa.ChunkedArray") -> np.ndarray:
        if not pa.types.is_fixed_size_list(column.type):
            return column.to_numpy()
        return column.combine_chunks().flatten().to_numpy().reshape(len(column), -1)

    table = parquet_table(content)
    return {name: array(table[name]) for name in table.column_names}


def parquet_table(content: bytes) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content), page_checksum_verification=True)
    table.validate(full=True)
    return table


def tensor_columns(content: bytes) -> Columns:
    from safetensors.numpy import load

    return load(content)
