"""`newfound report` and `newfound info`: what a run holds."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from newfound.cli.console import AsJson, RunArgument, clear_errors, console_for, print_audit, print_json, table_with

if TYPE_CHECKING:
    from rich.console import Console

    from newfound.runs import Run

IN_SUMMARY = ("n_new", "n_new_range", "regime", "termination_condition", "n_rows", "n_labelled", "n_disagreements")


def report(run: RunArgument) -> None:
    """Write the report of a run again: one HTML file that needs no network.

    Example: `newfound report run/`
    """
    from newfound.report import write_report
    from newfound.runs import open_run

    with clear_errors():
        typer.echo(f"wrote {write_report(open_run(run))}")


def info(run: RunArgument, as_json: AsJson = False) -> None:
    """Show what a run holds: data, settings, classes.

    Example: `newfound info run/`
    """
    from newfound.runs import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        if as_json:
            print_json(opened.description | _audit(opened) | _classes(opened))
            return
        about = opened.description
        lines = [
            f"{about['source']}: {about['n_rows']:,} rows, {about['n_labelled']:,} labelled",
            f"fitted {about['created']} by newfound {about['newfound']}: {about['command']}",
            *(f"· {sentence}" for sentence in about["log"]),
        ]
        for line in lines:
            console.print(line, markup=False, soft_wrap=True)
        print_summary(console, opened)


def summary_of(run: "Run") -> dict[str, Any]:
    """A run in a few numbers, for machines."""
    about = {name: run.description[name] for name in IN_SUMMARY} | {"run": str(run.folder)}
    return about | _audit(run) | _classes(run)


def print_summary(console: "Console", run: "Run") -> None:
    """A run in a few numbers, for people."""
    from rich.markup import escape

    console.print(headline(run.description), style="bold")
    if run.audit is not None:
        print_audit(console, run.audit)
    table = table_with("class", "", "rows", "labels", "mean probability", right=("rows", "labels", "mean probability"))
    for c in run.classes:
        confidence = "" if c.confidence is None else f"{c.confidence:.2f}"
        kind = "[red]new[/red]" if c.is_new else "known"
        table.add_row(escape(c.name), kind, f"{c.n_rows:,}", f"{c.n_observed:,}", confidence)
    console.print(table)
    about = run.description
    console.print(
        f"{about['regime']} learning, ended by {about['termination_condition']}. Label disagreements: "
        f"{about['n_disagreements']:,} of {about['n_labelled']:,} (disagreements.csv).",
        soft_wrap=True,
    )
    if (run.folder / "report.html").is_file():
        console.print(f"Report: {run.folder / 'report.html'}", markup=False, soft_wrap=True)


def headline(about: dict[str, Any]) -> str:
    """The answer first: how many new classes there are, and how many there could be."""
    from newfound.wording import count

    low, high = about["n_new_range"]
    could_be = f" (could be {low} to {high})" if low < high else ""
    return (
        f"{count(about['n_new'], 'new class', 'new classes')}{could_be}"
        if about["n_new"]
        else f"No new class{could_be}"
    )


def _audit(run: "Run") -> dict[str, Any]:
    return {"audit": None if run.audit is None else run.audit.to_json()}


def _classes(run: "Run") -> dict[str, Any]:
    return {"classes": [asdict(c) for c in run.classes]}
