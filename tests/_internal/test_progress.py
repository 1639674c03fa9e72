"""Progress where a person sees it: in a notebook's kernel, on a terminal, and nowhere else."""

import io
import queue
import sys
import time

import pytest

from newfound._internal import progress
from newfound._internal.progress import ProgressEvent, TimeLeft, in_words, status, step_bar, training_callback

EVENT = ProgressEvent(
    step=32, n_steps=64, phase="pseudo-labels", loss=12.345, validation_accuracy=0.5, n_validation_labels=30
)

PHASES = ("starting", "finding neighbours", "looking for new classes", "compiling")

CELL = """
import numpy as np
from newfound import GMDGM
X = np.random.default_rng(0).random((40, 3))
_ = GMDGM(n_new=2, max_epochs=3, hidden_layer_sizes=(4,), random_state=0).fit(X)
"""


def run_in_kernel(code: str, seconds: float = 120) -> list[dict]:
    """What a real kernel sends to its notebook while it runs a cell."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    try:
        asked, messages, began = client.execute(code), [], time.monotonic()
        while time.monotonic() - began < seconds:
            try:
                message = client.get_iopub_msg(timeout=5)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == asked:
                messages.append(message)
                if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    return messages
        pytest.fail(f"the cell did not end within {seconds} s")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_notebook_shows_one_line_that_is_written_over():
    pytest.importorskip("ipykernel")
    messages = run_in_kernel(CELL)
    errors = [m["content"] for m in messages if m["header"]["msg_type"] == "error"]
    assert errors == []
    shown = [m for m in messages if m["header"]["msg_type"] in ("display_data", "update_display_data")]
    lines = [m["content"]["data"]["text/plain"] for m in shown]
    assert lines[:4] == [f"GM-DGM: {phase}" for phase in PHASES]
    assert lines[-1].startswith("GM-DGM: 100% · training · loss")
    assert len({m["content"]["transient"]["display_id"] for m in shown}) == 1


def test_status_tells_phase_loss_and_validation():
    discovered = "pretraining on discovered classes · loss 12.35 · 50.0% of validation labels right"
    assert status(EVENT) == discovered
    assert status(EVENT._replace(n_validation_labels=12)) == f"{discovered} (from 12 labels only)"
    assert status(EVENT._replace(phase="objective", validation_accuracy=float("nan"))) == "training · loss 12.35"


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told to go on."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_time_left_follows_from_the_steps_taken(clock):
    left = TimeLeft()
    assert left(0, 0) == left(10, 100) == ""  # nothing to go by
    clock[0] = 20
    assert left(30, 100) == " · about 70 s left"
    assert left(100, 100) == ""
    assert left(0, 50) == ""  # another job
    assert [in_words(s) for s in (0.2, 89, 100, 3600, 9000)] == ["1 s", "89 s", "2 min", "60 min", "2 h"]


ASKED = [(True, True), (1, True), (2, True), ("auto", False), (False, False), (0, False)]


@pytest.mark.parametrize(("verbose", "is_shown"), ASKED)
def test_a_log_has_a_line_now_and_then_if_asked_for(verbose, is_shown, monkeypatch, clock):
    stream = io.StringIO()  # no terminal
    monkeypatch.setattr(sys, "stderr", stream)
    with step_bar(verbose, "GM-DGM") as show:
        for phase in PHASES:
            show(0, 0, phase)
            show(0, 0, phase)
        callback = training_callback(show)
        for step in range(1, 1001):
            clock[0] += 0.1
            callback(EVENT._replace(step=step, n_steps=1000, phase="objective"))
    lines = stream.getvalue().splitlines()
    assert len(lines) == (4 + 1 + 10 if is_shown else 0)
    assert not is_shown or "about 90 s left" in lines[5]


def test_a_terminal_shows_a_bar_with_phase_and_time_left(monkeypatch, clock):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with step_bar("auto", "GM-DGM") as show:
        training_callback(show)(EVENT)
        clock[0] = 30
        training_callback(show)(EVENT._replace(step=48))
    assert "GM-DGM" in stream.getvalue()
    assert "75% · pretraining on discovered classes" in stream.getvalue()
    assert "about 30 s left" in stream.getvalue()
