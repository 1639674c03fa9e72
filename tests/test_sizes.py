"""The code stays in pieces that fit on a screen."""

import ast
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).parent.parent / "src" / "newfound"


def functions() -> dict[str, int]:
    """Lines of every function, by its place."""
    return {
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }


def test_functions_are_short():
    lengths = functions()
    assert len(lengths) > 300
    assert median(lengths.values()) <= 7
    assert {name: n for name, n in lengths.items() if n > 50} == {}


def test_files_are_short():
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: n for name, n in lengths.items() if n > 350} == {}
