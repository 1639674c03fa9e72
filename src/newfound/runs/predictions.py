"""What a model says of each row, as a table: of the rows it was fitted on, or of a file of any size."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from newfound.classes import AS_USUAL, Classes, Decision
from newfound.data import Dataset, Schema, is_table_folder, read_batches, read_dataset, rows_at_a_time, streams
from newfound.data.preprocessing_log import add_counts
from newfound.data.schema import Column
from newfound.evaluation import posterior_entropy
from newfound.predictor import Predictor
from newfound.runs.columnar import Columns
from newfound.runs.folder import Run

ROWS_AT_A_TIME = 32_768  # of a file that streams


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


def surest_disagreements(table: Columns, at_most: int) -> np.ndarray:
    """Numbers of the rows whose label the model doubts most: it is surest of another class."""
    rows = np.flatnonzero(disagreements(table))
    return rows[np.argsort(-table["probability"][rows], kind="stable")][:at_most]


def predict_batches(
    run: Run,
    source: str,
    label: str | None = None,
    decision: Decision = AS_USUAL,
    features: str | None = None,
    tell: Callable[[Sequence[Column]], None] = lambda columns: None,
) -> Iterator[Columns]:
    """Predictions for a file, some rows at a time where its format allows, so that memory stays flat.

    `tell` is told of the columns of all rows so far, and so of cells that were missing, or infinite, and were filled.
    """
    model = run.predictor
    decision.check(model.fitted_.classes)
    columns: Sequence[Column] = ()
    for batch in _batches(source, run.schema, label, features):
        columns = add_counts(columns, batch.columns)
        tell(columns)
        yield answer_batch(model, batch, decision)


def answer_batch(model: Predictor, batch: Dataset, decision: Decision = AS_USUAL) -> Columns:
    """What is said of some rows."""
    probabilities = model.predict_component_proba(batch.X)
    return answer_table(model.fitted_.classes, probabilities, batch.row_ids, batch.labels.names, decision=decision)


def block_rows(schema: Schema) -> int:
    """How many rows of a file are read at a time."""
    return min(ROWS_AT_A_TIME, rows_at_a_time(len(schema.feature_names)))


def _batches(source: str, schema: Schema, label: str | None, features: str | None) -> Iterable[Dataset]:
    if schema.kind == "table" and ((Path(source).is_file() and streams(source)) or is_table_folder(source)):
        return read_batches(source, schema, rows=block_rows(schema), label=label, features=features)
    return [read_dataset(source, label, schema=schema, features=features)]
