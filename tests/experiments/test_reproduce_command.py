"""`python -m experiments reproduce`, from the command to the table."""

import re

import pytest
from tiny import COMMITTED
from typer.testing import CliRunner

from experiments.__main__ import app

KMEANS = ("--dataset", "har", "--model", "k-means", "--regime", "semi-supervised")


def reproduce(folder, *arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(folder)], env={"COLUMNS": "200"})


def test_an_experiment_is_computed_once(data, tmp_path):
    for output in ("1 of 1  har-k-means-semi-supervised-0: 100.0 % many-to-one", "1 of 1 experiments are done"):
        result = reproduce(tmp_path, "table-2", "--seeds", "1", *KMEANS)
        assert result.exit_code == 0, result.output
        assert output in result.output
        assert "table-2.md" in result.output
    assert result.output.count("many-to-one") == 0
    assert "| 100.0 |" in (tmp_path / "quick" / "table-2-in-full.md").read_text()


def test_the_list_says_what_is_done():
    result = reproduce(COMMITTED, "table-1", "--seeds", "5", "--list")
    assert "32 of 40 experiments are done" in result.output
    assert re.search(r"done +mnist-ssvae-accidental-3", result.output)
    assert re.search(r"to do +mnist-ssvae-accidental-4", result.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table-3"], "There is no 'table-3' to reproduce"),
        (["table-1", "--preset", "slow"], "--preset must be quick or paper"),
        (["table-1", "--set", "alpha=1"], "--set must be name=value"),
        (["table-1", "--dataset", "cifar"], "No experiment of table-1 is of the data set 'cifar'"),
    ],
)
def test_what_cannot_be_asked_for(tmp_path, arguments, message):
    result = reproduce(tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_ends_in_one_sentence(tmp_path):
    (tmp_path / "quick.jsonl").write_text('{"preset": "qui')
    result = reproduce(tmp_path, "table-1", "--list")
    assert result.exit_code == 2
    assert "Line 1 of" in result.output
    assert "Traceback" not in result.output
