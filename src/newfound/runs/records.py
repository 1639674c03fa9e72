"""The contents of a run's files: columns, stored rows, the log of acts, the classes in numbers."""

import io
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from newfound._internal.records import Count, Record, Share, converted, decoded
from newfound._internal.words import DataError, quoted_list
from newfound.classes import NO_CLASS, Classes
from newfound.fitted import Fitted
from newfound.models.architecture import MAX_COMPONENTS

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from newfound.labels import Labels
    from newfound.tables.dataset import Dataset


# ---- Versions: a result depends on them beside its settings ----

LIBRARIES = ("jax", "equinox", "optax", "numpy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that compute."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


# ---- Callbacks of a long job ----


def ignore(text: str) -> None:
    """Do nothing."""


class Listener(NamedTuple):
    """Callbacks: `stage` at the start of each stage, `note` with a sentence for the person."""

    stage: Callable[[str], None] = ignore
    note: Callable[[str], None] = ignore


SILENT = Listener()


# ---- Named columns and arrays as files: Parquet, CSV, safetensors. Reading them cannot run code ----

Columns = dict[str, np.ndarray]


def as_arrow(columns: Columns) -> "pa.Table":
    """Return a table with a column for each array; a matrix becomes a column of lists."""
    import pyarrow as pa

    def column(array: np.ndarray) -> "pa.Array":
        if array.ndim == 1:
            return pa.array(array)
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(array).ravel()), array.shape[1])

    return pa.table({name: column(array) for name, array in columns.items()})


def parquet_bytes(columns: Columns, compression: str = "snappy") -> bytes:
    return table_bytes(as_arrow(columns), compression)


def table_bytes(table: "pa.Table", compression: str = "snappy") -> bytes:
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(table, content, compression=compression, write_page_checksum=True)
    return content.getvalue()


def parquet_writer(file: BinaryIO, schema: "pa.Schema") -> "pq.ParquetWriter":
    """Return a writer for tables of this schema. Only text has dictionaries: those of numbers are slow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = [field.name for field in schema if not (pa.types.is_primitive(field.type) or pa.types.is_nested(field.type))]
    return pq.ParquetWriter(file, schema, use_dictionary=text, write_page_checksum=True)


def csv_bytes(columns: Columns) -> bytes:
    import pyarrow.csv

    content = io.BytesIO()
    pyarrow.csv.write_csv(as_arrow(columns), content)
    return content.getvalue()


def tensor_bytes(tensors: Columns) -> bytes:
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in tensors.items()})


def parquet_columns(content: bytes) -> Columns:
    """Return arrays, and matrices for columns of lists of one length."""
    import pyarrow as pa

    def array(column: "pa.ChunkedArray") -> np.ndarray:
        if not pa.types.is_fixed_size_list(column.type):
            return column.to_numpy()
        return column.combine_chunks().flatten().to_numpy().reshape(len(column), -1)

    table = parquet_table(content)
    return {name: array(table[name]) for name in table.column_names}


def parquet_table(content: bytes) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content), page_checksum_verification=True)
    table.validate(full=True)
    return table


def tensor_columns(content: bytes) -> Columns:
    from safetensors.numpy import load

    return load(content)


# ---- The rows of a run: with them, later decisions do not need the source again ----

ROWS = "rows.parquet"
OWN = "own.parquet"


class StoredRows(NamedTuple):
    """The rows of a fit, and what its network computes for them; no act changes this."""

    row_ids: np.ndarray
    observed: np.ndarray  # the label by its name in the source, "" where there is none
    X: np.ndarray
    q: np.ndarray  # (rows, components): q(y | x)^(1/T) in single precision, not normalised
    truth: np.ndarray | None = None  # the label in the source, where some were hidden on purpose
    groups: np.ndarray | None = None  # the person, site or machine, if a column names it
    own: "pa.Table | None" = None  # the user's own columns, unchanged; None without any


def rows_of_fit(model: Any, dataset: "Dataset", observed: "Labels | None") -> StoredRows:
    """For `observed` see `write_run`."""
    from newfound.tables.own_columns import own_table

    fitted = model.fitted_
    return StoredRows(
        row_ids=dataset.row_ids.astype(str),
        observed=(dataset.labels if observed is None else observed).names,
        X=dataset.X,
        q=fitted.inference.component_probabilities(dataset.X, fitted.temperature),
        truth=None if observed is None else dataset.labels.names,
        groups=None if dataset.groups is None else dataset.groups.astype(str),
        own=None if dataset.source is None else own_table(dataset.source, len(dataset)),
    )


def row_files(rows: StoredRows) -> dict[str, bytes]:
    columns: Columns = {n: array for n, array in rows._asdict().items() if array is not None and n != "own"}
    files = {ROWS: parquet_bytes(columns, compression="zstd")}
    return files if rows.own is None else files | {OWN: table_bytes(rows.own, compression="zstd")}


def rows_from(rows: bytes, own: bytes | None) -> StoredRows:
    """Read the files that `row_files` made."""
    return StoredRows(**parquet_columns(rows), own=None if own is None else parquet_table(own))


# ---- The log of acts: a person's decisions about a run's classes ----
# `acts.jsonl`, one act a line; lines are only added:
#
#     {"number": 1, "time": "2026-01-31T09:00:00+00:00", "act": "rename",
#      "arguments": {"names": [["new-1", "fox"]]}, "sentence": "“new-1” is now called “fox”.", "next_new": 3}
#
# An undo is a line of its own, with the number of the act it undoes. The stored model never changes: the present
# classes are the fitted ones after all acts that were not undone.

ACT_LOG = "acts.jsonl"
UNDO = "undo"


class LoggedAct(Record, frozen=True):
    """One line."""

    number: Annotated[int, Meta(ge=1)]  # 1, 2, …
    time: str
    act: str  # a name in `acts.ACTS`, or UNDO
    arguments: dict[str, Any]  # of the act; of an undo, the number of the act
    sentence: str  # with the names that classes had then
    next_new: Count  # the number of the next id: ids are not reused, not even after an undo


def acts_from(path: Path, content: bytes) -> list[LoggedAct]:
    """Read all lines, with the undone acts."""
    from newfound.acts import ACTS

    where, remedy = repr(str(path)), "Restore it, or move it away to go back to the classes as fitted."
    acts = [decoded(line, LoggedAct, where, remedy) for line in content.splitlines()]
    if unknown := {act.act for act in acts} - {UNDO, *ACTS}:
        raise DataError(
            f"{where} holds an act that this version does not have ({quoted_list(sorted(unknown))}). "
            f"Upgrade with pip install --upgrade newfound."
        )
    for act in acts:
        converted(act.arguments, Undone if act.act == UNDO else ACTS[act.act].arguments, where, remedy)
    return acts


def acts_file(acts: list[LoggedAct]) -> dict[str, bytes]:
    return {ACT_LOG: b"".join(msgspec.json.encode(act) + b"\n" for act in acts)}


class Undone(Record, frozen=True):
    """The arguments of an undo."""

    number: int  # of the act


def in_effect(acts: list[LoggedAct]) -> list[LoggedAct]:
    """Return the acts that were not undone."""
    undone = {act.arguments["number"] for act in acts if act.act == UNDO}
    return [act for act in acts if act.act != UNDO and act.number not in undone]


def replayed(fitted: Fitted, acts: list[LoggedAct]) -> Fitted:
    """Apply the acts in effect to the model as it was fitted."""
    effective = {act.number for act in in_effect(acts)}
    for act in acts:
        if act.number in effective:
            from newfound.acts import perform

            fitted, _ = perform(fitted, act.act, act.arguments)
        fitted = _from_number(fitted, act.next_new)
    return fitted


def done(fitted: Fitted, acts: list[LoggedAct], act: str, arguments: dict[str, Any]) -> LoggedAct:
    """Return the line of a further act on a model after these acts."""
    from newfound.acts import perform

    after, sentence = perform(fitted, act, arguments)
    return _line(acts, act, arguments, sentence, after.classes.next_new)


def taken_back(acts: list[LoggedAct]) -> LoggedAct:
    """Return the line that undoes the last act in effect."""
    effective = in_effect(acts)
    if not effective:
        raise DataError("There is nothing to undo: no act is in effect.")
    last = effective[-1]
    return _line(acts, UNDO, {"number": last.number}, f"Undone: {last.sentence}", acts[-1].next_new)


def _line(acts: list[LoggedAct], act: str, arguments: dict[str, Any], sentence: str, next_new: int) -> LoggedAct:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return LoggedAct(len(acts) + 1, now, act, arguments, sentence, next_new)


def _from_number(fitted: Fitted, next_new: int) -> Fitted:
    """Return the model with all ids below a number marked as used."""
    classes = fitted.classes
    return replace(fitted, classes=replace(classes, next_new=max(classes.next_new, next_new)))


# ---- Each class of a run in a few numbers ----


class MissingLabels(Record, frozen=True):
    """Why a class is called new: the labels it would hold if it were known, and those it holds."""

    n_rows: float
    labels_expected: float
    labels_held: float
    p_value: float  # probability of so few


class ClassSummary(Record, frozen=True):
    """One class: its components, its rows and labels, and how probable it is for its rows."""

    name: str
    is_new: bool
    components: Annotated[list[Annotated[int, Meta(ge=0, lt=MAX_COMPONENTS)]], Meta(min_length=1)]
    n_rows: Count  # predicted as this class
    n_discovered: Count  # discovered as this class, or labelled so
    n_observed: Count  # that carry its label
    confidence: float | None  # mean probability of the class over its rows; None where it has none
    evidence: MissingLabels | None  # of a new class, where labels are missing
    id: str = ""  # no act changes it
    is_named: bool = False  # whether the name is a person's


def summarise_classes(classes: Classes, table: Columns, evidence: Mapping[Any, dict[str, float]]) -> list[ClassSummary]:
    """Summarise the classes, in their order, from the table of all rows and the evidence for new classes."""
    missing = {str(name): MissingLabels(**of) for name, of in evidence.items()}
    return [
        ClassSummary(
            name=name,
            is_new=bool(classes.is_new[position]),
            components=classes.components(position).tolist(),
            n_rows=int(of.sum()),
            n_discovered=int((table["discovered_class"] == name).sum()),
            n_observed=int((table["observed_label"] == name).sum()),
            confidence=float(table["probability"][of].mean()) if of.any() else None,
            evidence=missing.get(name),
            id=str(classes.ids[position]),
            is_named=bool(classes.is_named[position]),
        )
        for position, name in enumerate(classes.names.astype(str).tolist())
        for of in [table["class"] == name]
    ]


def classes_from(summaries: Sequence[ClassSummary]) -> Classes:
    """Return the class of each component, with the names as text."""
    n_components = 1 + max((k for c in summaries for k in c.components), default=-1)
    component_class = np.full(n_components, NO_CLASS)
    for position, summary in enumerate(summaries):
        component_class[summary.components] = position
    names = np.array([c.name for c in summaries], dtype=str)
    is_new = np.array([c.is_new for c in summaries], dtype=bool)
    ids = np.array([c.id for c in summaries], dtype=str)
    return Classes(names, is_new, component_class, ids, np.array([c.is_named for c in summaries], dtype=bool))


# ---- Parts of `run.json` ----


class Masking(Record, frozen=True):
    """Which labels are hidden on purpose: the options as they were given."""

    hide: str | None = None
    keep: str | None = None
    by_group: bool = False
    seed: int = 0

    @property
    def hides_any(self) -> bool:
        return self.hide is not None or self.keep is not None


class Calibration(Record, frozen=True):
    """Reliability of the known classes' probabilities, on the labels of the validation rows."""

    bin_probability: np.ndarray  # mean probability of the rows in each bin
    bin_accuracy: np.ndarray
    bin_rows: np.ndarray
    expected_calibration_error: float
    accuracy: Share
    temperature: float  # fitted on the same labels

    @property
    def n_labels(self) -> int:
        return int(self.bin_rows.sum())
