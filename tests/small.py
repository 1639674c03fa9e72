"""Data and settings that are small: one of each, for all tests."""

import subprocess
import sys
from typing import Any

import numpy as np

from newfound.config import NAMES, Config
from newfound.labels import UNLABELLED
from newfound.preprocessing.columns import Preprocessing, Scaling

SETTINGS: dict[str, Any] = {
    "hidden_layer_sizes": (16, 16),
    "latent_dim": 2,
    "max_epochs": 10,
    "pretrain_epochs": 5,
    "batch_size": 16,
    "random_state": 0,
    "verbose": False,
}


def imported_by(code: str, *arguments: object, cwd: Any = None) -> set[str]:
    """Which modules a fresh process has imported when it has run this."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + "\nimport sys; print(*sys.modules)", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def unscaled(is_kept: np.ndarray, scaling: Scaling) -> Preprocessing:
    """Columns as they are, but for what `scaling` does."""
    n, nothing = int(is_kept.sum()), np.zeros(int(is_kept.sum()))
    no_limits = np.array([[-np.inf], [np.inf]]).repeat(n, axis=1)
    return Preprocessing(
        is_kept=is_kept,
        fill_value=np.zeros(len(is_kept)),
        centre=nothing,
        unit=nothing + 1,
        clip_range=no_limits,
        fitted_range=no_limits,
        scaling=scaling,
        spread=1.0,
        is_scaled=nothing > 0,
    )


def quick(**changes: Any) -> dict[str, Any]:
    """Keywords of a quick estimator, some changed; those that belong to the config are put there."""
    settings = SETTINGS | changes
    in_config = {name: value for name, value in settings.items() if name in set().union(*NAMES.values())}
    return {name: value for name, value in settings.items() if name not in in_config} | {
        "config": Config().replace(**in_config)
    }


def blobs(n: int = 120, d: int = 5, k: int = 4, distance: float = 4.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """k clouds of points in d dimensions, far apart, one row of each after the other; X and the true classes."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    X = distance * np.eye(max(k, d))[truth, :d] + 0.3 * rng.standard_normal((n, d))
    return X.astype(np.float32), truth


def some_labels(truth: np.ndarray, known: tuple[int, ...] = (0, 1), share: float = 1 / 3) -> np.ndarray:
    """A share of the labels of each known class; UNLABELLED elsewhere."""
    labels = np.full(len(truth), UNLABELLED)
    for label in known:
        rows = np.flatnonzero(truth == label)
        labels[rows[: max(2, round(share * len(rows)))]] = label
    return labels
