"""The whole way by the command line: fit → info → predict → evaluate → report, on every kind of file."""

import csv
import json
import re
import shutil

import numpy as np
import pytest
from pets import FIT, QUICK, newfound, pets, write_csv
from small import imported_by

from newfound.cli.fit import parse_classes, parse_keep
from newfound.evaluation import METRICS
from newfound.runs.records import Masking
from newfound.runs.run import open_run


def test_predict_another_file_as_csv_and_parquet(workplace, kept_programs):
    import pyarrow.parquet as pq

    newfound("predict", "run", "more.csv", "--out", "labelled.csv", cwd=workplace)
    newfound("predict", "run", "more.csv", "--out", "labelled.parquet", cwd=workplace)
    with (workplace / "labelled.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 240
    assert {row["newfound_class"] for row in rows} <= {"cat", "dog", "new-1", "new-2"}
    assert all(0 <= float(row["newfound_p_new"]) <= 1 for row in rows)
    assert rows[3]["name"] == "pet 3"
    labelled = pq.read_table(workplace / "labelled.parquet")
    assert labelled["newfound_class"].to_pylist() == [row["newfound_class"] for row in rows]
    assert kept_programs == []  # nothing is compiled


def test_predict_says_how_many_cells_are_not_like_those_of_the_fit(workplace, tmp_path):
    rows = pets(seed=1)
    for row in rows:
        row["height"] = round(row["height"] / 100, 3)  # in metres
    write_csv(tmp_path / "metres.csv", rows, ["truth", "species"])
    write_csv(tmp_path / "with-truth.csv", rows, ["species"])
    run = workplace / "run"
    said = newfound("predict", run, "metres.csv", "--out", "out.csv", cwd=tmp_path).stdout
    said = " ".join(said.split())
    assert re.search(r"2\d\d cells \(\d+%\) are outside the training range: 'height' \(240\)", said)
    assert "Check the units. If they match the training data, these rows are far outside it" in said
    said = newfound("evaluate", run, "with-truth.csv", "--label", "truth", cwd=tmp_path).stdout
    assert "'height' (240)" in said
    same = newfound("predict", run, workplace / "more.csv", "--out", "same.csv", cwd=tmp_path).stdout
    assert "units" not in same


def test_a_run_is_used_without_jax(workplace, tmp_path):
    """One process for all commands, since each brings its modules along."""
    shutil.copytree(workplace / "run", tmp_path / "run")
    commands = [
        ["predict", "run", str(workplace / "more.csv"), "--out", "more.csv"],
        ["info", "run"],
        ["name", "run", "new-1=fox"],
        ["merge", "run", "fox", "new-2"],
        ["undo", "run"],
        ["suggest", "run", "--rows", "3", "--out", "to-label.csv"],
        ["report", "run"],
        ["export", "run", "--atlas", "atlas.parquet"],
    ]
    code = "from newfound.cli.app import app\n" + "\n".join(f"app({c}, standalone_mode=False)" for c in commands)
    assert not imported_by(code, cwd=tmp_path) & {"jax", "equinox", "optax", "matplotlib"}


def test_every_table_format_that_can_be_streamed_is(workplace, tmp_path, monkeypatch):
    import pyarrow.csv
    import pyarrow.parquet as pq

    from newfound.runs import predict

    def read_whole(*arguments, **options):
        raise AssertionError("the file was read whole")

    pq.write_table(pyarrow.csv.read_csv(workplace / "more.csv"), tmp_path / "more.pq")
    monkeypatch.setattr(predict, "read_dataset", read_whole)
    monkeypatch.setattr(predict, "ROWS_AT_A_TIME", 100)
    answers = []
    for source in (workplace / "more.csv", workplace / "more.tab", tmp_path / "more.pq"):
        batches = list(predict.predict_batches(open_run(workplace / "run"), str(source)))
        assert max(len(batch["class"]) for batch in batches) <= 100
        answers.append(np.concatenate([batch["class"] for batch in batches]).tolist())
    assert len(answers[0]) == 240
    assert answers[0] == answers[1] == answers[2]


def test_evaluate_names_every_metric(workplace):
    printed = newfound("evaluate", "run", "test.csv", "--label", "truth", cwd=workplace).stdout
    metrics = json.loads(newfound("evaluate", "run", "test.csv", "--label", "truth", "--json", cwd=workplace).stdout)
    confusion, n_labels = metrics.pop("confusion"), metrics.pop("n_labels")
    matches = metrics.pop("new_classes")
    assert {match["predicted"] for match in matches} == {"new-1", "new-2"}
    first = matches[0]
    is_said = f"{first['predicted']} is {first['true_class']}: {first['n_rows']} of {first['n_all']} rows"
    assert printed.startswith(is_said)
    assert metrics.keys() == METRICS.keys()
    for name, value in metrics.items():
        assert " ".join([name, METRICS[name].show(value, 30)]) in " ".join(printed.split())
    assert n_labels["known"] + n_labels["new"] == n_labels["all"] == 240
    assert 0.5 < metrics["AUROC of P(new)"] <= 1
    assert metrics["one-to-one accuracy (Hungarian), known"] > 0.5
    assert 0 <= metrics["expected calibration error, known classes"] <= 1
    assert confusion["true_classes"] == ["cat", "dog", "emu", "fox"]
    assert confusion["predicted_classes"] == ["cat", "dog", "new-1", "new-2"]
    assert np.sum(confusion["rows"]) == 240


def test_evaluate_tells_that_labels_are_few(workplace, tmp_path):
    write_csv(tmp_path / "few.csv", pets(n=20, seed=2), ["species"])
    printed = newfound("evaluate", workplace / "run", "few.csv", "--label", "truth", cwd=tmp_path).stdout
    assert "% (from 20 labels only)" in printed


def test_predict_abstains_and_keeps_to_known_classes(workplace, tmp_path):
    def predicted(*options):
        newfound(
            "predict",
            workplace / "run",
            workplace / "more.csv",
            "--out",
            "out.csv",
            "--replace",
            *options,
            cwd=tmp_path,
        )
        with (tmp_path / "out.csv").open() as file:
            rows = list(csv.DictReader(file))
        return [row["newfound_class"] for row in rows], np.array([float(row["newfound_probability"]) for row in rows])

    usual, probability = predicted()
    limit = float(np.median(probability))
    cautious, same = predicted("--abstain", limit)
    assert cautious == [name if p >= limit else "" for name, p in zip(usual, probability, strict=True)]
    assert 0 < cautious.count("") < 240
    np.testing.assert_array_equal(same, probability)  # told, even where the class is not
    assert set(predicted("--known-only")[0]) <= {"cat", "dog"}
    assert set(predicted("--new-threshold", "0")[0]) <= {"new-1", "new-2"}


def test_thresholds_that_make_no_sense_are_refused_before_the_file_is_read(workplace):
    refused = newfound("predict", "run", "nowhere.csv", "--abstain", "90", cwd=workplace, code=2)
    assert "abstain must be a number of at least 0 and at most 1" in refused.output
    assert newfound("predict", "run", "more.csv", "--known-only", "--new-threshold", "1", cwd=workplace, code=2)


def test_report_and_info(workplace):
    (workplace / "run" / "report.html").unlink()
    newfound("report", "run", cwd=workplace)
    page = (workplace / "run" / "report.html").read_text()
    assert "new-2" in page
    assert "pets.csv" in page
    assert "labels only)" in page  # 2 validation labels of each class tell little
    info = newfound("info", "run", cwd=workplace).stdout
    assert re.match(r"2 known classes, 2 new classes of \d+ rows, as asked for; no known class was hidden", info)
    assert "240 rows" in info
    assert f"newfound {' '.join(FIT)} --out run" in info
    assert json.loads(newfound("info", "run", "--json", cwd=workplace).stdout)["regime"] == "semi-unsupervised"


def test_bernoulli_on_a_table_scales_columns_to_unit_range(tmp_path, kept_programs):
    write_csv(tmp_path / "numbers.csv", pets(), ["truth", "name", "colour", "tame"])
    fit = ("fit", "numbers.csv", "--label", "species", "--likelihood", "bernoulli", *QUICK, "--out", "run")
    newfound(*fit, cwd=tmp_path)
    model = open_run(tmp_path / "run").model
    assert model.architecture_.likelihood == "bernoulli"
    assert model.standardize == "min-max"
    assert kept_programs


def test_machines_get_one_json_object_and_nothing_else(workplace):
    options = ("--n-init", "2", "--min-std", "0.01", "--out", "json-run", "--json")
    summary = json.loads(newfound(*FIT, *options, cwd=workplace).stdout)
    assert summary["n_rows"] == 240
    assert [c["name"] for c in summary["classes"]] == ["cat", "dog", "new-1", "new-2"]
    run = open_run(workplace / "json-run")
    assert len(run.description.seeds) == 2
    assert run.description.settings["config"]["optimisation"]["min_std"] == 0.01


@pytest.mark.slow
def test_named_set_with_hidden_classes(tmp_path):
    fit = ("fit", "digits", "--hide", "5-9", "--keep", "20%", "--n-new", "5", "--epochs", "3", "--out", "run")
    newfound(*fit, cwd=tmp_path)
    run = open_run(tmp_path / "run")
    assert run.description.masking == Masking(hide="5-9", keep="20%", by_group=False, seed=0)
    table = run.predictions
    assert set(table["true_class"]) == set("0123456789")
    assert set(table["observed_label"]) == {"", *"01234"}
    assert [c.name for c in run.classes if not c.is_new] == list("01234")
    assert "adjusted Rand index" in (tmp_path / "run" / "report.html").read_text()
    metrics = json.loads(newfound("evaluate", "run", "digits:test", "--json", cwd=tmp_path).stdout)
    assert metrics["many-to-one accuracy (purity), known"] > 0.5


def test_folder_of_images(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(60):
        label = ("left", "unlabelled", "unlabelled")[i % 3]
        (tmp_path / "images" / label).mkdir(parents=True, exist_ok=True)
        pixels = (20 * rng.random((6, 6))).astype(np.uint8)
        pixels[:, : 3 if i % 2 else 6] += 200
        Image.fromarray(pixels).save(tmp_path / "images" / label / f"{i}.png")
    newfound("fit", "images", *QUICK, "--out", "run", cwd=tmp_path)
    run = open_run(tmp_path / "run")
    assert run.schema.image_shape == (6, 6)
    assert run.model.architecture_.likelihood == "bernoulli"
    newfound("predict", "run", "images", "--out", "p.csv", cwd=tmp_path)


REFUSED = {
    "no such file": (("fit", "nowhere.csv", "--label", "x"), "nowhere.csv"),
    "no such column": (("fit", "pets.csv", "--label", "specie"), "species"),
    "no such run": (
        ("predict", "nowhere", "more.csv"),
        "does not exist. Give the folder that `newfound fit --out` wrote",
    ),
    "not a run": (("info", "."), "is not a run: run.json is missing"),
    "a run is there": (("fit", "pets.csv", "--label", "species", "--out", "run"), "Use --replace to overwrite it"),
    "odd number": (("fit", "pets.csv", "--n-new", "many"), "--n-new must be a whole number or auto; got 'many'"),
    "odd model": (("fit", "pets.csv", "--model", "gan"), "--model must be gmdgm or ssvae; got 'gan'"),
    "odd share": (
        ("fit", "pets.csv", "--label", "species", "--id", "name", "--keep", "120%"),
        "--keep must be a share",
    ),
    "odd likelihood": (("fit", "pets.csv", "--likelihood", "cauchy"), "--likelihood must be auto or "),
    "empty file": (("fit", "empty.csv", "--label", "x"), "is empty"),
    "ragged file": (("fit", "ragged.csv", "--label", "a"), "but the header has 2"),
    "cut short": (("fit", "cut.parquet", "--label", "a"), "cut short"),
    "odd class": (("fit", "pets.csv", "--label", "species", "--id", "name", "--hide", "owl"), "no row has that label"),
    "no groups": ((*FIT, "--keep", "50%", "--by-group"), "--by-group needs data that has groups"),
    "odd suffix": (("predict", "run", "more.csv", "--out", "x.doc"), "--out must end in .csv or .parquet"),
    "no table": (("predict", "run", "more.txt", "--out", "x.csv"), "'more.txt'"),
    "nothing to compare": (("evaluate", "run", "more.csv"), "has no label"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_errors_are_one_sentence_with_exit_code_2(workplace, what):
    arguments, message = REFUSED[what]
    if arguments[0] == "fit" and "--out" not in arguments:
        arguments = (*arguments, "--out", "other")
    before = sorted(path.name for path in workplace.iterdir())
    error = newfound(*arguments, cwd=workplace, code=2).stderr
    assert message in error
    assert error.startswith("newfound: ")
    assert len(error.splitlines()) == 1
    assert sorted(path.name for path in workplace.iterdir()) == before


def test_classes_and_shares_are_read_from_text():
    digits = [str(i) for i in range(10)]
    assert parse_classes("5-7, 9", digits) == ["5", "6", "7", "9"]
    assert parse_classes("a-b,c", ["a-b", "c"]) == ["a-b", "c"]
    assert (parse_keep("20%"), parse_keep("0.5"), parse_keep("10")) == (0.2, 0.5, 10)
