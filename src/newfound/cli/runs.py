"""`newfound report`, `info` and `export`: what a run holds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import asdict

from newfound._internal.words import count, percent, quoted_list
from newfound.cli.console import (
    AsJson,
    RunArgument,
    clear_errors,
    console_for,
    print_json,
    print_lines,
    table_with,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from newfound.explain.audit_record import Audit
    from newfound.runs.records import ClassSummary
    from newfound.runs.run import Run

N_ACTS = 3  # that `info` shows
MAX_DESCRIBED = 10  # new classes, in a terminal
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
    from newfound.report.page import write_report
    from newfound.runs.derived import caught_up
    from newfound.runs.manifest import alone
    from newfound.runs.run import open_run

    with clear_errors():
        opened = caught_up(open_run(run))
        with alone(opened.folder):
            typer.echo(f"wrote {write_report(opened)}")


def info(run: RunArgument, as_json: AsJson = False) -> None:
    """Show a run: the answer, its classes, how far to trust them, and how the data were read.

    Example: `newfound info run/`
    """
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        changed = opened.check()
        about = opened.description
        if as_json:
            print_json({"answer": str(opened.answer)} | asdict(about) | _details(opened))
            return
        print_summary(console, opened)
        acts = opened.acts_in_effect
        n_before = len(acts) - N_ACTS
        print_lines(
            console,
            f"{about.source}: {about.n_rows:,} rows, {about.n_labelled:,} labelled",
            *(f"· {sentence}" for sentence in about.log),
            *([f"{count(n_before, 'earlier change')}: newfound history {run}"] if n_before > 0 else []),
            *(f"{act.time[:10]}: {act.sentence}" for act in acts[-N_ACTS:]),
            *([f"Changed or removed since newfound wrote them: {quoted_list(changed)}."] if changed else []),
            f"Fitted {about.created} by newfound {about.newfound}: {about.command}",
        )


def summary_of(run: "Run") -> dict[str, Any]:
    """A run in a few numbers, for machines."""
    about = {name: getattr(run.description, name) for name in IN_SUMMARY}
    changes = {} if run.changes is None else {"changes": run.changes}
    return about | {"run": str(run.folder), "answer": str(run.answer)} | _details(run) | changes


def _details(run: "Run") -> dict[str, Any]:
    acts = [act.sentence for act in run.acts_in_effect]
    return {"audit": run.audit, "classes": run.classes, "descriptions": run.descriptions, "acts": acts}


def print_summary(console: "Console", run: "Run") -> None:
    """A run in a few numbers, for people; the answer first."""
    from newfound.labelling.changes import change_sentences
    from newfound.runs.answer import discovery_sentences

    print_lines(console, str(run.answer), style="bold")
    print_lines(console, *discovery_sentences(run.discovered))
    if run.changes is not None:
        lines = change_sentences(run.changes)
        print_lines(console, "Changes since the previous run:", *(f"· {line}" for line in lines))
    if run.audit is not None:
        print_audit(console, run.audit, style="")
    console.print(_class_table(run.classes))
    n_rows = {c.name: c.n_discovered for c in run.classes if c.is_new}
    new = sorted((one for one in run.descriptions if one.name in n_rows), key=lambda one: -n_rows[one.name])
    print_lines(console, *map(str, new[:MAX_DESCRIBED]))
    if len(new) > MAX_DESCRIBED:
        print_lines(console, f"{len(new) - MAX_DESCRIBED} more are described in descriptions.json.")
    about = run.description
    differ = f" Label disagreements: {about.n_disagreements:,} of {about.n_labelled:,} (disagreements.csv)."
    end = f"{about.regime} learning, ended by {about.termination_condition}."
    print_lines(console, end.capitalize() + differ * bool(about.n_labelled))
    if (run.folder / "report.html").is_file():
        print_lines(console, f"Report: {run.folder / 'report.html'}")


def print_audit(console: "Console", found: "Audit", style: str = "bold") -> None:
    """The answer in this style, then the other sentences."""
    from newfound.explain.audit_record import sentences

    first, *others = sentences(found)
    print_lines(console, first, style=style)
    print_lines(console, *others)


def _class_table(classes: "list[ClassSummary]") -> "Table":
    """A line for each class. If labels are missing from new classes, also the labels expected and the p-value."""
    from rich.text import Text

    from newfound.runs.answer import p_text

    has_evidence = any(c.evidence for c in classes)
    missing = ("labels\nexpected", "p-value") if has_evidence else ()
    right = ("rows", "predicted", "labels", *missing, "mean\nprob.")
    table = table_with("class", "", *right, right=right)
    for c in classes:
        kind = Text("new", style="red") if c.is_new else "known"
        expected = (f"{c.evidence.labels_expected:.0f}", p_text(c.evidence)) if c.evidence else ("",) * len(missing)
        sizes = (f"{n:,}" for n in (c.n_discovered, c.n_rows, c.n_observed))
        table.add_row(c.name, kind, *sizes, *expected, percent(c.confidence))
    return table


def export(
    run: RunArgument,
    atlas: Annotated[
        Path, typer.Option(help="Parquet file for embedding viewers: x, y, class, P(new) and id of each row.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the latent map of a run and the prediction of each row, for embedding viewers.

    Example: `newfound export run/ --atlas rows.parquet`
    """
    from newfound.runs.derived import caught_up
    from newfound.runs.map import write_atlas
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = caught_up(open_run(run))
        n_rows = write_atlas(opened, atlas, replace=replace)
        n_all = opened.description.n_rows
    if as_json:
        print_json({"rows": n_rows, "of_rows": n_all, "out": str(atlas)})
        return
    of_all = "" if n_rows == n_all else f" (of {n_all:,}: those on the latent map)"
    print_lines(console, f"wrote {n_rows:,} rows{of_all} to {atlas}")
