"""The files of a run that follow every act: written with the run, and again when its classes change."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict

from newfound import __version__
from newfound._internal.files import defer_signals
from newfound._internal.records import encoded
from newfound.acts import ACTS
from newfound.config import OneOf, check_parameters
from newfound.labels import Labels
from newfound.models.in_numpy import normalised
from newfound.preprocessing.checks import outlier_message
from newfound.runs.answer import AllRows, discovered_columns, summarise_discovery
from newfound.runs.making import atomic_folder
from newfound.runs.manifest import alone, put_files
from newfound.runs.map import LATENT_MAP, choose_examples, latent_map
from newfound.runs.predict import answer_table, disagreements, labelled_file, validation_calibration
from newfound.runs.records import (
    SILENT,
    Columns,
    Listener,
    LoggedAct,
    Masking,
    StoredRows,
    acts_file,
    csv_bytes,
    done,
    parquet_bytes,
    row_files,
    rows_of_fit,
    summarise_classes,
    taken_back,
    tensor_bytes,
    versions,
)
from newfound.runs.run import (
    DESCRIPTION,
    DESCRIPTIONS,
    FORMAT,
    MODEL,
    Run,
    RunFile,
    SelectionInWords,
    open_run,
    unfinished_run,
)
from newfound.tables.dataset import Dataset

# ---- What a run shows of its model as it stands now and of its stored rows: the files that follow every act ----
# The files are made in memory and then put in place together (`manifest.put_files`): a reader never meets half of one,
# and what was cut short is finished by whoever opens the run next. Where the log of acts was moved away, the others
# follow (`caught_up`).


def rewrite(run: Run, acts: list[LoggedAct], finish: Callable[[Run], object]) -> Run:
    """The log of acts, and every file that depends on them; `finish` adds what is made of these, such as a report."""
    fixed = {name: array for name, array in run.examples.items() if name in LATENT_MAP}
    about = asdict(run.description) | {"n_acts": len(acts)}
    put_files(run.folder, acts_file(acts) | derived_files(run.model_after(acts), run.rows, fixed, about))
    again = open_run(run.folder)
    finish(again)
    return again


def derived_files(model: Any, rows: StoredRows, fixed: Columns, about: dict[str, Any]) -> dict[str, bytes]:
    """The files by name, `run.json` last; what else follows from the classes is one more line here.

    `fixed` are the examples that no act changes, `about` the fields of `run.json` that no act changes.
    """
    from newfound.discovery.selection import describe
    from newfound.explain.describe import describe_classes, sample_of, tree_hints

    classes, selection = model.fitted_.classes, model.selection_
    table = answer_table(classes, normalised(rows.q), rows.row_ids, rows.observed, rows.truth)
    table |= discovered_columns(model)
    differ = disagreements(table)
    summaries = summarise_classes(classes, table, model.evidence_)
    found, n_disagreements = summarise_discovery(model, table), int(differ.sum())
    all_rows: AllRows | None = about["all_rows"]
    if all_rows is not None:
        summaries = [all_rows.in_summary(one, classes) for one in summaries]
        found, n_disagreements = all_rows.in_discovered(found), all_rows.n_disagreements(classes)
    in_words = selection and SelectionInWords(**asdict(selection), sentence=describe(selection, model.classes_))
    answer = {
        "n_known": classes.n_known,
        "n_new": model.n_new_,
        "n_new_range": model.n_new_range_,
        "selection": in_words,
        "discovery": found,
    }
    answer |= {"n_disagreements": n_disagreements, "calibration": validation_calibration(model, table)}

    columns = about["schema"].columns
    sample = sample_of(model, rows.X, columns, table["discovered_class"])
    hints = tree_hints(model.tree_, classes, model.n_new_range_)
    described = describe_classes(sample, columns, table["discovered_class"][sample.rows], classes, hints)
    return {
        "predictions.parquet": parquet_bytes(table),
        "predictions.csv": csv_bytes(table),
        **labelled_file(rows.own, table, classes),
        "disagreements.csv": csv_bytes({name: column[differ] for name, column in table.items()}),
        "classes.json": encoded(summaries),
        DESCRIPTIONS: encoded(described),
        "examples.safetensors": tensor_bytes(choose_examples(model, rows.X, table) | fixed),
        DESCRIPTION: encoded(RunFile(**about | answer)),
    }


# ---- From a fitted model and its rows to a run folder ----


@dataclass(frozen=True)
class Origin:
    """Where a run comes from."""

    source: str  # the file or data set, as the user named it
    command: str = ""  # to repeat the run
    masking: Masking | None = None  # which labels were hidden on purpose
    uses_groups: bool = False  # whether whole groups of rows were held out


def no_op(run: Run) -> None:
    """For a run to which nothing is added."""


def write_run(
    folder: Path,
    model: Any,
    dataset: Dataset,
    origin: Origin,
    *,
    observed: Labels | None = None,
    listener: Listener = SILENT,
    finish: Callable[[Run], object] = no_op,
) -> Run:
    """Write everything about a fitted (or loaded) model to `folder`, which appears whole or not at all.

    `dataset` are the rows it was fitted on. `observed` are the labels it saw, where some of the data set's were hidden
    on purpose. `finish` may add to the run, such as a report, before it appears.
    """
    with defer_signals(), atomic_folder(folder, note=listener.note) as building:
        run = fill_run(building, model, dataset, origin, observed, listener)
        finish(run)
    return Run(folder, run.description)


def fill_run(
    folder: Path,
    model: Any,
    dataset: Dataset,
    origin: Origin,
    observed: Labels | None,
    listener: Listener,
    all_rows: AllRows | None = None,
) -> Run:
    """Every file of a run, in an empty folder; `all_rows` are counts where the data set is a sample."""
    listener.stage("predicting")
    rows = rows_of_fit(model, dataset, observed)
    put_files(folder, row_files(rows))
    model.save(folder / MODEL)
    put_files(folder, {"history.parquet": parquet_bytes(model.history_)})
    listener.stage("laying out the latent map")
    positions = latent_map(model, dataset.X)
    listener.stage("describing the classes")
    about = _about(model, dataset, rows) | vars(origin) | {"all_rows": all_rows}
    if all_rows is not None:
        about |= {"n_rows": all_rows.n_rows, "n_labelled": all_rows.n_labelled}
    put_files(folder, derived_files(model, rows, positions, about))
    return unfinished_run(folder)


def _about(model: Any, dataset: Dataset, rows: StoredRows) -> dict[str, Any]:
    """The fields of `run.json` that no act changes."""
    from newfound.models.architecture import MODELS

    names, log = dataset.feature_names, dataset.log
    clipped = outlier_message(dataset.X, model.fitted_.preprocessing, lambda column: repr(names[column]))
    return {
        "format": FORMAT,
        "newfound": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "model": model.model,
        "model_title": MODELS[model.model].title,
        "settings": model.settings(),
        "seeds": [restart.seed for restart in model.restarts_],
        "regime": model.regime_,
        "termination_condition": str(model.termination_condition_),
        "n_acts": 0,
        "n_rows": len(dataset),
        "n_labelled": int((rows.observed != "").sum()),
        "fingerprint": dataset.fingerprint(),
        "schema": dataset.schema,
        "log": [*log, clipped] if clipped and clipped not in log else log,
        "flags": dataset.flags,
    }


# ---- Acts on a run: decided by a person, kept in its log, and followed by all that the run says ----


class Acted(NamedTuple):
    """The run after an act, and the act's line."""

    run: Run
    act: LoggedAct


def act_on(run: Run, act: str, arguments: dict[str, Any], finish: Callable[[Run], object] = no_op) -> Acted:
    """One act of the registry (`acts.ACTS`) on a run; what is refused changes nothing. For `finish` see `rewrite`."""
    check_parameters({"act": act}, {"act": (OneOf(tuple(ACTS)),)})
    with alone(run.folder):
        line = done(run.model.fitted_, run.acts, act, arguments)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def undo(run: Run, finish: Callable[[Run], object] = no_op) -> Acted:
    """Take back the last act that is in effect; the log keeps both."""
    with alone(run.folder):
        line = taken_back(run.acts)
        return Acted(rewrite(run, [*run.acts, line], finish), line)


def caught_up(run: Run) -> Run:
    """The run, its files written again if its log of acts was moved away."""
    if run.description.n_acts == len(run.acts):
        return run
    with alone(run.folder):
        return rewrite(run, run.acts, no_op)
