"""From a data set to a run, in one call; and the same rows fitted again with the labels given since."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace as replaced
from functools import reduce
from pathlib import Path
from signal import SIGTERM
from tempfile import gettempdir
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from newfound._internal.files import DeferredSignals, Terminated, defer_signals
from newfound._internal.progress import step_bar
from newfound._internal.records import encoded
from newfound._internal.threads import ahead
from newfound._internal.words import DataError
from newfound.config import Config
from newfound.explain.audit import Given, audit_rows
from newfound.explain.audit_record import Audit
from newfound.labelling.changes import ChangesFile, CorrectedLabel, GivenLabel
from newfound.labels import UNLABELLED, Labels
from newfound.preprocessing.columns import Moments, SumOverRows
from newfound.runs.all_rows import answer_all
from newfound.runs.answer import AllRows
from newfound.runs.derived import Origin, fill_run, no_op
from newfound.runs.labels import current_labels, labels_since
from newfound.runs.leftovers import CHECKPOINT, is_resumable, remove_unfinished, shareable_path
from newfound.runs.making import atomic_folder, write_options
from newfound.runs.manifest import put_files
from newfound.runs.records import SILENT, Listener
from newfound.runs.run import AUDIT, CHANGES, Run
from newfound.tables.dataset import Dataset
from newfound.training.checkpoints import SECONDS, Checkpoints, latest

# ---- From a data set to a run, in one call ----


class NewRun(NamedTuple):
    """What a run is made of, and where it goes."""

    dataset: Dataset
    observed: Labels | None  # the labels that the fit may see, if some are hidden on purpose
    origin: Origin
    out: Path
    replace: bool = False  # an earlier run
    with_audit: bool = False
    listener: Listener = SILENT
    finish: Callable[[Run], object] = no_op  # may add to the run, such as a report
    resumed: Path | None = None  # the unfinished folder of the fit that is continued

    @property
    def labels(self) -> Labels:
        """The labels that the fit may see."""
        return self.dataset.labels if self.observed is None else self.observed


def fit_run(
    dataset: Dataset,
    out: Path,
    origin: Origin,
    *,
    model: str = "gmdgm",
    settings: dict[str, Any],
    observed: Labels | None = None,
    replace: bool = False,
    uses_groups: bool = False,
    with_audit: bool = False,
    listener: Listener = SILENT,
    finish: Callable[[Run], object] = no_op,
    options: dict[str, Any] | None = None,
    checkpoint_every: float = SECONDS,
    resumed: Path | None = None,
) -> Run:
    """Fit a model to a data set and write the run; for `observed` and `finish` see `write_run`.

    The unfinished folder is made first: a place that cannot be written to is found before the fit, and `open_run`
    reports a fit that was killed. Training keeps its checkpoints there, with `options`, the arguments of this call.
    `resumed` is the unfinished folder of a fit to continue.
    """
    estimator = estimator_for(dataset, model, settings)
    origin = replaced(origin, uses_groups=uses_groups)
    new = NewRun(dataset, observed, origin, out, replace, with_audit, listener, finish, resumed)

    def fit(labels: Labels, building: Path) -> Any:
        checkpoints = Checkpoints(building / CHECKPOINT, checkpoint_every)
        if resumed is not None:
            checkpoints = latest(resumed / CHECKPOINT, checkpoint_every) or checkpoints
        write_options(building, options)
        groups = dataset.groups if uses_groups else None
        return estimator._fit(
            dataset.X, labels, groups, checkpoints=checkpoints, of_all=_sum_over_all(dataset, listener)
        )

    return run_of(fit, new)


def run_of(
    fit: Callable[[Labels, Path], Any],
    new: NewRun,
    add: Callable[[Path, Any], None] = lambda folder, estimator: None,
) -> Run:
    """Write the run of the estimator that `fit` returns for the observed labels; `add` writes further files."""
    out, listener = new.out, new.listener
    with defer_signals() as signals:  # Ctrl-C and SIGTERM wait until the fit is saved
        with atomic_folder(out, replace=new.replace, note=listener.note, resumed=new.resumed) as building:
            with _resume_hint(building, out, listener), signals.allow_signals():
                estimator = _with_notes(lambda: fit(new.labels, building), listener)
            with _saved_elsewhere(estimator, building, out):
                all_rows = _all_rows(building, estimator, new, signals)
                run = fill_run(building, estimator, new.dataset, new.origin, new.observed, listener, all_rows)
                add(building, estimator)
                if new.with_audit and not signals.waiting:
                    _audit(building, estimator, new, signals, all_rows)
                new.finish(run)
        if signals.waiting:
            listener.note(f"Interrupted while saving; the run {str(out)!r} was saved first.")
    return Run(out, run.description)


def _sum_over_all(dataset: Dataset, listener: Listener) -> SumOverRows | None:
    """Return how to sum over all rows in one pass, if the data set is a sample; else None."""
    population = dataset.population
    if population is None:
        return None

    def of_all(of_block: Callable[[Any], Moments]) -> Moments:
        listener.stage(f"reading all {population.n_rows:,} rows for the scale of each column")
        return reduce(Moments.__add__, (of_block(batch.X) for batch in ahead(population.batches(dataset.schema))))

    return of_all


def _all_rows(folder: Path, estimator: Any, new: NewRun, signals: DeferredSignals) -> AllRows | None:
    """Answer every row, if the data set is a sample; None if it is not, or if the person interrupts."""
    if new.dataset.population is None:
        return None
    try:
        with signals.allow_signals():
            with_labels, progress = new.observed is None, new.listener.stage
            return answer_all(folder, estimator, new.dataset, with_labels=with_labels, progress=progress)
    except (KeyboardInterrupt, Terminated) as stop:
        new.listener.note(
            "Interrupted: not every row has an answer, and all counts are of the sample. The fit is kept."
        )
        signals.waiting += [SIGTERM] * isinstance(stop, Terminated)
        return None


@contextmanager
def _resume_hint(building: Path, out: Path, listener: Listener) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if is_resumable(building):
            listener.note(f"The training so far is saved. To continue: newfound fit --resume {out}")
        raise


@contextmanager
def _saved_elsewhere(estimator: Any, building: Path, out: Path) -> Iterator[None]:
    """If a run cannot be written, for example on a full disk, save the model elsewhere and report where."""
    try:
        yield
    except OSError as error:
        if not is_resumable(building):
            with suppress(OSError):
                remove_unfinished(building)  # which makes room
        then = f" Or continue with newfound fit --resume {out}" if is_resumable(building) else ""
        raise DataError(
            f"The run {str(out)!r} could not be written ({error}). {_rescued(estimator, out)}{then}"
        ) from None


def _rescued(estimator: Any, out: Path) -> str:
    """Save the model elsewhere; return a sentence about where."""
    for place in (out.absolute().parent, Path(gettempdir()), Path.home()):
        folder = place / f"{out.name}-model-{uuid4().hex[:8]}"
        try:
            estimator.save(folder)
        except OSError:
            with suppress(OSError):
                remove_unfinished(folder)
            continue
        return f"The trained model is saved in {str(folder)!r} (newfound.load). Free some disk space and fit again."
    return "The trained model could not be saved elsewhere either. Free some disk space and fit again."


def estimator_for(dataset: Dataset, model: str, settings: dict[str, Any]) -> Any:
    """Return an estimator with the data's feature types and image shape."""
    from newfound.estimator import estimator_of
    from newfound.models.architecture import LIKELIHOODS

    likelihood = LIKELIHOODS.get(settings.get("likelihood", "auto"))
    if dataset.kind == "table" and likelihood is not None and likelihood.needs_unit_interval:
        settings = settings | {"standardize": "min-max"}
    of_data: dict[str, Any] = {"feature_types": dataset.schema.feature_types, "image_shape": dataset.image_shape}
    return estimator_of(model)(**of_data, **settings)


def _with_notes(fit: Callable[[], Any], listener: Listener) -> Any:
    """Fit; the estimator's warnings become notes, given after its progress bar is closed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        fitted = fit()
    for warning in caught:
        listener.note(str(warning.message))
    return fitted


def _audit(folder: Path, estimator: Any, new: NewRun, signals: DeferredSignals, all_rows: AllRows | None) -> None:
    """Write the audit; none without both kinds of rows, or if missing labels are not a sign of new classes."""
    labels, listener = new.labels.observed(), new.listener
    if not labels.n_labelled or not labels.n_unlabelled or estimator.pu_weight == 0:
        return
    listener.stage("hiding each known class in turn")
    try:
        with signals.allow_signals():
            audit = audit_of(estimator, new.dataset, labels)
    except (KeyboardInterrupt, Terminated) as stop:
        listener.note("The audit was interrupted and is left out; the fit is kept.")
        signals.waiting += [SIGTERM] * isinstance(stop, Terminated)
        return
    audit = audit if all_rows is None else all_rows.in_audit(audit, estimator.fitted_.classes)
    put_files(folder, {AUDIT: encoded(audit)})


def audit_of(estimator: Any, dataset: Dataset, labels: Labels) -> Audit:
    """Audit the rows that an estimator was fitted on, with the classes it discovered."""
    from newfound.fit import rows_of

    fitted = estimator.fitted_
    codes = labels.codes.copy()
    codes[fitted.validation_indices] = UNLABELLED
    given = None if fitted.discovery is None else Given(fitted.discovery, codes)
    rows = rows_of(dataset.X, fitted.preprocessing, dataset.image_shape)
    settings = (estimator.config or Config()).initialisation
    with step_bar(estimator.verbose, "audit") as show:
        return audit_rows(rows, labels, settings, fitted.restarts[0].seed, show=show, given=given)


# ---- A refit: the same rows with the labels given since, as another run. The first run stays ----


def refit_run(
    run: Run,
    out: Path,
    *,
    command: str = "",
    replace: bool = False,
    listener: Listener = SILENT,
    finish: Callable[[Run], object] = no_op,
) -> Run:
    """Fit the rows of a run again, with its settings; classes that are the same keep their ids and names."""
    if out.resolve() == run.folder.resolve():
        raise DataError(f"A refit leaves the run {str(run.folder)!r} as it is. Name another folder with --out.")
    labels = current_labels(run)
    dataset, observed = as_dataset(run, labels)
    about = run.description
    origin = Origin(about.source, command, about.masking, about.uses_groups)

    def fit(seen: Labels, building: Path) -> Any:
        return run.model.refit(dataset.X, seen)

    def add(folder: Path, estimator: Any) -> None:
        write_changes(folder, run, estimator)

    with_audit = run.audit is not None
    return run_of(fit, NewRun(dataset, observed, origin, out, replace, with_audit, listener, finish), add)


def as_dataset(run: Run, labels: np.ndarray) -> tuple[Dataset, Labels | None]:
    """Return the rows of a run with their labels now, and the labels that a fit may see, if some are hidden."""
    rows, schema = run.rows, run.schema
    seen = Labels.read(labels, len(labels), schema.class_names)
    truth = None if rows.truth is None else Labels.read(rows.truth, len(labels), schema.class_names)
    dataset = Dataset(
        X=np.ascontiguousarray(rows.X.astype(schema.dtype)),
        labels=seen if truth is None else truth,
        feature_names=schema.feature_names,
        row_ids=rows.row_ids,
        kind=schema.kind,
        image_shape=schema.image_shape,
        columns=list(schema.columns),
        log=run.description.log,
        flags=run.description.flags,
        groups=rows.groups,
        label_column=schema.label_column,
        id_column=schema.id_column,
        dropped=list(schema.dropped),
        source=rows.own,
    )
    return dataset, None if truth is None else seen


def write_changes(folder: Path, run: Run, estimator: Any) -> None:
    """Write what differs from the run before, and the labels that were given and corrected since."""
    since, rows = labels_since(run), run.rows
    about = [(str(rows.row_ids[row]), str(rows.observed[row]), label) for row, label in sorted(since.items())]
    stored = ChangesFile(
        refit_of=shareable_path(run.folder),
        changes=estimator.changes_,
        given=[GivenLabel(row_id, now) for row_id, was, now in about if was == ""],
        corrections=[CorrectedLabel(row_id, was, now) for row_id, was, now in about if was != ""],
    )
    put_files(folder, {CHANGES: encoded(stored)})
