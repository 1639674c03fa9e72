"""The rows that a report shows of each class, and where rows lie on the latent map."""

from typing import Any

import numpy as np

from newfound.runs.columnar import Columns

N_MOST_CONFIDENT, N_LOWEST_CONFIDENCE, N_GENERATED = 12, 6, 8
MAP_MAX_ROWS = 2000
LATENT_MAP = ("map_rows", "map")  # what `latent_map` gives
TSNE_MIN_ROWS = 50  # fewer have too few neighbours for it


def choose_examples(model: Any, X: np.ndarray, table: Columns) -> Columns:
    """For each class, numbers of rows by confidence, its mean and generated rows; X of these rows."""
    confident, doubtful, means, generated = [], [], [], []
    for name, own_name in zip(model.classes_.astype(str), model.classes_, strict=True):
        rows = np.flatnonzero(table["class"] == name)
        by_confidence = rows[np.argsort(-table["probability"][rows], kind="stable")]
        confident.append(_padded(by_confidence, N_MOST_CONFIDENT))
        doubtful.append(_padded(by_confidence[::-1], N_LOWEST_CONFIDENCE))
        means.append(X[rows].mean(axis=0) if len(rows) else np.full(X.shape[1], np.nan))
        generated.append(model.sample(N_GENERATED, class_name=own_name, mean=True, random_state=0))
    shown = np.unique(np.concatenate([*confident, *doubtful]))
    shown = shown[shown >= 0]
    return {
        "most_confident": np.stack(confident),
        "lowest_confidence": np.stack(doubtful),
        "shown": shown,
        "X": X[shown],
        "class_mean": np.stack(means).astype(np.float32),
        "generated": np.stack(generated).astype(np.float32),
        "feature_mean": X.mean(axis=0, dtype=np.float64),
        "feature_std": X.std(axis=0, dtype=np.float64),
    }


def _padded(rows: np.ndarray, n: int) -> np.ndarray:
    """The first n numbers of rows, −1 where there are fewer."""
    rows = rows[:n]
    return np.concatenate([rows, np.full(n - len(rows), -1)]).astype(np.int64)


def latent_map(model: Any, X: np.ndarray) -> Columns:
    """Where some of the rows lie; no act changes it."""
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MAP_MAX_ROWS])
    return {"map_rows": rows, "map": in_two_dimensions(model.transform(X[rows]))}


def in_two_dimensions(z: np.ndarray) -> np.ndarray:
    """Latent positions on a plane: by t-SNE, or by principal components where rows or dimensions are few."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if z.shape[1] <= 2 or len(z) < TSNE_MIN_ROWS:
        return PCA(2).fit_transform(z) if min(z.shape) >= 2 else np.column_stack([z[:, :1], np.zeros(len(z))])
    return TSNE(2, init="pca", perplexity=30, max_iter=500, random_state=0).fit_transform(z)
