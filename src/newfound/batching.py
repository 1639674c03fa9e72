"""Rows in fixed-size batches, so that how many there are is in no compiled shape."""

from collections.abc import Callable
from typing import Any

import numpy as np

BATCH_ROWS = 512
FEW_ROWS = 8  # the size of a batch where there are no more: one row should not cost what 512 do


def in_batches(function: Callable[[np.ndarray], Any], X: np.ndarray, batch_rows: int = BATCH_ROWS) -> np.ndarray:
    """`function` of every row of X, called on batches of `batch_rows` rows, or of FEW_ROWS, the last one padded.

    So no number of rows compiles a program of its own, and a row's answer does not depend on the rows beside it, except
    for the last digit where they are few. A call is made before the answer of the one before it is read: the device
    need not wait.
    """
    size = batch_rows if len(X) > FEW_ROWS else FEW_ROWS
    answers: list[np.ndarray] = []
    pending: Any = None
    for i in range(0, len(X), size):
        before, pending = pending, function(_padded(X[i : i + size], size))
        if before is not None:
            answers.append(np.asarray(before))
    return np.concatenate([*answers, np.asarray(pending)])[: len(X)]


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    if len(rows) == size:
        return rows
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])
