"""A run: a folder that holds everything one fit produced, and from which report and predictions are made.

    run.json             settings, seeds, versions, source, fingerprint, schema and preprocessing log of the data
    model/               the fitted model (newfound.load)
    classes.json         each class with its components, size and confidence; of a new one, the labels that are missing
    audit.json           whether there are classes nobody labelled, and how far to trust it; may be missing
    changes.json         of a refit: what is different from the run before, and which labels were corrected
    predictions.parquet  every row: id, class, probability, P(new), component, entropy, observed label, its class as it
                         was discovered, and whether that is sure; also as CSV
    labelled.csv         the user's own columns, unchanged, and the answer beside them; .parquet where they came so
    disagreements.csv    rows whose observed label is not the predicted class; the label itself is never changed
    history.parquet      every term of the objective over time
    examples.safetensors the rows that the report shows, and the latent map
    descriptions.json    what each class is: what sets it apart, a rule, hints, a name to suggest
    rows.parquet         the rows that were fitted on, so that an act does not need the source again
    own.parquet          the user's own columns, or of CSV the lines as they were written; missing where there are none
    acts.jsonl           what a person decided about the classes, act by act; missing where nothing was
    report.html

It is made beside its place, in a folder of another name, and moved there when it is whole. The model stays as it was
fitted; what acts make of it is computed when it is asked for, and the files that depend on it follow (`derived`).
"""

import glob
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from newfound import __version__
from newfound.auditing import Audit
from newfound.checked_json import checked, misfit, read_json
from newfound.classes import Classes
from newfound.data import Schema
from newfound.descriptions import Descriptions
from newfound.errors import DataError
from newfound.labelling import Changes
from newfound.predictor import Predictor, load_predictor
from newfound.runs.act_log import LoggedAct, in_effect, read_acts, replayed
from newfound.runs.class_descriptions import descriptions_from_json
from newfound.runs.class_summaries import ClassSummary, classes_from, from_json
from newfound.runs.columnar import Columns, read_parquet, read_tensors
from newfound.runs.damage import told
from newfound.runs.discovered import Discovered
from newfound.runs.stored_rows import StoredRows, read_rows
from newfound.runs.trust import RunAnswer, answer

FORMAT = 4
DESCRIPTION = "run.json"
AUDIT = "audit.json"
DESCRIPTIONS = "descriptions.json"
CHANGES = "changes.json"
UNFINISHED = ".unfinished-"
FIT_AGAIN = "Fit again."
FORMS, FORM = ("format", "newfound"), tuple[int, str]


@dataclass(frozen=True)
class Run:
    """An opened run folder; its parts are read when asked for."""

    folder: Path
    description: dict[str, Any]

    @property
    def name(self) -> str:
        """Of the folder; also while it is being written under another one."""
        name, is_unfinished, _ = self.folder.absolute().name.partition(UNFINISHED)
        return name.removeprefix(".") if is_unfinished else name

    @property
    @told
    def answer(self) -> RunAnswer:
        """What was found, and how far to trust it, in one sentence."""
        return answer(self.discovered, self.classes, self.audit, self.description.get("selection"))

    @property
    @told
    def model(self) -> Any:
        """The fitted estimator, with the classes that acts have made of it."""
        return self.model_after(self.acts)

    def model_after(self, acts: list[LoggedAct]) -> Any:
        from newfound.estimator import load

        model = load(self.folder / "model")
        model.fitted_ = replayed(model.fitted_, acts)
        return model

    @property
    @told
    def predictor(self) -> Predictor:
        """The model with the same classes, for those who only predict: there at once."""
        return Predictor(replayed(load_predictor(self.folder / "model").fitted_, self.acts))

    @property
    @told
    def acts(self) -> list[LoggedAct]:
        """What was decided about the classes, and what of it was taken back."""
        return read_acts(self.folder)

    @property
    def acts_in_effect(self) -> list[LoggedAct]:
        return in_effect(self.acts)

    @property
    @told
    def rows(self) -> StoredRows:
        """The rows that were fitted on."""
        return read_rows(self.folder)

    @property
    @told
    def schema(self) -> Schema:
        """By which another file is read like the one the model was fitted on."""
        return Schema.from_json(self.description["schema"])

    @property
    @told
    def classes(self) -> list[ClassSummary]:
        return from_json((self.folder / "classes.json").read_text())

    @property
    @told
    def class_map(self) -> Classes:
        """Which components belong to which class, without loading the model; names are text."""
        return classes_from(self.classes)

    @property
    @told
    def discovered(self) -> Discovered:
        """How many new classes there are, how they were found, and how sure that is."""
        return Discovered.from_json(checked(self.description["discovery"], Discovered, "answer"))

    @property
    @told
    def audit(self) -> Audit | None:
        """Whether there are classes that nobody labelled; None where that was not asked."""
        path = self.folder / AUDIT
        return Audit.from_json(checked(read_json(path, FIT_AGAIN), Audit, "audit")) if path.is_file() else None

    @property
    @told
    def descriptions(self) -> Descriptions:
        """What each class is, in the order of the classes; none in a run that was written without."""
        path = self.folder / DESCRIPTIONS
        return descriptions_from_json(path.read_text(encoding="utf-8")) if path.is_file() else Descriptions()

    @property
    @told
    def changes(self) -> Changes | None:
        """What is different from the run that this one is a refit of; None where it is of none."""
        path = self.folder / CHANGES
        return Changes.from_json(json.loads(path.read_text())["changes"]) if path.is_file() else None

    @property
    @told
    def predictions(self) -> Columns:
        return read_parquet(self.folder / "predictions.parquet")

    @property
    @told
    def history(self) -> Columns:
        return read_parquet(self.folder / "history.parquet")

    @property
    @told
    def examples(self) -> Columns:
        return read_tensors(self.folder / "examples.safetensors")

    @property
    @told
    def latent_map(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows on the map, and their places on a plane, (rows, 2)."""
        examples = self.examples
        return examples["map_rows"], examples["map"]


def open_run(folder: str | os.PathLike) -> Run:
    """The run in a folder that `newfound fit --out` wrote.

    Its parts are read when asked for: `model`, `classes`, `predictions`, `history`, `schema`, and the `description`.
    """
    folder = Path(folder)
    if not (folder / DESCRIPTION).is_file():
        raise DataError(_why_missing(folder))
    return Run(folder, _read_description(folder))


def _why_missing(folder: Path) -> str:
    what = f"is not a run: {DESCRIPTION} is missing" if folder.is_dir() else "is not there"
    begun = unfinished_folders(folder)
    if not begun:
        return f"The run {str(folder)!r} {what}; give the folder that `newfound fit --out` wrote."
    return f"The run {str(folder)!r} {what}; a fit was begun but has not finished ({begun[0].name}): fit again."


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    description = read_json(path, FIT_AGAIN)
    wrong = misfit(description, dict[str, Any]) or misfit([description.get(n) for n in FORMS], FORM)
    if wrong:
        raise DataError(f"{str(path)!r} is damaged ({wrong}). {FIT_AGAIN}")
    written_as, writer = description["format"], description["newfound"]
    if written_as > FORMAT:
        raise DataError(
            f"The run {str(folder)!r} was written by a newer newfound ({writer}); this is {__version__}. "
            f"Upgrade with pip install --upgrade newfound."
        )
    if written_as < FORMAT:
        raise DataError(
            f"The run {str(folder)!r} was written by an earlier newfound (format {written_as} of {FORMAT}): fit again."
        )
    return description


def check_out(folder: Path, *, replace: bool) -> None:
    """Raise where something is already there, before anything is computed."""
    has_run = (folder / DESCRIPTION).is_file()
    if has_run and not replace:
        raise DataError(f"{str(folder)!r} already holds a run. Use --replace to write over it, or another --out.")
    if not has_run and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{str(folder)!r} exists and is not a run. Name another folder with --out.")


def unfinished_folders(folder: Path) -> list[Path]:
    """What fits towards `folder` left, or are still writing."""
    return sorted(folder.parent.glob(glob.escape(f".{folder.name}{UNFINISHED}") + "*"))


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """An empty folder to write to, which takes the place of `folder` at the end, and is removed if anything fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = folder.parent / f".{folder.name}{UNFINISHED}{uuid4().hex[:8]}"
    building.mkdir()
    try:
        yield building
        _move_into_place(building, folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _move_into_place(building: Path, folder: Path) -> None:
    if not folder.exists():
        building.rename(folder)
        return
    former = building.with_name(building.name + "-former")
    folder.rename(former)
    building.rename(folder)
    shutil.rmtree(former)
