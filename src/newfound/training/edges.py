"""What an image shows, by its edges: how strong they are, for each direction and part of the image.

Two pictures of one thing differ in brightness and by a pixel's shift, which moves every column of X a little; their
edges stay much the same. So neighbours among images are found by them: histograms of oriented gradients (Dalal and
Triggs, 2005).
"""

import numpy as np

DIRECTIONS = 8
PIXELS_OF_A_PART = 2  # at least, high and wide
MOST_PARTS = 7  # in a column, and in a row
FAINT = 0.2  # of an image's own strength of edges: nothing fainter is brought out by comparing it with its surroundings


def edges(images: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(images, features): for each part of an image the strength of edges in each direction, against those around."""
    pixels = images.reshape(len(images), *shape).astype(np.float32)
    grey = pixels.mean(axis=3) if pixels.ndim == 4 else pixels
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    right[:, :, 1:-1] = grey[:, :, 2:] - grey[:, :, :-2]
    strength = np.hypot(down, right)
    turn = np.arctan2(down, right) * (DIRECTIONS / (2 * np.pi))
    rows, columns = (_parts(length) for length in shape[:2])
    gathered = np.stack([_gather(strength * _nearness(turn, i), rows, columns) for i in range(DIRECTIONS)], axis=1)
    return (gathered / _surroundings(gathered)[:, None]).reshape(len(images), -1)


def _nearness(turn: np.ndarray, direction: int) -> np.ndarray:
    """1 in this direction, 0 in the next."""
    apart = np.abs(turn - direction)  # below 1½ rounds, so the shorter way needs no remainder
    return np.maximum(0, 1 - np.minimum(apart, np.abs(apart - DIRECTIONS)))


def _parts(length: int) -> np.ndarray:
    """(pixels, parts): how much each pixel counts in each part; parts overlap, so that a shift changes little."""
    n_parts = min(max(length // PIXELS_OF_A_PART, 1), MOST_PARTS)
    centres = (np.arange(n_parts) + 0.5) * length / n_parts - 0.5
    apart = np.abs(np.arange(length)[:, None] - centres) * n_parts / length
    return np.maximum(0, 1 - apart).astype(np.float32)


def _gather(pixels: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return rows.T @ (pixels @ columns)


def _surroundings(gathered: np.ndarray) -> np.ndarray:
    """The strength of all edges in a part and in those around it; never below what is faint for the image."""
    energy = np.square(gathered).sum(axis=1)
    faint = FAINT**2 * energy.mean(axis=(1, 2), keepdims=True)
    padded = np.pad(energy, ((0, 0), (1, 1), (1, 1)))
    n_rows, n_columns = energy.shape[1:]
    around = sum(padded[:, i : i + n_rows, j : j + n_columns] for i in range(3) for j in range(3))
    return np.sqrt(around + faint + np.finfo(np.float32).tiny)
