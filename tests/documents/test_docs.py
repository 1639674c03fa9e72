"""Every command and setting is documented, and what the documents name exists."""

import ast
import importlib
import inspect
import json
import re
import runpy
from pathlib import Path

import pytest

from newfound import GMDGM, SSVAE
from newfound.cli.app import COMMANDS
from newfound.estimator import PARAMETER_RULES

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guide.md").read_text()
MODEL = (ROOT / "docs" / "model.md").read_text()


DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"]


def anchors(text: str) -> set[str]:
    """The fragments by which headings are linked: lower case, spaces as hyphens, without punctuation."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = document.parent / path if path else document
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked.read_text()), target


def test_every_command_is_in_the_guide():
    for name in COMMANDS:
        assert f"newfound {name}" in GUIDE or name == "demo"
    assert "python -m experiments datasets" in GUIDE
    assert "python -m experiments reproduce" in GUIDE


def test_every_command_has_an_example():
    assert len(COMMANDS) >= 18
    for name, file in COMMANDS.items():
        command = getattr(importlib.import_module(f"newfound.cli.{file}"), name)
        assert f"`newfound {name} " in inspect.getdoc(command)


def described(doc: str) -> dict[str, str]:
    """The names in a section of parameters, and what is said of each."""
    section = doc.partition("Parameters\n")[2].partition("Attributes\n")[0]
    return dict(re.findall(r"^ {4}(\w+) : .*\n((?: {8}.*\n)+)", section, re.M))


def test_help_explains_every_parameter_on_the_estimator_itself():
    for estimator in (GMDGM, SSVAE):
        parameters = inspect.signature(estimator).parameters
        assert list(described(estimator.__doc__)) == list(parameters)
        assert all(len(meaning.split()) > 2 for meaning in described(estimator.__doc__).values())
    assert len(parameters) <= 16


def test_every_parameter_is_checked():
    unchecked = {"random_state", "config"}  # by scikit-learn, and by itself
    beside_X = {"feature_types", "image_shape"}
    assert PARAMETER_RULES.keys() | unchecked | beside_X == GMDGM().get_params().keys()


def test_what_the_guide_calls_exists():
    called = re.findall(r"model\.([a-z_]+)\(", GUIDE)
    assert len(called) > 5
    for name in called:
        assert hasattr(GMDGM, name)


def names_in(*folders: str) -> set[str]:
    """Everything that is defined, annotated or passed by name in some modules."""
    found: set[str] = set()
    for folder in folders:
        for path in (ROOT / "src" / "newfound").glob(folder):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.add(node.name)
                if isinstance(node, ast.arg):
                    found.add(node.arg)
                if isinstance(node, ast.AnnAssign | ast.Assign):
                    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
                    found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_what_the_table_of_symbols_names_exists():
    defined = names_in("models/*.py", "discovery/*.py", "config.py", "fit.py", "estimator.py")
    table = MODEL.partition("## Symbols")[2].partition("## ")[0]
    named = re.findall(r"`([a-z_A-Z.]+)`", table)
    assert len(named) > 20
    for name in named:
        assert set(name.split(".")) <= defined, name
    assert "log_q_evidence" not in defined  # a name that is not there is noticed


def test_the_page_of_benchmarks_shows_the_numbers_that_were_measured():
    results = json.loads((ROOT / "benchmarks" / "results" / "benchmarks.json").read_text())
    render = runpy.run_path(str(ROOT / "benchmarks" / "page.py"))["render"]
    assert (ROOT / "benchmarks" / "results" / "benchmarks.md").read_text() == render(results)


def test_the_tables_of_what_was_tried_are_what_was_recorded():
    page = runpy.run_path(str(ROOT / "tools" / "safety.py"))["page"]
    assert page() == (ROOT / "docs" / "safety.md").read_text(), "run `python tools/safety.py --write`"


def test_every_promise_names_a_test_that_exists():
    """`test_…` in the page is the beginning of one, and every file that it names is there."""
    page = (ROOT / "docs" / "safety.md").read_text()
    tests = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*def (test_\w+)", path.read_text(), re.M)
    }
    named = re.findall(r"`(test_\w+)(…?)`", page)
    assert len(named) > 30
    for name, is_cut in named:
        assert name in tests or (is_cut and any(other.startswith(name) for other in tests)), name
    for path in re.findall(r"`((?:tests|tools|benchmarks|src)/[\w./-]+)", page):
        assert (ROOT / path).exists(), path
