"""The command line: text in, text out. One file a group of commands; the work is done by the packages it calls.

Nothing heavy is imported before a command runs, so that --help is quick.
"""

import os
import sys
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from newfound._internal.files import INTERRUPTED
from newfound.cli.console import FAILED, about_disk, print_anywhere
from newfound.cli.decide import cut, discard, history, label, merge, name, refit, split, suggest, undo
from newfound.cli.demo import demo
from newfound.cli.fit import audit, fit
from newfound.cli.predict import evaluate, predict
from newfound.cli.runs import export, info, report


class Commands(TyperGroup):
    """All commands; what they print may not arrive, as on a full disk, and that is told, too."""

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
        """Whatever is still to be printed goes nowhere, so that Python does not try it again when it ends."""
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"newfound: {about_disk(error)}", file=sys.stderr)
        raise SystemExit(FAILED)


class App(typer.Typer):
    """The command line: Ctrl-C before a command has begun is no traceback either."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        try:
            return super().__call__(*args, **options)
        except KeyboardInterrupt:
            print("newfound: interrupted.", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None


app = App(
    name="newfound",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
ON_A_RUN = (name, merge, split, cut, discard, suggest, label, refit, undo, history)
for command in (audit, fit, predict, evaluate, report, info, export, *ON_A_RUN, demo):
    app.command()(command)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Classifies the classes you labelled and discovers the ones you didn't."""
    print_anywhere()
    if version:
        from newfound import __version__

        typer.echo(f"newfound {__version__}")
        raise typer.Exit
