"""All rows of a source that was too large to be held: answered in one pass, written as they come, and counted.

The model was fitted on a sample. Whatever a run says of how many rows there are is of all of them: from these counts,
by component, so that what a person decides about classes does not need the source again.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from newfound._internal.files import written_whole
from newfound._internal.threads import ahead
from newfound.classes import Classes
from newfound.explain.audit_record import Audit
from newfound.labels import UNLABELLED
from newfound.models.in_numpy import normalised
from newfound.runs.answer import Discovered
from newfound.runs.records import ClassSummary, Columns, as_arrow, parquet_writer
from newfound.tables.dataset import Dataset

ALL_ROWS = "all_rows.parquet"
SURE = 0.5
STEPS = 10  # that progress is told in


@dataclass(frozen=True)
class AllRows:
    """How many rows of the source belong to each component."""

    n_sampled: int  # rows that the model was fitted on
    labels: list[str]  # the classes in the source; the last is "", of rows without a label
    rows: list[list[int]]  # (components, labels)
    unsure: list[int]  # (components,): rows whose class is not more probable than all others together

    @property
    def n_rows(self) -> int:
        return int(np.sum(self.rows))

    @property
    def n_labelled(self) -> int:
        return int(np.array(self.rows)[:, :-1].sum())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "AllRows":
        return cls(**stored)

    def n_disagreements(self, classes: Classes) -> int:
        """Labelled rows that are of another class."""
        called = classes.called_now(np.array(self.labels))
        names = np.append(classes.names.astype(str), "")[classes.component_class]  # NO_CLASS is the last
        differ = (names[:, None] != called) & (called != "")
        return int((np.array(self.rows) * differ).sum())

    def in_summary(self, summary: ClassSummary, classes: Classes) -> ClassSummary:
        """With all rows counted, not those of the sample."""
        of_class = np.array(self.rows)[summary.components]
        called = classes.called_now(np.array(self.labels))
        n_observed = int(np.array(self.rows)[:, called == summary.name].sum())
        n = int(of_class.sum())
        return replace(summary, n_rows=n, n_discovered=n, n_observed=n_observed)

    def in_discovered(self, found: Discovered) -> Discovered:
        return replace(found, n_rows=self.n_rows, n_unsure=sum(self.unsure))

    def in_audit(self, audit: Audit, classes: Classes) -> Audit:
        n_new = int(np.array(self.rows)[classes.is_of_new_class].sum()) if audit.n_rows_new else 0
        note = f"Classes were looked for in a sample of {self.n_sampled:,} of the {self.n_rows:,} rows."
        return replace(
            audit, n_rows=self.n_rows, n_labels=self.n_labelled, n_rows_new=n_new, notes=(*audit.notes, note)
        )

    def n_unsure(self, components: Sequence[int]) -> int:
        return sum(self.unsure[k] for k in components)


def answer_all(
    folder: Path, model: Any, dataset: Dataset, *, tells_labels: bool, progress: Callable[[str], None]
) -> AllRows:
    """Write `all_rows.parquet`, a row for each of the source; memory stays flat."""
    assert dataset.population is not None
    schema, fitted = dataset.schema, model.fitted_
    classes = fitted.classes
    labels = [*schema.class_names, ""]
    rows = np.zeros((classes.n_components, len(labels)), np.int64)
    unsure = np.zeros(classes.n_components, np.int64)
    n_done, n_all = 0, dataset.population.n_rows
    with written_whole(folder / ALL_ROWS) as file, _Writer(file) as writer:
        for batch in ahead(dataset.population.batches(schema)):
            codes = batch.labels.codes if tells_labels else np.full(len(batch), UNLABELLED)
            answer = classes.answer(normalised(fitted.inference.component_probabilities(batch.X, fitted.temperature)))
            np.add.at(rows, (answer.component, codes), 1)  # UNLABELLED is the last
            np.add.at(unsure, answer.component[answer.probability <= SURE], 1)
            writer.write(
                {
                    "row_id": batch.row_ids,
                    "class": classes.names.astype(str)[answer.position],
                    "probability": answer.probability.astype(np.float32),
                    "p_new": answer.p_new.astype(np.float32),
                    "component": answer.component.astype(np.int32),
                    "observed_label": np.array(labels)[codes],
                }
            )
            if (n_done + len(batch)) * STEPS // n_all > n_done * STEPS // n_all:
                progress(f"answering all rows: {n_done + len(batch):,} of {n_all:,}")
            n_done += len(batch)
    return AllRows(len(dataset), labels, rows.tolist(), unsure.tolist())


class _Writer:
    """Columns to a Parquet file, some rows at a time."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self.writer: Any = None

    def __enter__(self) -> "_Writer":
        return self

    def write(self, columns: Columns) -> None:
        table = as_arrow(columns)
        if self.writer is None:
            self.writer = parquet_writer(self.file, table.schema)
        self.writer.write_table(table)

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()
