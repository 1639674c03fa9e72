"""Progress where a person sees it: in a notebook's kernel, on a terminal, and nowhere else."""

import io
import queue
import sys
import time

import pytest

from newfound.progress import progress_bar, status
from newfound.training import ProgressEvent

EVENT = ProgressEvent(
    step=32, n_steps=64, phase="pseudo-labels", loss=12.345, validation_accuracy=0.5, n_validation_labels=30
)

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
    assert shown[0]["content"]["data"]["text/plain"] == "GM-DGM: compiling"
    assert shown[-1]["content"]["data"]["text/plain"].startswith("GM-DGM: 100% · loss")
    assert len({m["content"]["transient"]["display_id"] for m in shown}) == 1


def test_status_tells_phase_loss_and_validation():
    assert status(EVENT) == "pseudo-labels · loss 12.35 · 50.0% of validation labels right"
    few = status(EVENT._replace(n_validation_labels=12))
    assert few == "pseudo-labels · loss 12.35 · 50.0% of validation labels right (from 12 labels only)"
    assert status(EVENT._replace(phase="objective", validation_accuracy=float("nan"))) == "loss 12.35"


@pytest.mark.parametrize(("verbose", "is_shown"), [(True, True), ("auto", False), (False, False)])
def test_a_log_has_some_lines_if_asked_for(verbose, is_shown, monkeypatch):
    stream = io.StringIO()  # no terminal
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(verbose, "GM-DGM") as callback:
        for step in range(1, 101):
            callback(EVENT._replace(step=step, n_steps=100))
    assert len(stream.getvalue().splitlines()) == (11 if is_shown else 0)


def test_a_terminal_shows_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("auto", "GM-DGM") as callback:
        callback(EVENT)
    assert "GM-DGM" in stream.getvalue()
