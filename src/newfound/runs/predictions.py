"""What a model says of each row, as a table: of the rows it was fitted on, or of a file of any size."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from newfound.classes import AS_USUAL, Classes, Decision
from newfound.data import Dataset, Schema, is_table_folder, read_batches, read_dataset, rows_at_a_time, streams
from newfound.data.preprocessing_log import about_missing, add_counts
from newfound.data.schema import Column
from newfound.evaluation import posterior_entropy
from newfound.predictor import Predictor
from newfound.preprocessing import Preprocessing, Reach, about_cells
from newfound.runs.columnar import Columns
from newfound.runs.folder import Run
from newfound.threads import ahead

ROWS_AT_A_TIME = 32_768  # of a file that streams


class Counted:
    """What there is to say of the rows that were read so far, beside their classes."""

    def __init__(self) -> None:
        self.columns: Sequence[Column] = ()
        self.reach: Reach | None = None
        self.about_reach = ""

    def take(self, batch: Dataset, preprocessing: Preprocessing) -> None:
        self.columns = add_counts(self.columns, batch.columns)
        reach = Reach.of(batch.X, preprocessing)
        self.reach = reach if self.reach is None else self.reach.and_of(reach)
        names = np.array(batch.feature_names)[preprocessing.is_kept]
        self.about_reach = about_cells(self.reach, preprocessing, lambda i: repr(str(names[i])))

    @property
    def n_outside(self) -> int:
        return 0 if self.reach is None else int(self.reach.n_outside.sum())

    def sentences(self) -> list[str]:
        return [*about_missing(self.columns), *filter(None, [self.about_reach])]


def answer_table(
    classes: Classes,
    probabilities: np.ndarray,
    row_ids: np.ndarray,
    observed: np.ndarray,
    truth: np.ndarray | None = None,
) -> Columns:
    """A column for each thing that is said of a row, and its labels by the names that known classes have now.

    `observed` and `truth` are names, "" where there is none.
    """
    said = said_of(classes, probabilities)
    table = {"row_id": row_ids.astype(str)} | said | {"observed_label": classes.called_now(observed)}
    return table if truth is None else table | {"true_class": classes.called_now(truth)}


SAID = ("class", "probability", "p_new", "component", "entropy")


def said_of(
    classes: Classes, probabilities: np.ndarray, decision: Decision = AS_USUAL, wanted: Collection[str] = SAID
) -> Columns:
    """What is said of each row, as far as it is wanted. The class is "" where no answer is given."""
    answer = classes.answer(probabilities, decision)
    made: dict[str, Callable[[], np.ndarray]] = {
        "class": lambda: np.where(answer.is_given, classes.names.astype(str)[answer.position], ""),
        "probability": lambda: answer.probability,
        "p_new": lambda: answer.p_new,
        "component": lambda: answer.component,
        "entropy": lambda: posterior_entropy(probabilities),
    }
    return {name: made[name]() for name in SAID if name in wanted}


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
    counted: Counted | None = None,
    wanted: Collection[str] = (*SAID, "observed_label"),
) -> Iterator[Columns]:
    """Predictions for a file, some rows at a time where its format allows, so that memory stays flat.

    `counted` has then seen all rows: cells that were missing and filled, and cells unlike those of the fit.
    """
    model = run.predictor
    decision.check(model.fitted_.classes)
    read = _counted(_batches(source, run.schema, label, features), counted, model.fitted_.preprocessing)
    for batch in ahead(read):
        yield answer_batch(model, batch, decision, wanted)


def _counted(batches: Iterable[Dataset], counted: Counted | None, preprocessing: Preprocessing) -> Iterator[Dataset]:
    for batch in batches:
        if counted is not None and len(batch.X):
            counted.take(batch, preprocessing)
        yield batch


def answer_batch(model: Predictor, batch: Dataset, decision: Decision, wanted: Collection[str]) -> Columns:
    """What is said of some rows, beside their ids and, if wanted, their labels."""
    classes = model.fitted_.classes
    said = said_of(classes, model.component_probabilities(batch.X), decision, wanted)
    observed = {"observed_label": classes.called_now(batch.labels.names)} if "observed_label" in wanted else {}
    return {"row_id": batch.row_ids} | said | observed


def block_rows(schema: Schema) -> int:
    """How many rows of a file are read at a time."""
    return min(ROWS_AT_A_TIME, rows_at_a_time(len(schema.feature_names)))


def _batches(source: str, schema: Schema, label: str | None, features: str | None) -> Iterable[Dataset]:
    if schema.kind == "table" and ((Path(source).is_file() and streams(source)) or is_table_folder(source)):
        return read_batches(source, schema, rows=block_rows(schema), label=label, features=features)
    return [read_dataset(source, label, schema=schema, features=features)]
