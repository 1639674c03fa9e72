"""What a person decides about a run's classes: name, merge, split, cut, discard; undo and history."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound.cli.console import (
    AsJson,
    RunArgument,
    clear_errors,
    console_for,
    print_json,
    status_line,
)
from newfound.cli.run_commands import summary_of

if TYPE_CHECKING:
    from newfound.classes import Classes
    from newfound.runs import Acted

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
    from newfound.report import write_report
    from newfound.runs import open_run
    from newfound.runs import undo as undo_last

    with clear_errors(), status_line(console_for(as_json), "writing the run again"):
        acted = undo_last(open_run(run), write_report)
    show_act(acted, as_json)


def history(run: RunArgument, as_json: AsJson = False) -> None:
    """What was decided about a run's classes, in the order of time.

    Example: `newfound history run/`
    """
    from dataclasses import asdict

    from newfound.runs import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        effective = {act.number for act in opened.acts_in_effect}
        if as_json:
            print_json([asdict(act) | {"is_in_effect": act.number in effective} for act in opened.acts])
            return
        for act in opened.acts:
            taken_back = "" if act.number in effective or act.act == "undo" else "  (taken back)"
            line = f"{act.number:3}  {act.time[:16].replace('T', ' ')}  {act.sentence}{taken_back}"
            console.print(line, markup=False, soft_wrap=True)
        if not opened.acts:
            console.print("Nothing was decided yet: the classes are as they were found.")


def _act(run: Path, act: str, arguments_of: Any, as_json: bool) -> None:
    """Do it, write the run and its report again, and say what changed."""
    from newfound.report import write_report
    from newfound.runs import act_on, open_run

    with clear_errors(), status_line(console_for(as_json), "writing the run again"):
        opened = open_run(run)
        acted = act_on(opened, act, arguments_of(opened.model.fitted_.classes), write_report)
    show_act(acted, as_json)


def show_act(acted: "Acted", as_json: bool) -> None:
    from dataclasses import asdict

    from newfound.runs import headline

    if as_json:
        print_json(summary_of(acted.run) | {"act": asdict(acted.act)})
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
