"""How the baselines fare where known classes are hidden, beside newfound, by the same measures."""

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from newfound.auditing.audit_record import BaselineScore
from newfound.auditing.baseline_methods import METHODS, Method, Problem
from newfound.labels import UNLABELLED, Labels

HELD_OUT = 5  # one in so many labels of known classes is not seen, and tells the accuracy


class BaselineRound(NamedTuple):
    """How one method fared with one class hidden."""

    f1: float
    n_classes: int
    n_right: int  # of the labels of known classes that were held out,
    n_held_out: int


def score_round(
    problem: Problem, labels: Labels, code: int, others: np.ndarray, methods: Mapping[str, Method] = METHODS
) -> dict[str, BaselineRound]:
    """Every method on one problem; `code` is the hidden class, `others` are the known ones, both among `labels`."""
    seen = problem.codes.copy()
    held_out = _held_out(seen, problem.n_known)
    seen[held_out] = UNLABELLED
    problem = problem._replace(codes=seen)
    own, truth = labels.codes == code, labels.codes[held_out]
    scores = {}
    for title, method in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a method has not converged in the time it has
            answer = method(problem)
        group = np.where(answer >= problem.n_known, answer - problem.n_known, UNLABELLED)
        right = int((np.append(others, UNLABELLED)[np.minimum(answer[held_out], len(others))] == truth).sum())
        scores[title] = BaselineRound(
            best_f1(group, own, labels.is_labelled), len(np.unique(answer)), right, len(held_out)
        )
    return scores


def _held_out(codes: np.ndarray, n_known: int) -> np.ndarray:
    """Positions of one label in five of every class; a class of fewer keeps all."""
    rng = np.random.default_rng(0)
    of_classes = [rng.permutation(np.flatnonzero(codes == code)) for code in range(n_known)]
    return np.concatenate([rows[: len(rows) // HELD_OUT] for rows in of_classes])


def best_f1(group: np.ndarray, own: np.ndarray, is_labelled: np.ndarray) -> float:
    """F1 score of a hidden class with the new group that matches it best, on labelled rows."""
    scores = (
        2 * np.sum(own & (group == k)) / (own.sum() + np.sum(is_labelled & (group == k)))
        for k in range(int(group.max(initial=UNLABELLED)) + 1)
    )
    return float(max(scores, default=0.0))


def summarise(rounds: Sequence[dict[str, BaselineRound]]) -> tuple[BaselineScore, ...]:
    """Each method's mean over the hidden classes."""
    rounds = [scores for scores in rounds if scores]
    return tuple(_mean(title, [scores[title] for scores in rounds]) for title in rounds[0]) if rounds else ()


def _mean(title: str, rounds: Sequence[BaselineRound]) -> BaselineScore:
    n_held_out = sum(one.n_held_out for one in rounds)
    return BaselineScore(
        title=title,
        f1=float(np.mean([one.f1 for one in rounds])),
        n_classes=round(float(np.mean([one.n_classes for one in rounds]))),
        known_accuracy=sum(one.n_right for one in rounds) / n_held_out if n_held_out else None,
    )
