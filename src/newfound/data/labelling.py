"""From a column of labels to codes: which classes there are, and which rows carry none."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from newfound.data.cells import NUMBER, text
from newfound.data.columns import sorted_names
from newfound.data.dataset import UNLABELLED
from newfound.data.problems import DataError


class Labelling(NamedTuple):
    """Each row's position among the class names, UNLABELLED where the cell is missing or −1."""

    codes: np.ndarray
    class_names: list[str]
    n_minus_one: int


def read_labels(cells: Any, name: str, known: Sequence[str] = ()) -> Labelling:
    """Codes of an Arrow column; classes already known keep their place, others follow them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = text(cells)
    is_minus_one = pc.fill_null(pc.equal(words, str(UNLABELLED)), False)
    words = pc.if_else(is_minus_one, pa.scalar(None, pa.large_string()), words)
    found = sorted_names(words.unique().drop_null().to_pylist())
    _refuse_continuous(found, name)
    names = [*known, *(word for word in found if word not in set(known))]
    codes = pc.fill_null(pc.index_in(words, value_set=pa.array(names, pa.large_string())), UNLABELLED)
    return Labelling(np.asarray(codes.to_numpy(), dtype=np.int64), names, pc.sum(is_minus_one).as_py() or 0)


def unlabelled(n_rows: int, known: Sequence[str] = ()) -> Labelling:
    return Labelling(np.full(n_rows, UNLABELLED), list(known), 0)


def labels_of_array(y: Any, n_rows: int, name: str = "y", known: Sequence[str] = ()) -> Labelling:
    """Codes of a list or array of integers or strings; −1, None, NaN and "" mean unlabelled."""
    import pyarrow as pa

    if y is None:
        return unlabelled(n_rows, known)
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    if values.ndim != 1 or len(values) != n_rows:
        raise DataError(
            f"The labels {name!r} must be one for each of the {n_rows:,} rows, got an array of shape {values.shape}. "
            f"Give a label for every row, and -1 or '' where there is none."
        )
    try:
        cells = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(f"The labels {name!r} must all be integers or all strings ({error}).") from None
    return read_labels(pa.chunked_array([cells]), name, known)


def _refuse_continuous(names: Sequence[str], name: str) -> None:
    if not all(re.match(NUMBER, word) for word in names):
        return
    broken = next((word for word in names if not float(word).is_integer()), None)
    if broken is not None:
        raise DataError(
            f"The labels in {name!r} are numbers with fractions, such as {broken}, but labels are names of classes. "
            f"Name another column, or cut these numbers into ranges first."
        )
