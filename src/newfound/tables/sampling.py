"""A sample of rows that are read once, in blocks, when their number is not known in advance.

Every row draws a random number. The rows with the smallest numbers are a uniform sample. In each class, the labelled
rows with the smallest numbers are kept in addition, so that few labels are not lost. Two samples of different rows join
into a sample of both, so blocks may be read anywhere and in any order.

Within a class, labelled and unlabelled rows remain random picks: what discovery assumes of labels (SCAR) holds in the
sample if it holds in all rows. The number of rows of a class must be counted over all rows.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import DataError
from newfound.labels import Labels
from newfound.tables.encode import labels_of
from newfound.tables.formats import ColumnSelection, with_types
from newfound.tables.limits import rows_at_a_time
from newfound.tables.sources import OpenedTable

MAX_USUAL_ROWS = 200_000  # of a sample, if the user gives no number,
MAX_USUAL_BYTES = 2**28  # and of its cells
MIN_USUAL_ROWS = 1_000
LABELLED_SHARE = 0.1  # of the sample's size: the maximum number of labelled rows that are kept in addition
SALT = 0x6E66  # other random numbers than those of a user who picked rows to label with the same seed
MAX_GROWTH = 2  # times its size: then the sample is thinned out


class Sample(NamedTuple):
    """Some rows and where they come from; `rows` is an Arrow table or an array."""

    rows: Any
    numbers: np.ndarray  # of the rows, in the source
    keys: np.ndarray  # the random number of each
    labels: np.ndarray  # the label of each as text, "" where there is none
    n_rows: int  # that were seen
    label_counts: dict[str, int]  # of all rows that were seen
    size: int  # of the uniform part

    def thinned(self) -> "Sample":
        """Without rows whose numbers are too large by now."""
        is_drawn = self.keys <= _bound(self.keys, self.size)
        maximum = max_rows_of_a_class(list(self.label_counts.values()), round(LABELLED_SHARE * self.size))
        for name in self.label_counts:
            rows = np.flatnonzero(self.labels == name)
            is_drawn[rows[np.argsort(self.keys[rows], kind="stable")[:maximum]]] = True
        keep = np.flatnonzero(is_drawn)
        if len(keep) == len(self.keys):
            return self
        return self._taken(keep)

    def in_order(self) -> "Sample":
        """In the order of the source."""
        return self._taken(np.argsort(self.numbers, kind="stable"))

    def _taken(self, rows: np.ndarray) -> "Sample":
        numbers, keys, labels = self.numbers[rows], self.keys[rows], self.labels[rows]
        return self._replace(rows=_take(self.rows, rows), numbers=numbers, keys=keys, labels=labels)

    @property
    def is_whole(self) -> bool:
        """Whether it contains every row."""
        return len(self.keys) == self.n_rows


class Drawing:
    """A sample of `size` rows, and some labelled ones in addition, that grows block by block."""

    def __init__(self, size: int, seed: Sequence[int]):
        self.size, self.random = size, np.random.default_rng((*seed, SALT))
        self.n_rows = 0
        self.kept: list[Sample] = []
        self.bounds: dict[str, float] = {}  # the maximum key of a row of each class; "" is that of all rows

    def add(self, rows: Any, labels: Labels) -> None:
        """Add a block: an Arrow table or an array, and a label for each of its rows."""
        keys = self.random.random(len(labels))
        bound = [self.bounds.get(name, np.inf) for name in (*map(str, labels.classes), "")]  # UNLABELLED is the last
        keep = np.flatnonzero(keys <= np.array(bound)[labels.codes])
        numbers, names, counts = self.n_rows + keep, labels.take(keep).names, label_counts(labels)
        self.kept.append(Sample(_take(rows, keep), numbers, keys[keep], names, len(labels), counts, self.size))
        self.n_rows += len(labels)
        if sum(len(sample.keys) for sample in self.kept) > MAX_GROWTH * (1 + LABELLED_SHARE) * self.size:
            self._thin()

    def _thin(self) -> None:
        sample = joined(self.kept)
        self.kept = [sample]
        bound = _bound(sample.keys, self.size)
        maximum = max_rows_of_a_class(list(sample.label_counts.values()), round(LABELLED_SHARE * self.size))
        full = [name for name, n in sample.label_counts.items() if n > maximum]  # all rows of the other classes fit
        of_class = {name: _bound(sample.keys[sample.labels == name], maximum) for name in full}
        self.bounds = {"": bound} | {name: max(bound, own) for name, own in of_class.items()}

    def sample(self) -> Sample | None:
        """In the order of the source; None if no block had a row."""
        return joined(self.kept).in_order() if self.n_rows else None


def joined(samples: Sequence[Sample]) -> Sample:
    """One sample of all rows that several were drawn from."""
    counts: Counter[str] = Counter()
    for sample in samples:
        counts.update(sample.label_counts)
    rows = [sample.rows for sample in samples]
    if isinstance(rows[0], np.ndarray):
        all_rows = np.concatenate(rows)
    else:
        import pyarrow as pa

        all_rows = pa.concat_tables(rows, promote_options="permissive").combine_chunks()
    return Sample(
        rows=all_rows,
        numbers=np.concatenate([sample.numbers for sample in samples]),
        keys=np.concatenate([sample.keys for sample in samples]),
        labels=np.concatenate([sample.labels for sample in samples]),
        n_rows=sum(sample.n_rows for sample in samples),
        label_counts=dict(counts),
        size=samples[0].size,
    ).thinned()


def max_rows_of_a_class(counts: Sequence[int], room: int) -> int:
    """The limit for one class: the largest by which all classes together have at most `room` rows, but at least 1."""
    left, waiting = room, sorted(counts)
    for i, n in enumerate(waiting):
        each = left // (len(waiting) - i)
        if n > each:
            return max(1, each)
        left -= n
    return max(1, *counts) if counts else 1


def usual_size(n_bytes: int, n_rows: int) -> int:
    """The size of a sample of rows that take `n_bytes` together."""
    fit = MAX_USUAL_BYTES * max(1, n_rows) // max(1, n_bytes)
    return max(MIN_USUAL_ROWS, min(MAX_USUAL_ROWS, fit))


def label_counts(labels: Labels) -> dict[str, int]:
    """The number of labelled rows of each class that has any."""
    return {str(name): int(n) for name, n in zip(labels.classes, labels.counts, strict=True) if n}


def chosen_rows(labels: Labels, size: int, seed: int) -> np.ndarray:
    """The numbers of the rows of a sample, if all labels are known."""
    drawing = Drawing(size, (seed,))
    drawing.add(np.empty((len(labels), 0)), labels)
    sample = drawing.sample()
    assert sample is not None
    return sample.numbers


def _bound(keys: np.ndarray, size: int) -> float:
    return float(np.partition(keys, size - 1)[size - 1]) if len(keys) >= size else np.inf


def _take(rows: Any, positions: np.ndarray) -> Any:
    return rows[positions] if isinstance(rows, np.ndarray) else rows.take(positions)


# ---- A table that is too large to be held: a sample of its rows stands in for it ----


class SampledTable(OpenedTable):
    """A sample of a table's rows, in their order; everything else is the table's."""

    def __init__(self, table: OpenedTable, sample: Sample):
        self.table, self.drawn = table, sample
        self.names, self.where, self.has_types = table.names, table.where, table.has_types

    def read(self, selection: ColumnSelection) -> Any:
        rows = self.drawn.rows
        return rows.select(list(selection.names)) if self.has_types else with_types(rows, selection)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """Of the whole table."""
        return self.table.blocks(selection, rows)

    def row_ids(self) -> np.ndarray | None:
        """The numbers of the rows in the table."""
        return self.drawn.numbers


def draw(table: OpenedTable, label: str | None, sample_rows: int | None, seed: int) -> Sample:
    """One pass over all columns; cells of CSV remain text, because their types depend on all cells of the sample."""
    names = set(table.names)
    selection = ColumnSelection(table.names, text=names, marked=names)
    drawing: Drawing | None = None
    for block in table.blocks(selection, rows_at_a_time(len(names))):
        drawing = drawing or Drawing(sample_rows or usual_size(block.nbytes, block.num_rows), (seed,))
        drawing.add(block, labels_of(block, label))
    sample = None if drawing is None else drawing.sample()
    if sample is None:
        raise DataError(f"{table.where} has no rows. Give at least one row of data.")
    check_has_labels(len(sample.label_counts), label, table.where)
    return sample


def check_has_labels(n_classes: int, label: str | None, where: str) -> None:
    """Refuse a source without any label, if a label column was named."""
    if label is not None and not n_classes:
        raise DataError(
            f"No row of {where} has a label in column {label!r}. Name the column that holds them, or leave `label` out "
            f"to find groups without labels."
        )
