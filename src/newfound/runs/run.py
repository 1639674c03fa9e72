"""A run: a folder that holds everything one fit produced, and from which report and predictions are made."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from newfound._internal.records import JSON, Count, Record, check_format, converted, decoded, read_json
from newfound._internal.words import DataError
from newfound.classes import Classes
from newfound.discovery.selection import Selection
from newfound.explain.audit_record import Audit
from newfound.explain.wording import Description, Descriptions
from newfound.labelling.changes import Changes
from newfound.predictor import Predictor, load_predictor
from newfound.runs.answer import AllRows, Discovered, RunAnswer, answer
from newfound.runs.leftovers import UNFINISHED, why_missing
from newfound.runs.manifest import MANIFEST, alone, check_all, check_sizes, damaged, read_checked, read_manifest
from newfound.runs.records import (
    ACT_LOG,
    OWN,
    ROWS,
    Calibration,
    ClassSummary,
    Columns,
    LoggedAct,
    Masking,
    StoredRows,
    acts_from,
    classes_from,
    in_effect,
    parquet_columns,
    replayed,
    rows_from,
    tensor_columns,
)
from newfound.tables.dataset import Schema

# ---- What is read of a run may be damaged: whatever that does to a reader becomes one sentence ----

Read = TypeVar("Read")
DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError),
    *(MemoryError, OSError),
)


def told(part: Callable[[Any], Read]) -> Callable[[Any], Read]:
    """A property of a run that says so where it cannot be read."""

    @wraps(part)
    def read(run: Any) -> Read:
        from pyarrow import ArrowException
        from safetensors import SafetensorError

        try:
            return part(run)
        except DataError:
            raise
        except (*DAMAGED, ArrowException, SafetensorError) as error:
            raise DataError(
                f"The run {str(run.folder)!r} is damaged: its {part.__name__} cannot be read ({_reason(error)}). "
                f"Copy the whole folder again, or fit again."
            ) from None

    return read


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


# ---- A run: a folder that holds everything one fit produced, and from which report and predictions are made ----
#     run.json             settings, seeds, versions, source, fingerprint, schema and preprocessing log of the data
#     model/               the fitted model (newfound.load)
#     classes.json         each class with its components, size and confidence; of a new one, the labels that are
# missing
#     audit.json           whether there are classes nobody labelled, and how far to trust it; may be missing
#     changes.json         of a refit: what is different from the run before, and which labels were corrected
#     predictions.parquet  every row: id, class, probability, P(new), component, entropy, observed label, its class as
# it
#                          was discovered, and whether that is sure; also as CSV
#     labelled.csv         the user's own columns, unchanged, and the answer beside them; .parquet where they came so
#     disagreements.csv    rows whose observed label is not the predicted class; the label itself is never changed
#     history.parquet      every term of the objective over time
#     examples.safetensors the rows that the report shows, and the latent map
#     descriptions.json    what each class is: what sets it apart, a rule, hints, a name to suggest
#     all_rows.parquet     of a source too large to be held: the answer of every row; all else is of a sample of them
#     rows.parquet         the rows that were fitted on, so that an act does not need the source again
#     own.parquet          the user's own columns, or of CSV the lines as they were written; missing where there are
# none
#     acts.jsonl           what a person decided about the classes, act by act; missing where nothing was
#     report.html
#     manifest.json        all these files with their sizes and checksums
#
# It is made beside its place, in a folder of another name, and moved there when it is whole. The model stays as it was
# fitted; what acts make of it is computed when it is asked for, and the files that depend on it follow (`derived`).

FORMAT = 5
DESCRIPTION = "run.json"
AUDIT = "audit.json"
DESCRIPTIONS = "descriptions.json"
CHANGES = "changes.json"
MODEL = "model"
REPORT = "report.html"
FIT_AGAIN = "Fit again."


class SelectionInWords(Selection, frozen=True):
    """Whether labels look selected at random, and the sentence that says it."""

    sentence: str


class RunFile(Record, frozen=True, kw_only=True):
    """`run.json`: settings, seeds, versions, source, schema and log of the data, and the answer."""

    format: int
    newfound: str
    created: str
    versions: dict[str, str]
    source: str  # the file or data set, as the user named it
    command: str  # to repeat the run
    masking: Masking | None
    uses_groups: bool  # whether whole groups of rows were held out
    model: str
    model_title: str
    settings: dict[str, JSON]
    seeds: list[int]
    regime: str
    termination_condition: str
    n_rows: Count
    n_labelled: Count
    all_rows: AllRows | None
    fingerprint: str
    schema: Schema
    log: list[str]
    flags: list[str]
    # what acts change
    n_acts: Count
    n_new: Count
    n_new_range: tuple[Count, Count]
    selection: SelectionInWords | None
    discovery: Discovered
    n_disagreements: Count
    calibration: Calibration | None


class GivenLabel(Record, frozen=True):
    """A label that a row was given after the first fit."""

    row_id: str
    label: str


class CorrectedLabel(Record, frozen=True):
    """A label that replaces another one."""

    row_id: str
    was: str
    label: str


class ChangesFile(Record, frozen=True):
    """`changes.json` of a refit."""

    refit_of: str
    changes: Changes
    given: list[GivenLabel]
    corrections: list[CorrectedLabel]


@dataclass(frozen=True)
class Run:
    """An opened run folder; its parts are read when asked for."""

    folder: Path
    description: RunFile

    @property
    def name(self) -> str:
        """Of the folder; also while it is being written under another one."""
        name, is_unfinished, _ = self.folder.absolute().name.partition(UNFINISHED)
        return name.removeprefix(".") if is_unfinished else name

    @property
    @told
    def answer(self) -> RunAnswer:
        """What was found, and how far to trust it, in one sentence."""
        return answer(self.discovered, self.classes, self.audit, self.description.selection)

    @property
    @told
    def model(self) -> Any:
        """The fitted estimator, with the classes that acts have made of it."""
        return self.model_after(self.acts)

    def model_after(self, acts: list[LoggedAct]) -> Any:
        from newfound.estimator import load

        self._check_model()
        model = load(self.folder / MODEL)
        model.fitted_ = replayed(model.fitted_, acts)
        return model

    def _check_model(self) -> None:
        manifest = read_manifest(self.folder)
        for name in manifest.files if manifest else ():
            if name.startswith(f"{MODEL}/"):
                read_checked(self.folder, name)

    def read(self, name: str) -> bytes:
        """The content of one of its files; refused where it was changed or cut since newfound wrote it."""
        return read_checked(self.folder, name)

    def holds(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def check(self) -> list[str]:
        """Read every file, and refuse the first that is not as newfound wrote it.

        Files that are only for people, such as `labelled.csv`, may be a user's by now: the names of those that changed.
        """
        return check_all(self.folder)

    @property
    @told
    def predictor(self) -> Predictor:
        """The model with the same classes, for those who only predict: there at once."""
        return Predictor(replayed(load_predictor(self.folder / "model").fitted_, self.acts))

    @property
    @told
    def acts(self) -> list[LoggedAct]:
        """What was decided about the classes, and what of it was taken back."""
        return acts_from(self.folder / ACT_LOG, self.read(ACT_LOG)) if self.holds(ACT_LOG) else []

    @property
    def acts_in_effect(self) -> list[LoggedAct]:
        return in_effect(self.acts)

    @property
    @told
    def rows(self) -> StoredRows:
        """The rows that were fitted on."""
        return rows_from(self.read(ROWS), self.read(OWN) if self.holds(OWN) else None)

    @property
    @told
    def schema(self) -> Schema:
        """By which another file is read like the one the model was fitted on."""
        return self.description.schema

    @property
    @told
    def classes(self) -> list[ClassSummary]:
        summaries = self._record("classes.json", list[ClassSummary])
        components = [k for summary in summaries for k in summary.components]
        if len(set(components)) < len(components):
            raise ValueError("a component is of two classes")
        return summaries

    @property
    @told
    def class_map(self) -> Classes:
        """Which components belong to which class, without loading the model; names are text."""
        return classes_from(self.classes)

    @property
    @told
    def discovered(self) -> Discovered:
        """How many new classes there are, how they were found, and how sure that is."""
        return self.description.discovery

    @property
    @told
    def audit(self) -> Audit | None:
        """Whether there are classes that nobody labelled; None where that was not asked."""
        return self._record(AUDIT, Audit) if self.holds(AUDIT) else None

    @property
    @told
    def descriptions(self) -> Descriptions:
        """What each class is, in the order of the classes; none in a run that was written without."""
        return Descriptions(self._record(DESCRIPTIONS, list[Description]) if self.holds(DESCRIPTIONS) else ())

    @property
    @told
    def changes(self) -> Changes | None:
        """What is different from the run that this one is a refit of; None where it is of none."""
        return self._record(CHANGES, ChangesFile).changes if self.holds(CHANGES) else None

    def _record(self, name: str, kind: type[Read]) -> Read:
        return decoded(self.read(name), kind, repr(str(self.folder / name)), FIT_AGAIN)

    @property
    @told
    def predictions(self) -> Columns:
        return parquet_columns(self.read("predictions.parquet"))

    @property
    @told
    def history(self) -> Columns:
        return parquet_columns(self.read("history.parquet"))

    @property
    @told
    def examples(self) -> Columns:
        return tensor_columns(self.read("examples.safetensors"))

    @property
    @told
    def latent_map(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows on the map, and their places on a plane, (rows, 2)."""
        examples = self.examples
        return examples["map_rows"], examples["map"]


def open_run(folder: str | os.PathLike) -> Run:
    """The run in a folder that `newfound fit --out` wrote.

    Its parts are read when asked for: `model`, `classes`, `predictions`, `history`, `schema`, and the `description`. A
    file that was changed or cut since is refused when it is read.
    """
    folder = Path(folder)
    if not (folder / DESCRIPTION).is_file():
        raise DataError(why_missing(folder, DESCRIPTION))
    description = read_description(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise DataError(damaged(folder, MANIFEST, "it is missing, and only it tells whether the others are whole"))
    if manifest.moving:  # a change was cut short, or is going on
        with alone(folder):
            pass
        return open_run(folder)
    read_checked(folder, DESCRIPTION)
    check_sizes(folder, manifest)
    return Run(folder, description)


def being_made(folder: Path) -> Run:
    """The run in a folder that has no manifest yet."""
    return Run(folder, read_description(folder))


def read_description(folder: Path) -> RunFile:
    path = folder / DESCRIPTION
    plain = read_json(path, dict[str, Any], FIT_AGAIN)
    check_format(plain, FORMAT, repr(str(path)), FIT_AGAIN)
    description = converted(plain, RunFile, repr(str(path)), FIT_AGAIN)
    try:
        description.schema.check()
    except ValueError as error:
        raise DataError(f"{str(path)!r} is damaged ({error}). {FIT_AGAIN}") from None
    return description
