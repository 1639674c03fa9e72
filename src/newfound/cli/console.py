"""What the commands share: where they print, how errors end, and the options that most of them have."""

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

from newfound._internal.files import INTERRUPTED, ending_in_order
from newfound._internal.records import to_json
from newfound._internal.words import one_line, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from newfound.runs.records import Listener

BAD_INPUT, FAILED = 2, 1
OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"  # in the messages of XLA

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunArgument = Annotated[Path, typer.Argument(help="A folder that `newfound fit` wrote.", show_default=False)]
Features = Annotated[
    str | None, typer.Option(help="A .npy or .npz file with a row of numbers for each row of the table: embeddings.")
]


@contextmanager
def clear_errors() -> Iterator[None]:
    """End in one sentence: with exit code 2 if the user can correct the input, with 1 if disk or memory is full.

    Ctrl-C and SIGTERM end in order, with the codes that shells give them. Any other error is a bug and is raised.
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
    """What the system refused, and a remedy if the disk is full."""
    where = f" ({error.filename!r})" if error.filename else ""
    then = " Free some disk space and try again." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{error.strerror or error}{where}.{then}"


AS_OPTIONS = {  # from the words of Python's messages to those of the command line
    r"`(label|labels|id|ignore|categorical|numeric|group|features)`": r"--\1",
    r"`image_size`": "--image-size",
    r"\bn_new = '?(\w+)'?": r"--n-new \1",
    r"^n_new\b": "N_NEW",  # of `newfound cut`
    r"\binto='?([^']*)'?\.$": r"--into \1.",
    r"^abstain\b": "--abstain",
    r"\bknown_only\b": "--known-only",
    r"\bnew_threshold\b": "--new-threshold",
    r", or None(?=; got)": "",  # on the command line, the option is left out
}


def as_options(sentence: str) -> str:
    """The sentence with options in place of Python's parameters: --ignore for `ignore`."""
    for pattern, option in AS_OPTIONS.items():
        sentence = re.sub(pattern, option, sentence)
    return sentence


def console_for(as_json: bool) -> "Console":
    """Standard output; standard error if the output is JSON for a machine."""
    from rich.console import Console

    return Console(stderr=as_json, highlight=False, markup=False, emoji=False)


def print_lines(console: "Console", *lines: str, style: str = "") -> None:
    """Print text as it is: brackets are no style, and long lines are not broken."""
    for line in lines:
        console.print(line, style=style, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    typer.echo(json.dumps(to_json(content)))


@contextmanager
def status_line(console: "Console", first: str) -> Iterator[Callable[[str], None]]:
    """On a terminal, a line that shows the current step. [Brackets] in a file's name are no style."""
    from rich.text import Text

    with console.status(Text(first)) as status:
        yield lambda text: status.update(Text(text))


def print_anywhere() -> None:
    """Print the code of a character that the terminal does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def listener_on(console: "Console") -> "Listener":
    """Print stages as faint lines on standard error (a status line would disturb the bar), and notes in yellow."""
    from newfound.runs.records import Listener

    errors = console_for(as_json=True)
    return Listener(
        stage=lambda text: errors.print(f"{text} …", style="dim", markup=False),
        note=lambda text: console.print(f"note: {text}", style="yellow", markup=False),
    )


def table_with(*columns: str, right: Sequence[str] = ()) -> "Table":
    """An empty table; the columns in `right` are aligned right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    return table


MAX_DIGITS = 18  # of a whole number


def number_or_auto(option: str, text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal() or len(text) > MAX_DIGITS:
        raise ValueError(f"{option} must be a whole number or auto; got {shortened(text)!r}.")
    return int(text)
