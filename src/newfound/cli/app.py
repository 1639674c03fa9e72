"""The command line: text in, text out. Each file holds a group of commands; the packages they call do the work.

A command's file is imported when the command is called, and heavy libraries when it runs, so that all start quickly.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from newfound._internal.files import INTERRUPTED
from newfound.cli.console import FAILED, about_disk, print_anywhere

COMMANDS = {  # the file of each, in the order of the help
    **dict.fromkeys(("audit", "fit"), "fit"),
    **dict.fromkeys(("predict", "evaluate"), "predict"),
    **dict.fromkeys(("report", "info", "export"), "runs"),
    **dict.fromkeys(
        ("name", "merge", "split", "cut", "discard", "suggest", "label", "refit", "undo", "history"), "decide"
    ),
    "demo": "demo",
}
LOOK: dict[str, Any] = {"rich_markup_mode": "markdown", "pretty_exceptions_enable": False}


class Commands(TyperGroup):
    """All commands. Output that cannot be printed, as on a full disk, ends in one sentence, and so does Ctrl-C."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands: Any = dict.fromkeys(COMMANDS)  # names, for the help and for "Did you mean …?"

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        alone = typer.Typer(add_completion=False, **LOOK)
        alone.command(cmd_name)(getattr(import_module(f"newfound.cli.{COMMANDS[cmd_name]}"), cmd_name))
        return typer.main.get_command(alone)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # before the command has begun
            print("newfound: interrupted.", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            return super().main(*args, **options)
        except OSError as error:
            self._cannot_print(error)
        finally:
            try:
                sys.stdout.flush()
            except OSError as error:
                self._cannot_print(error)

    def _cannot_print(self, error: OSError) -> NoReturn:
        """Redirect standard output to nowhere, so that Python does not try to print again when it ends."""
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"newfound: {about_disk(error)}", file=sys.stderr)
        raise SystemExit(FAILED)


app = typer.Typer(name="newfound", cls=Commands, no_args_is_help=True, **LOOK)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Classify the classes you labelled and discover the ones you didn't."""
    print_anywhere()
    if version:
        from newfound import __version__

        typer.echo(f"newfound {__version__}")
        raise typer.Exit
