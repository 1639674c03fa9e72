"""`newfound predict` and `newfound evaluate`: a run on other rows."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from newfound.cli.console import (
    AsJson,
    Features,
    RunArgument,
    clear_errors,
    console_for,
    listener_on,
    print_json,
    status_line,
    table_with,
)

if TYPE_CHECKING:
    from rich.table import Table

    from newfound.evaluation import Evaluation


def predict(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows to predict: a file or folder like the one fitted on.")],
    out: Annotated[Path, typer.Option(help="File for your columns and the predictions, .csv or .parquet.")] = Path(
        "labelled.csv"
    ),
    only_new: Annotated[bool, typer.Option("--only-new", help="Write only the rows that are of a new class.")] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Write only these columns, such as id,newfound_class; may be given several times."),
    ] = None,
    features: Features = None,
    abstain: Annotated[
        float | None, typer.Option(help="Leave the class empty where it is less probable than this, 0 to 1.")
    ] = None,
    known_only: Annotated[bool, typer.Option("--known-only", help="Always a known class, the best one.")] = False,
    new_threshold: Annotated[
        float | None, typer.Option(help="Call a row new where P(new) is above this, 0 to 1.")
    ] = None,
    for_spreadsheets: Annotated[
        bool,
        typer.Option("--for-spreadsheets", help="Put an apostrophe before text that a spreadsheet would compute."),
    ] = False,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers predict: tcp://127.0.0.1:8786.")
    ] = None,
    dask_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for it, and for its workers.")] = 10.0,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Predict the class of every row of a file or a folder of them, whatever its size, beside your columns.

    Example: `newfound predict run/ more.csv --out labelled.csv --abstain 0.9`
    """
    from newfound.classes import Decision
    from newfound.runs.predict import OutputOptions

    console = console_for(as_json)
    with clear_errors(), status_line(console, "reading") as show:
        told: dict[str, Any] = {
            "progress": lambda n: show(f"{n:,} rows"),
            "decision": Decision(abstain, known_only, new_threshold),
            "options": OutputOptions(only_new, _names(columns), for_spreadsheets),
            "replace": replace,
        }
        n_rows = _predict(run, source, out, features, Cluster(dask, dask_timeout), listener_on(console).note, told)
    if as_json:
        print_json({"rows": n_rows, "out": str(out)})
    else:
        console.print(f"wrote {n_rows:,} rows to {out}", markup=False, soft_wrap=True)


def _names(columns: list[str] | None) -> list[str]:
    return [name.strip() for names in columns or [] for name in names.split(",")]


class Cluster(NamedTuple):
    """A Dask scheduler that is running already, if one is to be asked, and how many seconds to wait for it."""

    address: str | None
    timeout: float


def _predict(
    run: Path,
    source: str,
    out: Path,
    features: str | None,
    cluster: Cluster,
    note: Callable[[str], None],
    told: dict[str, Any],
) -> int:
    """Here, or by the workers of a cluster."""
    from newfound.runs.cluster import predict_on_cluster
    from newfound.runs.predict import predict_file
    from newfound.runs.run import open_run

    if cluster.address is None:
        return predict_file(open_run(run), source, out, features=features, note=note, **told)
    if features is not None:
        raise ValueError("--features and --dask do not go together. Put the numbers into columns of the table.")
    return predict_on_cluster(open_run(run), source, out, cluster.address, timeout=cluster.timeout, **told)


def evaluate(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows with labels: a file, or a data set such as mnist:test.")],
    label: Annotated[str | None, typer.Option(help="The column that holds the true classes.")] = None,
    features: Features = None,
    as_json: AsJson = False,
) -> None:
    """Compare the predictions of a run with true classes: which new class is which, and every metric.

    Example: `newfound evaluate run/ test.csv --label species`
    """
    from newfound.runs.predict import evaluate_file, which_is_which
    from newfound.runs.run import open_run

    console, notes = console_for(as_json), list[str]()
    with clear_errors(), status_line(console, "predicting"):
        opened = open_run(run)
        evaluation = evaluate_file(opened, source, label, features, notes.append)
        matches = which_is_which(evaluation, opened.class_map)
    if as_json:
        print_json(_as_json(evaluation) | {"new_classes": [match._asdict() for match in matches]})
    else:
        for match in matches:
            console.print(str(match), markup=False, soft_wrap=True)
        console.print(_metrics_table(evaluation))
    for note in notes:
        listener_on(console).note(note)


def _as_json(evaluation: "Evaluation") -> dict[str, Any]:
    """Raw numbers, the labels they rest on, and the confusion matrix: predicted classes for each true one."""
    metrics = {name: None if value != value else value for name, value in evaluation.metrics.items()}
    confusion = {
        "true_classes": evaluation.classes.tolist(),
        "predicted_classes": evaluation.predicted.tolist(),
        "rows": evaluation.counts.tolist(),
    }
    n_labels = {kind: n for kind, n in evaluation.n_labels.items() if kind != "both"}
    return metrics | {"n_labels": n_labels, "confusion": confusion}


def _metrics_table(evaluation: "Evaluation") -> "Table":
    table = table_with("metric", "value", right=["value"])
    for name, value in evaluation.shown:
        table.add_row(name, value)
    return table
