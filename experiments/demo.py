"""The main job on data that comes with scikit-learn: half the digits carry no label, and are found all the same."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.baselines import BASELINES
from experiments.experiment import fit_method
from experiments.scores import evaluate_task, predicted
from experiments.tasks import Task, split_rows, task_of

from newfound._internal.words import count
from newfound.evaluation import Evaluation
from newfound.labels import Labels
from newfound.report.page import write_report
from newfound.runs.derived import Origin, write_audit, write_run
from newfound.runs.making import check_out
from newfound.runs.new_run import audit_of
from newfound.runs.run import Run
from newfound.tables.dataset import Dataset, pixel_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

METHODS = {"GM-DGM": "gmdgm", "SSVAE": "ssvae", "k-means": "k-means-10-starts"}
N_KNOWN, N_NEW = 5, 5  # digits
IMAGE_SHAPE = (8, 8)
SHOWN = 12  # rows a class in the pictures


def make_task(seed: int) -> Task:
    """A quarter of the digits is for testing; of the others, one label in five is kept of 0 to 4, none of 5 to 9."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    parts = split_rows(images / 16, Labels.read(digits.astype(str), len(digits)), seed)
    return task_of(parts, "semi-unsupervised", seed, N_KNOWN + N_NEW)


@dataclass(frozen=True)
class Outcome:
    """One method, fitted and evaluated on the test rows."""

    model: Any
    n_new: str  # classes found, or "given"
    evaluation: Evaluation
    seconds: float


def run_method(name: str, task: Task, seed: int, n_new: int | str = "auto") -> Outcome:
    """Fit a method by its name in METHODS and evaluate it; the baselines are given the true number of new classes."""
    is_found = METHODS[name] == "gmdgm" and n_new == "auto"
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*columns do not vary")  # the blank corners of the digits
        of_images = {"image_shape": IMAGE_SHAPE}
        model = fit_method(METHODS[name], task, seed, of_images, n_new if METHODS[name] == "gmdgm" else None)
    seconds = time.perf_counter() - began
    evaluation = evaluate_task(task, *predicted(model, task))
    return Outcome(model, str(model.n_new_) if is_found else "given", evaluation, seconds)


def headline(outcome: Outcome) -> str:
    """What was found, in a sentence."""
    n, (low, high) = outcome.model.n_new_, outcome.model.n_new_range_
    return f"GM-DGM found {count(n, 'new class', 'new classes')}" + (f" ({low} to {high})" if low < high else "")


def results_table(outcomes: Mapping[str, Sequence[Outcome]]) -> "Table":
    """Accuracy on the test digits, averaged over the seeds of each method."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="Accuracy on test digits, %", title_justify="left", box=SIMPLE_HEAD)
    for column in ("", "metric", "all", "known", "new", "new classes", "seconds"):
        table.add_column(column, justify="left" if column in ("", "metric") else "right")
    for name, of_seeds in outcomes.items():
        seconds = f"{np.mean([outcome.seconds for outcome in of_seeds]):.1f}"
        found = ", ".join(sorted({outcome.n_new for outcome in of_seeds}))
        table.add_row(name, "one-to-one", *_means(of_seeds, "one_to_one"), found, seconds)
        table.add_row("", "many-to-one", *_means(of_seeds, "many_to_one"), "", "")
        table.add_section()
    return table


def _means(outcomes: Sequence[Outcome], metric: str) -> list[str]:
    accuracies = [getattr(outcome.evaluation, metric) for outcome in outcomes]
    groups = ("all", "known", "new")
    return [f"{100 * np.mean([getattr(accuracy, group) for accuracy in accuracies]):.1f}" for group in groups]


def draw(task: Task, outcomes: Mapping[str, Outcome], folder: Path) -> list[Path]:
    """Write the confusion matrices, and what each class looks like, as PNG files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    model = outcomes["GM-DGM"].model
    pictures = {
        "confusion-matrices.png": _confusion_matrices(task, outcomes),
        "classes.png": _gallery("Test digits the model is most confident of", model, _most_confident(task, model)),
        "generated-digits.png": _gallery("Digits the model generated", model, _generated(model)),
    }
    for name, picture in pictures.items():
        picture.savefig(folder / name)
    return [folder / name for name in pictures]


def write_demo_run(task: Task, model: Any, folder: Path) -> Path:
    """A run of the task, as `newfound fit` writes one, with its audit and its report; the report's path."""
    dataset = demo_dataset(task)
    origin = Origin("digits", "newfound demo")
    check_out(folder, replace=True)

    def finish(run: Run) -> None:
        write_audit(run.folder, audit_of(model, dataset, task.labels.observed()))
        write_report(run)

    return write_run(folder, model, dataset, origin, observed=task.labels, finish=finish).folder / "report.html"


def demo_dataset(task: Task) -> Dataset:
    """The rows of a task as a reader of images would give them."""
    return Dataset(
        X=task.X.astype(np.float32),
        labels=task.all_labels,
        feature_names=pixel_names(IMAGE_SHAPE),
        row_ids=np.arange(len(task.X)),
        kind="images",
        image_shape=IMAGE_SHAPE,
        log=[f"{len(task.X):,} images of 8 × 8 pixels, from scikit-learn; labels of 5 to 9 were hidden on purpose."],
    )


def _confusion_matrices(task: Task, outcomes: Mapping[str, Outcome]) -> "Figure":
    from experiments import figures

    figure = figures.new_figure(4.2 * len(outcomes), 3.8)
    for ax, (name, outcome) in zip(figure.subplots(1, len(outcomes)), outcomes.items(), strict=True):
        is_new = predicted(outcome.model, task)[1].is_new
        is_unnamed = METHODS[name] in BASELINES  # k-means has no component of a known class
        figures.confusion_matrix(outcome.evaluation, is_new | is_unnamed, name, ax, kind="class")
    return figure


def _gallery(title: str, model: Any, rows_of_class: list[np.ndarray]) -> "Figure":
    from experiments import figures

    names = [str(name) if new else f"digit {name}" for name, new in zip(model.classes_, model.is_new_, strict=True)]
    colours = [figures.NEW if new else figures.KNOWN for new in model.is_new_]
    return figures.class_gallery(dict(zip(names, rows_of_class, strict=True)), IMAGE_SHAPE, title, colours)


def _most_confident(task: Task, model: Any) -> list[np.ndarray]:
    probabilities = model.predict_proba(task.X_test)
    order = np.argsort(-probabilities, axis=0, kind="stable")[:SHOWN]
    return [task.X_test[rows[probabilities[rows, i] > 0.5]] for i, rows in enumerate(order.T)]


def _generated(model: Any) -> list[np.ndarray]:
    return [model.sample(SHOWN, name, mean=True, random_state=0) for name in model.classes_]
