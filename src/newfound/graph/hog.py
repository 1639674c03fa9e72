"""HOG, histograms of oriented gradients (Dalal and Triggs, 2005): what an image shows, by its edges.

Two pictures of one thing differ in brightness and by a pixel's shift, which moves every column of X a little; their
gradients stay much the same. So neighbours among images are found by them. (Written here because no dependency has it:
scikit-image would be one more, for fifty lines, and takes one image at a time.)
"""

import numpy as np

from newfound.config import Initialisation


def hog(images: np.ndarray, shape: tuple[int, ...], settings: Initialisation) -> np.ndarray:
    """(images, features): for each cell of an image the gradients of each orientation, relative to those around.

    Their square roots: distances between histograms are then Hellinger's, in which a few strong gradients do not drown
    the others.
    """
    pixels = images.reshape(len(images), *shape).astype(np.float32)
    grey = pixels.mean(axis=3) if pixels.ndim == 4 else pixels
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    right[:, :, 1:-1] = grey[:, :, 2:] - grey[:, :, :-2]
    magnitude = np.hypot(down, right)
    n_bins = settings.hog_orientations
    angle = np.arctan2(down, right) * (n_bins / (2 * np.pi))
    rows, columns = (_cells(length, settings) for length in shape[:2])
    binned = np.stack([_sum(magnitude * _vote(angle, i, n_bins), rows, columns) for i in range(n_bins)], axis=1)
    relative = binned / _block_norm(binned, settings.hog_epsilon)[:, None]
    return np.sqrt(relative).reshape(len(images), -1)


def _vote(angle: np.ndarray, orientation: int, n_bins: int) -> np.ndarray:
    """1 in this orientation, 0 in the next."""
    apart = np.abs(angle - orientation)  # below 1½ rounds, so the shorter way needs no remainder
    return np.maximum(0, 1 - np.minimum(apart, np.abs(apart - n_bins)))


def _cells(length: int, settings: Initialisation) -> np.ndarray:
    """(pixels, cells): how much each pixel counts in each cell; cells overlap, so that a shift changes little."""
    n_cells = min(max(length // settings.hog_cell_pixels, 1), settings.hog_max_cells)
    centres = (np.arange(n_cells) + 0.5) * length / n_cells - 0.5
    apart = np.abs(np.arange(length)[:, None] - centres) * n_cells / length
    return np.maximum(0, 1 - apart).astype(np.float32)


def _sum(pixels: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return rows.T @ (pixels @ columns)


def _block_norm(binned: np.ndarray, epsilon: float) -> np.ndarray:
    """The norm of all gradients in a cell and in those around it; ε keeps it from bringing out what is faint."""
    energy = np.square(binned).sum(axis=1)
    faint = epsilon**2 * energy.mean(axis=(1, 2), keepdims=True)
    padded = np.pad(energy, ((0, 0), (1, 1), (1, 1)))
    n_rows, n_columns = energy.shape[1:]
    around = sum(padded[:, i : i + n_rows, j : j + n_columns] for i in range(3) for j in range(3))
    return np.sqrt(around + faint + np.finfo(np.float32).tiny)
