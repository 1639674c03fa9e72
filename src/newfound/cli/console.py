"""What the commands share: where they print, what they do with errors, options that several of them have."""

import errno
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from newfound.errors import one_line
from newfound.interrupts import INTERRUPTED, ending_in_order

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from newfound.auditing import Audit
    from newfound.runs import Listener

BAD_INPUT, FAILED = 2, 1
OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"  # as XLA says it

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunArgument = Annotated[Path, typer.Argument(help="A folder that `newfound fit` wrote.", show_default=False)]


@contextmanager
def clear_errors() -> Iterator[None]:
    """What a user can put right is one sentence, with exit code 2; a full disk or memory one with code 1.

    Ctrl-C and SIGTERM end in order, with the codes that shells give them. Anything else is a bug, and shows.
    """
    try:
        with ending_in_order():
            yield
    except (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        _end(BAD_INPUT, as_options(one_line(str(error))))
    except OSError as error:
        _end(FAILED, about_disk(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and OUT_OF_MEMORY not in str(error):
            raise
        _end(FAILED, "There is not enough memory for this. Give fewer rows or columns, or more memory.")
    except KeyboardInterrupt:
        _end(INTERRUPTED, "interrupted.")


def _end(code: int, sentence: str) -> NoReturn:
    typer.echo(f"newfound: {sentence}", err=True)
    raise typer.Exit(code) from None


def about_disk(error: OSError) -> str:
    """A sentence about what the system refused."""
    where = f" ({error.filename!r})" if error.filename else ""
    then = " Make room on the disk, and try again." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{error.strerror or error}{where}.{then}"


AS_OPTIONS = {  # what Python says, and what the command line has for it
    r"`(label|labels|id|ignore|categorical|numeric|group|features)`": r"--\1",
    r"`image_size`": "--image-size",
    r"\bn_new = '?(\w+)'?": r"--n-new \1",
    r"^n_new\b": "N_NEW",  # of `newfound cut`
    r"\binto='?([^']*)'?\.$": r"--into \1.",
    r"^abstain\b": "--abstain",
    r"\bknown_only\b": "--known-only",
    r"\bnew_threshold\b": "--new-threshold",
    r", or None(?=; got)": "",  # which is leaving the option out
}


def as_options(sentence: str) -> str:
    """The same sentence with the command line's options in place of Python's parameters: --ignore for `ignore`."""
    for pattern, option in AS_OPTIONS.items():
        sentence = re.sub(pattern, option, sentence)
    return sentence


def console_for(as_json: bool) -> "Console":
    """Where a person reads: standard output, or standard error while a machine reads the other."""
    from rich.console import Console

    return Console(stderr=as_json, highlight=False, markup=False, emoji=False)


def print_json(content: Any) -> None:
    typer.echo(json.dumps(content))


def print_audit(console: "Console", found: "Audit", style: str = "bold") -> None:
    """The answer first, in bold where nothing else is."""
    from newfound.auditing import sentences

    first, *others = sentences(found)
    console.print(first, style=style, markup=False, soft_wrap=True)
    for sentence in others:
        console.print(sentence, markup=False, soft_wrap=True)


@contextmanager
def status_line(console: "Console", first: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, on a terminal."""
    with console.status(plain(first)) as status:
        yield lambda text: status.update(plain(text))


def plain(text: str) -> "Text":
    """Text as it is: a status line would take [brackets] in the name of a file for a style."""
    from rich.text import Text

    return Text(text)


def print_anywhere() -> None:
    """A terminal that has no letter for something shows its number, and nothing fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def listener_on(console: "Console") -> "Listener":
    """Stages as faint lines on standard error (a status line would be in the way of the bar), notes in yellow."""
    from newfound.runs import Listener

    beside = console_for(as_json=True)

    def stage(text: str) -> None:
        beside.print(f"{text} …", style="dim", markup=False)

    return Listener(stage, lambda text: console.print(f"note: {text}", style="yellow", markup=False))


def table_with(*columns: str, right: Sequence[str] = ()) -> "Table":
    """An empty table; the columns in `right` are aligned right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    return table


def keep_compiled_programs() -> None:
    """So that the next command of the same shape starts at once."""
    from newfound.training import compilation

    compilation.keep_compiled_programs()
