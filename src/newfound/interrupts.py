"""Ctrl-C and SIGTERM: when they may cut something short, and when they have to wait."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 128 + signal.SIGINT  # exit codes, as shells count them
TERMINATED = 128 + signal.SIGTERM


class Terminated(SystemExit):
    """The process was asked to end (SIGTERM): whoever holds something worth keeping saves it, and lets this go on."""

    def __init__(self) -> None:
        super().__init__(TERMINATED)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM is an exception here, so that what was begun is put in order; for commands, not for a library."""
    if not _in_main_thread() or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


class HeldBack:
    """Signals that came while they had to wait."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.before: dict[int, Any] = {}

    def hold(self) -> None:
        for number in STOPS:
            if signal.getsignal(number) not in (None, signal.SIG_IGN):  # else it is not Python's, or not wanted (nohup)
                self.before[number] = signal.signal(number, lambda number, frame: self.waiting.append(number))

    def let_go(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """A part that may be cut short after all."""
        held = bool(self.before)
        self.let_go()
        try:
            yield
        finally:
            if held:
                self.hold()


@contextmanager
def held_back() -> Iterator[HeldBack]:
    """Ctrl-C and SIGTERM wait until the end of this block, and are then what they are elsewhere."""
    signals = HeldBack()
    if not _in_main_thread():
        yield signals
        return
    signals.hold()
    try:
        yield signals
    finally:
        signals.let_go()
        for number in signals.waiting[:1]:
            signal.raise_signal(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
