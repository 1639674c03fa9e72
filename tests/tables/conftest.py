import os
from pathlib import Path

import pytest


@pytest.fixture
def real_data():
    """The folder with the publishers' files."""
    folder = os.environ.get("NEWFOUND_DATA")
    if not folder:
        pytest.skip("needs the real data sets: set NEWFOUND_DATA to a folder with mnist/, fashion-mnist/ and har/")
    return Path(folder)


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file
