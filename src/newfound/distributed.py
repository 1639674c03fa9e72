"""Rows that are Dask's: sampled and summed over where they lie, and answered there, partition by partition.

Training is on the client. The model is sent to the workers once, as plain arrays (`predictor`), and nobody imports JAX
there. `pip install newfound[distributed]`.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from newfound.data.sampling import Drawing, Sample, joined, usual_size
from newfound.errors import DataError
from newfound.labels import UNLABELLED, Labels
from newfound.preprocessing import Moments
from newfound.row_sources import RowSource, SampledRows, number_columns, row_source

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
