"""Are there classes without any label? A verdict, and a check of it: each known class hidden in turn."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from newfound._internal.progress import Show, step_bar
from newfound._internal.words import DataError, count, short_list
from newfound.config import Config, Initialisation
from newfound.discovery.discover import discover
from newfound.discovery.graph import communities
from newfound.discovery.groups import usual_resolution
from newfound.discovery.record import Discovery
from newfound.discovery.rows import Images, Rows, feature_sets, projected
from newfound.explain.audit_record import Answer, Audit, HiddenClass
from newfound.explain.baselines import MAX_DIMENSIONS, BaselineRound, Problem, Space, best_f1, score_round, summarise
from newfound.labels import UNLABELLED, Labels

# ---- Whether labels are missing beyond chance from the rows that are called new ----

P_YES = 0.01  # for the verdict "yes", p must be below this
P_PERHAPS = 0.05  # the same for "perhaps"


class Verdict(NamedTuple):
    """The answer, and the numbers behind it."""

    answer: Answer
    p_value: float  # see `missing_label_p_value`
    n_rows_new: int  # rows in new classes


def judge(found: Discovery, labels: np.ndarray, n_known: int) -> Verdict:
    """The answer from what was discovered.

    "yes": there is a new class and p < P_YES. "perhaps": only one of the two holds, or p < P_PERHAPS.
    """
    p_value = missing_label_p_value(found, labels, n_known)
    n_rows_new = int((found.labels >= n_known).sum())
    if found.n_new and p_value < P_YES:
        return Verdict("yes", p_value, n_rows_new)
    is_perhaps = found.n_new > 0 or p_value < P_PERHAPS
    return Verdict("perhaps" if is_perhaps else "none seen", p_value, n_rows_new)


def missing_label_p_value(found: Discovery, labels: np.ndarray, n_known: int) -> float:
    """The probability of at most this many labels among the rows with P(new) > ½ if these were of known classes.

    Each of them would then carry a label with the label frequency of its class. Labelled rows are judged out of fold:
    a row's own label does not keep it from being called new.
    """
    from scipy.stats import binom

    known = found.targets[:, :n_known].astype(float)
    shares = known / np.maximum(known.sum(axis=1, keepdims=True), 1e-12)
    probabilities = shares * (1 - found.p_new)[:, None]  # P(y | x), whether or not a new class was found
    is_labelled, is_new = labels != UNLABELLED, found.p_new > 0.5
    if not is_new.any():
        return 1.0
    counts = np.bincount(labels[is_labelled], minlength=n_known)
    frequencies = counts / np.maximum(probabilities.sum(axis=0), np.maximum(counts, 1))
    likeness = probabilities[is_new].sum(axis=0) + 1e-9
    expected = float(likeness @ frequencies / likeness.sum())
    return float(binom.cdf((is_labelled & is_new).sum(), is_new.sum(), expected))


# ---- Each known class hidden in turn ----


class Sample(NamedTuple):
    """Rows on which discovery is repeated: their labels, and discovery as a function of codes of labels and n_known."""

    labels: Labels
    discover: Callable[[np.ndarray, int], Discovery]
    space: Space | None = None  # for the baselines; None leaves them out


class Round(NamedTuple):
    """The result with one class hidden, and that of the baselines."""

    hidden: HiddenClass
    baselines: dict[str, BaselineRound]


def take_sample(rows: Rows, labels: Labels, chosen: np.ndarray, settings: Initialisation, seed: int) -> Sample:
    """The chosen rows. Their principal components are computed once for all rounds."""
    some = rows
    if len(chosen) < len(labels):
        images = None if rows.images is None else Images(rows.images.pixels[chosen], rows.images.shape)
        latent = None if rows.latent is None else rows.latent[chosen]
        some = rows._replace(X=rows.X[chosen], images=images, latent=latent)
    some = projected(some, settings, seed)
    features, graph = feature_sets(some, np.full(len(chosen), UNLABELLED), settings, seed)
    nodes = communities(graph.weights.tocsr(), usual_resolution(len(graph.sample), settings), seed)
    of_rows = graph.interpolation @ np.eye(nodes.max() + 1, dtype=np.float32)[nodes]
    space = Space(features.projection[:, :MAX_DIMENSIONS], of_rows.argmax(axis=1))
    return Sample(labels.take(chosen).observed(), partial(discover, some, settings=settings, seed=seed), space)


def sample_rows(codes: np.ndarray, max_rows: int, seed: int) -> np.ndarray:
    """Row numbers: the labelled rows, up to half of `max_rows`, and unlabelled rows for the rest.

    Both are drawn at random, so that the density of labels in a class does not change relative to other classes.
    """
    if len(codes) <= max_rows:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    labelled, unlabelled = order[codes[order] != UNLABELLED], order[codes[order] == UNLABELLED]
    n_labelled = max(max_rows // 2, max_rows - len(unlabelled))
    labelled = labelled[:n_labelled]
    return np.sort(np.concatenate([labelled, unlabelled[: max_rows - len(labelled)]]))


def hide(sample: Sample, code: int) -> Round:
    """Discovery without the labels of one class, compared with these labels."""
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
    """What was found without the labels of class `code`, compared with these labels; `others` are the other codes."""
    from sklearn.metrics import roc_auc_score

    own, is_other, n_known = labels.codes == code, labels.is_labelled & (labels.codes != code), len(others)
    answer = found.labels[own]
    called = np.bincount(answer[answer < n_known], minlength=n_known)
    top = int(called.argmax())
    of_known, of_new = found.targets[is_other, :n_known], found.targets[is_other, n_known:]
    is_right = (of_new.sum(axis=1) <= 0.5) & (others[of_known.argmax(axis=1)] == labels.codes[is_other])
    return HiddenClass(
        name=str(labels.classes[code]),
        n_labels=int(own.sum()),
        found_share=float(np.mean(answer >= n_known)),
        called=str(labels.classes[others[top]]) if called[top] else None,
        called_share=float(called[top] / own.sum()),
        f1=_f1_of_hidden(found, labels, own, n_known),
        auroc=float(roc_auc_score(own[labels.is_labelled], found.p_new[labels.is_labelled])),
        known_accuracy=float(np.mean(is_right)),
    )


def _f1_of_hidden(found: Discovery, labels: Labels, own: np.ndarray, n_known: int) -> float:
    """F1 of the hidden class with the best new one, on labelled rows; rows of other classes are judged out of fold."""
    if found.n_new == 0:
        return 0.0
    new = found.targets[:, n_known:]
    group = np.where(new.sum(axis=1) > 0.5, found.group[new.argmax(axis=1)], UNLABELLED)
    group[own] = np.maximum(found.classes[own] - n_known, UNLABELLED)
    return best_f1(group, own, labels.is_labelled)


def with_random_labels(sample: Sample, seed: int) -> Verdict:
    """The verdict with the same labels on random rows: no class is without labels then, so none should be seen.

    With a few dozen labels, a group of rows may have none by chance; so if one draw shows something, the middle answer
    of three draws counts.
    """
    first = _with_shuffled_labels(sample, seed)
    if first.answer == "none seen":
        return first
    three = [first, *(_with_shuffled_labels(sample, seed + i) for i in (1, 2))]
    return sorted(three, key=lambda verdict: get_args(Answer).index(verdict.answer))[1]


def _with_shuffled_labels(sample: Sample, seed: int) -> Verdict:
    codes = np.random.default_rng(seed).permutation(sample.labels.codes)
    n_known = len(sample.labels.classes)
    return judge(sample.discover(codes, n_known), codes, n_known)


# ---- From rows and labels to an audit ----

TITLE = "audit"
MAX_HIDDEN = 20  # known classes to hide, those with most labels
MIN_LABELS_TO_HIDE = 5  # a class with fewer is not hidden


class Given(NamedTuple):
    """An earlier discovery, and the codes of the labels that it used."""

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
    """Return whether there are classes without any label: "yes", "perhaps" or "none seen", with a check of the answer.

    The answer is yes if labels are missing, beyond chance, from rows that form a group. Then each known class is hidden
    in turn, to see whether it would be found. Nothing is trained.

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
    """The verdict on all rows; then, on a sample, a control with random labels and each known class hidden in turn.

    Ctrl-C while classes are hidden keeps the rounds so far.
    """
    check_labels(labels)
    chosen = sample_rows(labels.codes, settings.audit_max_rows, seed)
    codes, notes = classes_to_hide(labels.take(chosen).observed())
    n_steps = 3 + len(codes)
    show(0, n_steps, "finding neighbours")
    sample = take_sample(rows, labels, chosen, settings, seed)
    show(1, n_steps, "looking for new classes")
    if given is None:
        is_whole = len(chosen) == len(labels)  # then the sample's graph is used again
        asked = sample.discover if is_whole else partial(discover, rows, settings=settings, seed=seed)
        given = Given(asked(labels.codes, len(labels.classes)), labels.codes)
    found = given.found
    verdict = judge(found, given.codes, len(labels.classes))
    show(2, n_steps, "shuffling labels")
    control = with_random_labels(sample, seed)
    if len(chosen) < len(labels):
        notes.append(f"Classes were hidden in a sample of {len(chosen):,} of the {len(labels):,} rows.")
    if control.answer == "yes":
        notes.append("With random labels the verdict is yes, so the answer for your labels may be an artefact.")
    rounds = _hide_each(sample, codes, lambda i, text: show(3 + i, n_steps, text))
    if len(rounds) < len(codes):
        n_left = len(codes) - len(rounds)
        notes.append(f"Interrupted: {count(n_left, 'class was', 'classes were')} not hidden.")
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
        n_rows_hidden=len(chosen),
        notes=tuple(notes),
        baselines=summarise([one.baselines for one in rounds]),
    )


def check_labels(labels: Labels) -> None:
    """Refuse labels if no row or every row has one."""
    if labels.n_labelled == 0:
        raise DataError(
            f"None of the {len(labels):,} rows has a label, so it is not known which labels are missing. "
            f"Name the column (or y) that holds the labels, or fit a model to find groups."
        )
    if labels.n_unlabelled == 0:
        raise DataError(
            f"All {len(labels):,} rows have a label, so no class is without labels. Add the rows "
            f"that you want to classify, with an empty label or -1."
        )


def classes_to_hide(labels: Labels) -> tuple[list[int], list[str]]:
    """The codes of the classes to hide, those with most labels, and notes on the others."""
    if len(labels.classes) < 2:
        return [], ["There is one known class only, so none can be hidden to check this answer."]
    enough = np.flatnonzero(labels.counts >= MIN_LABELS_TO_HIDE)
    largest = enough[np.argsort(-labels.counts[enough], kind="stable")][:MAX_HIDDEN]
    notes = []
    if len(enough) < len(labels.classes):
        names = short_list([str(c) for c in np.delete(labels.classes, enough)], 5)
        notes.append(f"Not hidden, because they have fewer than {MIN_LABELS_TO_HIDE} labels: {names}.")
    if len(largest) < len(enough):
        notes.append(f"Only the {len(largest)} classes with most labels were hidden, of {len(enough)}.")
    return sorted(largest.tolist()), notes


def _hide_each(sample: Sample, codes: Sequence[int], begin: Callable[[int, str], None]) -> list[Round]:
    """The rounds until Ctrl-C, in the backend set for joblib: `parallel_config(backend="dask")` uses a cluster."""
    from joblib import Parallel, delayed

    rounds: list[Round] = []
    results = Parallel(return_as="generator")(delayed(hide)(sample, code) for code in codes)
    try:
        for i, code in enumerate(codes):
            begin(i, f"hiding {sample.labels.classes[code]}")
            rounds.append(next(results))
    except KeyboardInterrupt:
        pass
    return rounds
