"""Each known class hidden in turn: a check that needs no label of what is really new."""

from collections.abc import Callable
from typing import NamedTuple, get_args

import numpy as np

from newfound.auditing.audit_record import HiddenClass
from newfound.auditing.baseline_methods import MAX_DIMENSIONS, Problem, Space
from newfound.auditing.baseline_scores import BaselineRound, best_f1, score_round
from newfound.auditing.verdict import Answer, Verdict, judge
from newfound.config import Initialisation
from newfound.discovery import Discovery, discover
from newfound.discovery.communities import communities
from newfound.discovery.resolution import usual_resolution
from newfound.graph import Graph
from newfound.initialisation import FeatureSets, Images, Rows, feature_sets, projected
from newfound.labels import UNLABELLED, Labels

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


def with_random_labels(sample: Sample, settings: Initialisation, seed: int) -> Verdict:
    """The verdict where the same labels are handed out to random rows: no class is without any, so none may be seen.

    A few dozen labels leave out a group of rows by chance now and then; so where one hand-out shows something, the
    middle of three counts.
    """
    first = _handed_out(sample, settings, seed)
    if first.answer == "none seen":
        return first
    three = [first, *(_handed_out(sample, settings, seed + i) for i in (1, 2))]
    return sorted(three, key=lambda verdict: get_args(Answer).index(verdict.answer))[1]


def _handed_out(sample: Sample, settings: Initialisation, seed: int) -> Verdict:
    codes = np.random.default_rng(seed).permutation(sample.labels.codes)
    n_known = len(sample.labels.classes)
    return judge(sample.discover(codes, n_known), codes, n_known, settings)
