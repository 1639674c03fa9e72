"""`newfound demo`: three methods on handwritten digits where half of the classes have no labels."""

import time
import warnings
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from newfound._internal.words import count
from newfound.cli.console import clear_errors, console_for, number_or_auto, print_lines, table_with

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from newfound.evaluation import Evaluation
    from newfound.labels import Labels

METHODS = ("GM-DGM", "SSVAE", "k-means")
KNOWN, NEW = ("0", "1", "2", "3", "4"), ("5", "6", "7", "8", "9")
LABELS_KEPT = 0.2  # of each known digit
IMAGE_SHAPE = (8, 8)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run.")] = Path("newfound-demo"),
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds to average over; the run is that of the first.")] = 1,
    n_new: Annotated[str, typer.Option(help="New classes for GM-DGM: a number, or auto to find it.")] = "auto",
) -> None:
    """Show what newfound does, on handwritten digits where half of the classes have no labels.

    Three methods are fitted to the same rows: GM-DGM (newfound's model), SSVAE (the semi-supervised baseline) and
    k-means. This takes about a minute on two cores, and ends with the report of GM-DGM.

    Example: `newfound demo --out my-demo`
    """
    console = console_for(False)
    console.print(
        "1,347 handwritten digits. One label in five is kept for the digits 0 to 4, and [bold]none[/bold] for 5 to 9. "
        "Can a model classify the first five, and discover the others and their number?\n",
        markup=True,
    )
    with clear_errors():
        from newfound.runs.making import check_out
        from newfound.training.steps import keep_compiled_programs

        asked = number_or_auto("--n-new", n_new)
        check_out(out, replace=True)
        keep_compiled_programs()
        outcomes: dict[str, list[Outcome]] = {name: [] for name in METHODS}
        for i in range(seeds):
            digits = split_digits(seed + i)
            for name in METHODS:
                with console.status(f"Fitting {name}, seed {i + 1} of {seeds} …"):
                    outcomes[name].append(_fit_and_evaluate(name, digits, seed + i, asked))
        model = outcomes["GM-DGM"][0].model
        n_found, (low, high) = count(model.n_new_, "new class", "new classes"), model.n_new_range_
        console.print(f"GM-DGM found {n_found}{f' ({low} to {high})' if low < high else ''}; there are five.\n")
        console.print(_results_table(outcomes))
        console.print(
            "one-to-one (Hungarian accuracy): each digit is matched with at most one class. many-to-one (purity): "
            "each class counts as the digit most common in it. known: digits 0 to 4. new: digits 5 to 9. new "
            "classes: the number found; the baselines are given the true one.\n"
        )
        with console.status("Hiding each known class in turn, and writing the report …"):
            _write_run(split_digits(seed), model, out)
    print_lines(console, f"wrote {out}   (a run, like those of `newfound fit`)")
    print_lines(console, f"\nRead this: {out / 'report.html'}", style="bold")


class Digits(NamedTuple):
    """Training rows with the kept labels and with all labels, and test rows with theirs."""

    X: "np.ndarray"
    kept: "Labels"
    labels: "Labels"
    X_test: "np.ndarray"
    truth: "Labels"


def split_digits(seed: int) -> Digits:
    """A quarter of scikit-learn's digits for testing; of the others, one label in five is kept for 0 to 4."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from newfound.labels import Labels, hide_labels

    images, digits = load_digits(return_X_y=True)
    X, labels = images / 16, Labels.read(digits.astype(str), len(digits))
    train, test = train_test_split(np.arange(len(X)), test_size=0.25, stratify=labels.codes, random_state=seed)
    kept = hide_labels(labels.take(train), hide=NEW, keep=LABELS_KEPT, random_state=seed)
    return Digits(X[train], kept, labels.take(train), X[test], labels.take(test))


class Outcome(NamedTuple):
    """One method, fitted, and evaluated on the test rows."""

    model: Any
    n_new: str  # classes found, or "given"
    evaluation: "Evaluation"
    seconds: float


def _fit_and_evaluate(name: str, digits: Digits, seed: int, n_new: Any) -> Outcome:
    """The baselines are given the true number of new classes."""
    from sklearn.cluster import KMeans

    from newfound.estimator import GMDGM, SSVAE
    from newfound.evaluation import evaluate
    from newfound.fitted import Termination

    own: dict[str, Any] = {"random_state": seed, "image_shape": IMAGE_SHAPE}
    model: Any = {
        "GM-DGM": GMDGM(n_new=n_new, **own),
        "SSVAE": SSVAE(n_new=len(NEW), **own),
        "k-means": KMeans(len(KNOWN) + len(NEW), n_init=10, random_state=seed),
    }[name]
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*columns do not vary")  # the blank corners of the digits
        model = model.fit(digits.X) if name == "k-means" else model.fit(digits.X, digits.kept)
    seconds = time.perf_counter() - began
    if getattr(model, "termination_condition_", None) is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    classes = range(model.n_clusters) if name == "k-means" else model.classes_
    evaluation = evaluate(digits.truth.names, model.predict(digits.X_test), KNOWN, classes)
    is_found = name == "GM-DGM" and n_new == "auto"
    return Outcome(model, str(model.n_new_) if is_found else "given", evaluation, seconds)


def _results_table(outcomes: dict[str, list[Outcome]]) -> "Table":
    """Accuracy on the test digits, averaged over the seeds of each method."""
    numbers = ("all", "known", "new", "new classes", "seconds")
    table = table_with("", "metric", *numbers, right=numbers)
    table.title, table.title_justify = "Accuracy on test digits, %", "left"
    for name, of_seeds in outcomes.items():
        found = ", ".join(sorted({outcome.n_new for outcome in of_seeds}))
        seconds = f"{fmean(outcome.seconds for outcome in of_seeds):.1f}"
        for title, metric, *last in ((name, "one-to-one", found, seconds), ("", "many-to-one", "", "")):
            accuracies = [getattr(outcome.evaluation, metric.replace("-", "_")) for outcome in of_seeds]
            means = (fmean(getattr(accuracy, rows) for accuracy in accuracies) for rows in ("all", "known", "new"))
            table.add_row(title, metric, *(f"{100 * mean:.1f}" for mean in means), *last)
        table.add_section()
    return table


def _write_run(digits: Digits, model: Any, out: Path) -> None:
    """A run of these rows with its audit and its report."""
    import numpy as np

    from newfound._internal.records import encoded
    from newfound.report.page import write_report
    from newfound.runs.derived import Origin, write_run
    from newfound.runs.manifest import put_files
    from newfound.runs.new_run import audit_of
    from newfound.runs.run import AUDIT, Run
    from newfound.tables.dataset import Dataset, pixel_names

    dataset = Dataset(
        X=digits.X.astype(np.float32),
        labels=digits.labels,
        feature_names=pixel_names(IMAGE_SHAPE),
        row_ids=np.arange(len(digits.X)),
        kind="images",
        image_shape=IMAGE_SHAPE,
        log=[f"{len(digits.X):,} images of 8 × 8 pixels, from scikit-learn; labels of 5 to 9 were hidden on purpose."],
    )

    def finish(run: Run) -> None:
        put_files(run.folder, {AUDIT: encoded(audit_of(model, dataset, digits.kept.observed()))})
        write_report(run)

    write_run(out, model, dataset, Origin("digits", "newfound demo"), observed=digits.kept, finish=finish)
