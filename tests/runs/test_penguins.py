"""As a new user would: real penguins, one species of which nobody labelled."""

import json

import pytest
from penguins import write_penguins
from pets import newfound

from newfound.runs import open_run

pytest.importorskip("palmerpenguins")
FIT = ("fit", "penguins.csv", "--label", "species", "--epochs", "10", "--out", "run")


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("penguins")
    write_penguins(folder)
    return folder, newfound(*FIT, cwd=folder).stdout


def test_the_command_line_says_one_new_class(penguins):
    _, printed = penguins
    lines = [line for line in printed.splitlines() if not line.startswith("·")]
    assert lines[:2] == ["1 new class", "Found by a mixture of Gaussians, because the table is small."]
    assert lines[2].startswith("Probably yes: 1 kind of rows that nobody labelled, ")


def test_info_and_report_say_the_same(penguins):
    folder, printed = penguins
    summary = printed[printed.index("1 new class") :]
    assert newfound("info", "run", cwd=folder).stdout.endswith(summary)
    stored = json.loads(newfound("info", "run", "--json", cwd=folder).stdout)
    assert (stored["n_new"], stored["discovery"]["method"]) == (1, "mixture")
    (new,) = [c for c in stored["classes"] if c["is_new"]]
    assert new["evidence"]["labels_expected"] > 8
    page = (folder / "run" / "report.html").read_text()
    assert '<p class="answer">1 new class</p>' in page
    assert f"would hold about {new['evidence']['labels_expected']:.0f} labels if it were known, and holds none" in page


def test_the_new_class_is_the_species_that_nobody_labelled(penguins):
    folder, _ = penguins
    metrics = json.loads(newfound("evaluate", "run", "truth.csv", "--label", "species", "--json", cwd=folder).stdout)
    assert metrics["one-to-one accuracy (Hungarian), all"] > 0.95
    assert metrics["one-to-one accuracy (Hungarian), new"] > 0.9
    table = open_run(folder / "run").predictions
    assert set(table["discovered_class"]) == {"Adelie", "Gentoo", "new-1"}
