"""`newfound predict` and `newfound evaluate`: a run on other rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from newfound.cli.console import (
    AsJson,
    Features,
    RunArgument,
    clear_errors,
    console_for,
    listener_on,
    print_json,
    print_lines,
    status_line,
    table_with,
)


def predict(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows to predict: a file or folder with the columns of the fit.")],
    out: Annotated[Path, typer.Option(help="File for your columns and the predictions, .csv or .parquet.")] = Path(
        "labelled.csv"
    ),
    only_new: Annotated[bool, typer.Option("--only-new", help="Write only the rows of new classes.")] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Write only these columns, such as id,newfound_class; may be given several times."),
    ] = None,
    features: Features = None,
    abstain: Annotated[
        float | None, typer.Option(help="Leave the class empty if its probability is below this, 0 to 1.")
    ] = None,
    known_only: Annotated[bool, typer.Option("--known-only", help="Always predict the best known class.")] = False,
    new_threshold: Annotated[
        float | None, typer.Option(help="Predict a new class if P(new) is above this, 0 to 1.")
    ] = None,
    for_spreadsheets: Annotated[
        bool,
        typer.Option("--for-spreadsheets", help="Put an apostrophe before text that a spreadsheet would compute."),
    ] = False,
    dask: Annotated[
        str | None, typer.Option(help="Predict on the workers of this Dask scheduler: tcp://127.0.0.1:8786.")
    ] = None,
    dask_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds to wait for the scheduler and its workers.")
    ] = 10.0,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Predict the class of every row of a file or folder of any size, and write it beside your columns.

    Example: `newfound predict run/ more.csv --out labelled.csv --abstain 0.9`
    """
    from newfound.classes import Decision
    from newfound.runs.predict import OutputOptions, predict_file
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors(), status_line(console, "reading") as show:
        names = [name.strip() for listed in columns or [] for name in listed.split(",")]
        settings: dict[str, Any] = {
            "progress": lambda n: show(f"{n:,} rows"),
            "decision": Decision(abstain, known_only, new_threshold),
            "options": OutputOptions(only_new, names, for_spreadsheets),
            "replace": replace,
        }
        if dask is None:
            note = listener_on(console).note
            n_rows = predict_file(open_run(run), source, out, features=features, note=note, **settings)
        else:
            from newfound.runs.cluster import predict_on_cluster

            if features is not None:
                raise ValueError("--features and --dask do not go together. Put the numbers into columns of the table.")
            n_rows = predict_on_cluster(open_run(run), source, out, dask, timeout=dask_timeout, **settings)
    if as_json:
        print_json({"rows": n_rows, "out": str(out)})
    else:
        print_lines(console, f"wrote {n_rows:,} rows to {out}")


def evaluate(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows with labels: a file, or a data set such as mnist:test.")],
    label: Annotated[str | None, typer.Option(help="The column that holds the true classes.")] = None,
    features: Features = None,
    as_json: AsJson = False,
) -> None:
    """Compare a run's predictions with true classes: which new class is which, and all metrics.

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
        confusion = {
            "true_classes": evaluation.classes.tolist(),
            "predicted_classes": evaluation.predicted.tolist(),
            "rows": evaluation.counts.tolist(),
        }
        metrics = {name: None if value != value else value for name, value in evaluation.metrics.items()}
        n_labels = {kind: n for kind, n in evaluation.n_labels.items() if kind != "both"}
        new_classes = [match._asdict() for match in matches]
        print_json(metrics | {"n_labels": n_labels, "confusion": confusion, "new_classes": new_classes})
    else:
        print_lines(console, *map(str, matches))
        table = table_with("metric", "value", right=["value"])
        for name, value in evaluation.shown:
            table.add_row(name, value)
        console.print(table)
    for note in notes:
        listener_on(console).note(note)
