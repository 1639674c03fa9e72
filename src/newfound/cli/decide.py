"""What a person decides about a run: name, merge, split, cut, discard, undo; and the loop of labelling."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from newfound.cli.runs import print_summary, summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from newfound.classes import Classes
    from newfound.labelling.suggest import Suggestions
    from newfound.runs.derived import Acted
    from newfound.runs.run import Run

# ---- What a person decides about a run's classes: name, merge, split, cut, discard; undo and history ----

ClassArgument = Annotated[str, typer.Argument(help="A class, by its name or id.", show_default=False)]


def name(
    run: RunArgument,
    names: Annotated[list[str], typer.Argument(help="OLD=NEW: a class by its name or id, and its new name.")],
    as_json: AsJson = False,
) -> None:
    """Give classes the names that you have for them.

    Example: `newfound name run/ new-1=chinstrap new-2=gentoo`
    """
    _act(run, "rename", lambda classes: {"names": [_pair(classes, text) for text in names]}, as_json)


def merge(
    run: RunArgument,
    classes: Annotated[list[str], typer.Argument(help="The classes that are one, by their names or ids.")],
    into: Annotated[str | None, typer.Option(help="The class that keeps its name, also a known one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make several classes one. Rows of other classes stay as they are.

    For example:

    `newfound merge run/ new-2 new-5`

    `newfound merge run/ new-3 --into login`
    """

    def arguments(of: "Classes") -> dict[str, Any]:
        return {"classes": [_given(of, text) for text in classes], "into": None if into is None else _given(of, into)}

    _act(run, "merge", arguments, as_json)


def split(run: RunArgument, class_name: ClassArgument, as_json: AsJson = False) -> None:
    """Make one class two; the larger part keeps its name.

    Example: `newfound split run/ new-4`
    """
    _act(run, "split", lambda classes: {"class_name": _given(classes, class_name)}, as_json)


def cut(
    run: RunArgument,
    n_new: Annotated[int, typer.Argument(help="How many new classes there should be.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Join the new classes to fewer, or divide them to more, without a second fit.

    Example: `newfound cut run/ 3`
    """
    _act(run, "cut", lambda classes: {"n_new": n_new}, as_json)


def discard(run: RunArgument, class_name: ClassArgument, as_json: AsJson = False) -> None:
    """Take a new class out of the answer: each of its rows gets the best class that remains.

    Example: `newfound discard run/ new-6`
    """
    _act(run, "discard", lambda classes: {"class_name": _given(classes, class_name)}, as_json)


def undo(run: RunArgument, as_json: AsJson = False) -> None:
    """Take back what was last decided about a run's classes; once more, what was decided before that.

    Example: `newfound undo run/`
    """
    from newfound.report.page import write_report
    from newfound.runs.derived import undo as undo_last
    from newfound.runs.run import open_run

    with clear_errors(), status_line(console_for(as_json), "writing the run again"):
        acted = undo_last(open_run(run), write_report)
    show_act(acted, as_json)


def history(run: RunArgument, as_json: AsJson = False) -> None:
    """What was decided about a run's classes, in the order of time.

    Example: `newfound history run/`
    """
    from newfound._internal.records import to_json
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        effective = {act.number for act in opened.acts_in_effect}
        if as_json:
            print_json([to_json(act) | {"is_in_effect": act.number in effective} for act in opened.acts])
            return
        for act in opened.acts:
            taken_back = "" if act.number in effective or act.act == "undo" else "  (taken back)"
            line = f"{act.number:3}  {act.time[:16].replace('T', ' ')}  {act.sentence}{taken_back}"
            console.print(line, markup=False, soft_wrap=True)
        if not opened.acts:
            console.print("Nothing was decided yet: the classes are as they were found.")


def _act(run: Path, act: str, arguments_of: Any, as_json: bool) -> None:
    """Do it, write the run and its report again, and say what changed."""
    from newfound.report.page import write_report
    from newfound.runs.derived import act_on
    from newfound.runs.run import open_run

    with clear_errors(), status_line(console_for(as_json), "writing the run again"):
        opened = open_run(run)
        acted = act_on(opened, act, arguments_of(opened.model.fitted_.classes), write_report)
    show_act(acted, as_json)


def show_act(acted: "Acted", as_json: bool) -> None:
    from newfound._internal.records import to_json
    from newfound.runs.answer import headline

    if as_json:
        print_json(summary_of(acted.run) | {"act": to_json(acted.act)})
        return
    console = console_for(as_json)
    console.print(acted.act.sentence, markup=False, soft_wrap=True)
    console.print(headline(acted.run.discovered), style="bold")


def _given(classes: "Classes", text: str) -> Any:
    """The class that is meant by its name or id on the command line, where all is text."""
    for known_as in (classes.names, classes.ids):
        for position, other in enumerate(known_as.tolist()):
            if str(other) == text:
                return classes.names[position].item()
    return text  # which the act refuses


def _pair(classes: "Classes", text: str) -> list[Any]:
    """\"new-1=fox\" as a class and its new name; where names hold =, the longest name of a class is taken."""
    at = [i for i, character in enumerate(text) if character == "="]
    if not at:
        raise ValueError(f"Write a class and its new name as OLD=NEW, such as new-1=chinstrap; got {text!r}.")
    own = {str(name) for name in (*classes.names.tolist(), *classes.ids.tolist())}
    i = next((i for i in reversed(at) if text[:i] in own), at[0])
    old, new = text[:i], text[i + 1 :]
    is_number = classes.names.dtype.kind == "i" and new.strip().removeprefix("-").isdecimal()
    return [_given(classes, old), int(new) if is_number else new]


# ---- The loop of labelling: `newfound suggest`, `newfound label` and `newfound refit` ----

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
    from newfound.runs.labels import check_paths

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
    from newfound._internal.words import count
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
    from newfound.report.page import write_report
    from newfound.runs.leftovers import shareable_command
    from newfound.runs.new_run import refit_run
    from newfound.runs.run import open_run

    console = console_for(as_json)
    with clear_errors():
        keep_compiled_programs()
        options: dict[str, Any] = {"command": shareable_command(), "replace": replace, "listener": listener_on(console)}
        made = refit_run(open_run(run), out, finish=write_report, **options)
    if as_json:
        print_json(summary_of(made))
    else:
        print_summary(console, made)


def _suggested(console: "Console", run: Path, n: int, out: Path, label_studio: Path | None) -> dict[str, Any]:
    """Find them, write them, and say so."""
    from newfound.runs.labels import (
        labels_since,
        source_columns,
        suggest_for,
        suggestion_table,
        write_suggestions,
        write_tasks,
    )
    from newfound.runs.run import open_run

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
    from newfound._internal.words import count, percent

    table = table_with("row", "class now", "prob.", "why", right=["prob."])
    row_ids = run.rows.row_ids
    for i, s in enumerate(suggestions):
        if i < N_SHOWN:
            cells = (str(row_ids[s.row]), str(s.class_name), percent(s.probability), s.reason)
            table.add_row(*cells)
    console.print(table)
    if len(suggestions) > N_SHOWN:
        console.print(f"and {count(len(suggestions) - N_SHOWN, 'row')} more", soft_wrap=True)
