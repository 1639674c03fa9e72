"""What a person decides about a run: name, merge, split, cut, discard, undo; and the loop of labelling."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import asdict

from newfound._internal.words import count, percent
from newfound.cli.console import (
    AsJson,
    RunArgument,
    clear_errors,
    console_for,
    listener_on,
    print_json,
    print_lines,
    status_line,
    table_with,
)
from newfound.cli.runs import print_summary, summary_of

if TYPE_CHECKING:
    from newfound.classes import Classes
    from newfound.runs.derived import Acted

# ---- Changes to a run's classes: name, merge, split, cut, discard; undo and history ----

ClassArgument = Annotated[str, typer.Argument(help="A class, by its name or id.", show_default=False)]


def name(
    run: RunArgument,
    names: Annotated[list[str], typer.Argument(help="OLD=NEW: a class by its name or id, and its new name.")],
    as_json: AsJson = False,
) -> None:
    """Rename classes.

    Example: `newfound name run/ new-1=chinstrap new-2=gentoo`
    """
    _act(run, "rename", lambda classes: {"names": [_pair(classes, text) for text in names]}, as_json)


def merge(
    run: RunArgument,
    classes: Annotated[list[str], typer.Argument(help="The classes to merge, by their names or ids.")],
    into: Annotated[str | None, typer.Option(help="The class that keeps its name; may be a known one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Merge several classes into one. Rows of other classes stay as they are.

    For example:

    `newfound merge run/ new-2 new-5`

    `newfound merge run/ new-3 --into login`
    """

    def arguments(of: "Classes") -> dict[str, Any]:
        return {"classes": [_named(of, text) for text in classes], "into": None if into is None else _named(of, into)}

    _act(run, "merge", arguments, as_json)


def split(run: RunArgument, class_name: ClassArgument, as_json: AsJson = False) -> None:
    """Split a class into two. The larger part keeps its name.

    Example: `newfound split run/ new-4`
    """
    _act(run, "split", lambda classes: {"class_name": _named(classes, class_name)}, as_json)


def cut(
    run: RunArgument,
    n_new: Annotated[int, typer.Argument(help="How many new classes there should be.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Change the number of new classes by merging or splitting them, without a second fit.

    Example: `newfound cut run/ 3`
    """
    _act(run, "cut", lambda classes: {"n_new": n_new}, as_json)


def discard(run: RunArgument, class_name: ClassArgument, as_json: AsJson = False) -> None:
    """Discard a new class. Each of its rows moves to the best remaining class.

    Example: `newfound discard run/ new-6`
    """
    _act(run, "discard", lambda classes: {"class_name": _named(classes, class_name)}, as_json)


def undo(run: RunArgument, as_json: AsJson = False) -> None:
    """Undo the last change to a run's classes. Repeat to undo earlier ones.

    Example: `newfound undo run/`
    """
    from newfound.report.page import write_report
    from newfound.runs.derived import undo as undo_last
    from newfound.runs.run import open_run

    with clear_errors(), status_line(console_for(as_json), "writing the run again"):
        acted = undo_last(open_run(run), write_report)
    _print_act(acted, as_json)


def history(run: RunArgument, as_json: AsJson = False) -> None:
    """List the changes to a run's classes, oldest first.

    Example: `newfound history run/`
    """
    from newfound.runs.run import open_run

    with clear_errors():
        opened = open_run(run)
        effective = {act.number for act in opened.acts_in_effect}
        if as_json:
            print_json([asdict(act) | {"is_in_effect": act.number in effective} for act in opened.acts])
            return
        lines = []
        for act in opened.acts:
            undone = "" if act.number in effective or act.act == "undo" else "  (undone)"
            lines.append(f"{act.number:3}  {act.time[:16].replace('T', ' ')}  {act.sentence}{undone}")
        print_lines(console_for(as_json), *lines or ["No changes yet: the classes are as they were found."])


def _act(run: Path, act: str, arguments_of: "Callable[[Classes], dict[str, Any]]", as_json: bool) -> None:
    """Change the classes, write the run and its report again, and print what changed."""
    from newfound.report.page import write_report
    from newfound.runs.derived import act_on
    from newfound.runs.run import open_run

    with clear_errors(), status_line(console_for(as_json), "writing the run again"):
        opened = open_run(run)
        acted = act_on(opened, act, arguments_of(opened.model.fitted_.classes), write_report)
    _print_act(acted, as_json)


def _print_act(acted: "Acted", as_json: bool) -> None:
    from newfound.runs.answer import headline

    if as_json:
        print_json(summary_of(acted.run) | {"act": acted.act})
        return
    console = console_for(as_json)
    print_lines(console, acted.act.sentence)
    console.print(headline(acted.run.discovered), style="bold")


def _named(classes: "Classes", text: str) -> Any:
    """The name of the class with this name or id, which is text on the command line."""
    for known_as in (classes.names, classes.ids):
        for position, other in enumerate(known_as.tolist()):
            if str(other) == text:
                return classes.names[position].item()
    return text  # which the act refuses


def _pair(classes: "Classes", text: str) -> list[Any]:
    """\"new-1=fox\" as a class and its new name. If names hold =, the longest name of a class is taken."""
    at = [i for i, character in enumerate(text) if character == "="]
    if not at:
        raise ValueError(f"Write a class and its new name as OLD=NEW, such as new-1=chinstrap; got {text!r}.")
    own = {str(name) for name in (*classes.names.tolist(), *classes.ids.tolist())}
    i = next((i for i in reversed(at) if text[:i] in own), at[0])
    old, new = text[:i], text[i + 1 :]
    is_number = classes.names.dtype.kind == "i" and new.strip().removeprefix("-").isdecimal()
    return [_named(classes, old), int(new) if is_number else new]


# ---- The loop of labelling: `newfound suggest`, `newfound label` and `newfound refit` ----

N_SHOWN = 10


def suggest(
    run: RunArgument,
    rows: Annotated[int, typer.Option(min=1, help="How many rows.")] = 50,
    out: Annotated[Path, typer.Option(help="A CSV to fill in, with your own columns.")] = Path("suggest.csv"),
    label_studio: Annotated[
        Path | None, typer.Option(help="Also write tasks for Label Studio, .json, and its interface beside it, .xml.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Suggest rows to label next: the most informative ones, and no two that are alike.

    Example: `newfound suggest run/ --rows 20 --out suggest.csv`
    """
    from newfound.runs.labels import (
        check_paths,
        labels_since,
        source_columns,
        suggest_for,
        suggestion_table,
        write_suggestions,
        write_tasks,
    )
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors(), status_line(console, "choosing rows"):
        check_paths(out, label_studio, replace=replace)
        opened = open_run(run)
        found = suggest_for(opened, rows, labels_since(opened))
        own, why_not = source_columns(opened, found.rows)
        written = [out]
        write_suggestions(out, suggestion_table(opened, found, own))
        if label_studio is not None:
            written += [label_studio, write_tasks(label_studio, opened, found, own)]
        table = table_with("row", "class now", "prob.", "why", right=["prob."])
        row_ids = opened.rows.row_ids
        for s in [*found][:N_SHOWN]:
            table.add_row(str(row_ids[s.row]), str(s.class_name), percent(s.probability), s.reason)
        console.print(table)
        if len(found) > N_SHOWN:
            print_lines(console, f"and {count(len(found) - N_SHOWN, 'row')} more")
        if why_not:
            print_lines(console, f"note: {why_not}", style="yellow")
        print_lines(console, *(f"wrote {path}" for path in written))
        print_lines(console, f"Fill in the labels, then: newfound label {run} {out}")
    if as_json:
        print_json({"rows": found.rows.tolist(), "reasons": list(found.reasons), "out": list(map(str, written))})


def label(
    run: RunArgument,
    labels: Annotated[Path, typer.Argument(help="The CSV from `newfound suggest`, filled in, or Label Studio's JSON.")],
    as_json: AsJson = False,
) -> None:
    """Add labels to rows, of existing or other classes. The next refit learns from them.

    Rows are matched by their ids; empty labels are skipped. Your source is never changed.

    Example: `newfound label run/ suggest.csv`
    """
    from newfound.report.page import write_report
    from newfound.runs.derived import act_on
    from newfound.runs.labels import read_given
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors(), status_line(console, "writing the run again"):
        opened = open_run(run)
        given = read_given(opened, labels)
        if not given.given and not given.corrections:
            raise ValueError(
                f"{labels.name!r} holds no new label: {count(given.n_same, 'row')} with the label they already have. "
                f"Add labels and try again."
            )
        acted = act_on(opened, "label", given.arguments(), write_report)
    _print_act(acted, as_json)
    for n, what in ((given.n_empty, "without a label"), (given.n_same, "with the label they had before")):
        if n and not as_json:
            print_lines(console, f"Left out: {count(n, 'row')} {what}.")


def refit(
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="Folder for the new run; the first one stays as it is.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit the rows of a run again, with the labels added since. Classes that stay the same keep their names.

    Example: `newfound refit run/ --out run2/`
    """
    from newfound.report.page import write_report
    from newfound.runs.leftovers import shareable_command
    from newfound.runs.new_run import refit_run
    from newfound.runs.run import open_run
    from newfound.training.steps import keep_compiled_programs

    console = console_for(as_json)
    with clear_errors():
        keep_compiled_programs()
        options: dict[str, Any] = {"command": shareable_command(), "replace": replace, "listener": listener_on(console)}
        made = refit_run(open_run(run), out, finish=write_report, **options)
    if as_json:
        print_json(summary_of(made))
    else:
        print_summary(console, made)
