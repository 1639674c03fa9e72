"""How many rooms lie between a question and its answer: entries, files, functions, and what one call runs or imports.

    python tools/rooms.py [--json]

Prints the table; tests/test_rooms.py holds its rows below their limits. A file is *run* by a call if the calling
thread runs one of its functions; what runs only while the file is imported does not count.
"""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "newfound"

# Runs a call and prints the files of newfound that it ran and the modules of newfound that it imported.
OBSERVED = """
import json, os, sys
SOURCE, ran, depth = sys.argv.pop(1), set(), 0

def observe(frame, event, argument):
    global depth
    code = frame.f_code
    if event not in ("call", "return") or not code.co_filename.startswith(SOURCE):
        return
    if code.co_name == "<module>":
        depth += 1 if event == "call" else -1
    elif event == "call" and not depth:
        ran.add(os.path.relpath(code.co_filename, SOURCE))

sys.setprofile(observe)
try:
    exec(sys.argv.pop(1), {"__name__": "__observed__"})
except SystemExit as ending:
    assert not ending.code, ending.code
sys.setprofile(None)
modules = sorted(name for name in sys.modules if name == "newfound" or name.startswith("newfound."))
print("OBSERVED" + json.dumps({"ran": sorted(ran), "modules": modules}))
"""
BLOBS = """
import numpy as np
truth = np.arange(300) % 4
X = 4 * np.eye(5)[truth] + 0.3 * np.random.default_rng(0).standard_normal((300, 5))
y = np.where((truth < 2) & (np.arange(300) % 3 == 0), truth, -1)
"""
BRIEF = "max_epochs=2, hidden_layer_sizes=(8, 8), latent_dim=2, batch_size=16, random_state=0, verbose=False"
FIT = BLOBS + f"from newfound import GMDGM\nGMDGM({BRIEF}).fit(X, y)"
BEFORE_FIT = (
    BLOBS
    + "import newfound.fit\nfrom unittest.mock import patch\nfrom newfound import GMDGM\n"
    + "with patch('newfound.fit._check', side_effect=SystemExit(0)):\n    GMDGM().fit(X, y)"
)
COMMAND = "from newfound.cli.app import app\napp({arguments!r})"


def observed(code: str, folder: Path) -> dict[str, Any]:
    """What a piece of code runs and imports, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent), "NEWFOUND_CACHE": str(folder / "cache")}
    call = [sys.executable, "-W", "ignore", "-c", OBSERVED, f"{SOURCE}{os.sep}", code]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    if "OBSERVED" not in done.stdout:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout.rpartition("OBSERVED")[2])


def command(folder: Path, *arguments: str) -> dict[str, Any]:
    """What one command runs and imports."""
    return observed(COMMAND.format(arguments=list(arguments)), folder)


def write_table(path: Path) -> None:
    """Four kinds of rows, of which two have labels."""
    lines = ["a,b,c,kind"]
    for i in range(200):
        a, b, c = (4 * (i % 4 == j) + ((7 * i + 3 * j) % 11) / 20 for j in range(3))
        lines.append(f"{a:.3f},{b:.3f},{c:.3f},{'xy'[i % 4] if i % 4 < 2 and i % 3 == 0 else ''}")
    path.write_text("\n".join(lines) + "\n")


def calls() -> dict[str, int]:
    """Files run and modules imported by what people call most."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.csv")
        fit = observed(FIT, folder)
        before = observed(BEFORE_FIT, folder)
        by_command = {
            "fit": command(
                folder, "fit", "table.csv", "--label", "kind", "--out", "run", "--epochs", "2", "--n-new", "2"
            ),
            "predict": command(folder, "predict", "run", "table.csv", "--out", "answers.csv"),
            "merge": command(folder, "merge", "run", "new-1", "new-2"),
        }
    return {
        "files run by GMDGM().fit": len(fit["ran"]),
        **{f"files run by newfound {name}": len(found["ran"]) for name, found in by_command.items()},
        "modules imported by newfound predict": len(by_command["predict"]["modules"]),
        "modules imported before the fit of an array begins": len(before["modules"]),
    }


def trees() -> Iterator[ast.Module]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield ast.parse(path.read_text())


def sizes() -> dict[str, int]:
    """Entries, files, lines and functions of the source."""
    files = sorted(SOURCE.rglob("*.py"))
    entries = [path for path in SOURCE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    is_function = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for tree in trees() for node in ast.walk(tree) if isinstance(node, is_function)]
    constants = [
        target
        for tree in trees()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in ast.walk(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z][A-Z0-9_]+", target.id)
    ]
    return {
        "entries at the top": len(entries),
        "files": len(files),
        "lines": sum(len(path.read_text().splitlines()) for path in files),
        "lines of the largest file": max(len(path.read_text().splitlines()) for path in files),
        "functions": len(functions),
        "lines of the longest function": max(node.end_lineno - node.lineno + 1 for node in functions),
        "module constants": len(constants),
    }


def settings() -> dict[str, int]:
    """Settings, the places a parameter stands in, and own parents of the estimator."""
    sys.path.insert(0, str(SOURCE.parent))
    from newfound._internal.records import to_json
    from newfound.config import Config
    from newfound.estimator import GMDGM

    own = [cls for cls in GMDGM.__mro__ if cls.__module__.startswith("newfound.")]
    elsewhere = [cls for cls in own if cls.__module__ != "newfound.estimator"]
    return {
        "settings in Config": sum(len(part) for part in to_json(Config()).values()),
        "places for a parameter": len(places_of("learning_rate")),
        "own classes that the estimator consists of": len(own),
        "own mixins of the estimator": max(len(elsewhere) - 1, 0) + max(len(own) - len(elsewhere) - 2, 0),
        "parameters of the estimator": len(inspect.signature(GMDGM).parameters),
    }


def places_of(parameter: str) -> list[str]:
    """Where a parameter of the estimator is written down: a signature or a table of rules that a new one would join."""
    found = []
    for name in ("estimator.py", "fit.py", "predictor.py", "config.py"):
        for node in ast.walk(ast.parse((SOURCE / name).read_text())):
            if isinstance(node, ast.arg) and node.arg == parameter:
                found.append(f"{name}: signature")
            if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == parameter:
                found.append(f"{name}: field")
            if isinstance(node, ast.Dict) and any(getattr(key, "value", None) == parameter for key in node.keys):
                found.append(f"{name}: table")
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "attr", None) == parameter:
                found.append(f"{name}: attribute")
    return found


def words() -> dict[str, int]:
    documents = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    documents += sorted((ROOT / "docs").glob("*.md"))
    return {"words of README, docs, CHANGELOG, CONTRIBUTING": sum(len(path.read_text().split()) for path in documents)}


if __name__ == "__main__":
    table = sizes() | settings() | words() | calls()
    if "--json" in sys.argv:
        print(json.dumps(table, indent=1))
    else:
        print("\n".join(f"{count:>8,}  {what}" for what, count in table.items()))
