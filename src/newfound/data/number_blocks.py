"""Blocks of numbers, such as embeddings: a column of lists, or columns e0, e1, … that belong together.

A block has one name in reports and one scale in the model, so that distances within it stay what they are.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from newfound.data.cells import finite, is_list, numbers
from newfound.data.schema import Column, Dropped
from newfound.errors import DataError

MIN_COLUMNS = 32  # of a block: fewer numbered columns may be different things
MAX_SPREAD = 10.0  # between the standard deviations of its columns: beyond, they are hardly in one unit
NUMBERED = re.compile(r"(.*?)(\d+)")


def infer_list(name: str, cells: Any) -> Column | Dropped | None:
    """A block where all lists hold as many numbers; None where every cell is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    item = cells.type.value_type
    if not (pa.types.is_integer(item) or pa.types.is_floating(item)):
        return Dropped(name, "lists of other things")
    lengths = pc.unique(pc.list_value_length(cells)).drop_null().to_pylist()
    if len(lengths) > 1:
        return Dropped(name, "lists of different lengths")
    if not lengths or lengths[0] == 0:
        return None
    column = Column(name, "block", width=lengths[0])
    return replace(column, fill_value=_medians(list_values(cells, column)))


def list_values(cells: Any, column: Column, first_row: int = 0) -> np.ndarray:
    """(n, width), NaN where a list is missing; one of another length raises an error that names its row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_list(cells.type):
        raise DataError(
            f"Column {column.name!r} holds values of type {cells.type}; the model was fitted on lists of "
            f"{column.width} numbers. Give lists of as many numbers."
        )
    lengths = np.asarray(pc.list_value_length(cells).cast(pa.float64()).to_numpy(), float)
    wrong = np.flatnonzero(np.isfinite(lengths) & (lengths != column.width))
    if len(wrong):
        raise DataError(
            f"Column {column.name!r} holds lists of {column.width} numbers, but row {first_row + wrong[0] + 1:,} of "
            f"the data has {lengths[wrong[0]]:.0f}. Give lists of as many numbers, or empty that cell."
        )
    values = np.full((len(cells), column.width), np.nan, np.float32)
    present = pc.list_flatten(cells.drop_null()).cast(pa.float32(), safe=False)
    values[np.isfinite(lengths)] = np.asarray(present.to_numpy()).reshape(-1, column.width)
    return finite(values)


def join_numbered(columns: Sequence[Column], table: Any) -> list[Column]:
    """The same columns, with each run of numbered ones that may be an embedding as one block."""
    joined: list[Column] = []
    for prefix, members in groupby(columns, key=_prefix):
        run = list(members)
        is_block = prefix is not None and len(run) >= MIN_COLUMNS and _is_consecutive(run) and _is_one_unit(run, table)
        joined += [_block(run)] if is_block else run
    return joined


def _prefix(column: Column) -> str | None:
    found = NUMBERED.fullmatch(column.name)
    is_plain = column.feature_type == "numeric" and not column.number_format and not column.allows_text
    return found[1] if found and is_plain else None


def _is_consecutive(run: Sequence[Column]) -> bool:
    numbers_in_names = [int(NUMBERED.fullmatch(column.name)[2]) for column in run]  # type: ignore[index]
    return numbers_in_names == list(range(numbers_in_names[0], numbers_in_names[0] + len(run)))


def _is_one_unit(run: Sequence[Column], table: Any) -> bool:
    """Fractions, and spreads of about one size."""
    spreads = []
    for column in run:
        values = finite(numbers(table.column(column.name), column.name))
        present = values[np.isfinite(values)]
        if bool((present == np.rint(present)).all()):
            return False
        spreads.append(present.std())
    return max(spreads) <= MAX_SPREAD * min(spreads)


def _block(run: Sequence[Column]) -> Column:
    names = tuple(column.name for column in run)
    fill = tuple(float(column.fill_value) for column in run)  # type: ignore[arg-type]
    return Column(f"{names[0]} … {names[-1]}", "block", sources=names, fill_value=fill)


def _medians(values: np.ndarray) -> tuple[float, ...]:
    """Of each column; 0 of one without a number."""
    has_numbers = np.isfinite(values).any(axis=0)
    medians = np.zeros(values.shape[1])
    if has_numbers.any():
        medians[has_numbers] = np.nanmedian(values[:, has_numbers], axis=0)
    return tuple(medians.tolist())
