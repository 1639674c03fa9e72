"""From a data set to a run, in one call."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from newfound.data import Dataset
from newfound.labels import Labels
from newfound.runs.folder import Run, check_out, made_whole, unfinished_folders
from newfound.runs.listener import SILENT, Listener
from newfound.runs.writing import Origin, fill_run, leave_as_is


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
    listener: Listener = SILENT,
    finish: Callable[[Run], object] = leave_as_is,
) -> Run:
    """Fit a model to a data set and write the run; for `observed` and `finish` see `write_run`.

    The unfinished folder is there from the start: a place that cannot be written to is found before the fit, and
    `open_run` can tell that a fit was killed.
    """
    check_out(out, replace=replace)
    _note_unfinished(out, listener)
    estimator = estimator_for(dataset, model, settings)
    with made_whole(out) as building:
        groups = dataset.groups if uses_groups else None
        _fit(estimator, dataset, dataset.labels if observed is None else observed, groups, listener)
        run = fill_run(building, estimator, dataset, origin, observed, listener)
        finish(run)
    return Run(out, run.description)


def estimator_for(dataset: Dataset, model: str, settings: dict[str, Any]) -> Any:
    """An estimator that knows the data's feature types and image shape."""
    from newfound.estimator import estimator_of
    from newfound.models.likelihoods import LIKELIHOODS

    likelihood = LIKELIHOODS.get(settings.get("likelihood", "auto"))
    if dataset.kind == "table" and likelihood is not None and likelihood.needs_unit_interval:
        settings = settings | {"standardize": "min-max"}
    of_data: dict[str, Any] = {"feature_types": dataset.schema.feature_types, "image_shape": dataset.image_shape}
    return estimator_of(model)(**of_data, **settings)


def _fit(estimator: Any, dataset: Dataset, labels: Labels, groups: Any, listener: Listener) -> None:
    """What the estimator warns of becomes notes, told when its progress bar is gone."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(dataset.X, labels, groups)
    for warning in caught:
        listener.note(str(warning.message))


def _note_unfinished(out: Path, listener: Listener) -> None:
    for left in unfinished_folders(out):
        listener.note(f"An earlier fit to {str(out)!r} has not finished. If it was stopped, remove {str(left)!r}.")
