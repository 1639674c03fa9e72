"""What a person sees while a model trains."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from newfound.training import Moment


@contextmanager
def progress_bar(show: bool | str, title: str) -> Iterator[Callable[[Moment], None]]:
    """A bar with loss, accuracy on the held-out labels and time left; "auto" shows it only to a terminal."""
    if show is False or (show == "auto" and not sys.stderr.isatty()):
        yield lambda moment: None
        return
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

        def watch(moment: Moment) -> None:
            progress.update(task, completed=moment.step, total=moment.n_steps, status=status_of(moment))

        yield watch


def status_of(moment: Moment) -> str:
    """One line about where training is."""
    phase = "warm start · " if moment.is_warming else ""
    accuracy = moment.heldout_accuracy
    known = "" if math.isnan(accuracy) else f" · held-out labels {accuracy:.1%} right"
    return f"{phase}loss {moment.loss:.2f}{known}"
