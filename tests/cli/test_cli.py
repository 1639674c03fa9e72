"""The command line, as installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import newfound
from newfound.cli.demo import split_digits


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
    result = command("demo", "--out", "digits", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = dict(re.findall(r"^ *(GM-DGM|SSVAE|k-means) +one-to-one +[\d.]+ +[\d.]+ +([\d.]+)", result.stdout, re.M))
    assert float(rows["GM-DGM"]) > float(rows["k-means"]) > float(rows["SSVAE"])
    assert re.search(r"^wrote digits ", result.stdout, re.M)
    run = newfound.open_run(tmp_path / "digits")
    assert run.model.is_new_.sum() == 5
    assert run.audit is not None
    assert "you can trust this" in str(run.answer)
    assert f"Read this: {Path('digits', 'report.html')}" in result.stdout
    assert (tmp_path / "digits" / "report.html").stat().st_size < 1_500_000


def test_the_demo_has_the_rows_of_the_readme():
    digits = split_digits(0)
    assert np.flatnonzero(digits.kept.is_labelled)[:8].tolist() == [20, 26, 32, 52, 60, 65, 69, 77]
    assert digits.kept.names[[20, 26, 32, 52]].tolist() == ["0", "4", "3", "2"]
    assert (len(digits.X), digits.kept.n_labelled, digits.labels.n_labelled) == (1347, 135, 1347)
    assert digits.truth.names[:4].tolist() == ["2", "0", "4", "9"]
    assert digits.X.sum() == 26312.8125


@pytest.mark.parametrize("module", ["newfound", "newfound.cli.app"])
def test_import_is_light(module):
    """JAX and scikit-learn are loaded when first needed, not with the package or the command line's help."""
    loaded = f"import sys, {module}; print([m for m in ('jax', 'sklearn', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, timeout=60)
    assert result.stdout == "[]\n"
