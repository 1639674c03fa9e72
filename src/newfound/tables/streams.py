"""Rows that an estimator need not hold: table files, PyArrow datasets, mapped arrays, Dask's collections."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
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
from newfound.tables.folders import OpenedTable, open_source
from newfound.tables.formats import ColumnSelection, with_types
from newfound.tables.read import draw
from newfound.tables.sampling import LARGE, Drawing, Sample, chosen_rows, joined, rows_at_a_time, usual_size
from newfound.tables.sources import check_column

# ---- Rows that an estimator takes without holding them ----
# Table files, PyArrow datasets, arrays that are mapped from disk. Fitting needs few rows, predicting needs all of
# them: a sample is drawn in one pass, sums over all rows are taken in a second one, and predictions are made a block
# at a time. `distributed` does the same where the rows are Dask's.

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
        self.table: OpenedTable = open_source(source)
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


def table_blocks(table: OpenedTable, names: Sequence[str]) -> Iterator[Any]:
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
            stacklevel=5,
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


# ---- Rows that are Dask's: sampled and summed over where they lie, and answered there, partition by partition ----
# Training is on the client. The model is sent to the workers once, as plain arrays (`predictor`), and nobody imports
# JAX there. `pip install newfound[distributed]`.

AT_ONCE = 8  # partial results that are joined in one task
PARTITION = 2**40  # beyond any number of rows in one
CELL = 8  # bytes


def source_of(X: Any, y: Any, sample_rows: int | None) -> RowSource | None:
    """As `row_source`, of Dask's collections, too."""
    return DaskRows(X, y) if is_dask(X) else row_source(X, y, sample_rows)


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
                f"y must be Dask's, partitioned like X, or the name of a column of X; got {type(y).__name__}. Put the "
                f"labels into a column, or use dask.array.from_array(y, chunks=X.chunks[0])."
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
        """Drawn on the cluster; what comes here is the sample."""
        import dask

        size = size or usual_size(CELL * self.n_columns, 1)
        draw_one = dask.delayed(partial(sample_of_partition, label=self.label, size=size, seed=seed))
        drawn = [draw_one(part, y, i) for i, (part, y) in enumerate(zip(self.parts, self.labels, strict=True))]
        sample, lengths = dask.compute(_joined_in_turn(drawn, joined), [dask.delayed(_length)(one) for one in drawn])
        if sample.n_rows == 0:
            raise DataError("No partition of X has a row. Give at least one row of data.")
        if (self.label is not None or self.labels[0] is not None) and not sample.label_counts:
            raise DataError("No partition has a row with a label. Name the column that holds them, or leave y out.")
        sample = sample.in_order()
        before = np.concatenate([[0], np.cumsum(lengths)])
        numbers = before[sample.numbers // PARTITION] + sample.numbers % PARTITION
        y = None if self.label_kind is None else _as_given(sample.labels, self.label_kind)
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
    """The rows of partition i that may be in the sample of all."""
    values = part[label] if label is not None else y
    labels = Labels.read(None if values is None else np.asarray(values), len(part))
    drawing = Drawing(size, (seed, i))
    drawing.add(_as_rows(part), labels)
    sample = joined(drawing.kept)
    return sample._replace(numbers=sample.numbers + i * PARTITION)


def _as_given(names: np.ndarray, kind: str) -> list[Any]:
    """Labels as they were before they were text: numbers and booleans stay what they are."""
    if kind in "iuf":
        return [int(name) if name else UNLABELLED for name in names]
    return [{"True": True, "False": False}.get(name) for name in names] if kind == "b" else list(names)


def _as_rows(part: Any) -> Any:
    """As a sample holds them: an array, or an Arrow table."""
    if isinstance(part, np.ndarray):
        return part
    import pyarrow as pa

    return pa.Table.from_pandas(part, preserve_index=False)


def _length(sample: Sample) -> int:
    return sample.n_rows


def _of_partition(part: Any, of_block: Callable[[Any], Moments], names: Sequence[str] | None) -> Moments | None:
    """None of a partition without rows."""
    if len(part) == 0:
        return None
    return of_block(part if names is None else part[list(names)])


def _added(moments: Sequence[Moments | None]) -> Moments | None:
    there = [one for one in moments if one is not None]
    return reduce(Moments.__add__, there) if there else None


def _joined_in_turn(parts: list[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    """A tree of tasks: no worker, and not the client, ever holds what all partitions said."""
    import dask

    join_some = dask.delayed(join)
    while len(parts) > 1:
        parts = [join_some(parts[i : i + AT_ONCE]) for i in range(0, len(parts), AT_ONCE)]
    return parts[0]


# ---- answers ---------------------------------------------------------------------------------------------------------


def predicted_lazily(predictor: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    """What a method of a predictor says of the rows of a Dask collection, as another one that is like it.

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


def answer_of_partition(part: Any, predictor: Any, method: str, options: dict[str, Any]) -> Any:
    """Of a frame a series or a frame with the same index, of an array an array."""
    if isinstance(part, np.ndarray):
        return getattr(predictor, method)(part, **options)
    if method == "predict_frame":
        return predictor.predict_frame(part, **options) if len(part) else _without_rows(part, predictor, options)
    import pandas as pd

    rows = part if len(part) else _one_row(part)
    said = getattr(predictor, method)(rows, **options)[: len(part)]
    if said.ndim == 1:
        return pd.Series(said, index=part.index, name=NAMES.get(method))
    return pd.DataFrame(said, index=part.index, columns=_columns(predictor, method, said.shape[1]))


NAMES = {"predict": "newfound_class", "predict_new_proba": "newfound_p_new", "predict_component": "newfound_component"}


def _columns(predictor: Any, method: str, n: int) -> list[str]:
    if method == "predict_proba":
        return [str(name) for name in predictor.classes_]
    return [f"{'z' if method == 'transform' else 'component '}{i}" for i in range(n)]


def _one_row(part: Any) -> Any:
    """A row of zeros: by it the types of an answer are known where there is nothing to answer."""
    import pandas as pd

    return pd.DataFrame({name: np.zeros(1) for name in part.columns})


def _without_rows(part: Any, predictor: Any, options: dict[str, Any]) -> Any:
    said = predictor.predict_frame(_one_row(part), **options)
    mine = [name for name in said.columns if name not in part.columns]
    return part.join(said[mine].iloc[:0])
