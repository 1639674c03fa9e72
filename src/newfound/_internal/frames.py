"""Data frames of any library that Narwhals supports, such as pandas, polars and PyArrow; results are of the same."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def is_frame(X: Any) -> bool:
    """Whether X is a table in memory with named columns."""
    if isinstance(X, np.ndarray):
        return False
    from narwhals.dependencies import is_into_dataframe

    return is_into_dataframe(X)


def readable(X: Any) -> Any:
    """X in a form that every supported scikit-learn reads with its names: frames but pandas' become PyArrow tables."""
    if not is_frame(X):
        return X
    import narwhals as nw
    from narwhals.dependencies import is_pandas_dataframe

    return X if is_pandas_dataframe(X) else nw.from_native(X, eager_only=True).to_arrow()


def values_of(frame: Any) -> np.ndarray:
    """All columns as one array."""
    import narwhals as nw

    return nw.from_native(frame, eager_only=True).to_numpy()


def text_columns(frame: Any) -> list[str]:
    """Names of the columns that may hold text, by their types alone."""
    import narwhals as nw

    schema = nw.from_native(frame, eager_only=True).schema
    return [name for name, dtype in schema.items() if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object)]


def column_values(frame: Any, name: str) -> np.ndarray:
    """A column as Python objects."""
    import narwhals as nw

    return np.array(nw.from_native(frame, eager_only=True)[name].to_list(), dtype=object)


def select_columns(frame: Any, names: Sequence[str]) -> Any:
    """The columns with these names, in this order; refuse a frame that lacks one."""
    import narwhals as nw

    if not is_frame(frame):
        raise ValueError(
            f"Expected a data frame in memory (pandas, polars, PyArrow); got {type(frame).__name__}. Give one, or use "
            f"predict, which takes arrays."
        )
    table = nw.from_native(frame, eager_only=True)
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(
            f"The frame has no column {missing[0]!r}, and the model was fitted on it ({len(missing)} of {len(names)} "
            f"columns are missing). Use the column names of fit."
        )
    return table.select(list(names)).to_native()


def with_columns(frame: Any, columns: Mapping[str, np.ndarray]) -> Any:
    """The frame with these columns added; columns of the same name are replaced."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    series = [nw.new_series(name, array.tolist(), backend=table.implementation) for name, array in columns.items()]
    return table.with_columns(*series).to_native()
