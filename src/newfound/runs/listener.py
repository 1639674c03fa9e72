"""Who hears what goes on during a long job."""

from collections.abc import Callable
from typing import NamedTuple


def ignore(text: str) -> None:
    """For those who do not listen."""


class Listener(NamedTuple):
    """Two callbacks: a stage is over when the next one begins, a note should be read by a person."""

    stage: Callable[[str], None] = ignore
    note: Callable[[str], None] = ignore


SILENT = Listener()
