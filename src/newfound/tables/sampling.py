"""A sample of rows that are read once, a block at a time, and of which nobody knows how many will come.

Every row draws a random number. Those with the smallest are a uniform sample of all rows; beside it, those of each
class with the smallest are kept, so that no label is lost where labels are few. Two samples of different rows join to
one of both: blocks may be read anywhere, in any order.

Within a class, labelled rows and unlabelled ones stay what they were, picked at random: what discovery assumes of
labels (SCAR) holds in the sample if it holds in all rows. How many rows a class has is to be asked of all rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from newfound.labels import Labels

LARGE = 2**30  # bytes of cells, from which on a source is not held whole
ROWS_AT_A_TIME = 32_768  # of such a source,
CELLS_AT_A_TIME = 2**22  # of wide ones fewer
MOST_ROWS = 200_000  # of a sample, where the user names no number,
MOST_BYTES = 2**28  # and of its cells
LEAST_ROWS = 1_000
LABELLED_SHARE = 0.1  # of the sample's size: so many labelled rows are kept beside it, if there are as many
SALT = 0x6E66  # whoever picked rows to label by the same seed drew other numbers
SLACK = 2  # the sample is thinned out when it has grown to so many times its size


class Sample(NamedTuple):
    """Rows with what tells them apart; `rows` is an Arrow table or an array."""

    rows: Any
    numbers: np.ndarray  # of the rows, in the source
    keys: np.ndarray  # the random number of each
    labels: np.ndarray  # the label of each as text, "" where there is none
    n_rows: int  # that were seen
    label_counts: dict[str, int]  # of all rows that were seen
    size: int  # of the uniform part

    def thinned(self) -> "Sample":
        """Without the rows that others have outdone."""
        keep = np.flatnonzero(is_drawn(self.keys, self.labels, self.label_counts, self.size))
        if len(keep) == len(self.keys):
            return self
        return self._replace(
            rows=_take(self.rows, keep),
            numbers=self.numbers[keep],
            keys=self.keys[keep],
            labels=self.labels[keep],
        )

    def in_order(self) -> "Sample":
        """In the order of the source."""
        order = np.argsort(self.numbers, kind="stable")
        rows = _take(self.rows, order)
        return self._replace(rows=rows, numbers=self.numbers[order], keys=self.keys[order], labels=self.labels[order])

    @property
    def is_whole(self) -> bool:
        """Whether every row is in it."""
        return len(self.keys) == self.n_rows


class Drawing:
    """A sample of `size` rows, and some labelled ones beside it, that grows block by block."""

    def __init__(self, size: int, seed: Sequence[int]):
        self.size, self.random = size, np.random.default_rng((*seed, SALT))
        self.n_rows = 0
        self.kept: list[Sample] = []
        self.bounds: dict[str, float] = {}  # no row of a class with a larger key can be drawn any more; "" is of all

    def add(self, rows: Any, labels: Labels) -> None:
        """The next block: an Arrow table or an array, and a label for each of its rows."""
        keys = self.random.random(len(labels))
        bound = [self.bounds.get(name, np.inf) for name in (*map(str, labels.classes), "")]  # UNLABELLED is the last
        keep = np.flatnonzero(keys <= np.array(bound)[labels.codes])
        counts = {str(c): int(n) for c, n in zip(labels.classes, labels.counts, strict=True) if n}
        numbers, names = self.n_rows + keep, labels.take(keep).names
        self.kept.append(Sample(_take(rows, keep), numbers, keys[keep], names, len(labels), counts, self.size))
        self.n_rows += len(labels)
        if sum(len(sample.keys) for sample in self.kept) > SLACK * (1 + LABELLED_SHARE) * self.size:
            self._thin()

    def _thin(self) -> None:
        sample = joined(self.kept)
        self.kept = [sample]
        bound = _bound(sample.keys, self.size)
        most = most_of_a_class(list(sample.label_counts.values()), round(LABELLED_SHARE * self.size))
        full = [name for name, n in sample.label_counts.items() if n > most]  # the others have room for more
        of_class = {name: _bound(sample.keys[sample.labels == name], most) for name in full}
        self.bounds = {"": bound} | {name: max(bound, own) for name, own in of_class.items()}

    def sample(self) -> Sample | None:
        """In the order of the source; None where no block had a row."""
        return joined(self.kept).in_order() if self.n_rows else None


def joined(samples: Sequence[Sample]) -> Sample:
    """One sample of all that several were drawn from."""
    counts: dict[str, int] = {}
    for sample in samples:
        for name, n in sample.label_counts.items():
            counts[name] = counts.get(name, 0) + n
    return Sample(
        rows=_concatenated([sample.rows for sample in samples]),
        numbers=np.concatenate([sample.numbers for sample in samples]),
        keys=np.concatenate([sample.keys for sample in samples]),
        labels=np.concatenate([sample.labels for sample in samples]),
        n_rows=sum(sample.n_rows for sample in samples),
        label_counts=counts,
        size=samples[0].size,
    ).thinned()


def is_drawn(keys: np.ndarray, labels: np.ndarray, label_counts: dict[str, int], size: int) -> np.ndarray:
    """Flags of the `size` smallest keys of all rows, and of each class's smallest, as many as there is room for."""
    drawn = keys <= _bound(keys, size)
    most = most_of_a_class(list(label_counts.values()), round(LABELLED_SHARE * size))
    for name in label_counts:
        rows = np.flatnonzero(labels == name)
        drawn[rows[np.argsort(keys[rows], kind="stable")[:most]]] = True
    return drawn


def most_of_a_class(counts: Sequence[int], room: int) -> int:
    """The most rows of one class, where each class has as many as it can and all together at most `room`, or one."""
    left, waiting = room, sorted(counts)
    for i, n in enumerate(waiting):
        each = left // (len(waiting) - i)
        if n > each:
            return max(1, each)
        left -= n
    return max(1, *counts) if counts else 1


def usual_size(n_bytes: int, n_rows: int) -> int:
    """Of a sample whose rows take as much memory as these."""
    fit = MOST_BYTES * max(1, n_rows) // max(1, n_bytes)
    return max(LEAST_ROWS, min(MOST_ROWS, fit))


def rows_at_a_time(n_columns: int) -> int:
    return max(1, min(ROWS_AT_A_TIME, CELLS_AT_A_TIME // max(1, n_columns)))


def chosen_rows(labels: Labels, size: int, seed: int) -> np.ndarray:
    """Numbers of the rows of a sample, where all labels are at hand."""
    drawing = Drawing(size, (seed,))
    drawing.add(np.empty((len(labels), 0)), labels)
    sample = drawing.sample()
    assert sample is not None
    return sample.numbers


def _bound(keys: np.ndarray, size: int) -> float:
    return float(np.partition(keys, size - 1)[size - 1]) if len(keys) >= size else np.inf


def _take(rows: Any, positions: np.ndarray) -> Any:
    return rows[positions] if isinstance(rows, np.ndarray) else rows.take(positions)


def _concatenated(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    return pa.concat_tables(parts, promote_options="permissive").combine_chunks()
