"""What a person sees during a long job: the phase and the time left.

A bar on a terminal, one updated line in a notebook, a line from time to time in a log or a pipe.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from newfound._internal.words import if_few_labels

Show = Callable[[int, int, str], None]  # steps done, steps in all (0 if unknown), the phase
PHASES = {  # of training, in words
    "VAE pretraining": "pretraining",
    "pseudo-labels": "pretraining on discovered classes",
    "objective": "training",
}
LOG_SECONDS = 5  # between two lines of a log


class ProgressEvent(NamedTuple):
    """What a callback gets at every evaluation."""

    step: int
    n_steps: int
    phase: str
    loss: float  # mean over restarts
    validation_accuracy: float  # on labels held out of training; nan if there are none
    n_validation_labels: int


Callback = Callable[[ProgressEvent], None]


def show_nothing(done: int, total: int, text: str) -> None:
    """For callers without a display."""


@contextmanager
def step_bar(verbose: bool | int | str, title: str, first: str = "starting") -> Iterator[Show]:
    """The steps done, their number, and the phase; "auto" shows it only on a terminal or in a notebook."""
    if verbose and in_notebook():
        yield _notebook_line(title, first)
    elif verbose and sys.stderr.isatty():
        with _terminal_bar(title, first) as show:
            yield show
    elif verbose and verbose != "auto":
        yield _log_lines(title)
    else:
        yield show_nothing


def training_callback(show: Show) -> Callback:
    """Loss, accuracy on the validation labels and time left, at every evaluation."""
    return lambda event: show(event.step, event.n_steps, status(event))


def in_notebook() -> bool:
    """Whether the code runs in a kernel that shows rich output."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def status(event: ProgressEvent) -> str:
    """One line about the state of training."""
    accuracy = event.validation_accuracy
    few = if_few_labels(event.n_validation_labels)
    validation = "" if math.isnan(accuracy) else f" · {accuracy:.1%} of validation labels right{few}"
    return f"{PHASES.get(event.phase, event.phase)} · loss {event.loss:.2f}{validation}"


class TimeLeft:
    """An estimate of the time left, from the steps so far."""

    def __init__(self) -> None:
        self.began: tuple[int, float] | None = None  # steps done at the first call, and its time

    def __call__(self, done: int, total: int) -> str:
        """\" · about 40 s left\"; nothing before the first step and at the end."""
        now = time.monotonic()
        if self.began is None or not total or done < self.began[0]:
            self.began = (done, now) if total else None
            return ""
        first, since = self.began
        if done == first or done >= total:
            return ""
        return f" · about {in_words((now - since) / (done - first) * (total - done))} left"


def in_words(seconds: float) -> str:
    """\"40 s\", \"3 min\", \"2 h\"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


def line(done: int, total: int, text: str, left: str) -> str:
    """\"40% · training · loss 12.35 · about 40 s left\"; only the name of a phase without a number of steps."""
    return f"{done / total:.0%} · {text}{left}" if total else text


def _log_lines(title: str) -> Show:
    """A line at the start of every phase, and then at most one for every tenth of the steps."""
    shown, tenth, at, left = "", -1, -math.inf, TimeLeft()

    def show(done: int, total: int, text: str) -> None:
        nonlocal shown, tenth, at
        now, remaining = time.monotonic(), left(done, total)
        phase, reached = text.partition(" · ")[0], 10 * done // total if total else -1
        is_due = reached > tenth and (now - at >= LOG_SECONDS or done == total)
        if phase == shown and not is_due:
            return
        shown, tenth, at = phase, reached, now
        print(f"{title}: {line(done, total, text, remaining)}", file=sys.stderr, flush=True)

    return show


def _notebook_line(title: str, first: str) -> Show:
    """One line that is updated; it needs no widgets."""
    from IPython.display import display

    def content(text: str) -> dict[str, str]:
        return {"text/plain": f"{title}: {text}"}

    handle, left = display(content(first), raw=True, display_id=True), TimeLeft()

    def show(done: int, total: int, text: str) -> None:
        handle.update(content(line(done, total, text, left(done, total))), raw=True)

    return show


@contextmanager
def _terminal_bar(title: str, first: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task, left = progress.add_task(title, total=None, status=first), TimeLeft()

        def show(done: int, total: int, text: str) -> None:
            status = line(done, total, text, left(done, total))
            progress.update(task, completed=done, total=total or None, status=status)

        yield show
