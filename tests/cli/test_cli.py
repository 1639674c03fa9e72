"""The command line, as installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import newfound


def command(*arguments, cwd=None):
    as_users_have_it = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    call = [sys.executable, "-m", "newfound", *arguments]
    return subprocess.run(call, cwd=cwd, env=as_users_have_it, capture_output=True, text=True, timeout=300)


def test_version_and_help():
    assert command("--version").stdout == f"newfound {newfound.__version__}\n"
    help_text = command("--help").stdout
    assert "discovers the ones you didn't" in help_text
    for name in (
        "audit",
        "fit",
        "predict",
        "evaluate",
        "report",
        "info",
        "name",
        "merge",
        "undo",
        "demo",
    ):
        assert re.search(rf"^\W*{name} ", help_text, re.M)


def test_demo_shows_what_newfound_does(tmp_path):
    result = command("demo", "--out", "images", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = dict(re.findall(r"^ *(GM-DGM|SSVAE|k-means) +one-to-one +[\d.]+ +[\d.]+ +([\d.]+)", result.stdout, re.M))
    assert float(rows["GM-DGM"]) > float(rows["k-means"]) > float(rows["SSVAE"])
    written = re.findall(r"^wrote (\S+)", result.stdout, re.M)
    assert len(written) == 4
    assert all((tmp_path / path).exists() for path in written)
    run = newfound.open_run(tmp_path / "images" / "run")
    assert run.model.is_new_.sum() == 5
    assert "you can trust this" in str(run.answer)
    assert f"Read this: {Path('images', 'run', 'report.html')}" in result.stdout
    assert (tmp_path / "images" / "run" / "report.html").stat().st_size < 1_500_000


@pytest.mark.parametrize("module", ["newfound", "newfound.cli.app"])
def test_import_is_light(module):
    """JAX and scikit-learn are loaded when first needed, not with the package or the command line's help."""
    loaded = f"import sys, {module}; print([m for m in ('jax', 'sklearn', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, timeout=60)
    assert result.stdout == "[]\n"
