"""A table that is too large to be held: in its place stands a sample of its rows, drawn in one pass."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from newfound.data.csv_format import with_types
from newfound.data.decisions import labels_of
from newfound.data.joined_features import Joined
from newfound.data.sampling import LARGE, Drawing, Sample, rows_at_a_time, usual_size
from newfound.data.table_folder import Opened
from newfound.data.table_format import ColumnSelection
from newfound.errors import DataError


class SampledTable:
    """A sample of a table's rows, in their order; in all else like the table itself."""

    def __init__(self, table: Opened | Joined, sample: Sample):
        self.table, self.drawn = table, sample
        self.names, self.where, self.has_types, self.n_bytes = table.names, table.where, table.has_types, table.n_bytes

    def read(self, selection: ColumnSelection) -> Any:
        """One Arrow table, of the sample."""
        rows = self.drawn.rows
        return rows.select(list(selection.names)) if self.has_types else with_types(rows, selection)

    def blocks(self, selection: ColumnSelection, rows: int) -> Iterator[Any]:
        """Of the whole table."""
        return self.table.blocks(selection, rows)

    def row_ids(self) -> np.ndarray | None:
        """The numbers of the rows in the table."""
        return self.drawn.numbers


def sampled_if_large(
    table: Opened | Joined, label: str | None, sample_rows: int | None, seed: int
) -> Opened | Joined | SampledTable:
    """The table itself, where it is small and nobody asked for a sample, or where a sample would hold every row."""
    if sample_rows is None and table.n_bytes <= LARGE:
        return table
    sample = draw(table, label, sample_rows, seed)
    return table if sample.is_whole and table.n_bytes <= LARGE else SampledTable(table, sample)


def draw(table: Opened | Joined, label: str | None, sample_rows: int | None, seed: int) -> Sample:
    """In one pass over all columns; cells of CSV stay text until it is known what all of them are."""
    names = set(table.names)
    selection = ColumnSelection(table.names, text=names, marked=names)
    drawing: Drawing | None = None
    for block in table.blocks(selection, rows_at_a_time(len(names))):
        drawing = drawing or Drawing(sample_rows or usual_size(block.nbytes, block.num_rows), (seed,))
        drawing.add(block, labels_of(block, label))
    sample = None if drawing is None else drawing.sample()
    if sample is None:
        raise DataError(f"{table.where} has no rows. Give at least one row of data.")
    check_labelled(sample.label_counts, label, table.where)
    return sample


def check_labelled(label_counts: dict[str, int], label: str | None, where: str) -> None:
    """Refuse a table in parts of which none holds a label, where a column of labels was named."""
    if label is not None and not label_counts:
        raise DataError(
            f"No row of {where} has a label in column {label!r}. Name the column that holds them, or leave `label` out "
            f"to find groups without labels."
        )
