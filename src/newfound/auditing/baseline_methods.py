"""What one would use instead of newfound, on the same rows with the same class hidden: cheap, and each at its best.

Every method puts each row in a known class (0 to n_known − 1) or in a group of its own (from n_known on). Those that
cannot find a number of classes are given the one that newfound found, but one new class at least: that is the truth.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from newfound.labels import UNLABELLED

MAX_DIMENSIONS = 20  # principal components that the methods see,
MIXTURE_DIMENSIONS = 10  # and that a mixture has a full covariance of
DENSE = 0.5  # a community is known where labels are so dense, relative to all the data
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
    labelled = codes != UNLABELLED
    counts = np.zeros((community.max() + 1, problem.n_known))
    np.add.at(counts, (community[labelled], codes[labelled]), 1)
    is_known = counts.sum(axis=1) >= DENSE * labelled.mean() * np.bincount(community)
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
