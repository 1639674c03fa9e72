"""The README's example runs and prints what the README shows; the README stays short."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent.parent / "README.md").read_text()


@pytest.mark.usefixtures("optimised")
def test_example_prints_what_is_shown():
    code, shown = re.search(r"```python\n(.*?)```\s+```text\n(.*?)```", README, re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    for line, expected in zip(printed.getvalue().splitlines(), shown.splitlines(), strict=True):
        share = re.match(r"(\d+)%(.*)", expected)
        if share:  # another machine rounds differently in every one of thousands of steps
            got = re.match(r"(\d+)%(.*)", line)
            assert int(got[1]) == pytest.approx(int(share[1]), abs=4)
            assert got[2] == share[2]
        else:
            assert line == expected


def test_under_500_words():
    assert len(README.split()) < 500


def test_links_lead_somewhere():
    root = Path(__file__).parent.parent.parent
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    assert all((root / target).exists() for target in targets)
