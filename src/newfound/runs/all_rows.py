"""All rows of a source too large for memory: answered in one pass, written as they come, and counted."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from newfound._internal.files import atomic_file
from newfound._internal.threads import ahead
from newfound.labels import UNLABELLED
from newfound.models.in_numpy import normalised
from newfound.runs.answer import AllRows
from newfound.runs.records import as_arrow, parquet_writer
from newfound.tables.dataset import Dataset

ALL_ROWS = "all_rows.parquet"
SURE = 0.5
N_REPORTS = 10  # of progress


def answer_all(
    folder: Path, model: Any, dataset: Dataset, *, with_labels: bool, progress: Callable[[str], None]
) -> AllRows:
    """Write `all_rows.parquet`, a row for each of the source; memory stays flat."""
    assert dataset.population is not None
    schema, fitted = dataset.schema, model.fitted_
    classes = fitted.classes
    labels = [*schema.class_names, ""]
    rows = np.zeros((classes.n_components, len(labels)), np.int64)
    unsure = np.zeros(classes.n_components, np.int64)
    n_done, n_all = 0, dataset.population.n_rows
    with atomic_file(folder / ALL_ROWS) as file, ExitStack() as until_closed:
        writer = None
        for batch in ahead(dataset.population.batches(schema)):
            codes = batch.labels.codes if with_labels else np.full(len(batch), UNLABELLED)
            answer = classes.answer(normalised(fitted.inference.component_probabilities(batch.X, fitted.temperature)))
            np.add.at(rows, (answer.component, codes), 1)  # UNLABELLED is the last
            np.add.at(unsure, answer.component[answer.probability <= SURE], 1)
            table = as_arrow(
                {
                    "row_id": batch.row_ids,
                    "class": classes.names.astype(str)[answer.position],
                    "probability": answer.probability.astype(np.float32),
                    "p_new": answer.p_new.astype(np.float32),
                    "component": answer.component.astype(np.int32),
                    "observed_label": np.array(labels)[codes],
                }
            )
            writer = writer or until_closed.enter_context(parquet_writer(file, table.schema))
            writer.write_table(table)
            if (n_done + len(batch)) * N_REPORTS // n_all > n_done * N_REPORTS // n_all:
                progress(f"answering all rows: {n_done + len(batch):,} of {n_all:,}")
            n_done += len(batch)
    return AllRows(len(dataset), labels, rows.tolist(), unsure.tolist())
