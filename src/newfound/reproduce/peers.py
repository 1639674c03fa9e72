"""What one would use instead, from scikit-learn, behind the one method a cell asks for: the component of each row."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from newfound.masking import UNLABELLED
from newfound.reproduce.tasks import Task


@dataclass
class Peer:
    """A method with its settings; `fit` returns what tells components."""

    settings: dict[str, Any]
    is_scaled: bool = True  # columns of mean 0 and variance 1, as its users would
    fitted: Any = field(default=None, repr=False)
    scaler: Any = field(default=None, repr=False)

    def fit(self, task: Task, seed: int) -> "Peer":
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler().fit(task.X) if self.is_scaled else None
        fitted = self._fit(self._scaled(task.X, scaler), task, seed)
        return type(self)(self.settings, self.is_scaled, fitted, scaler)

    def predict_component(self, X: np.ndarray) -> np.ndarray:
        return self.fitted.predict(self._scaled(X, self.scaler))

    @staticmethod
    def _scaled(X: np.ndarray, scaler: Any) -> np.ndarray:
        X = X.astype(np.float32)
        return X if scaler is None else scaler.transform(X)

    def _fit(self, X: np.ndarray, task: Task, seed: int) -> Any:
        raise NotImplementedError


class ByKMeans(Peer):
    """Reads no label."""

    def _fit(self, X: np.ndarray, task: Task, seed: int) -> Any:
        from sklearn.cluster import KMeans

        return KMeans(task.n_components, random_state=seed, **self.settings).fit(X)


class ByMixture(Peer):
    """Reads no label."""

    def _fit(self, X: np.ndarray, task: Task, seed: int) -> Any:
        from sklearn.mixture import GaussianMixture

        return GaussianMixture(task.n_components, random_state=seed, **self.settings).fit(X)


class BySelfTraining(Peer):
    """Reads the labels, and knows no class without one."""

    def _fit(self, X: np.ndarray, task: Task, seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.semi_supervised import SelfTrainingClassifier

        if len(task.known) < 2:  # a classifier of one class says nothing else
            return _Always(int(task.known[0]))
        base = LogisticRegression(max_iter=1000, random_state=seed)
        return SelfTrainingClassifier(base, **self.settings).fit(X, np.where(task.y >= 0, task.y, UNLABELLED))


@dataclass(frozen=True)
class _Always:
    component: int

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.component)


PEERS: dict[str, Peer] = {
    "k-means": ByKMeans({"n_init": 1}, is_scaled=False),
    "k-means-scaled": ByKMeans({"n_init": 10}),
    "gaussian-mixture": ByMixture({"n_init": 3, "reg_covar": 1e-3}),
    "self-training": BySelfTraining({}),
}
