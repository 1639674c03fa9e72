"""The labels of a file: an Arrow column becomes a Labels. The rule is that of newfound.labels.

A file of text has no types, so class names are text (3 is "3"), 2.0 is read as 2, and a column of fractions is refused:
it is a measurement, not a label.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from newfound.data.cells import NUMBER, cell_type, trimmed
from newfound.errors import DataError
from newfound.labels import MISSING, Labels


def labels_of_column(cells: Any, name: str, declared: Sequence[str] = ()) -> Labels:
    """Labels of an Arrow column; declared classes keep their place, others follow them."""
    encoded = _encoded(cells, name)
    values = trimmed(encoded.dictionary).to_pylist()  # a million rows have few distinct values
    _check_no_fractions([value for value in values if value is not None and value not in MISSING], name)
    return Labels.of_distinct(values, encoded.indices.to_numpy(), declared)


def labels_of_array(y: Any, n_rows: int, name: str = "y", declared: Sequence[str] = ()) -> Labels:
    """Labels of a list or array of integers or strings; −1, None, NaN and "" mean unlabelled."""
    import pyarrow as pa

    if y is None:
        return Labels.none(n_rows, declared)
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    check_one_for_each_row(values, n_rows, name)
    try:
        cells = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(f"The labels {name!r} must all be integers or all strings ({error}).") from None
    except UnicodeDecodeError:
        raise DataError(f"The labels {name!r} hold something that is no text. Save them again as UTF-8.") from None
    return labels_of_column(pa.chunked_array([cells]), name, declared)


def check_one_for_each_row(values: np.ndarray, n_rows: int, name: str) -> None:
    if values.ndim != 1 or len(values) != n_rows:
        raise DataError(
            f"The labels {name!r} must be one for each of the {n_rows:,} rows, got an array of shape {values.shape}. "
            f"Give a label for every row, and -1 or '' where there is none."
        )


def _encoded(cells: Any, name: str) -> Any:
    """One dictionary of all values, nulls included; a categorical column may come with one for each chunk."""
    import pyarrow as pa

    plain = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
    if cell_type(plain.type) not in ("number", "boolean", "text", "null", "time"):
        raise DataError(
            f"The labels in {name!r} are values of type {cells.type}; expected integers or text. Name another column."
        )
    return plain.dictionary_encode("encode").combine_chunks()


def _check_no_fractions(names: Sequence[str], name: str) -> None:
    if not all(re.match(NUMBER, value) for value in names):
        return
    fraction = next((value for value in names if not float(value).is_integer()), None)
    if fraction is not None:
        raise DataError(
            f"The labels in {name!r} are numbers with fractions, such as {fraction}, but labels are names of classes. "
            f"Name another column, or cut these numbers into ranges first."
        )
