"""From rows and labels to an audit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from newfound.auditing.audit_record import Audit
from newfound.auditing.baseline_scores import summarise
from newfound.auditing.hidden_classes import Round, Sample, hide, sample_rows, take_sample, with_random_labels
from newfound.auditing.verdict import Verdict, judge
from newfound.config import Config, Initialisation
from newfound.discovery import Discovery, discover
from newfound.errors import DataError
from newfound.initialisation import Rows
from newfound.labels import Labels
from newfound.progress import Show, step_bar
from newfound.wording import count, short_list

TITLE = "audit"


class Given(NamedTuple):
    """What was discovered before, and the labels it was discovered with (codes)."""

    found: Discovery
    codes: np.ndarray


def audit(
    X: Any,
    y: Any,
    *,
    image_shape: tuple[int, ...] | None = None,
    feature_types: Sequence[str] | None = None,
    random_state: Any = 0,
    config: Config | None = None,
    verbose: bool | str = "auto",
) -> Audit:
    """Are there classes here that nobody labelled? "yes", "perhaps" or "none seen", and how far to trust it.

    Labels must be missing, beyond chance, from rows that form a group. Then each known class is hidden in turn, to see
    whether it would have been found. Nothing is trained.

    Parameters
    ----------
    X : matrix of numbers
        Rows by features, as for `GMDGM.fit`.
    y : array
        A label for each row; -1, None, NaN and "" mean unlabelled.
    image_shape, feature_types, config
        As for `GMDGM`.
    random_state : int, RandomState or None
        Makes an audit repeatable.
    verbose : bool or "auto"
        Whether to show progress; "auto" does so on a terminal and in a notebook.
    """
    from sklearn.utils import check_random_state

    from newfound.estimator import GMDGM

    rows, labels = GMDGM(image_shape=image_shape, feature_types=feature_types, config=config).rows_and_labels(X, y)
    check_labels(labels)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    with step_bar(verbose, TITLE) as show:
        return audit_rows(rows, labels, (config or Config()).initialisation, seed, show=show)


def audit_rows(
    rows: Rows,
    labels: Labels,
    settings: Initialisation,
    seed: int,
    *,
    show: Show = lambda done, total, text: None,
    given: Given | None = None,
) -> Audit:
    """The verdict on all rows; then, on a sample of them, each known class hidden, and a control with random labels.

    Ctrl-C while classes are hidden keeps what there is.
    """
    check_labels(labels)
    chosen = sample_rows(labels.codes, settings.audit_max_rows, seed)
    codes, notes = classes_to_hide(labels.take(chosen).observed(), settings)
    steps = _Steps(show, 3 + len(codes))
    steps.begin("finding neighbours")
    sample = take_sample(rows, labels, chosen, settings, seed)
    steps.begin("looking for new classes")
    found, seen = given or Given(_discover(rows, labels, sample, settings, seed), labels.codes)
    verdict = judge(found, seen, len(labels.classes), settings)
    steps.begin("handing out labels at random")
    control = with_random_labels(sample, settings, seed)
    rounds, left = _hide_each(sample, codes, steps)
    return Audit(
        verdict="perhaps" if verdict.answer == control.answer == "yes" else verdict.answer,
        p_value=verdict.p_value,
        n_new=found.n_new,
        n_new_range=found.n_new_range,
        n_rows_new=verdict.n_rows_new,
        n_rows=len(labels),
        n_labels=labels.n_labelled,
        hidden=tuple(one.hidden for one in rounds),
        control=control.answer,
        n_rows_hidden=len(sample.labels),
        notes=(*notes, *_about_sample(sample, labels), *_about_control(control), *left),
        baselines=summarise([one.baselines for one in rounds]),
    )


def check_labels(labels: Labels) -> None:
    """Refuse labels that leave nothing to ask."""
    if labels.n_labelled == 0:
        raise DataError(
            f"None of the {len(labels):,} rows has a label, so it cannot be told which classes nobody labelled. "
            f"Name the column (or y) that holds the labels, or fit a model to find groups."
        )
    if labels.n_unlabelled == 0:
        raise DataError(
            f"All {len(labels):,} rows have a label, so no class is without one. Give rows whose class is open as "
            f"well, their label empty or -1."
        )


def classes_to_hide(labels: Labels, settings: Initialisation) -> tuple[list[int], list[str]]:
    """Codes of the classes to hide, those with most labels first chosen; and what is to be said of the others."""
    if len(labels.classes) < 2:
        return [], ["There is one known class only, so none can be hidden: nothing says how far to trust this."]
    enough = np.flatnonzero(labels.counts >= settings.audit_min_labels)
    largest = enough[np.argsort(-labels.counts[enough], kind="stable")][: settings.audit_max_classes]
    notes = []
    if len(enough) < len(labels.classes):
        names = short_list([str(c) for c in np.delete(labels.classes, enough)], 5)
        notes.append(f"Not hidden, because fewer than {settings.audit_min_labels} labels say nothing: {names}.")
    if len(largest) < len(enough):
        notes.append(f"Only the {len(largest)} classes with most labels were hidden, of {len(enough)}.")
    return sorted(largest.tolist()), notes


class _Steps:
    """Counts steps as they begin."""

    def __init__(self, show: Show, total: int):
        self.show, self.total, self.begun = show, total, 0

    def begin(self, text: str) -> None:
        self.show(self.begun, self.total, text)
        self.begun += 1


def _discover(rows: Rows, labels: Labels, sample: Sample, settings: Initialisation, seed: int) -> Discovery:
    """On all rows, with the sample's graph where it is of all rows."""
    if len(sample.labels) == len(labels):
        return sample.discover(labels.codes, len(labels.classes))
    return discover(rows, labels.codes, len(labels.classes), settings, seed)


def _hide_each(sample: Sample, codes: Sequence[int], steps: _Steps) -> tuple[list[Round], list[str]]:
    """One after the other, or as joblib is told to: `parallel_config(backend="dask")` spreads them over a cluster."""
    from joblib import Parallel, delayed

    rounds: list[Round] = []
    results = Parallel(return_as="generator")(delayed(hide)(sample, code) for code in codes)
    try:
        for code in codes:
            steps.begin(f"hiding {sample.labels.classes[code]}")
            rounds.append(next(results))
    except KeyboardInterrupt:
        return rounds, [f"Interrupted: {count(len(codes) - len(rounds), 'class was', 'classes were')} not hidden."]
    return rounds, []


def _about_sample(sample: Sample, labels: Labels) -> list[str]:
    if len(sample.labels) == len(labels):
        return []
    return [f"Classes were hidden in a sample of {len(sample.labels):,} of the {len(labels):,} rows."]


def _about_control(control: Verdict) -> list[str]:
    if control.answer != "yes":
        return []
    return ["With labels at random it should have seen none: what it says of your labels may be an artefact."]
