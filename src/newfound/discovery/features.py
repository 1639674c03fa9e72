"""The features in which neighbours are found: principal components, whitened; of images, HOG."""

from collections.abc import Callable

import numpy as np

from newfound._internal.threads import in_batches
from newfound.config import Initialisation
from newfound.labels import UNLABELLED

# ---- HOG, histograms of oriented gradients (Dalal and Triggs, 2005), for images ----
# Two pictures of the same thing differ in brightness and by a shift of a pixel, which changes every column of X;
# gradients change less. (Written here because scikit-image would be another dependency and takes one image at a time.)

HOG_ORIENTATIONS = 8  # bins over the whole circle: light on dark differs from dark on light
HOG_CELL_PIXELS = 2  # minimal height and width of a cell
HOG_MAX_CELLS = 7  # in a row or column of an image
HOG_EPSILON = 0.2  # ε of block normalisation, relative to the image's own gradients


def hog(images: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(images, features): for each cell the gradients of each orientation, relative to those in and around the cell.

    Square roots are taken, so that distances between histograms are Hellinger's, in which a few strong gradients do not
    dominate.
    """
    pixels = images.reshape(len(images), *shape).astype(np.float32)
    grey = pixels.mean(axis=3) if pixels.ndim == 4 else pixels
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    right[:, :, 1:-1] = grey[:, :, 2:] - grey[:, :, :-2]
    magnitude = np.hypot(down, right)
    angle = np.arctan2(down, right) * (HOG_ORIENTATIONS / (2 * np.pi))
    rows, columns = (_cells(length) for length in shape[:2])
    cells = []
    for orientation in range(HOG_ORIENTATIONS):
        apart = np.abs(angle - orientation)  # below 1½ rounds, so the shorter way needs no remainder
        share = np.maximum(0, 1 - np.minimum(apart, np.abs(apart - HOG_ORIENTATIONS)))  # 1 here, 0 in the next one
        cells.append(rows.T @ ((magnitude * share) @ columns))
    binned = np.stack(cells, axis=1)
    relative = binned / _block_norm(binned)[:, None]
    return np.sqrt(relative).reshape(len(images), -1)


def _cells(length: int) -> np.ndarray:
    """(pixels, cells): the weight of each pixel in each cell; cells overlap, so that a shift changes little."""
    n_cells = min(max(length // HOG_CELL_PIXELS, 1), HOG_MAX_CELLS)
    centres = (np.arange(n_cells) + 0.5) * length / n_cells - 0.5
    apart = np.abs(np.arange(length)[:, None] - centres) * n_cells / length
    return np.maximum(0, 1 - apart).astype(np.float32)


def _block_norm(binned: np.ndarray) -> np.ndarray:
    """The norm of all gradients in and around a cell; ε keeps it from amplifying faint ones."""
    energy = np.square(binned).sum(axis=1)
    faint = HOG_EPSILON**2 * energy.mean(axis=(1, 2), keepdims=True)
    padded = np.pad(energy, ((0, 0), (1, 1), (1, 1)))
    n_rows, n_columns = energy.shape[1:]
    around = sum(padded[:, i : i + n_rows, j : j + n_columns] for i in range(3) for j in range(3))
    return np.sqrt(around + faint + np.finfo(np.float32).tiny)


# ---- The features in which neighbours are found, in few dimensions ----

WHITENING_LABELS = 10  # per whitened principal component, to determine the covariance


def pca_projection(
    X: np.ndarray, features: Callable[[np.ndarray], np.ndarray], settings: Initialisation, seed: int
) -> np.ndarray:
    """Every row's coordinates along the principal components of its features."""
    from sklearn.decomposition import PCA

    sample = in_batches(features, X[sample_rows(len(X), settings, seed)])
    pca = PCA(min(settings.pca_components, *sample.shape), random_state=seed % 2**32).fit(sample)
    return in_batches(lambda rows: pca.transform(features(rows)), X).astype(np.float32)


def sample_rows(n_rows: int, settings: Initialisation, seed: int, labels: np.ndarray | None = None) -> np.ndarray:
    """The rows of the graph in random order; of too many rows, labelled ones are up to half of the graph.

    Both kinds are drawn at random, so that the density of labels in a class does not change relative to other classes.
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    most = settings.graph_max_rows
    if labels is None or n_rows <= most:
        return order[:most]
    is_labelled = labels[order] != UNLABELLED
    n_labelled = min(int(is_labelled.sum()), max(most // 2, most - int((~is_labelled).sum())))
    is_taken = np.where(is_labelled, np.cumsum(is_labelled) <= n_labelled, np.cumsum(~is_labelled) <= most - n_labelled)
    return order[is_taken]


def whitened(points: np.ndarray, labels: np.ndarray, settings: Initialisation) -> np.ndarray:
    """Points in which known classes are rounder: P Σ^-½, with Σ = (1 − w) 1 + w · the covariance within classes / σ².

    Directions in which rows of one class differ count less in distances, on the assumption that new classes vary as
    known ones do. σ² is the mean variance within classes. Only as many of the leading principal components are whitened
    as labels allow, otherwise labelled rows would move closer to each other.
    """
    rows = np.flatnonzero(labels != UNLABELLED)
    n_dims = min(len(rows) // WHITENING_LABELS, points.shape[1])
    if n_dims == 0 or settings.whitening == 0:
        return points
    codes = labels[rows]
    sums = np.zeros((codes.max() + 1, points.shape[1]))
    np.add.at(sums, codes, points[rows])
    around = points[rows] - (sums / np.maximum(np.bincount(codes), 1)[:, None])[codes]
    variance = float(np.mean(np.square(around)))
    if variance == 0:  # no two labelled rows of a class differ
        return points
    within = around[:, :n_dims].T.astype(float) @ around[:, :n_dims] / len(rows) / variance
    values, vectors = np.linalg.eigh(settings.whitening * within + (1 - settings.whitening) * np.eye(n_dims))
    found = points.copy()
    found[:, :n_dims] = points[:, :n_dims] @ (vectors / np.sqrt(np.maximum(values, 1e-12)))
    return found
