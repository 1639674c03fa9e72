"""Small fits and runs whose every answer must keep its bits through a change of structure, on one machine.

    python benchmarks/same_bits.py record before.npz     # before the change
    python benchmarks/same_bits.py compare before.npz    # after it

Both models, every likelihood, tables and images, no labels, few and many, several seeds, with and without new classes;
and runs: a mixed table, images, an array and Parquet, each fitted, predicted, decided about, labelled and fitted again
by the commands alone.
"""

import csv
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from newfound.config import NAMES, Config
from newfound.estimator import DeepGenerativeClassifier, estimator_of

Fit = tuple[str, np.ndarray, Any, dict[str, Any]]  # model, X, y, parameters and settings

BRIEF: dict[str, Any] = {
    "hidden_layer_sizes": (16, 16),
    "latent_dim": 2,
    "max_epochs": 10,
    "pretrain_epochs": 5,
    "batch_size": 16,
    "random_state": 0,
    "verbose": False,
}


def blobs(n: int = 300, d: int = 5, k: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    truth = np.arange(n) % k
    return 4 * np.eye(max(k, d))[truth, :d] + 0.3 * np.random.default_rng(seed).standard_normal((n, d)), truth


def some(truth: np.ndarray, known: tuple[int, ...] = (0, 1), every: int = 3) -> np.ndarray:
    return np.where(np.isin(truth, known) & (np.arange(len(truth)) % every == 0), truth, -1)


def small_fits() -> dict[str, Fit]:
    """Of four clouds of points."""
    X, t = blobs()
    y = some(t)
    rng = np.random.default_rng(3)
    mixed = np.c_[X[:, :2], rng.random(300) < np.where(t % 2, 0.9, 0.1), np.eye(3)[np.minimum(t, 2)]].astype("f4")
    types = ["numeric", "numeric", "binary", *["categorical:c"] * 3]
    new = {"n_new": 2}
    early = {
        "max_epochs": 300,
        "early_stopping": True,
        "n_iter_no_change": 2,
        "learning_rate": 5e-3,
        "pretrain_epochs": 0,
    }
    scaled = {
        "likelihood": "bernoulli",
        "standardize": "min-max",
        "min_std": 0.01,
        "prior_known": 0.7,
        "activation": "tanh",
    }
    sampled = {"temperature": 0.7, "init_scale": 0.05, "n_y_samples": 2, "n_z_samples": 2, "label_weight": 10.0}
    return {
        "gaussian": ("gmdgm", X, y, new),
        "auto": ("gmdgm", X, y, {"n_new": "auto", "max_epochs": "auto", "pretrain_epochs": "auto"}),
        "ssvae": ("ssvae", X, y, new),
        "ssvae-cold": ("ssvae", X, y, new | {"pretrain_epochs": "auto"}),
        "bernoulli-unsupervised": ("ssvae", (255 * (rng.random((200, 9)) < 0.4)).astype("u1"), None, {"n_new": 3}),
        "gaussian-fixed": ("gmdgm", X, y, new | {"likelihood": "gaussian-fixed", "sigma": 0.2}),
        "mixed": ("gmdgm", mixed, y, new | {"feature_types": types}),
        "no-labels": ("gmdgm", X, np.full(300, -1), {"n_new": 4}),
        "supervised": ("gmdgm", X, t, {"n_new": 0}),
        "several-seeds": ("gmdgm", X, y, new | {"n_init": 3}),
        "kmeans-mean-field": (
            "gmdgm",
            X,
            y,
            new | {"init": "kmeans", "posterior": "mean-field", "expectation": "exact"},
        ),
        "early-stopping": ("gmdgm", X, y, new | early),
        "min-max": (
            "gmdgm",
            np.c_[X * 10 + 3, np.ones(300)],
            np.array(["", "cat", "dog"])[y + 1],
            new | scaled | sampled,
        ),
        "booleans": ("gmdgm", X, [None if v < 0 else v == 0 for v in y], new),
    }


def larger_fits() -> dict[str, Fit]:
    """Of handwritten digits, and of enough rows for VAE pretraining."""
    digits, truth = load_digits(return_X_y=True)
    y = np.where((truth < 5) & (np.arange(len(truth)) % 5 == 0), truth, -1)
    few = np.full(len(truth), -1)
    for label in range(10):
        few[np.flatnonzero(truth == label)[:10]] = label
    big, t = blobs(6000, 8, 5, 1)
    short = {"max_epochs": 2, "pretrain_epochs": 2, "batch_size": 64, "n_new": 3}
    images = {"n_new": 5, "image_shape": (8, 8), "max_epochs": 4, "batch_size": 64}
    default = {"n_new": 5, "max_epochs": 20, "hidden_layer_sizes": (200, 200), "latent_dim": 10, "batch_size": 64}
    plain = {"init": "kmeans", "pu_weight": 0.0, "validation_fraction": 0.0}
    return {
        "digits-image": ("gmdgm", (digits * 15).astype("u1"), y, images),
        "digits-default": (
            "gmdgm",
            digits / 16,
            np.where(y < 0, "", y.astype(str)),
            default | {"pretrain_epochs": "auto"},
        ),
        "few-labels": ("gmdgm", digits.astype("f4"), few, {"n_new": 0, "max_epochs": 3, "batch_size": 64}),
        "vae-first": ("gmdgm", big, some(t, every=5), short),
        "vae-first-kmeans-no-pu": ("gmdgm", big, some(t, every=5), short | plain),
    }


def fit(model: str, X: np.ndarray, y: Any, parameters: dict[str, Any]) -> DeepGenerativeClassifier:
    parameters = BRIEF | parameters
    settings = {name: value for name, value in parameters.items() if name in set().union(*NAMES.values())}
    keywords = {name: value for name, value in parameters.items() if name not in settings}
    return estimator_of(model)(**keywords, config=Config().replace(**settings)).fit(X, y)


def answers(model: DeepGenerativeClassifier, X: np.ndarray) -> dict[str, np.ndarray]:
    """Everything that a fit says."""
    return {
        "classes": model.classes_.astype(str),
        "predict": model.predict(X).astype(str),
        "predict_component_proba": model.predict_component_proba(X),
        "predict_new_proba": model.predict_new_proba(X),
        "transform": model.transform(X),
        "score_samples": model.score_samples(X[:100]),
        "sample": model.sample(5, random_state=1),
        "sample of a class": model.sample(4, model.classes_[-1], mean=True, random_state=2),
        "sample_grid": model.sample_grid(3, random_state=3),
        "loss": model.history_["loss"],
        "validation ELBO": model.history_["validation_elbo"],
        "validation rows": model.validation_indices_,
        "best restart": np.array(model.best_restart_),
    }


def all_answers() -> dict[str, np.ndarray]:
    found = {}
    for name, (model, X, y, parameters) in (small_fits() | larger_fits()).items():
        found |= {f"{name}: {what}": value for what, value in answers(fit(model, X, y, parameters), X).items()}
        print(f"fitted {name}", flush=True)
    return found


def mixed_table(folder: Path) -> Path:
    """Numbers, units, dates, categories, yes and no, lists, gaps and an id; two of four kinds have labels."""
    X, t = blobs(360)
    rng = np.random.default_rng(5)
    with (folder / "mixed.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["code", "length", "price", "seen", "colour", "ripe", "vector", "kind"])
        for i, (x, k) in enumerate(zip(X, t, strict=True)):
            colour = ("red", "green", "blue", "blue")[k] if rng.random() < 0.9 else "grey"
            kind = ("apple", "pear")[k] if k < 2 and i % 3 == 0 else ""
            length = "" if i % 50 == 7 else f"{x[0]:.4f}"
            day = f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}"
            cells = [f"{1_000 + x[1]:,.2f} €", day, colour, ("yes", "no")[k % 2], f"[{x[2]:.3f}, {x[3]:.3f}]"]
            rows.writerow([f"row-{i}", length, *cells, kind])
    return folder / "mixed.csv"


def digits_array(folder: Path) -> tuple[Path, Path]:
    digits, truth = load_digits(return_X_y=True)
    np.save(folder / "digits.npy", digits)
    y = np.where((truth < 5) & (np.arange(len(truth)) % 5 == 0), truth.astype(str), "")
    np.save(folder / "labels.npy", y)
    return folder / "digits.npy", folder / "labels.npy"


def pictures(folder: Path) -> Path:
    from PIL import Image

    digits, truth = load_digits(return_X_y=True)
    for i in range(500):
        name = str(truth[i]) if truth[i] < 5 and i % 3 == 0 else "unlabelled"
        (folder / "pictures" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits[i].reshape(8, 8) * 15).astype("u1")).save(folder / "pictures" / name / f"{i}.png")
    return folder / "pictures"


def parquet(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, t = blobs(1500, 6, 5, 2)
    names = [("a", "b", "c")[k] if k < 3 and i % 4 == 0 else None for i, k in enumerate(t)]
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(6)} | {"name": names}), folder / "blobs.parquet")
    return folder / "blobs.parquet"


def newfound(folder: Path, *arguments: Any) -> None:
    environment = os.environ | {"NEWFOUND_CACHE": str(folder / "cache")}
    command = [sys.executable, "-W", "ignore", "-m", "newfound", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"newfound {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")


def cells_of(path: Path, *without: str) -> dict[str, np.ndarray]:
    """The columns of a file that newfound wrote, but those that hold words."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    return {name: np.array([row[i] for row in rows]) for i, name in enumerate(header) if name not in without}


def answers_of_run(folder: Path, name: str, source: Path, options: list[Any]) -> dict[str, np.ndarray]:
    """Everything that the commands say of one source, from the first fit to the second."""
    run, again, asked = folder / f"{name}-run", folder / f"{name}-run2", folder / f"{name}-ask.csv"
    found: dict[str, np.ndarray] = {}

    def keep(step: str, path: Path, *without: str) -> None:
        found.update({f"{name}: {step}: {column}": cells for column, cells in cells_of(path, *without).items()})

    newfound(folder, "fit", source, *options, "--out", run, "--seed", 0, "--epochs", 5)
    keep("fit", run / "predictions.csv")
    newfound(folder, "predict", run, source, "--out", folder / f"{name}-1.csv")
    keep("predict", folder / f"{name}-1.csv")
    newfound(folder, "name", run, "new-1=first")
    newfound(folder, "merge", run, "first", "new-2")
    keep("merged", run / "predictions.csv")
    newfound(folder, "undo", run)
    newfound(folder, "cut", run, 1)
    keep("cut", run / "predictions.csv")
    newfound(folder, "undo", run)
    newfound(folder, "suggest", run, "--rows", 6, "--out", asked)
    keep("suggest", asked, "reason", "newfound_reason", "why")
    with asked.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    with asked.open("w", newline="") as file:
        given = [[*row[: header.index("label")], "first" if i % 2 else "other"] for i, row in enumerate(rows)]
        csv.writer(file).writerows([header[: header.index("label") + 1], *given])
    newfound(folder, "label", run, asked)
    newfound(folder, "refit", run, "--out", again)
    keep("refit", again / "predictions.csv")
    newfound(folder, "predict", again, source, "--out", folder / f"{name}-2.csv")
    keep("predict after refit", folder / f"{name}-2.csv")
    return found


def answers_of_runs() -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as path:
        folder, found = Path(path), {}
        digits, labels = digits_array(folder)
        for name, source, options in (
            ("mixed", mixed_table(folder), ["--label", "kind", "--id", "code"]),
            ("array", digits, ["--labels", labels]),
            ("pictures", pictures(folder), []),
            ("parquet", parquet(folder), ["--label", "name", "--model", "gmdgm"]),
        ):
            found |= answers_of_run(folder, name, source, options)
            print(f"ran {name}", flush=True)
    return found


def main(action: str, path: str) -> None:
    warnings.simplefilter("ignore")
    if action == "record":
        np.savez(path, **all_answers(), **answers_of_runs())
        return
    before, now = dict(np.load(path)), all_answers() | answers_of_runs()
    differ = [
        name
        for name in before.keys() | now.keys()
        if name not in before or name not in now or before[name].tobytes() != now[name].tobytes()
    ]
    print("\n".join(f"differs: {name}" for name in sorted(differ)) or f"all {len(now)} answers have the same bits")
    sys.exit(bool(differ))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
