"""The loop of labelling: `newfound suggest`, `newfound label` and `newfound refit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound.cli.act_commands import show_act
from newfound.cli.console import (
    AsJson,
    RunArgument,
    clear_errors,
    console_for,
    keep_compiled_programs,
    listener_on,
    print_json,
    status_line,
    table_with,
)
from newfound.cli.run_commands import print_summary, summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from newfound.labelling import Suggestions
    from newfound.runs import Run

N_SHOWN = 10


def suggest(
    run: RunArgument,
    rows: Annotated[int, typer.Option(min=1, help="How many rows.")] = 50,
    out: Annotated[Path, typer.Option(help="A CSV to fill in, with your own columns.")] = Path("suggest.csv"),
    label_studio: Annotated[
        Path | None, typer.Option(help="Also tasks for Label Studio, .json; its interface is written beside, .xml.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over files that are there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Which rows to label next: those that would tell most, and no two that tell the same.

    Example: `newfound suggest run/ --rows 20 --out suggest.csv`
    """
    from newfound.runs.suggestion_files import check_paths

    console = console_for(as_json)
    with clear_errors(), status_line(console, "looking for rows that would tell most"):
        check_paths(out, label_studio, replace=replace)
        found = _suggested(console, run, rows, out, label_studio)
    if as_json:
        print_json(found)


def label(
    run: RunArgument,
    labels: Annotated[Path, typer.Argument(help="The CSV from `newfound suggest`, filled in, or Label Studio's JSON.")],
    as_json: AsJson = False,
) -> None:
    """Give rows labels: names of classes there are, or of others. The next refit learns from them.

    Rows are found by their ids; an empty label is none. Your source is never changed.

    Example: `newfound label run/ suggest.csv`
    """
    from newfound.report import write_report
    from newfound.runs import act_on, open_run, read_given
    from newfound.wording import count

    console = console_for(as_json)
    with clear_errors(), status_line(console, "writing the run again"):
        opened = open_run(run)
        given = read_given(opened, labels)
        if not given.given and not given.corrections:
            raise ValueError(
                f"{labels.name!r} says nothing new: {count(given.n_same, 'row')} with the label they have."
            )
        acted = act_on(opened, "label", given.arguments(), write_report)
    show_act(acted, as_json)
    for n, what in ((given.n_empty, "without a label"), (given.n_same, "with the label they had before")):
        if n and not as_json:
            console.print(f"Left out: {count(n, 'row')} {what}.", soft_wrap=True)


def refit(
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="Folder for the new run; the first one stays as it is.")],
    replace: Annotated[bool, typer.Option("--replace", help="Write over an earlier run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit the rows of a run again, with the labels given since; classes that are the same keep their names.

    Example: `newfound refit run/ --out run2/`
    """
    from newfound.report import write_report
    from newfound.runs import open_run, refit_run
    from newfound.runs.outputs import told_command

    console = console_for(as_json)
    with clear_errors():
        keep_compiled_programs()
        options: dict[str, Any] = {"command": told_command(), "replace": replace, "listener": listener_on(console)}
        made = refit_run(open_run(run), out, finish=write_report, **options)
    if as_json:
        print_json(summary_of(made))
    else:
        print_summary(console, made)


def _suggested(console: "Console", run: Path, n: int, out: Path, label_studio: Path | None) -> dict[str, Any]:
    """Find them, write them, and say so."""
    from newfound.runs import labels_since, open_run, source_columns, suggest_for, suggestion_table
    from newfound.runs.suggestion_files import write_suggestions, write_tasks

    opened = open_run(run)
    suggestions = suggest_for(opened, n, labels_since(opened))
    own, why_not = source_columns(opened, suggestions.rows)
    written = [out]
    write_suggestions(out, suggestion_table(opened, suggestions, own))
    if label_studio is not None:
        written += [label_studio, write_tasks(label_studio, opened, suggestions, own)]
    _show(console, opened, suggestions)
    if why_not:
        console.print(f"note: {why_not}", style="yellow", markup=False, soft_wrap=True)
    for path in written:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    console.print(f"Fill in the labels, then: newfound label {run} {out}", markup=False, soft_wrap=True)
    return {"rows": suggestions.rows.tolist(), "reasons": list(suggestions.reasons), "out": list(map(str, written))}


def _show(console: "Console", run: "Run", suggestions: "Suggestions") -> None:
    from newfound.wording import count, percent

    table = table_with("row", "class now", "prob.", "why", right=["prob."])
    row_ids = run.rows.row_ids
    for i, s in enumerate(suggestions):
        if i < N_SHOWN:
            cells = (str(row_ids[s.row]), str(s.class_name), percent(s.probability), s.reason)
            table.add_row(*cells)
    console.print(table)
    if len(suggestions) > N_SHOWN:
        console.print(f"and {count(len(suggestions) - N_SHOWN, 'row')} more", soft_wrap=True)
