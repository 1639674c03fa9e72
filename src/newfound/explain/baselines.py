"""Simpler methods on the same rows with the same class hidden, by the same measures."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from newfound.explain.audit_record import BaselineScore
from newfound.labels import UNLABELLED, Labels, has_enough_labels, labels_by_group

# ---- The methods ----
# Each puts every row in a known class (0 to n_known − 1) or in a new group (from n_known on). Methods that cannot find
# the number of classes get the number that newfound found, and at least one new class, because there is one.

MAX_DIMENSIONS = 20  # principal components that the methods use
MIXTURE_DIMENSIONS = 10  # of these, for a full covariance
SELF_TRAINING_ROUNDS = 5


class Space(NamedTuple):
    """The input of the methods; neither part depends on labels."""

    points: np.ndarray  # principal components of the features in which newfound finds neighbours
    community: np.ndarray  # of newfound's graph, at its usual resolution


class Problem(NamedTuple):
    """One round: the labels, and the number of classes to find."""

    space: Space
    codes: np.ndarray  # of labels; UNLABELLED if there is none or if it is hidden
    n_known: int
    n_new: int
    seed: int

    @property
    def n_classes(self) -> int:
        return self.n_known + self.n_new


def k_means(problem: Problem) -> np.ndarray:
    """Starts at the class means; the other centres are drawn as in k-means++."""
    from sklearn.cluster import KMeans

    start = starting_centres(problem)
    return KMeans(len(start), init=start, n_init=1, random_state=problem.seed).fit_predict(problem.space.points)


def gaussian_mixture(problem: Problem) -> np.ndarray:
    """Starts at the centres of k-means."""
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
    """A community belongs to the class of most of its labels, or is a new class if it has few labels."""
    community, codes = problem.space.community, problem.codes
    counts, is_known = labels_by_group(community, codes, problem.n_known), has_enough_labels(community, codes)
    group = np.where(is_known, counts.argmax(axis=1), problem.n_known + np.cumsum(~is_known) - 1)
    return group[community]


def self_training(problem: Problem) -> np.ndarray:
    """Finds no new class, but may be the most accurate for known ones."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    points, codes = problem.space.points, problem.codes
    if problem.n_known < 2:  # a classifier of one class has no other answer
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
    """The means of the known classes, then rows drawn with a probability in proportion to the squared distance."""
    points, rng = problem.space.points, np.random.default_rng(problem.seed)
    centres = [points[problem.codes == code].mean(axis=0) for code in range(problem.n_known)]
    nearest = np.min([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=0).astype(float)
    for _ in range(problem.n_new):
        share = nearest / nearest.sum() if nearest.sum() > 0 else None
        centres.append(points[rng.choice(len(points), p=share)])
        nearest = np.minimum(nearest, ((points - centres[-1]) ** 2).sum(axis=1))
    return np.array(centres)


# ---- Their scores with known classes hidden ----

HELD_OUT = 5  # one in 5 labels of known classes is held out to measure accuracy


class BaselineRound(NamedTuple):
    """The result of one method with one class hidden."""

    f1: float
    n_classes: int
    n_right: int  # of the held-out labels of known classes
    n_held_out: int


def score_round(
    problem: Problem, labels: Labels, code: int, others: np.ndarray, methods: Mapping[str, Method] = METHODS
) -> dict[str, BaselineRound]:
    """Every method on one problem; `code` is the hidden class and `others` are the known ones, as codes of `labels`."""
    seen = problem.codes.copy()
    held_out = _held_out(seen, problem.n_known)
    seen[held_out] = UNLABELLED
    problem = problem._replace(codes=seen)
    own, truth = labels.codes == code, labels.codes[held_out]
    scores = {}
    for title, method in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of methods that do not converge
            answer = method(problem)
        group = np.where(answer >= problem.n_known, answer - problem.n_known, UNLABELLED)
        right = int((np.append(others, UNLABELLED)[np.minimum(answer[held_out], len(others))] == truth).sum())
        scores[title] = BaselineRound(
            best_f1(group, own, labels.is_labelled), len(np.unique(answer)), right, len(held_out)
        )
    return scores


def _held_out(codes: np.ndarray, n_known: int) -> np.ndarray:
    """Row numbers of one label in five of every class; a class with fewer keeps all."""
    rng = np.random.default_rng(0)
    of_classes = [rng.permutation(np.flatnonzero(codes == code)) for code in range(n_known)]
    return np.concatenate([rows[: len(rows) // HELD_OUT] for rows in of_classes])


def best_f1(group: np.ndarray, own: np.ndarray, is_labelled: np.ndarray) -> float:
    """F1 score of a hidden class with the best new group, on labelled rows."""
    scores = (
        2 * np.sum(own & (group == k)) / (own.sum() + np.sum(is_labelled & (group == k)))
        for k in range(int(group.max(initial=UNLABELLED)) + 1)
    )
    return float(max(scores, default=0.0))


def summarise(rounds: Sequence[dict[str, BaselineRound]]) -> tuple[BaselineScore, ...]:
    """The mean of each method over the hidden classes."""
    rounds = [scores for scores in rounds if scores]
    means = []
    for title in rounds[0] if rounds else ():
        of_rounds = [scores[title] for scores in rounds]
        n_held_out = sum(one.n_held_out for one in of_rounds)
        means.append(
            BaselineScore(
                title=title,
                f1=float(np.mean([one.f1 for one in of_rounds])),
                n_classes=round(float(np.mean([one.n_classes for one in of_rounds]))),
                known_accuracy=sum(one.n_right for one in of_rounds) / n_held_out if n_held_out else None,
            )
        )
    return tuple(means)
