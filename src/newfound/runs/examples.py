"""The rows that a report shows of each class, and of labels that may be wrong; the latent map."""

from typing import Any

import numpy as np

from newfound.data import Dataset
from newfound.runs.columnar import Columns
from newfound.runs.latent_map import latent_map
from newfound.runs.predictions import surest_disagreements

N_MOST_CONFIDENT, N_LOWEST_CONFIDENCE, N_GENERATED = 12, 6, 8
N_DISAGREEMENTS = 24


def choose_examples(model: Any, dataset: Dataset, table: Columns) -> Columns:
    """For each class, numbers of rows by confidence, its mean and generated rows; X of these rows; the latent map."""
    confident, doubtful, means, generated = [], [], [], []
    for name, own_name in zip(model.classes_.astype(str), model.classes_, strict=True):
        rows = np.flatnonzero(table["class"] == name)
        by_confidence = rows[np.argsort(-table["probability"][rows], kind="stable")]
        confident.append(_padded(by_confidence, N_MOST_CONFIDENT))
        doubtful.append(_padded(by_confidence[::-1], N_LOWEST_CONFIDENCE))
        means.append(dataset.X[rows].mean(axis=0) if len(rows) else np.full(dataset.X.shape[1], np.nan))
        generated.append(model.sample(N_GENERATED, class_name=own_name, mean=True, random_state=0))
    differ = surest_disagreements(table, N_DISAGREEMENTS)
    shown = np.unique(np.concatenate([*confident, *doubtful, differ]))
    shown = shown[shown >= 0]
    return {
        "most_confident": np.stack(confident),
        "lowest_confidence": np.stack(doubtful),
        "shown": shown,
        "X": dataset.X[shown],
        "class_mean": np.stack(means).astype(np.float32),
        "generated": np.stack(generated).astype(np.float32),
        "feature_mean": dataset.X.mean(axis=0, dtype=np.float64),
        "feature_std": dataset.X.std(axis=0, dtype=np.float64),
        **latent_map(model, dataset.X),
    }


def _padded(rows: np.ndarray, n: int) -> np.ndarray:
    """The first n numbers of rows, −1 where there are fewer."""
    rows = rows[:n]
    return np.concatenate([rows, np.full(n - len(rows), -1)]).astype(np.int64)
