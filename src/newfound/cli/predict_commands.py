"""`newfound predict` and `newfound evaluate`: a run on other rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound.cli.console import (
    AsJson,
    RunArgument,
    clear_errors,
    console_for,
    keep_compiled_programs,
    print_json,
    status_line,
    table_with,
)

if TYPE_CHECKING:
    from rich.table import Table

    from newfound.evaluation import Evaluation


def predict(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows to predict: a file like the one the run was fitted on.")],
    out: Annotated[Path, typer.Option(help="File for the predictions, .csv or .parquet.")] = Path("predictions.csv"),
    as_json: AsJson = False,
) -> None:
    """Predict the class of every row of another file, whatever its size.

    Example: `newfound predict run/ more.csv --out labelled.csv`
    """
    from newfound.runs import open_run, predict_file

    console = console_for(as_json)
    with clear_errors(), status_line(console, "reading") as show:
        opened = open_run(run)
        keep_compiled_programs()
        n_rows = predict_file(opened, source, out, lambda n: show(f"{n:,} rows"))
    if as_json:
        print_json({"rows": n_rows, "out": str(out)})
    else:
        console.print(f"wrote {n_rows:,} rows to {out}", markup=False, soft_wrap=True)


def evaluate(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows with labels: a file, or a data set such as mnist:test.")],
    label: Annotated[str | None, typer.Option(help="The column that holds the true classes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the predictions of a run with true classes; every metric has its exact name.

    Example: `newfound evaluate run/ test.csv --label species`
    """
    from newfound.runs import evaluate_file, open_run

    console = console_for(as_json)
    with clear_errors(), status_line(console, "predicting"):
        opened = open_run(run)
        keep_compiled_programs()
        evaluation = evaluate_file(opened, source, label)
    if as_json:
        print_json(_as_json(evaluation))
    else:
        console.print(_metrics_table(evaluation))


def _as_json(evaluation: "Evaluation") -> dict[str, Any]:
    """Raw numbers, and the confusion matrix: a list of predicted classes for each true one."""
    metrics = {name: None if value != value else value for name, value in evaluation.metrics.items()}
    confusion = {
        "true_classes": evaluation.classes.tolist(),
        "predicted_classes": evaluation.predicted.tolist(),
        "rows": evaluation.counts.tolist(),
    }
    return metrics | {"confusion": confusion}


def _metrics_table(evaluation: "Evaluation") -> "Table":
    from newfound.evaluation import METRICS

    table = table_with("metric", "value", right=["value"])
    for name, value in evaluation.metrics.items():
        table.add_row(name, METRICS[name].show(value))
    return table
