"""What a person sees while a model trains: a bar on a terminal, a line in a notebook, some lines in a log."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from newfound.training import Callback, ProgressEvent
from newfound.wording import if_few_labels


@contextmanager
def progress_bar(verbose: bool | str, title: str) -> Iterator[Callback]:
    """Loss, accuracy on the validation labels and time left; "auto" shows them to a terminal or a notebook."""
    if verbose is not False and in_notebook():
        yield _notebook_line(title)
    elif verbose is not False and sys.stderr.isatty():
        with _terminal_bar(title) as callback:
            yield callback
    elif verbose is True:
        yield _log_lines(title)
    else:
        yield lambda event: None


def in_notebook() -> bool:
    """Whether the code runs in a kernel that shows rich output."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def status(event: ProgressEvent) -> str:
    """One line about where training is."""
    phase = "" if event.phase == "objective" else f"{event.phase} · "
    accuracy = event.validation_accuracy
    few = if_few_labels(event.n_validation_labels)
    validation = "" if math.isnan(accuracy) else f" · {accuracy:.1%} of validation labels right{few}"
    return f"{phase}loss {event.loss:.2f}{validation}"


def _log_lines(title: str) -> Callback:
    """A line for every tenth of the steps."""
    tenths = [-1]

    def callback(event: ProgressEvent) -> None:
        tenth = 10 * event.step // event.n_steps
        if tenth > tenths[-1]:
            tenths.append(tenth)
            print(f"{title}: {event.step / event.n_steps:.0%} · {status(event)}", file=sys.stderr, flush=True)

    return callback


def _notebook_line(title: str) -> Callback:
    """A line that is written over; it needs no widgets."""
    from IPython.display import display

    def line(text: str) -> dict[str, str]:
        return {"text/plain": f"{title}: {text}"}

    handle = display(line("compiling"), raw=True, display_id=True)

    def callback(event: ProgressEvent) -> None:
        handle.update(line(f"{event.step / event.n_steps:.0%} · {status(event)}"), raw=True)

    return callback


@contextmanager
def _terminal_bar(title: str) -> Iterator[Callback]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[status]}"),
        TextColumn("· left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None, status="compiling")
        yield lambda event: progress.update(task, completed=event.step, total=event.n_steps, status=status(event))
