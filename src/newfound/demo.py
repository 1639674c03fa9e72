"""The main job on data that comes with scikit-learn: half the digits are never labelled, and found all the same."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from newfound.evaluation import Evaluation, evaluate
from newfound.masking import mask_labels

HIDDEN = ("5", "6", "7", "8", "9")
KEEP = 0.2
IMAGE_SHAPE = (8, 8)
SHOWN = 12  # rows a class in the pictures


@dataclass(frozen=True)
class Task:
    """Digits to learn from, with the labels that are left, and digits to test on."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    truth: np.ndarray  # of the test rows
    n_new: int  # components offered for the digits that nobody labelled

    @property
    def known(self) -> np.ndarray:
        return np.unique(self.y[self.y != ""])


def make_task(seed: int, n_new: int = 5) -> Task:
    """A quarter of the digits is for testing; of the others, one label in five is left of 0 to 4, none of 5 to 9."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digits = load_digits(return_X_y=True)
    X, X_test, digits, truth = train_test_split(
        images / 16, digits.astype(str), test_size=0.25, stratify=digits, random_state=seed
    )
    y = mask_labels(digits, hide=HIDDEN, keep=KEEP, random_state=seed)
    return Task(X, y, X_test, truth, n_new)


def fit_gmdgm(task: Task, seed: int):
    from newfound import GMDGM

    return _fit_quietly(GMDGM(n_new=task.n_new, random_state=seed), task)


def fit_ssvae(task: Task, seed: int):
    from newfound import SSVAE

    return _fit_quietly(SSVAE(n_new=task.n_new, random_state=seed), task)


def fit_kmeans(task: Task, seed: int):
    from sklearn.cluster import KMeans

    return KMeans(len(task.known) + task.n_new, n_init=10, random_state=seed).fit(task.X)


FITS: dict[str, Callable] = {"GM-DGM": fit_gmdgm, "SSVAE": fit_ssvae, "k-means": fit_kmeans}


def _fit_quietly(model, task: Task):
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*columns do not vary")  # the blank corners of the digits
        return model.fit(task.X, task.y)


@dataclass(frozen=True)
class Outcome:
    """One method, fitted and evaluated on the test rows."""

    model: object
    evaluation: Evaluation
    seconds: float


def run_method(name: str, task: Task, seed: int) -> Outcome:
    """Fit a method by its name in FITS and evaluate it."""
    began = time.perf_counter()
    model = FITS[name](task, seed)
    seconds = time.perf_counter() - began
    predict = getattr(model, "predict_component", None) or model.predict
    evaluation = evaluate(task.truth, predict(task.X_test), len(task.known) + task.n_new, task.known)
    return Outcome(model, evaluation, seconds)


def results_table(outcomes: dict[str, list[Outcome]]):
    """Accuracy on the test digits, averaged over the runs of each method, as a rich table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="Accuracy on test digits, %", title_justify="left", box=SIMPLE_HEAD)
    for column in ("", "metric", "all", "known", "new", "seconds"):
        table.add_column(column, justify="left" if column in ("", "metric") else "right")
    for name, runs in outcomes.items():
        seconds = f"{np.mean([run.seconds for run in runs]):.1f}"
        for metric in ("one-to-one", "many-to-one"):
            accuracies = [getattr(run.evaluation, metric.replace("-", "_")) for run in runs]
            cells = [
                f"{100 * np.mean([getattr(accuracy, group) for accuracy in accuracies]):.1f}"
                for group in ("all", "known", "new")
            ]
            is_first = metric == "one-to-one"
            table.add_row(name if is_first else "", metric, *cells, seconds if is_first else "")
        table.add_section()
    return table


def draw(task: Task, outcomes: dict[str, Outcome], folder: Path) -> list[Path]:
    """Write the confusion matrices, and what each class looks like, as PNG files into `folder`."""
    from newfound import plots

    folder.mkdir(parents=True, exist_ok=True)
    n_known = len(task.known)
    figure = plots.new_figure(4.2 * len(outcomes), 3.8)
    for ax, (name, outcome) in zip(figure.subplots(1, len(outcomes)), outcomes.items(), strict=True):
        components_known = 0 if name == "k-means" else n_known
        plots.confusion_matrix(outcome.evaluation, components_known, name, ax)
    pictures = {
        "confusion-matrices.png": figure,
        "classes.png": _gallery(task, outcomes["GM-DGM"].model, made_up=False),
        "made-up-digits.png": _gallery(task, outcomes["GM-DGM"].model, made_up=True),
    }
    for name, picture in pictures.items():
        picture.savefig(folder / name)
    return [folder / name for name in pictures]


def _gallery(task: Task, model, *, made_up: bool):
    from newfound import plots

    probabilities = model.predict_proba(task.X_test)
    rows, colours = {}, []
    for i, name in enumerate(model.classes_):
        title = str(name) if model.is_new_[i] else f"digit {name}"
        colours.append(plots.NEW if model.is_new_[i] else plots.KNOWN)
        surest = np.argsort(-probabilities[:, i], kind="stable")[:SHOWN]
        surest = surest[probabilities[surest, i] > 0.5]
        rows[title] = model.sample(SHOWN, of=name, as_means=True, random_state=0) if made_up else task.X_test[surest]
    title = "Digits the model made up" if made_up else "Test digits the model is surest of"
    return plots.class_gallery(rows, IMAGE_SHAPE, title, colours)
