"""What stands beside newfound's models: methods of scikit-learn, and discovery alone, without any training."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.presets import Changes, keywords
from experiments.tasks import Task
from newfound.classes import Classes


@dataclass(frozen=True)
class Baseline:
    """A method of scikit-learn and its settings."""

    make: Callable[..., Any]  # of (task, seed, **settings): an estimator
    settings: dict[str, Any] = field(default_factory=dict)
    is_scaled: bool = True  # columns of mean 0 and variance 1, as its users would

    def fit(self, task: Task, seed: int) -> "FittedBaseline":
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        estimator = self.make(task, seed, **self.settings)
        steps = [StandardScaler(), estimator] if self.is_scaled else [estimator]
        return FittedBaseline(make_pipeline(*steps).fit(_as_floats(task.X), task.labels.observed().codes))


@dataclass(frozen=True)
class FittedBaseline:
    """Predicts components as the estimators of newfound do."""

    pipeline: Any

    def predict_component(self, X: np.ndarray) -> np.ndarray:
        return self.pipeline.predict(_as_floats(X))


def _as_floats(X: np.ndarray) -> np.ndarray:
    return X if X.dtype.kind == "f" else X.astype(np.float32)


def k_means(task: Task, seed: int, **settings: Any) -> Any:
    """Reads no label."""
    from sklearn.cluster import KMeans

    return KMeans(task.classes.n_components, random_state=seed, **settings)


def gaussian_mixture(task: Task, seed: int, **settings: Any) -> Any:
    """Reads no label."""
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(task.classes.n_components, random_state=seed, **settings)


def self_training(task: Task, seed: int, **settings: Any) -> Any:
    """Reads the labels, and predicts only classes that have one."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    if len(task.known) < 2:  # a classifier of one class has no other answer
        return DummyClassifier(strategy="constant", constant=0)
    return SelfTrainingClassifier(LogisticRegression(max_iter=1000, random_state=seed), **settings)


BASELINES: dict[str, Baseline] = {
    "k-means": Baseline(k_means, {"n_init": 1}, is_scaled=False),
    "k-means-10-starts": Baseline(k_means, {"n_init": 10}, is_scaled=False),
    "k-means-scaled": Baseline(k_means, {"n_init": 10}),
    "gaussian-mixture": Baseline(gaussian_mixture, {"n_init": 3, "reg_covar": 1e-3}),
    "tied-mixture": Baseline(gaussian_mixture, {"n_init": 3, "reg_covar": 1e-3, "covariance_type": "tied"}),
    "self-training": Baseline(self_training),
}


class Discovered:
    """What discovery alone finds, with the names of a fitted estimator; it has no answer for other rows."""

    def __init__(self, task: Task, seed: int, changes: Changes):
        from newfound.config import Config
        from newfound.discovery.discover import discover
        from newfound.estimator import GMDGM

        model = GMDGM(feature_types=task.feature_types, random_state=seed, **keywords(changes))
        rows, labels = model.rows_and_labels(task.X, task.labels)
        settings = (model.config or Config()).initialisation
        discovery = discover(rows, labels.codes, len(labels.classes), settings, seed)
        self.classes = Classes.one_component_each(labels.classes, discovery.n_new)
        self.position = discovery.classes
        self.labels_ = self.classes.names[discovery.classes]
        self.classes_, self.n_new_, self.n_new_range_ = self.classes.names, discovery.n_new, discovery.n_new_range

    def predict_component(self, X: np.ndarray) -> np.ndarray:
        """Of the rows that were fitted on, which are the test rows of such an experiment."""
        if len(X) != len(self.position):
            raise ValueError(f"Discovery has an answer for its own {len(self.position)} rows; got {len(X)} others.")
        return self.position
