"""The command line, as installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import newfound
from newfound.cli.app import COMMANDS
from newfound.cli.demo import split_digits


def command(*arguments, cwd=None, environment=None):
    as_users_have_it = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"} | (environment or {})
    call = [sys.executable, "-m", "newfound", *arguments]
    return subprocess.run(call, cwd=cwd, env=as_users_have_it, capture_output=True, text=True, timeout=300)


def test_version_and_help():
    assert command("--version").stdout == f"newfound {newfound.__version__}\n"
    help_text = command("--help").stdout
    assert "discover the ones you didn't" in help_text
    assert re.findall(r"^│ ([a-z]+)  ", help_text, re.M) == list(COMMANDS)


def test_a_mistyped_command_names_the_closest_one():
    assert "Did you mean 'predict'?" in command("predct").stderr


def test_a_shell_completes_commands_and_options():
    def completions(words, position):
        asked = {"_NEWFOUND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position}
        return command(environment=asked).stdout.split()

    assert completions("newfound re", "1") == ["report", "refit"]
    assert completions("newfound predict --o", "2") == ["--out", "--only-new"]


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
