"""Rows that an estimator takes without holding them: table files, PyArrow datasets, arrays that are mapped from disk.

Fitting needs few rows, predicting needs all of them: a sample is drawn in one pass, sums over all rows are taken in a
second one, and predictions are made a block at a time. `distributed` does the same where the rows are Dask's.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np

from newfound.data.cells import cell_type
from newfound.data.csv_format import with_types
from newfound.data.sampled_table import draw
from newfound.data.sampling import LARGE, chosen_rows, rows_at_a_time, usual_size
from newfound.data.table_folder import Opened, open_source
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import check_column
from newfound.frames import is_frame, select_columns, values_of
from newfound.labels import Labels
from newfound.parameters import Number
from newfound.preprocessing import Moments, SumOverRows, as_rows, check_finite, check_numeric
from newfound.threads import ahead
from newfound.wording import quoted_list

LEAST_SAMPLE = 100


class SampledRows(NamedTuple):
    """What an estimator is fitted on in place of all rows."""

    X: Any  # an array or a frame
    y: Any
    numbers: np.ndarray  # of the rows, in the source
    n_rows: int  # there


class RowSource(Protocol):
    """Rows that can be read more than once, a block at a time."""

    def sample(self, size: int | None, seed: int) -> SampledRows:
        """Every labelled row, up to a tenth of the size, and rows at random."""

    def sum_over(self, of_block: Callable[[Any], Moments]) -> Moments:
        """The sum of what is said of blocks of rows, frames or arrays as in the sample."""


class ArrayRows:
    """An array, mapped from disk or in memory, and its labels in memory."""

    def __init__(self, X: np.ndarray, y: Any):
        self.X, self.labels = X, Labels.read(y, len(X))

    def sample(self, size: int | None, seed: int) -> SampledRows:
        size = size or usual_size(self.X.nbytes, len(self.X))
        rows = chosen_rows(self.labels, size, seed)
        return SampledRows(np.asarray(self.X[rows]), self.labels.take(rows), rows, len(self.X))

    def blocks(self) -> Iterator[np.ndarray]:
        return array_blocks(self.X)

    def sum_over(self, of_block: Callable[[Any], Moments]) -> Moments:
        return reduce(Moments.__add__, map(of_block, ahead(self.blocks())))


class TableRows:
    """A table file, a folder of them, or a PyArrow dataset, and the name of its label column."""

    def __init__(self, source: Any, label: str | None):
        self.table: Opened = open_source(source)
        if label is not None and not isinstance(label, str):
            raise ValueError(
                f"y must be the name of the column that holds the labels, because X is {self.table.where}; got "
                f"{type(label).__name__}. Write the labels into a column."
            )
        if label is not None:
            check_column(label, self.table, "label column")
        self.label = label

    def sample(self, size: int | None, seed: int) -> SampledRows:
        drawn = draw(self.table, self.label, size, seed)
        rows = drawn.rows
        if not self.table.has_types:
            rows = with_types(rows, ColumnSelection(self.table.names, text={*filter(None, [self.label])}))
        self.names = number_columns(rows, self.label)
        y = None if self.label is None else rows.column(self.label).to_pylist()
        return SampledRows(rows.select(self.names), y, drawn.numbers, drawn.n_rows)

    def sum_over(self, of_block: Callable[[Any], Moments]) -> Moments:
        return reduce(Moments.__add__, map(of_block, ahead(table_blocks(self.table, self.names))))


def row_source(X: Any, y: Any, sample_rows: int | None) -> RowSource | None:
    """What `fit` was given, where it is not to be held; None where it is an ordinary array or frame in memory."""
    if isinstance(X, np.ndarray):
        is_large = isinstance(X, np.memmap) and X.nbytes > LARGE
        return ArrayRows(X, y) if X.ndim == 2 and (is_large or sample_rows is not None) else None
    if is_streamed(X):
        return TableRows(X, y)
    if sample_rows is not None:
        raise ValueError(
            f"sample_rows is for arrays, files, PyArrow datasets and Dask collections; X is a {type(X).__name__}, in "
            f"memory already. Leave sample_rows out, or give X.sample(n)."
        )
    return None


def check_sample_rows(sample_rows: Any) -> None:
    if sample_rows is not None and not Number(LEAST_SAMPLE, whole=True).accepts(sample_rows):
        raise ValueError(
            f"sample_rows must be a whole number of at least {LEAST_SAMPLE}, or None; got {sample_rows!r}. A sample of "
            f"fewer rows shows no classes."
        )


def draw_sample(
    source: RowSource, groups: Any, sample_rows: int | None, random_state: Any
) -> tuple[SampledRows, SumOverRows | None]:
    """What a fit sees of the rows, and how it sums over the others, where there are any."""
    from sklearn.utils import check_random_state

    if groups is not None:
        raise ValueError("groups are for rows in memory. Leave them out, or give X as an array or a frame.")
    check_sample_rows(sample_rows)
    sample = source.sample(sample_rows, int(check_random_state(random_state).randint(2**31 - 1)))
    names = list(sample.X.column_names) if hasattr(sample.X, "column_names") else None
    is_all = len(sample.numbers) == sample.n_rows
    return sample, None if is_all else sum_over_rows(source, names)


def is_streamed(X: Any) -> bool:
    """Whether X is read a block at a time: a path, a PyArrow dataset, an array that is mapped from disk."""
    is_dataset = type(X).__module__.startswith("pyarrow.") and hasattr(X, "get_fragments")
    return isinstance(X, str | PathLike | np.memmap) or is_dataset


def blocks_of(X: Any, names: Sequence[str] | None) -> Iterator[Any]:
    """Blocks of rows to predict: of tables, the columns that were fitted on."""
    if isinstance(X, np.ndarray):
        return array_blocks(X)
    table = open_source(X)
    for name in names or ():
        check_column(name, table)
    return table_blocks(table, table.names if names is None else names)


def array_blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    step = rows_at_a_time(X.shape[1])
    return (np.asarray(X[i : i + step]) for i in range(0, len(X), step))


def table_blocks(table: Opened, names: Sequence[str]) -> Iterator[Any]:
    return table.blocks(ColumnSelection(list(names), numbers=set(names)), rows_at_a_time(len(names)))


def number_columns(table: Any, label: str | None) -> list[str]:
    """The columns of numbers beside the label; a warning names the others."""
    kinds = {field.name: cell_type(field.type) for field in table.schema if field.name != label}
    numeric = [name for name, kind in kinds.items() if kind in ("number", "boolean")]
    others = [name for name in kinds if name not in numeric]
    if others:
        warnings.warn(
            f"Not used, because they do not hold numbers: {quoted_list(others)}. Encode them as numbers, or use "
            f"`newfound fit`, which does.",
            stacklevel=6,
        )
    if not numeric:
        raise ValueError(f"X has no column of numbers beside the label; it has {quoted_list(kinds, 10)}. Give some.")
    return numeric


def matrix_of(block: Any, names: Sequence[str] | None) -> np.ndarray:
    """A block as numbers, checked as an estimator checks what it is given."""
    if is_frame(block):
        block = block if names is None else select_columns(block, names)
        check_numeric(block)
        block = values_of(block)
    rows = as_rows(np.asarray(block))
    check_finite(rows, None if names is None else np.array(names))
    return rows


def sum_over_rows(source: RowSource, names: Sequence[str] | None) -> SumOverRows:
    """As `preprocessing` asks for it: of blocks as matrices."""
    return lambda of_block: source.sum_over(partial(_of_matrix, of_block=of_block, names=names))


def _of_matrix(block: Any, of_block: Callable[[np.ndarray], Moments], names: Sequence[str] | None) -> Moments:
    return of_block(matrix_of(block, names))
