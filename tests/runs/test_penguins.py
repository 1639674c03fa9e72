"""As a new user would: real penguins, one species of which nobody labelled."""

import json
import re

import numpy as np
import pytest
from pets import newfound

from newfound.runs import open_run

pytest.importorskip("palmerpenguins")
FIT = ("fit", "penguins.csv", "--label", "species", "--epochs", "10", "--out", "run")


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    """The package's own columns; no Chinstrap has a label, and of the others one in five has."""
    from palmerpenguins import load_penguins

    folder = tmp_path_factory.mktemp("penguins")
    table = load_penguins()
    table.to_csv(folder / "truth.csv", index=False)
    is_hidden = (table["species"] == "Chinstrap") | (np.random.default_rng(0).random(len(table)) < 0.8)
    table.assign(species=table["species"].mask(is_hidden)).to_csv(folder / "penguins.csv", index=False)
    return folder, newfound(*FIT, cwd=folder).stdout


def test_the_command_line_says_one_new_class(penguins):
    _, printed = penguins
    lines = [line for line in printed.splitlines() if not line.startswith("·")]
    assert re.match("2 known classes, 1 new class of [67][0-9] rows; hiding each known class in turn, ", lines[0])
    assert lines[0].endswith("of it was found again: you can trust this.")
    assert lines[1] == "Found by a mixture of Gaussians, because the table is small."
    assert any(line.startswith("Probably yes: 1 kind of rows that nobody labelled, ") for line in lines)


def test_info_and_report_say_the_same(penguins):
    folder, printed = penguins
    summary = printed[printed.index("2 known classes, ") :]
    assert newfound("info", "run", cwd=folder).stdout.startswith(summary)
    stored = json.loads(newfound("info", "run", "--json", cwd=folder).stdout)
    assert (stored["n_new"], stored["discovery"]["method"]) == (1, "mixture")
    assert summary.startswith(stored["answer"])
    (new,) = [c for c in stored["classes"] if c["is_new"]]
    assert new["evidence"]["labels_expected"] > 8
    page = (folder / "run" / "report.html").read_text()
    assert f"{stored['answer'].split(';')[0]}; <span" in page
    assert f"would hold about {new['evidence']['labels_expected']:.0f} labels if it were known, and holds none" in page


def test_evaluate_says_which_species_the_new_class_is(penguins):
    folder, _ = penguins
    printed = newfound("evaluate", "run", "truth.csv", "--label", "species", cwd=folder).stdout
    assert re.match("new-1 is Chinstrap: [67][0-9] of [67][0-9] rows\n", printed)


def test_the_new_class_is_the_species_that_nobody_labelled(penguins):
    folder, _ = penguins
    metrics = json.loads(newfound("evaluate", "run", "truth.csv", "--label", "species", "--json", cwd=folder).stdout)
    assert metrics["one-to-one accuracy (Hungarian), all"] > 0.95
    assert metrics["one-to-one accuracy (Hungarian), new"] > 0.9
    table = open_run(folder / "run").predictions
    assert set(table["discovered_class"]) == {"Adelie", "Gentoo", "new-1"}
