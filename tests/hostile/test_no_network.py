"""Nothing calls home: fit, predict, report and acts work where every connection and every look-up is refused."""

import socket
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzzing"))
from fuzz_targets import make_run

from newfound.report.page import write_report
from newfound.runs.predict import predict_file
from newfound.runs.run import open_run


@pytest.fixture
def calls(monkeypatch):
    """What was tried."""
    tried = []

    def refuse(*args, **options):
        tried.append(args)
        raise OSError("no network")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    return tried


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_network_is_used(tmp_path, calls):
    make_run(tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert predict_file(run, str(tmp_path / "source.csv"), tmp_path / "labelled.csv") == 60
    assert write_report(run).is_file()
    assert calls == []
    with pytest.raises(OSError, match="no network"):
        socket.create_connection(("localhost", 9))
    assert len(calls) == 1
