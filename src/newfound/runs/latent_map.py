"""Where rows lie on a plane, neighbours in latent space side by side.

t-SNE lays out a sample; every other row is put among its nearest neighbours of the sample. So the map of 60,000 rows
costs seconds, and hardly more than that of a thousand.
"""

from typing import Any

import numpy as np

from newfound.batching import in_batches
from newfound.runs.columnar import Columns

LATENT_MAP = ("map_rows", "map")  # what `latent_map` gives; no act changes it
MAX_ROWS = 60_000  # on the map
SAMPLE_ROWS = 1_000  # by t-SNE, which takes 3 ms a row
MIN_ROWS_A_CLASS = 15  # in the sample, so that a rare class has a place of its own
TSNE_MIN_ROWS = 50  # fewer have too few neighbours for it
N_NEIGHBOURS = 6  # of the sample, that place a row
SPREAD = 0.3  # of the distance between these neighbours: else rows would lie on top of each other


def latent_map(model: Any, X: np.ndarray) -> Columns:
    """Numbers of rows and their places; X are the rows that the model was fitted on."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(X))[:MAX_ROWS])
    z = model.transform(X[rows])
    sample = choose_sample(model.labels_[rows].astype(str), rng)
    placed = np.empty((len(rows), 2), np.float32)
    placed[sample] = in_two_dimensions(z[sample])
    others = np.setdiff1d(np.arange(len(rows)), sample)
    if len(others):
        placed[others] = among_neighbours(z[others], z[sample], placed[sample], rng)
    return {"map_rows": rows, "map": placed}


def choose_sample(classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions of rows, at random, a few of every class at least."""
    order = rng.permutation(len(classes))
    _, codes = np.unique(classes[order], return_inverse=True)
    by_class = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[by_class], np.arange(codes.max(initial=-1) + 1))
    rank = np.empty(len(order), int)  # of a row among those of its class
    rank[by_class] = np.arange(len(order)) - first[codes[by_class]]
    most_wanted = np.argsort(rank >= MIN_ROWS_A_CLASS, kind="stable")
    return np.sort(order[most_wanted[:SAMPLE_ROWS]])


def in_two_dimensions(z: np.ndarray) -> np.ndarray:
    """Latent positions on a plane: by t-SNE, or by principal components where rows or dimensions are few."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if z.shape[1] <= 2 or len(z) < TSNE_MIN_ROWS:
        return PCA(2).fit_transform(z) if min(z.shape) >= 2 else np.column_stack([z[:, :1], np.zeros(len(z))])
    with threadpool_limits(1):  # its threads wait for each other at every step: on busy cores ten times as long
        return TSNE(2, init="pca", perplexity=30, max_iter=400, random_state=0).fit_transform(z)


def among_neighbours(z: np.ndarray, z_sample: np.ndarray, placed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each row at the mean of its nearest neighbours' places, the nearer the weightier, and a little beside it."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS, len(z_sample))).fit(z_sample)

    def place(some: np.ndarray) -> np.ndarray:
        distance, neighbours = index.kneighbors(some)
        weights = np.exp(-((distance / np.maximum(distance.mean(axis=1, keepdims=True), 1e-12)) ** 2))
        weights /= weights.sum(axis=1, keepdims=True)
        around = placed[neighbours]
        mean = np.einsum("nk,nkd->nd", weights, around)
        return np.column_stack([mean, np.linalg.norm(around - mean[:, None], axis=2).mean(axis=1)])

    found = in_batches(place, z)
    return found[:, :2] + SPREAD * found[:, 2:] * rng.standard_normal((len(z), 2))
