"""How often newfound says that labels were not selected at random: where they were, and where they were not.

    NEWFOUND_DATA=path/to/data python benchmarks/selection.py

Prints for each data set and each way of selecting labels the share of masks graded "not at random" (and "doubtful").
The thresholds were chosen on other masks, of the train parts and of other blobs (the small tables have one part only).
"""

import sys
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import repository  # noqa: F401

from experiments.named import load_named
from newfound.config import Initialisation
from newfound.discovery import groups, selection
from newfound.discovery.graph import Graph, communities
from newfound.discovery.rows import Images, Rows, feature_sets
from newfound.labels import UNLABELLED
from newfound.preprocessing.columns import decide

SETTINGS = Initialisation()
N_MASKS = 6
MAX_ROWS = 6_000
RANDOM_KEEPS = (0.05, 0.1, 0.2, 0.5, 10)
BIASED_KEEPS = (0.2, 0.5, 1.0)  # of the part of a class that labels come from
HIDES = ("none", "one", "half")


class Case(NamedTuple):
    """Rows of which everything is known."""

    graph: Graph
    projection: np.ndarray
    truth: np.ndarray
    people: np.ndarray | None


def main() -> None:
    print(f"{'data':15}{'labels from':12}{'masks':>6}{'not at random':>15}{'doubtful':>10}")
    remember_communities()
    alarms: dict[str, list[str]] = {}
    for name, case in list(cases()):
        kinds = ["random", "half", "first pc", "easy third"]
        for kind in kinds if case.people is None else [*kinds, "1 person", "3 people"]:
            grades = [grade for grade in grade_masks(case, kind) if grade != "too few labels"]
            alarms.setdefault(kind, []).extend(grades)
            _print(name, kind, grades)
    for kind, grades in alarms.items():
        _print("all", kind, grades)


def _print(name: str, kind: str, grades: list[str]) -> None:
    shares = [grades.count(grade) / max(len(grades), 1) for grade in ("not at random", "doubtful")]
    print(f"{name:15}{kind:12}{len(grades):6d}{shares[0]:15.3f}{shares[1]:10.3f}", flush=True)


def remember_communities() -> None:
    """They do not depend on the labels, and are asked for again with every mask."""
    known: dict[tuple[int, float], np.ndarray] = {}

    def remembered(weights: Any, of_resolution: float, seed: int) -> np.ndarray:
        key = (id(weights), of_resolution)
        if key not in known:
            known[key] = communities(weights, of_resolution, seed)
        return known[key]

    groups.communities = selection.communities = remembered


def grade_masks(case: Case, kind: str) -> list[str]:
    grades = []
    keeps = RANDOM_KEEPS if kind == "random" else BIASED_KEEPS
    for (hide, keep), i in product(product(HIDES, keeps), range(N_MASKS)):
        rng = np.random.default_rng([i, len(kind), 7])
        labels = masked(case, kind, hide, keep, rng)
        weights, of_nodes = case.graph.weights, labels[case.graph.sample]
        of_classes = next(iter(groups.choose_resolutions(weights, of_nodes, SETTINGS, seed=0)))  # the best
        grades.append(selection.label_selection(weights, of_nodes, None, of_classes, SETTINGS, seed=0).grade)
    return grades


def masked(case: Case, kind: str, hide: str, keep: float | int, rng: np.random.Generator) -> np.ndarray:
    """Codes of the labels that are left."""
    classes = np.unique(case.truth)
    n_hidden = {"none": 0, "one": 1, "half": len(classes) // 2}[hide]
    known = rng.permutation(classes)[n_hidden:]
    people = None
    if case.people is not None and kind[0].isdigit():
        people = rng.permutation(np.unique(case.people))[: int(kind[0])]
    labels = np.full(len(case.truth), UNLABELLED)
    for code, name in enumerate(known):
        rows = np.flatnonzero(case.truth == name)
        rows = rows[np.isin(case.people[rows], people)] if people is not None else selected(case, rows, kind, rng)
        n = keep if isinstance(keep, int) else max(1, round(keep * len(rows)))
        labels[rng.permutation(rows)[:n]] = code
    return labels


def selected(case: Case, rows: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """The rows of a class that labels may come from."""
    from sklearn.cluster import KMeans

    if kind == "random":
        return rows
    centred = case.projection[rows] - case.projection[rows].mean(axis=0)
    if kind == "half":
        return rows[KMeans(2, n_init=2, random_state=int(rng.integers(1000))).fit_predict(centred) == rng.integers(2)]
    if kind == "easy third":
        return rows[np.argsort(np.square(centred).sum(axis=1))[: max(2, len(rows) // 3)]]
    first = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    return rows[first >= np.median(first)]


def cases() -> Iterator[tuple[str, Case]]:
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs

    yield "blobs", _case(*make_blobs(3000, 10, centers=10, cluster_std=2.0, random_state=11))
    yield "unequal blobs", _case(*make_blobs([1500, 700, 400, 200], 6, cluster_std=2.5, random_state=12))
    for name, load in (("iris", load_iris), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
        yield name, _case(*load(return_X_y=True))
    for name in ("digits", "har", "mnist", "fashion-mnist"):
        dataset = load_named(name).test
        dataset = dataset.take(np.random.default_rng(1).permutation(len(dataset))[:MAX_ROWS])
        yield name, _case(dataset.X, dataset.labels.codes, dataset.image_shape, dataset.groups)


def _case(
    X: np.ndarray, truth: np.ndarray, shape: tuple[int, ...] | None = None, people: np.ndarray | None = None
) -> Case:
    X = X if X.dtype == np.uint8 else X.astype(np.float32)
    preprocessing = decide(X, "auto", 0.0, None, unit_interval=X.dtype == np.uint8)
    images = None if shape is None else Images(X, shape)
    rows = Rows(preprocessing.select(X), preprocessing.scaling, images, is_scaled=preprocessing.is_scaled)
    features, graph = feature_sets(rows, np.full(len(X), UNLABELLED), SETTINGS, 0)
    return Case(graph._replace(weights=graph.weights.tocsr()), features.projection, truth, people)


if __name__ == "__main__":
    sys.exit(main())
