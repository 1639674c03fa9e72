"""What a person sees while something takes long: a bar on a terminal, a line in a notebook, some lines in a log."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from newfound.training import Callback, ProgressEvent
from newfound.wording import if_few_labels

Show = Callable[[int, int, str], None]  # steps done, steps in all, what is being done


@contextmanager
def progress_bar(verbose: bool | str, title: str) -> Iterator[Callback]:
    """Loss, accuracy on the validation labels and time left; "auto" shows them to a terminal or a notebook."""
    with step_bar(verbose, title, "compiling") as show:
        yield lambda event: show(event.step, event.n_steps, status(event))


@contextmanager
def step_bar(verbose: bool | str, title: str, first: str = "starting") -> Iterator[Show]:
    """How many steps of how many, and what is being done; "auto" shows it to a terminal or a notebook."""
    if verbose is not False and in_notebook():
        yield _notebook_line(title, first)
    elif verbose is not False and sys.stderr.isatty():
        with _terminal_bar(title, first) as show:
            yield show
    elif verbose is True:
        yield _log_lines(title)
    else:
        yield lambda done, total, text: None


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


def _log_lines(title: str) -> Show:
    """A line for every tenth of the steps."""
    tenths = [-1]

    def show(done: int, total: int, text: str) -> None:
        tenth = 10 * done // total
        if tenth > tenths[-1]:
            tenths.append(tenth)
            print(f"{title}: {done / total:.0%} · {text}", file=sys.stderr, flush=True)

    return show


def _notebook_line(title: str, first: str) -> Show:
    """A line that is written over; it needs no widgets."""
    from IPython.display import display

    def line(text: str) -> dict[str, str]:
        return {"text/plain": f"{title}: {text}"}

    handle = display(line(first), raw=True, display_id=True)

    def show(done: int, total: int, text: str) -> None:
        handle.update(line(f"{done / total:.0%} · {text}"), raw=True)

    return show


@contextmanager
def _terminal_bar(title: str, first: str) -> Iterator[Show]:
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
        task = progress.add_task(title, total=None, status=first)
        yield lambda done, total, text: progress.update(task, completed=done, total=total, status=text)
