import os
from pathlib import Path

import pytest

BESIDE_THE_REPOSITORY = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def real_data(monkeypatch):
    """The folder with the publishers' files."""
    folder = Path(os.environ.get("NEWFOUND_DATA") or BESIDE_THE_REPOSITORY)
    if not (folder / "mnist").is_dir():
        pytest.skip("needs the real sets: set NEWFOUND_DATA to a folder that holds mnist/, fashion-mnist/ and har/")
    monkeypatch.setenv("NEWFOUND_DATA", str(folder))
    return folder
