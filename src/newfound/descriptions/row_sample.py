"""A bounded sample of the rows, from which classes can be described without the user's file."""

from typing import NamedTuple

import numpy as np

MAX_ROWS_OF_CLASS = 2_000
MAX_ROWS = 20_000
MAX_CELLS = 4_000_000  # 16 MB


class RowSample(NamedTuple):
    """Some rows of every class, with what is known of each."""

    rows: np.ndarray  # their numbers, in order
    weight: np.ndarray  # for how many rows of its class each stands
    X: np.ndarray | None  # in the user's units; None where no column says anything to a person
    z: np.ndarray  # latent positions
    component_probability: np.ndarray


def choose_rows(codes: np.ndarray, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of rows, and the weight of each, from the class of every row: as many of each class as there is room for.

    Small classes come whole; the others share what is left.
    """
    sizes = np.bincount(codes)
    most = min(MAX_ROWS, MAX_CELLS // max(n_columns, 1))
    order = np.random.default_rng(seed).permutation(len(codes))
    taken = np.minimum(sizes, min(_level(sizes, most), MAX_ROWS_OF_CLASS))
    of_classes = [order[codes[order] == code][:n] for code, n in enumerate(taken)]
    rows = np.sort(np.concatenate(of_classes))
    weight = sizes / np.maximum(taken, 1)
    return rows, weight[codes[rows]].astype(np.float32)


def _level(sizes: np.ndarray, most: int) -> int:
    """The largest number of rows a class may have, so that all classes together have no more than `most`."""
    low, high = 1, int(sizes.max(initial=1))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
    return low
