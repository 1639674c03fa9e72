"""The rows that a report shows of each class, and of labels that may be wrong; the latent map."""

from typing import Any

import numpy as np

from newfound.runs.columnar import Columns
from newfound.runs.predictions import surest_disagreements

N_PROTOTYPES, N_LOWEST_CONFIDENCE, N_GENERATED = 12, 6, 8
N_DISAGREEMENTS = 24
MAX_CANDIDATES = 2_000  # rows of a class among which prototypes are looked for
POOL = 5  # times as many rows near the centre, from which prototypes are chosen to differ


def choose_examples(model: Any, X: np.ndarray, table: Columns) -> Columns:
    """For each class, its prototypes and its edge, its mean and generated rows; X of these rows."""
    typical, doubtful, means, generated = [], [], [], []
    for name, own_name in zip(model.classes_.astype(str), model.classes_, strict=True):
        rows = np.flatnonzero(table["class"] == name)
        by_confidence = rows[np.argsort(-table["probability"][rows], kind="stable")]
        typical.append(_padded(_prototypes(model, X, rows), N_PROTOTYPES))
        doubtful.append(_padded(by_confidence[::-1], N_LOWEST_CONFIDENCE))
        means.append(X[rows].mean(axis=0) if len(rows) else np.full(X.shape[1], np.nan))
        generated.append(model.sample(N_GENERATED, class_name=own_name, mean=True, random_state=0))
    differ = surest_disagreements(table, N_DISAGREEMENTS)
    shown = np.unique(np.concatenate([*typical, *doubtful, differ]))
    shown = shown[shown >= 0]
    return {
        "prototypes": np.stack(typical),
        "lowest_confidence": np.stack(doubtful),
        "shown": shown,
        "X": X[shown],
        "class_mean": np.stack(means).astype(np.float32),
        "generated": np.stack(generated).astype(np.float32),
        "feature_mean": X.mean(axis=0, dtype=np.float64),
        "feature_std": X.std(axis=0, dtype=np.float64),
    }


def _prototypes(model: Any, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of the rows of a class, or of some of them where it is large."""
    some = np.random.default_rng(0).permutation(rows)[:MAX_CANDIDATES]
    return some[prototypes(model.transform(X[some]), N_PROTOTYPES)] if len(some) else some


def prototypes(z: np.ndarray, n: int) -> np.ndarray:
    """Positions of n rows near the centre of a class in latent space, the nearest first.

    So that they do not show the same thing n times, each next one of those near the centre is the one that is furthest
    from all chosen before.
    """
    from_centre = np.linalg.norm(z - np.median(z, axis=0), axis=1)
    pool = np.argsort(from_centre, kind="stable")[: max(n, min(POOL * n, len(z) // 2))]
    chosen, apart = [0], np.full(len(pool), np.inf)
    while len(chosen) < min(n, len(pool)):
        apart = np.minimum(apart, np.linalg.norm(z[pool] - z[pool[chosen[-1]]], axis=1))
        apart[chosen] = -1.0
        chosen.append(int(apart.argmax()))
    return pool[np.sort(chosen)]


def _padded(rows: np.ndarray, n: int) -> np.ndarray:
    """The first n numbers of rows, −1 where there are fewer."""
    rows = rows[:n]
    return np.concatenate([rows, np.full(n - len(rows), -1)]).astype(np.int64)
