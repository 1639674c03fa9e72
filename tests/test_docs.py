"""Every command and setting is documented, and what the documents name exists."""

import inspect
import json
import re
import runpy
from pathlib import Path

from newfound import GMDGM
from newfound.cli import app, datasets_app
from newfound.estimator import DeepGenerativeClassifier
from newfound.settings import RULES

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "guide.md").read_text()
MODEL = (ROOT / "docs" / "model.md").read_text()


def test_every_command_is_in_the_guide():
    for command in app.registered_commands:
        assert f"newfound {command.callback.__name__}" in GUIDE or command.callback.__name__ == "demo"
    assert "newfound datasets" in GUIDE
    assert datasets_app.registered_commands


def test_every_command_has_an_example():
    for command in app.registered_commands + datasets_app.registered_commands:
        assert "`newfound " in inspect.getdoc(command.callback)


def test_every_setting_is_described_and_checked():
    settings = GMDGM().get_params().keys()
    described = re.findall(r"^    ([a-z_, ]+) :", DeepGenerativeClassifier.__doc__, re.M)
    names = {name for line in described for name in line.split(", ")}
    assert settings <= names
    assert settings - RULES.keys() == {"random_state", "column_kinds", "image_shape"}  # checked beside X


def test_what_the_guide_calls_exists():
    for name in re.findall(r"model\.([a-z_]+)\(", GUIDE):
        assert hasattr(GMDGM, name)


def test_what_the_table_of_symbols_names_exists():
    source = "\n".join(path.read_text() for path in (ROOT / "src" / "newfound" / "models").glob("*.py"))
    table = MODEL.partition("## Symbols")[2].partition("## ")[0]
    for name in re.findall(r"`([a-z_A-Z.]+)`", table):
        assert name.split(".")[-1] in source


def test_the_page_of_benchmarks_shows_the_numbers_that_were_measured():
    results = json.loads((ROOT / "benchmarks" / "results" / "benchmarks.json").read_text())
    render = runpy.run_path(str(ROOT / "benchmarks" / "page.py"))["render"]
    assert (ROOT / "benchmarks" / "results" / "benchmarks.md").read_text() == render(results)
