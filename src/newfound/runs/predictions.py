"""What a model says of each row, as a table: of the rows it was fitted on, or of a file of any size."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from newfound.classes import AS_USUAL, Classes, Decision
from newfound.data import Dataset, Schema, read_batches, read_dataset, streams
from newfound.errors import DataError
from newfound.evaluation import posterior_entropy
from newfound.runs.columnar import Columns, as_arrow
from newfound.runs.folder import UNFINISHED, Run

ROWS_AT_A_TIME = 32_768  # of a file that streams
FORMATS_OUT = (".csv", ".parquet")


def answer_table(
    classes: Classes,
    probabilities: np.ndarray,
    row_ids: np.ndarray,
    observed: np.ndarray,
    truth: np.ndarray | None = None,
    decision: Decision = AS_USUAL,
) -> Columns:
    """A column for each thing that is said of a row. `observed` and `truth` are names, "" where there is none.

    So is the class where no answer is given; its probability is told all the same. Labels of known classes are told by
    the names that these have now.
    """
    answer = classes.answer(probabilities, decision)
    table = {
        "row_id": row_ids.astype(str),
        "class": np.where(answer.is_given, classes.names.astype(str)[answer.position], ""),
        "probability": answer.probability,
        "p_new": answer.p_new,
        "component": answer.component,
        "entropy": posterior_entropy(probabilities),
        "observed_label": classes.called_now(observed),
    }
    return table if truth is None else table | {"true_class": classes.called_now(truth)}


def disagreements(table: Columns) -> np.ndarray:
    """Flags of the rows whose observed label is not their predicted class."""
    return (table["observed_label"] != "") & (table["observed_label"] != table["class"])


def predict_batches(
    run: Run, source: str, label: str | None = None, decision: Decision = AS_USUAL
) -> Iterator[Columns]:
    """Predictions for a file, some rows at a time where its format allows, so that memory stays flat."""
    model = run.model
    classes = model.fitted_.classes
    decision.check(classes)
    for batch in _batches(source, run.schema, label):
        probabilities = model.predict_component_proba(batch.X)
        yield answer_table(classes, probabilities, batch.row_ids, batch.labels.names, decision=decision)


def _batches(source: str, schema: Schema, label: str | None) -> Iterable[Dataset]:
    if schema.kind == "table" and Path(source).is_file() and streams(Path(source)):
        return read_batches(Path(source), schema, rows=ROWS_AT_A_TIME, label=label)
    return [read_dataset(source, label, schema=schema)]


def predict_file(
    run: Run,
    source: str,
    out: Path,
    progress: Callable[[int], None] = lambda n_rows: None,
    decision: Decision = AS_USUAL,
) -> int:
    """Write predictions for every row of `source` to `out`, CSV or Parquet by its suffix; return their number."""
    if out.suffix.lower() not in FORMATS_OUT:
        raise DataError(f"--out must end in {' or '.join(FORMATS_OUT)}; got {out.name!r}. Name another file.")
    n_rows = 0
    with _written_whole(out) as append:
        for columns in predict_batches(run, source, decision=decision):
            append(columns)
            n_rows += len(columns["class"])
            progress(n_rows)
    return n_rows


@contextmanager
def _written_whole(out: Path) -> Iterator[Callable[[Columns], None]]:
    """A function that adds rows to a table; the file appears at the end, or not at all."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}{UNFINISHED}{os.getpid()}")
    open_writer = pyarrow.csv.CSVWriter if out.suffix.lower() == ".csv" else pq.ParquetWriter
    writer: Any = None

    def append(columns: Columns) -> None:
        nonlocal writer
        table = as_arrow(columns)
        writer = writer or open_writer(unfinished, table.schema)
        writer.write_table(table)

    try:
        yield append
        if writer is not None:
            writer.close()
            os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
