"""Rows that are not in memory: table files, PyArrow datasets, mapped arrays, Dask collections."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import attrgetter
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np

from newfound._internal.frames import is_frame, select_columns, values_of
from newfound._internal.threads import ahead
from newfound._internal.words import DataError, quoted_list
from newfound.config import Number
from newfound.labels import UNLABELLED, Labels
from newfound.preprocessing.checks import as_rows, check_finite, check_numeric
from newfound.preprocessing.columns import Moments, SumOverRows
from newfound.tables.cells import cell_type
from newfound.tables.formats import ColumnSelection, with_types
from newfound.tables.limits import CELL_BYTES, LARGE, rows_at_a_time
from newfound.tables.read import is_arrow_dataset, open_source
from newfound.tables.sampling import Drawing, Sample, chosen_rows, draw, joined, usual_size
from newfound.tables.sources import OpenedTable, check_column

# ---- Table files, PyArrow datasets, arrays that are mapped from disk ----
# Fitting needs few rows, predicting needs all: a sample is drawn in one pass, sums over all rows are computed in a
# second pass, and predictions are made a block at a time.

MIN_GIVEN_ROWS = 100


class SampledRows(NamedTuple):
    """The rows that an estimator is fitted on."""

    X: Any  # an array or a frame
    y: Any
    numbers: np.ndarray  # of the rows, in the source
    n_rows: int  # of the source


class RowSource(Protocol):
    """Rows that can be read repeatedly, a block at a time."""

    def sample(self, size: int | None, seed: int) -> SampledRows:
        """Rows at random, and all labelled rows, up to a tenth of the size."""

    def sum_over(self, of_block: Callable[[Any], Moments]) -> Moments:
        """The sum over all rows of the moments of blocks, which are frames or arrays as in the sample."""


class ArrayRows:
    """An array, mapped from disk or in memory, and its labels in memory."""

    def __init__(self, X: np.ndarray, y: Any):
        self.X, self.labels = X, Labels.read(y, len(X))

    def sample(self, size: int | None, seed: int) -> SampledRows:
        size = size or usual_size(self.X.nbytes, len(self.X))
        rows = chosen_rows(self.labels, size, seed)
        return SampledRows(np.asarray(self.X[rows]), self.labels.take(rows), rows, len(self.X))

    def sum_over(self, of_block: Callable[[Any], Moments]) -> Moments:
        return reduce(Moments.__add__, map(of_block, ahead(array_blocks(self.X))))


class TableRows:
    """A table file, a folder of them, or a PyArrow dataset, and the name of its label column."""

    def __init__(self, source: Any, label: str | None):
        self.table = open_source(source)
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


def source_of(X: Any, y: Any, sample_rows: int | None) -> RowSource | None:
    """The rows given to `fit` if they are not to be held; None for an ordinary array or frame in memory."""
    if is_dask(X):
        return DaskRows(X, y)
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


def draw_sample(
    source: RowSource, groups: Any, sample_rows: int | None, random_state: Any
) -> tuple[SampledRows, SumOverRows | None]:
    """The rows that a fit uses and, if there are others, the sum over all rows."""
    from sklearn.utils import check_random_state

    if groups is not None:
        raise ValueError("groups are for rows in memory. Leave them out, or give X as an array or a frame.")
    if sample_rows is not None and not Number(MIN_GIVEN_ROWS, whole=True).accepts(sample_rows):
        raise ValueError(
            f"sample_rows must be a whole number of at least {MIN_GIVEN_ROWS}, or None; got {sample_rows!r}. A smaller "
            f"sample shows no classes."
        )
    sample = source.sample(sample_rows, int(check_random_state(random_state).randint(2**31 - 1)))
    names = list(sample.X.column_names) if hasattr(sample.X, "column_names") else None
    if len(sample.numbers) == sample.n_rows:
        return sample, None
    return sample, lambda of_block: source.sum_over(partial(_of_matrix, of_block=of_block, names=names))


def is_streamed(X: Any) -> bool:
    """Whether X is read a block at a time: a path, a PyArrow dataset, an array that is mapped from disk."""
    return isinstance(X, str | PathLike | np.memmap) or is_arrow_dataset(X)


def blocks_of(X: Any, names: Sequence[str] | None) -> Iterator[Any]:
    """Blocks of rows to predict; those of tables have the columns of the fit."""
    if isinstance(X, np.ndarray):
        return array_blocks(X)
    table = open_source(X)
    for name in names or ():
        check_column(name, table)
    return table_blocks(table, table.names if names is None else names)


def array_blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    step = rows_at_a_time(X.shape[1])
    return (np.asarray(X[i : i + step]) for i in range(0, len(X), step))


def table_blocks(table: OpenedTable, names: Sequence[str]) -> Iterator[Any]:
    return table.blocks(ColumnSelection(list(names), numbers=set(names)), rows_at_a_time(len(names)))


def number_columns(table: Any, label: str | None) -> list[str]:
    """The columns of numbers, without the label; a warning names the others."""
    kinds = {field.name: cell_type(field.type) for field in table.schema if field.name != label}
    numeric = [name for name, kind in kinds.items() if kind in ("number", "boolean")]
    others = [name for name in kinds if name not in numeric]
    if others:
        warnings.warn(
            f"Not used, because they do not hold numbers: {quoted_list(others)}. Encode them as numbers, or use "
            f"`newfound fit`, which does.",
            stacklevel=5,
        )
    if not numeric:
        raise ValueError(
            f"X has no column of numbers beside the label; it has {quoted_list(kinds, 10)}. Give at least one."
        )
    return numeric


def _of_matrix(block: Any, of_block: Callable[[np.ndarray], Moments], names: Sequence[str] | None) -> Moments:
    """The moments of a block, after the checks of an estimator's input."""
    if is_frame(block):
        block = block if names is None else select_columns(block, names)
        check_numeric(block)
        block = values_of(block)
    rows = as_rows(np.asarray(block))
    check_finite(rows, None if names is None else np.array(names))
    return of_block(rows)


# ---- Dask collections: sampled, summed over and predicted on the workers, partition by partition ----
# Training is on the client. The model is sent to the workers once, as plain arrays (`predictor`); they do not import
# JAX. `pip install newfound[distributed]`.

JOINED_AT_ONCE = 8  # partial results in one task
PARTITION_ROWS = 2**40  # more than the rows of any partition


def is_dask(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "dask"


class DaskRows:
    """A `dask.dataframe` with the name of its label column, or labels that are partitioned alike; or a `dask.array`."""

    def __init__(self, X: Any, y: Any):
        self.has_names = hasattr(X, "columns")
        self.label = y if isinstance(y, str) else None
        if isinstance(y, str) and (not self.has_names or y not in X.columns):
            raise ValueError(f"There is no label column {y!r} in X. Name one of its columns, or give labels.")
        self.n_columns = len(X.columns) if self.has_names else X.shape[1]
        self.parts = list(np.ravel((X if self.has_names else X.rechunk({1: -1})).to_delayed()))
        self.labels = self._label_parts(X, None if isinstance(y, str) else y)
        given = X[y] if isinstance(y, str) else y
        self.label_kind = None if given is None else str(getattr(given.dtype, "kind", "O"))

    def _label_parts(self, X: Any, y: Any) -> list[Any]:
        if y is None:
            return [None] * len(self.parts)
        if not is_dask(y):
            raise ValueError(
                f"y must be a Dask collection partitioned like X, or the name of a column; got {type(y).__name__}. "
                f"Put the labels into a column, or use dask.array.from_array(y, chunks=X.chunks[0])."
            )
        if not self.has_names and hasattr(y, "rechunk"):
            y = y.rechunk((X.chunks[0],))
        parts = list(np.ravel(y.to_delayed()))
        if len(parts) != len(self.parts):
            raise ValueError(
                f"X has {len(self.parts)} partitions and y has {len(parts)}: they must be partitioned alike. Put the "
                f"labels into a column of X, and give its name as y."
            )
        return parts

    def sample(self, size: int | None, seed: int) -> SampledRows:
        """Drawn on the workers; only the sample is sent to the client."""
        import dask

        size = size or usual_size(CELL_BYTES * self.n_columns, 1)
        draw_one = dask.delayed(partial(sample_of_partition, label=self.label, size=size, seed=seed))
        drawn = [draw_one(part, y, i) for i, (part, y) in enumerate(zip(self.parts, self.labels, strict=True))]
        n_rows = dask.delayed(attrgetter("n_rows"))
        sample, lengths = dask.compute(_joined_in_turn(drawn, joined), [n_rows(one) for one in drawn])
        if sample.n_rows == 0:
            raise DataError("No partition of X has a row. Give at least one row of data.")
        if (self.label is not None or self.labels[0] is not None) and not sample.label_counts:
            raise DataError("No partition has a row with a label. Name the column that holds them, or leave y out.")
        sample = sample.in_order()
        before = np.concatenate([[0], np.cumsum(lengths)])
        numbers = before[sample.numbers // PARTITION_ROWS] + sample.numbers % PARTITION_ROWS
        y: list[Any] | None = list(sample.labels)  # text again becomes what it was
        if self.label_kind is None:
            y = None
        elif self.label_kind in "iuf":
            y = [int(name) if name else UNLABELLED for name in sample.labels]
        elif self.label_kind == "b":
            y = [{"True": True, "False": False}.get(name) for name in sample.labels]
        if not self.has_names:
            return SampledRows(sample.rows, y, numbers, sample.n_rows)
        self.names = number_columns(sample.rows, self.label)
        return SampledRows(sample.rows.select(self.names), y, numbers, sample.n_rows)

    def sum_over(self, of_block: Callable[[Any], Moments]) -> Moments:
        import dask

        names = self.names if self.has_names else None
        of_part = dask.delayed(partial(_of_partition, of_block=of_block, names=names))
        return dask.compute(_joined_in_turn([of_part(part) for part in self.parts], _added))[0]


def sample_of_partition(part: Any, y: Any, i: int, label: str | None, size: int, seed: int) -> Sample:
    """The rows of partition i that may be in the sample of all rows."""
    values = part[label] if label is not None else y
    labels = Labels.read(None if values is None else np.asarray(values), len(part))
    rows = part
    if not isinstance(part, np.ndarray):
        import pyarrow as pa

        rows = pa.Table.from_pandas(part, preserve_index=False)
    drawing = Drawing(size, (seed, i))
    drawing.add(rows, labels)
    sample = joined(drawing.kept)
    return sample._replace(numbers=sample.numbers + i * PARTITION_ROWS)


def _of_partition(part: Any, of_block: Callable[[Any], Moments], names: Sequence[str] | None) -> Moments | None:
    """None for a partition without rows."""
    if len(part) == 0:
        return None
    return of_block(part if names is None else part[list(names)])


def _added(moments: Sequence[Moments | None]) -> Moments | None:
    present = [one for one in moments if one is not None]
    return reduce(Moments.__add__, present) if present else None


def _joined_in_turn(parts: list[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    """A tree of tasks, so that no worker and not the client ever holds the results of all partitions."""
    import dask

    join_some = dask.delayed(join)
    while len(parts) > 1:
        parts = [join_some(parts[i : i + JOINED_AT_ONCE]) for i in range(0, len(parts), JOINED_AT_ONCE)]
    return parts[0]


def predicted_lazily(predictor: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    """The result of a method of a predictor for the rows of a Dask collection, as another such collection.

    The predictor is one task of the graph, so that every worker fetches it once, and it is not lost with one of them.
    """
    import dask

    sent = dask.delayed(predictor, pure=True)
    answer = partial(answer_of_partition, method=method, options=options)
    if hasattr(X, "columns"):
        return X.map_partitions(answer, sent, meta=answer(X._meta, predictor))
    example = answer(np.zeros((1, X.shape[1]), X.dtype), predictor)
    rows = X.rechunk({1: -1})
    if example.ndim == 1:
        return rows.map_blocks(answer, sent, drop_axis=1, meta=example[:0])
    return rows.map_blocks(answer, sent, chunks=(rows.chunks[0], (example.shape[1],)), meta=example[:0, :0])


SERIES_NAMES = {
    "predict": "newfound_class",
    "predict_new_proba": "newfound_p_new",
    "predict_component": "newfound_component",
}


def answer_of_partition(part: Any, predictor: Any, method: str, options: dict[str, Any]) -> Any:
    """An array for an array; for a frame a series or a frame with the same index."""
    if isinstance(part, np.ndarray):
        return getattr(predictor, method)(part, **options)
    import pandas as pd

    # For a partition without rows, a row of zeros shows the types of the answer
    rows = part if len(part) else pd.DataFrame({name: np.zeros(1) for name in part.columns})
    answer = getattr(predictor, method)(rows, **options)
    if method == "predict_frame":
        own = [name for name in answer.columns if name not in part.columns]
        return answer if len(part) else part.join(answer[own].iloc[:0])
    answer = answer[: len(part)]
    if answer.ndim == 1:
        return pd.Series(answer, index=part.index, name=SERIES_NAMES.get(method))
    if method == "predict_proba":
        columns = [str(name) for name in predictor.classes_]
    else:
        columns = [f"{'z' if method == 'transform' else 'component '}{i}" for i in range(answer.shape[1])]
    return pd.DataFrame(answer, index=part.index, columns=columns)
