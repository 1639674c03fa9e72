"""`newfound report`, `info` and `export`: what a run holds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound._internal.records import to_json
from newfound._internal.words import count, quoted_list
from newfound.cli.console import AsJson, RunArgument, clear_errors, console_for, print_audit, print_json, table_with

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from newfound.runs.records import ClassSummary
    from newfound.runs.run import Run

# ---- `newfound report` and `newfound info`: what a run holds ----

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
    """Show the answer of a run: its classes, how far to trust them, how the data were read.

    Example: `newfound info run/`
    """
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        changed = opened.check()
        if as_json:
            answer = {"answer": str(opened.answer)}
            print_json(answer | to_json(opened.description) | _audit(opened) | _classes(opened) | _acts(opened))
            return
        print_summary(console, opened)
        about = opened.description
        lines = [
            f"{about.source}: {about.n_rows:,} rows, {about.n_labelled:,} labelled",
            *(f"· {sentence}" for sentence in about.log),
            *_decided(opened),
            *([f"Changed or removed since newfound wrote them: {quoted_list(changed)}."] if changed else []),
            f"Fitted {about.created} by newfound {about.newfound}: {about.command}",
        ]
        for line in lines:
            console.print(line, markup=False, soft_wrap=True)


def summary_of(run: "Run") -> dict[str, Any]:
    """A run in a few numbers, for machines."""
    about = {name: to_json(getattr(run.description, name)) for name in IN_SUMMARY}
    about |= {"run": str(run.folder), "answer": str(run.answer)}
    changes = {} if run.changes is None else {"changes": to_json(run.changes)}
    return about | _audit(run) | _classes(run) | _acts(run) | changes


def print_summary(console: "Console", run: "Run") -> None:
    """A run in a few numbers, for people; the answer first."""
    from newfound.runs.answer import discovery_sentences

    console.print(str(run.answer), style="bold", markup=False, soft_wrap=True)
    for sentence in discovery_sentences(run.discovered):
        console.print(sentence, markup=False, soft_wrap=True)
    for sentence in _changes(run):
        console.print(sentence, markup=False, soft_wrap=True)
    if run.audit is not None:
        print_audit(console, run.audit, style="")
    console.print(_class_table(run.classes))
    _print_descriptions(console, run)
    about = run.description
    differ = f" Label disagreements: {about.n_disagreements:,} of {about.n_labelled:,} (disagreements.csv)."
    end = f"{about.regime} learning, ended by {about.termination_condition}."
    console.print(end.capitalize() + differ * bool(about.n_labelled), soft_wrap=True)
    if (run.folder / "report.html").is_file():
        console.print(f"Report: {run.folder / 'report.html'}", markup=False, soft_wrap=True)


def _class_table(classes: "list[ClassSummary]") -> "Table":
    """A line for each class; labels that are missing, where there are new classes and some labels."""
    from rich.text import Text

    from newfound._internal.words import percent
    from newfound.runs.answer import chance

    has_evidence = any(c.evidence for c in classes)
    missing = ("labels\nif known", "p of\nso few") if has_evidence else ()
    right = ("rows", "predicted", "labels", *missing, "mean\nprob.")
    table = table_with("class", "", *right, right=right)
    for c in classes:
        kind = Text("new", style="red") if c.is_new else "known"
        expected = (f"{c.evidence.labels_expected:.0f}", chance(c.evidence)) if c.evidence else ("",) * len(missing)
        sizes = (f"{n:,}" for n in (c.n_discovered, c.n_rows, c.n_observed))
        table.add_row(c.name, kind, *sizes, *expected, percent(c.confidence))
    return table


def _print_descriptions(console: "Console", run: "Run") -> None:
    """What each new class is, the largest first."""
    rows = {c.name: c.n_discovered for c in run.classes if c.is_new}
    new = sorted((one for one in run.descriptions if one.name in rows), key=lambda one: -rows[one.name])
    for one in new[:MAX_DESCRIBED]:
        console.print(str(one), markup=False, soft_wrap=True)
    if len(new) > MAX_DESCRIBED:
        console.print(f"{len(new) - MAX_DESCRIBED} more are described in descriptions.json.", soft_wrap=True)


def _changes(run: "Run") -> list[str]:
    """What a refit changed."""
    from newfound.labelling.changes import change_sentences

    return (
        []
        if run.changes is None
        else ["Since the run before:", *(f"· {line}" for line in change_sentences(run.changes))]
    )


def _audit(run: "Run") -> dict[str, Any]:
    return {"audit": to_json(run.audit)}


def _acts(run: "Run") -> dict[str, Any]:
    return {"acts": [act.sentence for act in run.acts_in_effect]}


def _decided(run: "Run") -> list[str]:
    """What was last decided about the classes, in a few lines."""
    acts = run.acts_in_effect
    n_before = max(0, len(acts) - N_ACTS)
    before = [f"{count(n_before, 'act')} before these: newfound history {run.folder}"] if n_before else []
    return [*before, *(f"{act.time[:10]}: {act.sentence}" for act in acts[-N_ACTS:])]


def _classes(run: "Run") -> dict[str, Any]:
    return {"classes": to_json(run.classes), "descriptions": to_json(run.descriptions)}


# ---- `newfound export`: a run for other programs ----


def export(
    run: RunArgument,
    atlas: Annotated[
        Path, typer.Option(help="Parquet file for embedding viewers: x, y, class, P(new) and id of each row.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the latent map of a run, with what is said of each row, for embedding viewers.

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
    console.print(f"wrote {n_rows:,} rows{of_all} to {atlas}", markup=False, soft_wrap=True)
