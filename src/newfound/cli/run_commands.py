"""`newfound report` and `newfound info`: what a run holds."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from newfound.cli.console import AsJson, RunArgument, clear_errors, console_for, print_audit, print_json, table_with

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from newfound.runs import ClassSummary, Run

IN_SUMMARY = (
    "n_new",
    "n_new_range",
    "discovery",
    "regime",
    "termination_condition",
    "n_rows",
    "n_labelled",
    "n_disagreements",
)


def report(run: RunArgument) -> None:
    """Write the report of a run again: one HTML file that needs no network.

    Example: `newfound report run/`
    """
    from newfound.report import write_report
    from newfound.runs import open_run

    with clear_errors():
        typer.echo(f"wrote {write_report(open_run(run))}")


def info(run: RunArgument, as_json: AsJson = False) -> None:
    """Show the answer of a run: its classes, how far to trust them, how the data were read.

    Example: `newfound info run/`
    """
    from newfound.runs import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        if as_json:
            print_json({"answer": str(opened.answer)} | opened.description | _audit(opened) | _classes(opened))
            return
        print_summary(console, opened)
        about = opened.description
        lines = [
            f"{about['source']}: {about['n_rows']:,} rows, {about['n_labelled']:,} labelled",
            *(f"· {sentence}" for sentence in about["log"]),
            f"Fitted {about['created']} by newfound {about['newfound']}: {about['command']}",
        ]
        for line in lines:
            console.print(line, markup=False, soft_wrap=True)


def summary_of(run: "Run") -> dict[str, Any]:
    """A run in a few numbers, for machines."""
    about = {name: run.description[name] for name in IN_SUMMARY} | {"run": str(run.folder), "answer": str(run.answer)}
    return about | _audit(run) | _classes(run)


def print_summary(console: "Console", run: "Run") -> None:
    """A run in a few numbers, for people; the answer first."""
    from newfound.runs import sentences

    console.print(str(run.answer), style="bold", markup=False, soft_wrap=True)
    for sentence in sentences(run.discovered):
        console.print(sentence, markup=False, soft_wrap=True)
    if run.audit is not None:
        print_audit(console, run.audit, style="")
    console.print(_class_table(run.classes))
    about = run.description
    differ = f" Label disagreements: {about['n_disagreements']:,} of {about['n_labelled']:,} (disagreements.csv)."
    end = f"{about['regime']} learning, ended by {about['termination_condition']}."
    console.print(end.capitalize() + differ * bool(about["n_labelled"]), soft_wrap=True)
    if (run.folder / "report.html").is_file():
        console.print(f"Report: {run.folder / 'report.html'}", markup=False, soft_wrap=True)


def _class_table(classes: "list[ClassSummary]") -> "Table":
    """A line for each class; labels that are missing, where there are new classes and some labels."""
    from rich.markup import escape

    from newfound.runs.discovered import chance
    from newfound.wording import percent

    has_evidence = any(c.evidence for c in classes)
    missing = ("labels\nif known", "p of\nso few") if has_evidence else ()
    right = ("rows", "predicted", "labels", *missing, "mean\nprob.")
    table = table_with("class", "", *right, right=right)
    for c in classes:
        kind = "[red]new[/red]" if c.is_new else "known"
        expected = (f"{c.evidence['labels_expected']:.0f}", chance(c.evidence)) if c.evidence else ("",) * len(missing)
        sizes = (f"{n:,}" for n in (c.n_discovered, c.n_rows, c.n_observed))
        table.add_row(escape(c.name), kind, *sizes, *expected, percent(c.confidence))
    return table


def _audit(run: "Run") -> dict[str, Any]:
    return {"audit": None if run.audit is None else run.audit.to_json()}


def _classes(run: "Run") -> dict[str, Any]:
    return {"classes": [asdict(c) for c in run.classes]}
