"""As a new user would: real penguins, one species of which nobody labelled."""

import json
import re

import pytest
from penguins import write_penguins
from pets import newfound

from newfound import describe, read_dataset
from newfound._internal.records import converted
from newfound.explain.audit_record import baseline_sentences
from newfound.explain.wording import Description
from newfound.runs.run import open_run

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
    assert re.match("2 known classes, 1 new class of [67][0-9] rows; hiding each known class in turn, ", lines[0])
    assert lines[0].endswith("of it was found again: you can trust this.")
    assert lines[1] == "Found by a mixture of Gaussians, because the table is small."
    assert any(line.startswith("Probably yes: 1 kind of rows without labels, ") for line in lines)


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


def test_the_new_class_is_told_in_a_true_rule(penguins):
    folder, _ = penguins
    described = {one.name: one for one in open_run(folder / "run").descriptions}
    assert list(described) == ["Adelie", "Gentoo", "new-1"]
    new = described["new-1"]
    assert re.fullmatch(r"Rows with island Dream and bill_length_mm 49\.\d, \d+\.\d more than Adelie\.", new.sentence)
    assert re.fullmatch(r"island = Dream and bill_length_mm > 4[2-4](\.\d)?", new.rule.text)
    assert new.rule.fidelity > 0.9
    assert new.suggested_name == "island Dream, bill_length_mm high"
    from palmerpenguins import load_penguins

    table = load_penguins()
    bound = float(new.rule.text.split("> ")[1])
    taken = (table["island"] == "Dream") & (table["bill_length_mm"] > bound)
    assert (table["species"][taken] == "Chinstrap").mean() > 0.9


def test_info_tells_what_the_new_class_is(penguins):
    folder, printed = penguins
    new = open_run(folder / "run").descriptions[2]
    assert str(new) in printed
    assert str(new) in newfound("info", "run", cwd=folder).stdout
    stored = json.loads(newfound("info", "run", "--json", cwd=folder).stdout)["descriptions"]
    assert converted(stored[2], Description, "descriptions.json", "") == new


def test_python_says_the_same_of_the_same_rows(penguins):
    folder, _ = penguins
    dataset = read_dataset(folder / "penguins.csv", "species")
    model = open_run(folder / "run").model
    by_dataset = describe(model, dataset)
    assert describe(model, dataset.X, feature_names=dataset.feature_names) == by_dataset
    assert by_dataset[2].suggested_name == "island Dream, bill_length_mm high"
    with pytest.raises(ValueError, match="11 columns but 2 feature_names"):
        describe(model, dataset.X, feature_names=["a", "b"])


def test_baselines_stand_beside_the_result(penguins):
    folder, printed = penguins
    audit = open_run(folder / "run").audit
    assert len(audit.baselines) == 4
    assert baseline_sentences(audit)[0] in printed
