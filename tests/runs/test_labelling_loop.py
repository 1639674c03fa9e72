"""As a person would: name what was found, label what is suggested, fit again, and take a step back."""

import csv
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from penguins import write_penguins
from pets import newfound

from newfound.runs.labels import current_labels, labels_since
from newfound.runs.run import open_run

pytest.importorskip("palmerpenguins")
FIT = ("fit", "penguins.csv", "--label", "species", "--epochs", "5", "--no-audit", "--out", "run")


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def fill_in(folder, name, out):
    """What a person who knows the species does."""
    truth = read_csv(folder / "truth.csv")
    rows = read_csv(folder / name)
    write_rows(folder / out, [row | {"label": truth[int(row["newfound_row_id"])]["species"]} for row in rows])


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """The whole loop, once; the tests look at what each step left."""
    folder = tmp_path_factory.mktemp("loop")
    write_penguins(folder)
    newfound(*FIT, cwd=folder)
    newfound("name", "run", "new-1=Chinstrap", cwd=folder)
    suggest = ("suggest", "run", "--rows", "20", "--out", "suggest.csv", "--label-studio", "tasks.json")
    printed = {"suggest": newfound(*suggest, cwd=folder).stdout}
    fill_in(folder, "suggest.csv", "labels.csv")
    printed["label"] = newfound("label", "run", "labels.csv", cwd=folder).stdout
    printed["refit"] = newfound("refit", "run", "--out", "run2", cwd=folder).stdout
    return folder, printed


def test_suggestions_have_the_users_columns_and_a_column_to_fill_in(loop):
    folder, printed = loop
    rows, source = read_csv(folder / "suggest.csv"), read_csv(folder / "penguins.csv")
    assert len(rows) == 20
    for row in rows:
        own = source[int(row["newfound_row_id"])]
        assert {name: row[name] for name in own} == own
        assert row["species"] == row["label"] == ""
        assert row["newfound_class"] in {"Adelie", "Gentoo", "Chinstrap"}
        assert 0 <= float(row["newfound_probability"]) <= 1
        assert len(row["newfound_reason"].split()) > 2
    assert "newfound label run suggest.csv" in printed["suggest"]


def test_tasks_for_label_studio_have_predictions_that_the_interface_knows(loop):
    folder, _ = loop
    tasks = json.loads((folder / "tasks.json").read_text())
    view = ElementTree.parse(folder / "tasks.xml").getroot()
    tags = {tag.get("name"): tag for tag in view.iter() if tag.get("name")}
    choices = [choice.get("value") for choice in tags["label"].iter("Choice")]
    assert choices == ["Adelie", "Gentoo", "Chinstrap"]
    assert [task["data"]["newfound_row_id"] for task in tasks] == [
        row["newfound_row_id"] for row in read_csv(folder / "suggest.csv")
    ]
    for task in tasks:
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert result["from_name"] in tags
        assert tags[result["from_name"]].get("toName") == result["to_name"] in tags
        assert result["value"]["choices"][0] in choices
        assert tags[result["to_name"]].get("value").removeprefix("$") in task["data"]
        assert task["data"]["columns"]["island"] in {"Dream", "Biscoe", "Torgersen"}


def test_labels_are_an_act_of_the_run(loop):
    folder, printed = loop
    assert "20 rows are labelled" in printed["label"]
    run = open_run(folder / "run")
    assert [act.act for act in run.acts_in_effect] == ["rename", "label"]
    assert len(labels_since(run)) == 20
    assert (run.rows.observed != "").sum() + 20 == (current_labels(run) != "").sum()


def test_a_refit_keeps_names_and_ids_and_says_what_changed(loop):
    folder, printed = loop
    after = open_run(folder / "run2")
    chinstrap = next(c for c in after.classes if c.name == "Chinstrap")
    assert not chinstrap.is_new
    assert chinstrap.id == "new-1"
    assert after.changes.became_known == ["Chinstrap"]
    assert "Changes since the previous run:" in printed["refit"]
    assert "“Chinstrap” is known now." in printed["refit"]
    stored = json.loads((folder / "run2" / "changes.json").read_text())
    assert len(stored["given"]) == 20
    assert stored["corrections"] == []
    assert newfound("info", "run2", cwd=folder).stdout.count("“Chinstrap” is known now.") == 1
    assert [c.name for c in open_run(folder / "run").classes] == ["Adelie", "Gentoo", "Chinstrap"]  # it stays


def test_the_refit_predicts_with_the_new_name(loop):
    folder, _ = loop
    newfound("predict", "run2", "truth.csv", "--out", "predicted.csv", cwd=folder)
    predicted = [row["newfound_class"] for row in read_csv(folder / "predicted.csv")]
    truth = [row["species"] for row in read_csv(folder / "truth.csv")]
    assert np.mean(np.array(predicted) == truth) > 0.9


def test_the_refit_carries_the_users_columns_too(loop):
    folder, _ = loop
    first, again = ((folder / run / "labelled.csv").read_text().splitlines() for run in ("run", "run2"))
    source = (folder / FIT[1]).read_text().splitlines()
    assert again[0] == first[0]
    assert again[0].startswith(source[0])
    assert all(line.startswith(own) for line, own in zip(again, source, strict=True))


def test_labels_are_taken_back_by_undo_and_come_again(loop):
    folder, _ = loop
    newfound("undo", "run", cwd=folder)
    assert labels_since(open_run(folder / "run")) == {}
    newfound("label", "run", "labels.csv", cwd=folder)
    assert len(labels_since(open_run(folder / "run"))) == 20


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("newfound_row_id,label\n", "has a header but no rows|holds no label"),
        ("newfound_row_id,label\n1,\n2,\n", "holds no label: 2 rows"),
        ("newfound_row_id,label\n9999,Adelie\n", "'9999'"),
        ("newfound_row_id,label\n1,Adelie\n1,Gentoo\n", "two labels, 'Adelie' and 'Gentoo'"),
        ("name,label\n1,Adelie\n", "no column for the ids of the rows"),
        ("newfound_row_id,class\n1,Adelie\n", "no column for the labels"),
    ],
)
def test_labels_that_cannot_be_right_are_refused(loop, lines, told):
    folder, _ = loop
    (folder / "bad.csv").write_text(lines)
    before = (folder / "run" / "acts.jsonl").read_bytes()
    errors = newfound("label", "run", "bad.csv", cwd=folder, code=2).stderr
    assert any(part in errors for part in told.split("|")), errors
    assert (folder / "run" / "acts.jsonl").read_bytes() == before


def test_a_correction_is_kept_apart_and_an_empty_label_is_left_out(loop):
    folder, _ = loop
    run = open_run(folder / "run")
    labelled = int(np.flatnonzero(run.rows.observed == "Adelie")[0])
    (folder / "corrected.csv").write_text(f"newfound_row_id,label\n{labelled},Gentoo\n0,\n")
    printed = newfound("label", "run", "corrected.csv", cwd=folder).stdout
    assert "1 of them with another label than before" in printed
    assert "Left out: 1 row without a label." in printed
    last = open_run(folder / "run").acts_in_effect[-1]
    assert last.arguments == {"given": [], "corrections": [[labelled, "Gentoo"]]}
    assert open_run(folder / "run").rows.observed[labelled] == "Adelie"  # the source's own stays
    newfound("undo", "run", cwd=folder)


def test_what_label_studio_exports_is_read(loop):
    folder, _ = loop
    tasks = json.loads((folder / "tasks.json").read_text())[:4]
    choice = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": ["Gentoo"]}}
    written = {"from_name": "new_name", "to_name": "row", "type": "textarea", "value": {"text": ["Emperor"]}}
    results = [[choice], [choice, written], [], [choice]]
    for i, (task, result) in enumerate(zip(tasks, results, strict=True)):
        task["annotations"] = [{"result": result, "was_cancelled": i == 3}]
    (folder / "export.json").write_text(json.dumps(tasks))
    newfound("undo", "run", cwd=folder)
    newfound("label", "run", "export.json", cwd=folder)
    run = open_run(folder / "run")
    rows = [int(task["data"]["newfound_row_id"]) for task in tasks]
    assert labels_since(run) == {rows[0]: "Gentoo", rows[1]: "Emperor"}


def test_a_run_suggests_rows_with_their_own_columns_without_its_source(loop, tmp_path):
    folder, _ = loop
    newfound("suggest", folder / "run", "--rows", "5", "--out", "here.csv", cwd=tmp_path)
    newfound("suggest", "run", "--rows", "5", "--out", "there.csv", cwd=folder)
    assert (tmp_path / "here.csv").read_text() == (folder / "there.csv").read_text()
    assert len(read_csv(tmp_path / "here.csv")[0]) > 5


def test_a_refit_does_not_take_the_place_of_its_run(loop):
    folder, _ = loop
    assert "leaves the run" in newfound("refit", "run", "--out", "run", "--replace", cwd=folder, code=2).stderr
