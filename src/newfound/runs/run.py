"""A run: the folder with everything that one fit produced. Reports and predictions are made from it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from newfound._internal.records import JSON, Count, Record, check_format, converted, decoded, read_json
from newfound._internal.words import DataError, reason_of
from newfound.classes import Classes
from newfound.discovery.record import Selection
from newfound.fitted import Fitted
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

if TYPE_CHECKING:
    from newfound.explain.audit_record import Audit
    from newfound.explain.wording import Descriptions
    from newfound.labelling.changes import Changes

# ---- A damaged run: any error while reading it becomes one sentence ----

Read = TypeVar("Read")
DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError),
    *(MemoryError, OSError),
)


def damage_to_error(part: Callable[[Any], Read]) -> Callable[[Any], Read]:
    """Make a property of a run raise a DataError with one sentence when it cannot be read."""

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
                f"The run {str(run.folder)!r} is damaged: its {part.__name__} cannot be read ({reason_of(error)}). "
                f"Copy the whole folder again, or fit again."
            ) from None

    return read


# ---- The files of a run ----
#     run.json             settings, seeds, versions, source, fingerprint, schema and preprocessing log of the data
#     model/               the fitted model (newfound.load)
#     classes.json         each class: components, size, confidence, and the labels that a new class lacks
#     audit.json           whether some classes have no labels, and how far to trust that; may be missing
#     changes.json         of a refit: the differences from the run before, and the corrected labels
#     predictions.parquet  every row: id, class, probability, P(new), component, entropy, observed label, discovered
#                          class, and whether that is sure; also as CSV
#     labelled.csv         the user's own columns, unchanged, and the answer beside them; .parquet for Parquet
#     disagreements.csv    rows with another predicted class than their label; the label itself is never changed
#     history.parquet      every term of the objective over time
#     examples.safetensors the rows that the report shows, and the latent map
#     descriptions.json    each class: its differences from others, a rule, hints, a suggested name
#     all_rows.parquet     of a source too large for memory: the answer for every row; all else is of a sample
#     rows.parquet         the rows that were fitted on, so that an act does not need the source again
#     own.parquet          the user's own columns, or the lines of a CSV file as they are; missing without any
#     acts.jsonl           a person's decisions about the classes; missing without any
#     report.html
#     manifest.json        all these files with their sizes and checksums
#
# A run is made beside its place, in a folder of another name, and moved there when it is whole. The stored model never
# changes; acts are applied to it when it is read, and the files that depend on them are written again (`derived`).

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
    n_known: Count
    n_new: Count
    n_new_range: tuple[Count, Count]
    selection: SelectionInWords | None
    discovery: Discovered
    n_disagreements: Count
    calibration: Calibration | None


@dataclass(frozen=True)
class Run:
    """An opened run folder; its parts are read when they are used."""

    folder: Path
    description: RunFile

    @property
    def name(self) -> str:
        """The name of the folder; while it is unfinished, its later name."""
        name, is_unfinished, _ = self.folder.absolute().name.partition(UNFINISHED)
        return name.removeprefix(".") if is_unfinished else name

    @property
    @damage_to_error
    def answer(self) -> RunAnswer:
        """The answer, and how far to trust it, in one sentence."""
        return answer(self.discovered, self.classes, self.audit, self.description.selection)

    @property
    @damage_to_error
    def model(self) -> Any:
        """The fitted estimator, after all acts."""
        return self.model_after(self.acts)

    def model_after(self, acts: list[LoggedAct]) -> Any:
        from newfound.estimator import load

        self._check_model()
        model = load(self.folder / MODEL)
        model.fitted_ = self._after(model.fitted_, acts)
        return model

    def _after(self, fitted: Fitted, acts: list[LoggedAct]) -> Fitted:
        """The stored model after acts, if it is of the features that the schema has."""
        n_features = len(self.schema.feature_names)
        if n_features != fitted.n_features:
            raise ValueError(f"the schema has {n_features} features, the model {fitted.n_features}")
        return replayed(fitted, acts)

    def _check_model(self) -> None:
        manifest = read_manifest(self.folder)
        for name in manifest.files if manifest else ():
            if name.startswith(f"{MODEL}/"):
                read_checked(self.folder, name)

    def read(self, name: str) -> bytes:
        """The content of one of its files; a file that changed since newfound wrote it is refused."""
        return read_checked(self.folder, name)

    def holds(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def check(self) -> list[str]:
        """Read every file, and refuse the first that changed since newfound wrote it.

        Files that are only for people, such as `labelled.csv`, may change: return the names of those that did.
        """
        return check_all(self.folder)

    @property
    @damage_to_error
    def predictor(self) -> Predictor:
        """The model with the same classes, only for predictions: it loads without JAX."""
        return Predictor(self._after(load_predictor(self.folder / MODEL).fitted_, self.acts))

    @property
    @damage_to_error
    def acts(self) -> list[LoggedAct]:
        """All decisions about the classes, and their undos."""
        return acts_from(self.folder / ACT_LOG, self.read(ACT_LOG)) if self.holds(ACT_LOG) else []

    @property
    def acts_in_effect(self) -> list[LoggedAct]:
        return in_effect(self.acts)

    @property
    @damage_to_error
    def rows(self) -> StoredRows:
        """The rows that were fitted on."""
        return rows_from(self.read(ROWS), self.read(OWN) if self.holds(OWN) else None)

    @property
    def schema(self) -> Schema:
        """How to read another file like the one the model was fitted on."""
        return self.description.schema

    @property
    @damage_to_error
    def classes(self) -> list[ClassSummary]:
        summaries = self._record("classes.json", list[ClassSummary])
        components = [k for summary in summaries for k in summary.components]
        if len(set(components)) < len(components):
            raise ValueError("a component is of two classes")
        about, n_new = self.description, sum(summary.is_new for summary in summaries)
        if (len(summaries) - n_new, n_new) != (about.n_known, about.n_new):
            raise ValueError(f"expected {about.n_known} known and {about.n_new} new classes")
        return summaries

    @property
    @damage_to_error
    def class_map(self) -> Classes:
        """The class of each component, without loading the model; names are text."""
        return classes_from(self.classes)

    @property
    def discovered(self) -> Discovered:
        """How many new classes there are, how they were found, and how sure that is."""
        return self.description.discovery

    @property
    @damage_to_error
    def audit(self) -> "Audit | None":
        """Whether some classes have no labels; None if the fit was made without an audit."""
        from newfound.explain.audit_record import Audit

        return self._record(AUDIT, Audit) if self.holds(AUDIT) else None

    @property
    @damage_to_error
    def descriptions(self) -> "Descriptions":
        """The description of each class, in the order of the classes; empty in a run without any."""
        from newfound.explain.wording import Description, Descriptions

        return Descriptions(self._record(DESCRIPTIONS, list[Description]) if self.holds(DESCRIPTIONS) else ())

    @property
    @damage_to_error
    def changes(self) -> "Changes | None":
        """The differences from the run before; None if this one is not a refit."""
        from newfound.labelling.changes import ChangesFile

        return self._record(CHANGES, ChangesFile).changes if self.holds(CHANGES) else None

    def _record(self, name: str, kind: type[Read]) -> Read:
        return decoded(self.read(name), kind, repr(str(self.folder / name)), FIT_AGAIN)

    @property
    @damage_to_error
    def predictions(self) -> Columns:
        return parquet_columns(self.read("predictions.parquet"))

    @property
    @damage_to_error
    def history(self) -> Columns:
        return parquet_columns(self.read("history.parquet"))

    @property
    @damage_to_error
    def examples(self) -> Columns:
        return tensor_columns(self.read("examples.safetensors"))

    @property
    @damage_to_error
    def latent_map(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows on the map, and their coordinates, (rows, 2)."""
        examples = self.examples
        return examples["map_rows"], examples["map"]


def open_run(folder: str | os.PathLike) -> Run:
    """Open the run in a folder that `newfound fit --out` wrote.

    Its parts are read when they are used: `model`, `classes`, `predictions`, `history`, `schema`, and others. A file
    that changed since newfound wrote it is refused when it is read.
    """
    folder = Path(folder)
    if not (folder / DESCRIPTION).is_file():
        raise DataError(why_missing(folder, DESCRIPTION))
    description = read_description(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise DataError(damaged(folder, MANIFEST, "it is missing, and the other files cannot be checked without it"))
    if manifest.moving:  # another process is changing the run, or was stopped while it did
        with alone(folder):
            pass
        return open_run(folder)
    read_checked(folder, DESCRIPTION)
    check_sizes(folder, manifest)
    return Run(folder, description)


def unfinished_run(folder: Path) -> Run:
    """Open the run in a folder that has no manifest yet."""
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
