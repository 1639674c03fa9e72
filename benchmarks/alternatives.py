"""What one would use instead, on the same rows: seconds, and one-to-one accuracy on all, known and new classes.

    NEWFOUND_DATA=... python benchmarks/alternatives.py [--rows 10000]

MNIST, the digits 5 to 9 hidden, a fifth of the other labels left, ten components (or classes, or clusters) for each
method. Methods that only cluster read no labels; those that only classify know no digit without one. Each as it comes,
or as its own example shows it.
"""

import argparse
import io
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import repository  # noqa: F401

N_CLASSES = 10
KEPT: list[Any] = []


class Rows(NamedTuple):
    """Rows to learn from, with -1 where a label is hidden, and rows to test on."""

    X: np.ndarray  # uint8
    y: np.ndarray
    X_test: np.ndarray
    truth: np.ndarray

    @property
    def unit(self) -> tuple[np.ndarray, np.ndarray]:
        return self.X / np.float32(255), self.X_test / np.float32(255)


def newfound(rows: Rows) -> np.ndarray:
    from newfound import GMDGM

    fit = GMDGM(N_CLASSES - 5, image_shape=(28, 28), random_state=0, verbose=False).fit(rows.X, rows.y)
    return fit.predict_component(rows.X_test)


def minibatch_kmeans(rows: Rows) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    X, X_test = rows.unit
    return MiniBatchKMeans(N_CLASSES, n_init=10, random_state=0).fit(X).predict(X_test)


def gaussian_mixture(rows: Rows) -> np.ndarray:
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    X, X_test = rows.unit
    axes = PCA(50, random_state=0).fit(X)
    mixture = GaussianMixture(N_CLASSES, n_init=3, random_state=0).fit(axes.transform(X))
    return mixture.predict(axes.transform(X_test))


def label_spreading(rows: Rows) -> np.ndarray:
    from sklearn.semi_supervised import LabelSpreading

    X, X_test = rows.unit
    return LabelSpreading(kernel="knn", n_neighbors=10).fit(X, rows.y).predict(X_test)


def self_training(rows: Rows) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    X, X_test = rows.unit
    return SelfTrainingClassifier(LogisticRegression(max_iter=300)).fit(X, rows.y).predict(X_test)


def vade(rows: Rows) -> np.ndarray:
    return _clustpy("VaDE", rows)


def dec(rows: Rows) -> np.ndarray:
    return _clustpy("DEC", rows)


def _clustpy(name: str, rows: Rows) -> np.ndarray:
    _let_torchvision_load()
    from clustpy import deep

    X, X_test = rows.unit
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # a bar for every epoch
        return getattr(deep, name)(N_CLASSES, random_state=np.random.RandomState(0)).fit(X).predict(X_test)


def _let_torchvision_load() -> None:
    """Declare two operators that torchvision, which ClustPy imports for its data sets, looks for when it is imported.

    Its wheel is made for CUDA and does not find them beside PyTorch's CPU build. Nothing here calls them.
    """
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            KEPT.append(library)  # an operator is gone when the library that declares it is


def umap_mixture(rows: Rows) -> np.ndarray:
    """N2D's recipe without its auto-encoder: UMAP to ten dimensions, then a mixture."""
    import umap
    from sklearn.mixture import GaussianMixture

    X, X_test = rows.unit
    near = umap.UMAP(n_components=N_CLASSES, n_neighbors=20, min_dist=0.0, random_state=0).fit(X)
    mixture = GaussianMixture(N_CLASSES, n_init=10, random_state=0).fit(near.embedding_)
    return mixture.predict(near.transform(X_test))


METHODS: dict[str, tuple[Callable[[Rows], np.ndarray], str]] = {
    "newfound": (newfound, "newfound"),
    "MiniBatchKMeans": (minibatch_kmeans, "sklearn"),
    "GaussianMixture": (gaussian_mixture, "sklearn"),
    "LabelSpreading": (label_spreading, "sklearn"),
    "SelfTraining": (self_training, "sklearn"),
    "UMAP + mixture": (umap_mixture, "umap"),
    "ClustPy VaDE": (vade, "clustpy"),
    "ClustPy DEC": (dec, "clustpy"),
}


def load(n_rows: int) -> Rows:
    from experiments.named import load_named
    from experiments.tasks import paper_setup

    parts = load_named("mnist")
    some = np.random.default_rng(0).permutation(len(parts.train.X))[:n_rows]
    labels, _ = paper_setup("semi-unsupervised", parts.train.labels.take(some), random_state=0)
    return Rows(parts.train.X[some], labels.codes, parts.test.X, parts.test.labels.codes)


def measure(n_rows: int = 10_000) -> dict[str, Any]:
    from newfound.evaluation import evaluate

    rows = load(n_rows)
    known = np.unique(rows.y[rows.y >= 0])
    results: dict[str, Any] = {}
    for name, (method, library) in METHODS.items():
        if find_spec(library) is None:
            print(f"{name}: skipped, {library} is not installed")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            answers = method(rows)
            seconds = time.perf_counter() - began
        accuracy = evaluate(rows.truth, answers, known).one_to_one
        results[name] = {"seconds": round(seconds, 1)} | {
            group: round(100 * getattr(accuracy, group), 1) for group in ("all", "known", "new")
        }
        print(f"{name:<16} " + "  ".join(f"{key} {value}" for key, value in results[name].items()), flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    measure(parser.parse_args().rows)
