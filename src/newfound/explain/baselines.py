"""What one would use instead of newfound, on the same rows with the same class hidden, by the same measures."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from newfound.explain.audit_record import BaselineScore
from newfound.labels import UNLABELLED, Labels, has_enough_labels, labels_by_group

# ---- What one would use instead of newfound, on the same rows with the same class hidden ----
# Cheap, and each at its best. Every method puts each row in a known class (0 to n_known − 1) or in a group of its own
# (from n_known on). Those that cannot find a number of classes are given the one that newfound found, but one new
# class at least: that is the truth.

MAX_DIMENSIONS = 20  # principal components that the methods see,
MIXTURE_DIMENSIONS = 10  # and that a mixture has a full covariance of
SELF_TRAINING_ROUNDS = 5


class Space(NamedTuple):
    """The rows as the methods see them; neither part depends on labels."""

    points: np.ndarray  # principal components, of the features that newfound finds neighbours by
    community: np.ndarray  # of newfound's own graph, at its usual resolution


class Problem(NamedTuple):
    """One round: which labels are seen, and how many classes there shall be."""

    space: Space
    codes: np.ndarray  # of labels, UNLABELLED where there is none or where it is hidden
    n_known: int
    n_new: int
    seed: int

    @property
    def n_classes(self) -> int:
        return self.n_known + self.n_new


def k_means(problem: Problem) -> np.ndarray:
    """Begins at the class means; the other centres are drawn as k-means++ does, far from those there are."""
    from sklearn.cluster import KMeans

    start = starting_centres(problem)
    return KMeans(len(start), init=start, n_init=1, random_state=problem.seed).fit_predict(problem.space.points)


def gaussian_mixture(problem: Problem) -> np.ndarray:
    """Begins at the centres of k-means."""
    from sklearn.mixture import GaussianMixture

    points = problem.space.points[:, :MIXTURE_DIMENSIONS].astype(float)
    points = points / max(points.std(axis=0).max(), 1e-12)
    responsible = np.eye(problem.n_classes)[k_means(problem)] + 1e-9
    means = responsible.T @ points / responsible.sum(axis=0)[:, None]
    mixture = GaussianMixture(
        problem.n_classes, means_init=means, reg_covar=1e-3, max_iter=50, init_params="random_from_data", random_state=0
    )
    return mixture.fit_predict(points)


def communities_alone(problem: Problem) -> np.ndarray:
    """A community is of the class that most of its labels name, or a new one where labels are rare in it."""
    community, codes = problem.space.community, problem.codes
    counts, is_known = labels_by_group(community, codes, problem.n_known), has_enough_labels(community, codes)
    group = np.where(is_known, counts.argmax(axis=1), problem.n_known + np.cumsum(~is_known) - 1)
    return group[community]


def self_training(problem: Problem) -> np.ndarray:
    """Knows no class without a label: of a hidden one it finds nothing, but it may know the others best."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    points, codes = problem.space.points, problem.codes
    if problem.n_known < 2:  # a classifier of one class says nothing else
        return np.zeros(len(points), int)
    scaled = points / max(float(points.std()), 1e-12)
    classifier = SelfTrainingClassifier(LogisticRegression(max_iter=200), max_iter=SELF_TRAINING_ROUNDS)
    return classifier.fit(scaled, codes).predict(scaled)


Method = Callable[[Problem], np.ndarray]
METHODS: dict[str, Method] = {
    "k-means from the class means": k_means,
    "a Gaussian mixture": gaussian_mixture,
    "communities of the graph alone": communities_alone,
    "self-training": self_training,
}


def starting_centres(problem: Problem) -> np.ndarray:
    """The means of the known classes, then rows drawn with a probability that grows with the squared distance."""
    points, rng = problem.space.points, np.random.default_rng(problem.seed)
    centres = [points[problem.codes == code].mean(axis=0) for code in range(problem.n_known)]
    nearest = np.min([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=0).astype(float)
    for _ in range(problem.n_new):
        share = nearest / nearest.sum() if nearest.sum() > 0 else None
        centres.append(points[rng.choice(len(points), p=share)])
        nearest = np.minimum(nearest, ((points - centres[-1]) ** 2).sum(axis=1))
    return np.array(centres)


# ---- How the baselines fare where known classes are hidden, beside newfound, by the same measures ----

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
