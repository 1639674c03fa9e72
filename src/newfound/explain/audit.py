"""Are there classes that nobody labelled? A verdict, and how far to trust it: each known class hidden in turn."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from newfound._internal.progress import Show, step_bar
from newfound._internal.words import DataError, count, short_list
from newfound.config import Config, Initialisation
from newfound.discovery.discover import Discovery, discover
from newfound.discovery.graph import Graph, communities
from newfound.discovery.groups import usual_resolution
from newfound.discovery.pu import FeatureSets
from newfound.discovery.rows import Images, Rows, feature_sets, projected
from newfound.explain.audit_record import Answer, Audit, HiddenClass, Verdict, judge
from newfound.explain.baselines import MAX_DIMENSIONS, BaselineRound, Problem, Space, best_f1, score_round, summarise
from newfound.labels import UNLABELLED, Labels

# ---- Each known class hidden in turn: a check that needs no label of what is really new ----

Discover = Callable[[np.ndarray, int], Discovery]  # from codes of labels and the number of known classes


class Sample(NamedTuple):
    """Rows on which discovery is repeated: their labels, and discovery as a function of labels alone."""

    labels: Labels
    discover: Discover
    space: Space | None = None  # for the baselines; None leaves them out


class Round(NamedTuple):
    """One class hidden: what newfound made of it, and what the baselines did."""

    hidden: HiddenClass
    baselines: dict[str, BaselineRound]


def take_sample(rows: Rows, labels: Labels, chosen: np.ndarray, settings: Initialisation, seed: int) -> Sample:
    """The chosen rows; their principal components are computed once for all labels that are tried."""
    some = projected(rows if len(chosen) == len(labels) else take(rows, chosen), settings, seed)
    no_labels = np.full(len(chosen), UNLABELLED)

    def discover_with(codes: np.ndarray, n_known: int) -> Discovery:
        return discover(some, codes, n_known, settings, seed)

    space = feature_sets(some, no_labels, settings, seed)
    return Sample(labels.take(chosen).observed(), discover_with, _space_of(*space, settings, seed))


def _space_of(features: FeatureSets, graph: Graph, settings: Initialisation, seed: int) -> Space:
    nodes = communities(graph.weights.tocsr(), usual_resolution(len(graph.sample), settings), seed)
    of_rows = graph.interpolation @ np.eye(nodes.max() + 1, dtype=np.float32)[nodes]
    return Space(features.projection[:, :MAX_DIMENSIONS], of_rows.argmax(axis=1))


def sample_rows(codes: np.ndarray, max_rows: int, seed: int) -> np.ndarray:
    """Positions of rows: all that are labelled, up to half of what is allowed, and unlabelled ones for the rest.

    Both are drawn at random, so that labels stay as dense in one class as in another.
    """
    if len(codes) <= max_rows:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    labelled, unlabelled = order[codes[order] != UNLABELLED], order[codes[order] == UNLABELLED]
    n_labelled = max(max_rows // 2, max_rows - len(unlabelled))
    labelled = labelled[:n_labelled]
    return np.sort(np.concatenate([labelled, unlabelled[: max_rows - len(labelled)]]))


def take(rows: Rows, chosen: np.ndarray) -> Rows:
    """Some of the rows."""
    images = None if rows.images is None else Images(rows.images.pixels[chosen], rows.images.shape)
    latent = None if rows.latent is None else rows.latent[chosen]
    return rows._replace(X=rows.X[chosen], images=images, latent=latent)


def hide(sample: Sample, code: int) -> Round:
    """Discovery without the labels of one class, and what it made of the rows that carried them."""
    labels = sample.labels
    n_known = len(labels.classes) - 1
    others = np.delete(np.arange(n_known + 1), code)
    position = np.full(n_known + 2, UNLABELLED)
    position[others] = np.arange(n_known)
    codes = position[labels.codes]
    found = sample.discover(codes, n_known)
    hidden = compare(found, labels, code, others)
    if sample.space is None:
        return Round(hidden, {})
    problem = Problem(sample.space, codes, n_known, max(found.n_new, 1), seed=0)
    return Round(hidden, score_round(problem, labels, code, others))


def compare(found: Discovery, labels: Labels, code: int, others: np.ndarray) -> HiddenClass:
    """What was found without the labels of class `code`, against those labels."""
    own = labels.codes == code
    answer, n_known = found.labels[own], len(others)
    called = np.bincount(answer[answer < n_known], minlength=n_known)
    top = int(called.argmax())
    return HiddenClass(
        name=str(labels.classes[code]),
        n_labels=int(own.sum()),
        found_share=float(np.mean(answer >= n_known)),
        called=str(labels.classes[others[top]]) if called[top] else None,
        called_share=float(called[top] / own.sum()),
        f1=_best_f1(found, labels, own, n_known),
        auroc=_auroc(found.p_new, own, labels.is_labelled & ~own),
        known_accuracy=_known_accuracy(found, labels, own, others),
    )


def _known_accuracy(found: Discovery, labels: Labels, own: np.ndarray, others: np.ndarray) -> float:
    """The share of labelled rows of the other classes that are put in their own, judged out of fold."""
    rows = labels.is_labelled & ~own
    known, new = found.targets[rows, : len(others)], found.targets[rows, len(others) :]
    return float(np.mean((new.sum(axis=1) <= 0.5) & (others[known.argmax(axis=1)] == labels.codes[rows])))


def _best_f1(found: Discovery, labels: Labels, own: np.ndarray, n_known: int) -> float:
    """Of the hidden class with a new one, on labelled rows; those of other classes are judged out of fold."""
    if found.n_new == 0:
        return 0.0
    new = found.targets[:, n_known:]
    group = np.where(new.sum(axis=1) > 0.5, found.group[new.argmax(axis=1)], UNLABELLED)
    group[own] = np.maximum(found.classes[own] - n_known, UNLABELLED)
    return best_f1(group, own, labels.is_labelled)


def _auroc(p_new: np.ndarray, hidden: np.ndarray, known: np.ndarray) -> float:
    """The probability that a row of the hidden class has a higher P(new) than one of a known class."""
    from sklearn.metrics import roc_auc_score

    rows = np.flatnonzero(hidden | known)
    return float(roc_auc_score(hidden[rows], p_new[rows]))


def with_random_labels(sample: Sample, seed: int) -> Verdict:
    """The verdict where the same labels are handed out to random rows: no class is without any, so none may be seen.

    A few dozen labels leave out a group of rows by chance now and then; so where one hand-out shows something, the
    middle of three counts.
    """
    first = _handed_out(sample, seed)
    if first.answer == "none seen":
        return first
    three = [first, *(_handed_out(sample, seed + i) for i in (1, 2))]
    return sorted(three, key=lambda verdict: get_args(Answer).index(verdict.answer))[1]


def _handed_out(sample: Sample, seed: int) -> Verdict:
    codes = np.random.default_rng(seed).permutation(sample.labels.codes)
    n_known = len(sample.labels.classes)
    return judge(sample.discover(codes, n_known), codes, n_known)


# ---- From rows and labels to an audit ----

TITLE = "audit"
MAX_CLASSES = 20  # known classes that are hidden in turn, those with most labels
MIN_LABELS = 5  # of a class that is hidden


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
    codes, notes = classes_to_hide(labels.take(chosen).observed())
    steps = _Steps(show, 3 + len(codes))
    steps.begin("finding neighbours")
    sample = take_sample(rows, labels, chosen, settings, seed)
    steps.begin("looking for new classes")
    found, seen = given or Given(_discover(rows, labels, sample, settings, seed), labels.codes)
    verdict = judge(found, seen, len(labels.classes))
    steps.begin("handing out labels at random")
    control = with_random_labels(sample, seed)
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


def classes_to_hide(labels: Labels) -> tuple[list[int], list[str]]:
    """Codes of the classes to hide, those with most labels first chosen; and what is to be said of the others."""
    if len(labels.classes) < 2:
        return [], ["There is one known class only, so none can be hidden: nothing says how far to trust this."]
    enough = np.flatnonzero(labels.counts >= MIN_LABELS)
    largest = enough[np.argsort(-labels.counts[enough], kind="stable")][:MAX_CLASSES]
    notes = []
    if len(enough) < len(labels.classes):
        names = short_list([str(c) for c in np.delete(labels.classes, enough)], 5)
        notes.append(f"Not hidden, because fewer than {MIN_LABELS} labels say nothing: {names}.")
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
