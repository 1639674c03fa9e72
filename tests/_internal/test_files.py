"""Files that are whole or not there, and readable by whom the user lets read."""

import os
import stat

import pytest

from newfound._internal.files import replace_file


@pytest.mark.skipif(os.name != "posix", reason="other systems have no umask")
@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_a_file_follows_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        replace_file(tmp_path / "report.html", b"whole")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["report.html"]
