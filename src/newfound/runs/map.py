"""The latent map, the rows that a report shows, and the map for embedding viewers."""

from pathlib import Path
from typing import Any

import numpy as np

from newfound._internal.files import make_folders, replace_file
from newfound._internal.threads import in_batches
from newfound._internal.words import DataError
from newfound.runs.leftovers import check_file_out
from newfound.runs.predict import surest_disagreements
from newfound.runs.records import Columns, parquet_bytes
from newfound.runs.run import Run

# ---- The latent map: rows on a plane, neighbours in latent space side by side ----
# t-SNE lays out a sample; every other row is placed among its nearest neighbours of the sample. A map of 60,000 rows
# takes seconds, like that of 1,000.

LATENT_MAP = ("map_rows", "map")  # the arrays of `latent_map`; no act changes them
MAX_ROWS = 60_000  # on the map
SAMPLE_ROWS = 1_000  # by t-SNE, which takes 3 ms a row
MIN_ROWS_A_CLASS = 15  # in the sample, so that a rare class has a place of its own
TSNE_MIN_ROWS = 50  # fewer have too few neighbours for it
N_NEIGHBOURS = 6  # of the sample, that place a row
SPREAD = 0.3  # of the distance between these neighbours: else rows would lie on top of each other


def latent_map(model: Any, X: np.ndarray) -> Columns:
    """Return numbers of rows and their places; X are the rows that the model was fitted on."""
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
    """Return positions of random rows, if possible MIN_ROWS_A_CLASS of every class."""
    order = rng.permutation(len(classes))
    _, codes = np.unique(classes[order], return_inverse=True)
    by_class = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[by_class], np.arange(codes.max(initial=-1) + 1))
    rank = np.empty(len(order), int)  # of a row among those of its class
    rank[by_class] = np.arange(len(order)) - first[codes[by_class]]
    most_wanted = np.argsort(rank >= MIN_ROWS_A_CLASS, kind="stable")
    return np.sort(order[most_wanted[:SAMPLE_ROWS]])


def in_two_dimensions(z: np.ndarray) -> np.ndarray:
    """Lay out latent positions on a plane: by t-SNE, or by principal components for few rows or dimensions."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if z.shape[1] <= 2 or len(z) < TSNE_MIN_ROWS:
        return PCA(2).fit_transform(z) if min(z.shape) >= 2 else np.column_stack([z[:, :1], np.zeros(len(z))])
    with threadpool_limits(1):  # its threads wait for each other at every step, on busy cores ten times as long
        return TSNE(2, init="pca", perplexity=30, max_iter=400, random_state=0).fit_transform(z)


def among_neighbours(z: np.ndarray, z_sample: np.ndarray, placed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Place each row near the weighted mean of its nearest neighbours' places."""
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


# ---- The rows that a report shows of each class, and of disagreements ----

N_PROTOTYPES, N_LOWEST_CONFIDENCE, N_GENERATED = 12, 6, 8
N_DISAGREEMENTS = 24
MAX_CANDIDATES = 2_000  # rows of a class among which prototypes are looked for
POOL = 5  # times as many rows near the centre, from which prototypes are chosen to differ


def choose_examples(model: Any, X: np.ndarray, table: Columns) -> Columns:
    """Return for each class its prototypes, its least confident rows, its mean and generated rows; with X."""
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
    """Return the prototypes of a class, of at most MAX_CANDIDATES of its rows."""
    some = np.random.default_rng(0).permutation(rows)[:MAX_CANDIDATES]
    return some[prototypes(model.transform(X[some]), N_PROTOTYPES)] if len(some) else some


def prototypes(z: np.ndarray, n: int) -> np.ndarray:
    """Return positions of n rows near the centre of a class in latent space, the nearest first.

    To make them differ, each next one is the row of a pool near the centre that is furthest from all chosen ones.
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
    """Return the first n numbers of rows, padded with −1."""
    rows = rows[:n]
    return np.concatenate([rows, np.full(n - len(rows), -1)]).astype(np.int64)


# ---- The map for embedding viewers: place and answer of each row ----


def atlas_of(run: Run) -> Columns:
    """Return x, y, class, P(new) and row id of each row on the latent map."""
    rows, places = run.latent_map
    table = run.predictions
    said = {name: table[name][rows] for name in ("class", "probability", "p_new", "observed_label", "row_id")}
    return {"x": places[:, 0].astype(np.float32), "y": places[:, 1].astype(np.float32)} | said


def write_atlas(run: Run, out: Path, *, replace: bool = False) -> int:
    """Write the atlas as Parquet; return the number of rows."""
    if out.suffix.lower() != ".parquet":
        raise DataError(f"--atlas must end in .parquet; got {out.name!r}. Name another file.")
    check_file_out(out, [], replace=replace)
    atlas = atlas_of(run)
    make_folders(out.absolute().parent)
    replace_file(out, parquet_bytes(atlas))
    return len(atlas["x"])
