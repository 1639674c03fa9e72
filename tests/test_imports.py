"""Imports point one way: along the line that CONTRIBUTING prints, on which every module stands."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import newfound

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "newfound"
FREE = {"newfound", "newfound.__main__"}  # the package root resolves its exports lazily; `-m` calls the command line


def line_of_imports() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"<!-- line of imports -->\n(.*?)\n\n", text, re.DOTALL)[1]
    return re.findall(r"[a-z_]+", block)


def modules() -> dict[str, Path]:
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("newfound", *path.relative_to(SOURCE).with_suffix("").parts)
        names[".".join(parts).removesuffix(".__init__")] = path
    return names


def imports_of(name: str, path: Path) -> set[str]:
    """Every module of newfound that a module imports: anywhere in it, and through the package root, too."""
    known, found = modules(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports by a relative path"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                home = newfound._HOME.get(alias.name) if node.module == "newfound" else None
                found.add(home or (full if full in known else node.module))
    return {module for module in found if module in known and module != name and module != "newfound"}


def place(module: str) -> str:
    """The name by which a module stands on the line: its package's, or its own."""
    return module.split(".")[1]


def test_every_module_is_on_the_line_once():
    line = line_of_imports()
    assert len(line) == len(set(line))
    assert set(line) == {place(module) for module in modules() if module not in FREE}


def test_no_import_points_against_the_line():
    rank = {name: i for i, name in enumerate(line_of_imports())}
    against = [
        f"{module} imports {other}"
        for module, path in modules().items()
        if module not in FREE
        for other in imports_of(module, path)
        if rank[place(other)] > rank[place(module)]
    ]
    assert against == []


def test_no_package_imports_in_a_circle():
    """Within a package, too, and at any time: a package itself stands for what its __init__ imports."""
    known = {module: path for module, path in modules().items() if module not in FREE}
    TopologicalSorter({module: imports_of(module, path) for module, path in known.items()}).prepare()


def test_the_check_sees_imports_wherever_they_are(tmp_path):
    path = tmp_path / "sample.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from newfound.report import page\n"
        "def f():\n    from newfound import GMDGM\n    import newfound.cli\n"
    )
    assert imports_of("newfound.labels", path) == {"newfound.report.page", "newfound.estimator", "newfound.cli"}


def test_what_is_exported_is_there_and_nothing_else_is_public():
    assert sorted(newfound.__all__) == sorted([*newfound._HOME, "__version__"])
    for name in newfound.__all__:
        assert getattr(newfound, name) is not None
