"""The whole way by the installed command: fit → info → predict → evaluate → report, on every kind of file."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from newfound.data import DataError
from newfound.run_folder import open_run
from newfound.workflow import parse_classes, parse_keep

QUICK = ("--epochs", "3", "--n-new", "2")


def newfound(*arguments, cwd, code=0):
    command = [sys.executable, "-m", "newfound", *map(str, arguments)]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert result.returncode == code, result.stderr + result.stdout
    assert "Traceback" not in result.stderr
    return result


def pets(n=240, labelled=0.4, seed=0):
    """Four kinds of animals; cats and dogs are partly labelled. Numbers, a category, a flag, gaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        k = int(rng.integers(0, 4))
        rows.append(
            {
                "name": f"pet {i}",
                "weight": "" if i == 7 else round(float(rng.normal([4, 20, 40, 8][k], 1)), 2),
                "height": round(float(rng.normal([25, 60, 180, 40][k], 4)), 1),
                "colour": str(rng.choice(["red", "grey", "brown"], p=[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]][k % 2])),
                "tame": int(rng.random() < [0.9, 0.9, 0.1, 0.1][k]),
                "species": ["cat", "dog", "emu", "fox"][k] if k < 2 and rng.random() < labelled else "",
                "truth": ["cat", "dog", "emu", "fox"][k],
            }
        )
    return rows


def write_csv(path, rows, leave_out=()):
    names = [name for name in rows[0] if name not in leave_out]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    rows = pets()
    write_csv(folder / "pets.csv", rows, ["truth"])
    write_csv(folder / "more.csv", pets(seed=1), ["truth", "species"])
    write_csv(folder / "test.csv", pets(seed=2), ["species"])
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "cut.parquet").write_bytes(b"PAR1 and not much more")
    newfound("fit", "pets.csv", "--label", "species", "--id", "name", *QUICK, "--out", "run", cwd=folder)
    return folder


def test_run_folder_holds_everything(workplace):
    run = open_run(workplace / "run")
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "classes.json",
        "disagreements.csv",
        "examples.safetensors",
        "history.parquet",
        "model",
        "predictions.csv",
        "predictions.parquet",
        "report.html",
        "run.json",
    ]
    assert [c["name"] for c in run.classes] == ["cat", "dog", "new-1", "new-2"]
    assert run.model.features_.likelihood == "mixed"
    assert {"jax", "numpy", "python"} <= run.description["versions"].keys()
    assert len(run.description["fingerprint"]) == 64
    assert not list(workplace.glob(".run*"))


def test_observed_labels_come_back_untouched(workplace):
    table = open_run(workplace / "run").predictions
    observed = [row["species"] for row in pets()]
    assert table["observed_label"].tolist() == observed
    assert table["row_id"].tolist() == [row["name"] for row in pets()]
    with (workplace / "run" / "disagreements.csv").open() as file:
        doubted = list(csv.DictReader(file))
    differ = [o != "" and o != c for o, c in zip(observed, table["class"], strict=True)]
    assert len(doubted) == sum(differ)


def test_predict_another_file_as_csv_and_parquet(workplace):
    newfound("predict", "run", "more.csv", "--out", "labelled.csv", cwd=workplace)
    newfound("predict", "run", "more.csv", "--out", "labelled.parquet", cwd=workplace)
    import pyarrow.parquet as pq

    with (workplace / "labelled.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 240
    assert {row["class"] for row in rows} <= {"cat", "dog", "new-1", "new-2"}
    assert all(0 <= float(row["p_new"]) <= 1 for row in rows)
    assert pq.read_table(workplace / "labelled.parquet")["class"].to_pylist() == [row["class"] for row in rows]


def test_evaluate_names_every_metric(workplace):
    printed = newfound("evaluate", "run", "test.csv", "--label", "truth", cwd=workplace).stdout
    metrics = json.loads(newfound("evaluate", "run", "test.csv", "--label", "truth", "--json", cwd=workplace).stdout)
    for name in ("many-to-one accuracy, all", "one-to-one accuracy, new", "adjusted Rand index"):
        assert name in printed
        assert 0 <= metrics[name] <= 1
    assert metrics["one-to-one accuracy, known"] > 0.5
    assert 0 <= metrics["expected calibration error, known classes"] <= 1
    assert metrics["mean entropy of q(y|x), new classes"] >= 0
    assert metrics["confusion"]["true_classes"] == ["cat", "dog", "emu", "fox"]
    assert np.sum(metrics["confusion"]["rows_by_component"]) == 240


def test_report_and_info(workplace):
    (workplace / "run" / "report.html").unlink()
    newfound("report", "run", cwd=workplace)
    page = (workplace / "run" / "report.html").read_text()
    assert "new-2" in page
    assert "pets.csv" in page
    info = newfound("info", "run", cwd=workplace).stdout
    assert "240 rows" in info
    assert "newfound fit pets.csv" in " ".join(info.split()) or "fit pets.csv" in " ".join(info.split())
    assert json.loads(newfound("info", "run", "--json", cwd=workplace).stdout)["regime"] == "semi-unsupervised"


def test_bernoulli_on_a_table_scales_columns_to_unit_range(tmp_path):
    write_csv(tmp_path / "numbers.csv", pets(), ["truth", "name", "colour", "tame"])
    fit = ("fit", "numbers.csv", "--label", "species", "--likelihood", "bernoulli", *QUICK, "--out", "run")
    newfound(*fit, cwd=tmp_path)
    model = open_run(tmp_path / "run").model
    assert model.features_.likelihood == "bernoulli"
    assert model.standardize == "min-max"


def test_machines_get_one_json_object_and_nothing_else(workplace):
    arguments = ("fit", "pets.csv", "--label", "species", "--ignore", "name", *QUICK, "--out", "json-run", "--json")
    summary = json.loads(newfound(*arguments, cwd=workplace).stdout)
    assert summary["n_rows"] == 240
    assert [c["name"] for c in summary["classes"]] == ["cat", "dog", "new-1", "new-2"]


def test_named_set_with_hidden_classes(tmp_path):
    fit = ("fit", "digits", "--hide", "5-9", "--keep", "20%", "--n-new", "5", "--epochs", "3", "--out", "run")
    newfound(*fit, cwd=tmp_path)
    run = open_run(tmp_path / "run")
    assert run.description["masking"] == {"hide": "5-9", "keep": "20%", "by_group": False, "seed": 0}
    assert "true_class" in run.predictions
    assert "adjusted Rand index" in (tmp_path / "run" / "report.html").read_text()
    metrics = json.loads(newfound("evaluate", "run", "digits:test", "--json", cwd=tmp_path).stdout)
    assert metrics["many-to-one accuracy, known"] > 0.5


def test_folder_of_images(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(60):
        label = ("left", "unlabelled", "unlabelled")[i % 3]
        (tmp_path / "pictures" / label).mkdir(parents=True, exist_ok=True)
        pixels = (20 * rng.random((6, 6))).astype(np.uint8)
        pixels[:, : 3 if i % 2 else 6] += 200
        Image.fromarray(pixels).save(tmp_path / "pictures" / label / f"{i}.png")
    newfound("fit", "pictures", *QUICK, "--out", "run", cwd=tmp_path)
    run = open_run(tmp_path / "run")
    assert run.layout.image_shape == (6, 6)
    assert run.model.features_.likelihood == "bernoulli"
    newfound("predict", "run", "pictures", "--out", "p.csv", cwd=tmp_path)


REFUSED = {
    "no such file": (("fit", "nowhere.csv", "--label", "x"), "nowhere.csv"),
    "no such column": (("fit", "pets.csv", "--label", "specie"), "species"),
    "no such run": (
        ("predict", "nowhere", "more.csv"),
        "is not there; give the folder that `newfound fit --out` wrote",
    ),
    "not a run": (("info", "."), "is not a run: run.json is missing"),
    "a run is there": (("fit", "pets.csv", "--label", "species", "--out", "run"), "Use --replace to write over it"),
    "odd number": (("fit", "pets.csv", "--n-new", "many"), "--n-new must be a whole number or auto; got 'many'"),
    "odd model": (("fit", "pets.csv", "--model", "gan"), "--model must be gmdgm or ssvae; got 'gan'"),
    "odd share": (
        ("fit", "pets.csv", "--label", "species", "--id", "name", "--keep", "120%"),
        "--keep must be a share",
    ),
    "odd likelihood": (("fit", "test.csv", "--ignore", "name", "--likelihood", "cauchy"), "likelihood must be 'auto'"),
    "empty file": (("fit", "empty.csv", "--label", "x"), "is empty"),
    "ragged file": (("fit", "ragged.csv", "--label", "a"), "cells where the header has 2"),
    "cut short": (("fit", "cut.parquet", "--label", "a"), "cut short"),
    "odd class": (("fit", "pets.csv", "--label", "species", "--id", "name", "--hide", "owl"), "no row has that label"),
    "odd ending": (("predict", "run", "more.csv", "--out", "x.doc"), "--out must end in .csv or .parquet"),
    "nothing to compare": (("evaluate", "run", "more.csv"), "has no label"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_are_one_sentence_with_exit_code_2(workplace, what):
    arguments, message = REFUSED[what]
    if arguments[0] == "fit" and "--out" not in arguments:
        arguments = (*arguments, "--out", "other")
    before = sorted(path.name for path in workplace.iterdir())
    error = newfound(*arguments, cwd=workplace, code=2).stderr
    assert message in error
    assert error.startswith("newfound: ")
    assert sorted(path.name for path in workplace.iterdir()) == before


def test_half_written_run_is_said_to_be_so(tmp_path):
    (tmp_path / ".run.unfinished-123").mkdir()
    with pytest.raises(DataError, match=r"was begun but stopped before it was done .*: fit again"):
        open_run(tmp_path / "run")


def test_killed_while_writing_leaves_no_run(workplace, tmp_path, monkeypatch):
    from newfound import run_folder
    from newfound.data import read_dataset

    run = open_run(workplace / "run")
    dataset = read_dataset(workplace / "pets.csv", label="species", id="name")
    model = run.model
    model.heldout_ = np.arange(10)

    def killed(run):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "write_report", killed)
    with pytest.raises(KeyboardInterrupt):
        run_folder.write_run(tmp_path / "run", model, dataset, dataset.labels.astype(str), None, {"model": "gmdgm"})
    assert list(tmp_path.iterdir()) == []


def test_interrupted_fit_leaves_a_usable_run(workplace, tmp_path, interrupted_at_third_chunk):
    from newfound.data import read_dataset
    from newfound.workflow import fit_run

    dataset = read_dataset(workplace / "pets.csv", label="species", id="name")
    settings = {"n_new": 2, "random_state": 0, "hidden": (8, 8)}
    about = {"source": "pets.csv", "command": "newfound fit pets.csv"}
    observed = dataset.labels.astype(str)
    fit_run(dataset, tmp_path / "run", settings=settings, observed=observed, about=about)
    run = open_run(tmp_path / "run")
    assert run.description["ending"] == "interrupted"
    assert run.model.predict(dataset.X).shape == (len(dataset),)


def test_groups_keep_their_labels_together():
    from newfound.masking import mask_labels

    y, groups = np.repeat(["a", "b"], 100), np.tile(np.repeat(np.arange(10), 10), 2)
    masked = mask_labels(y, keep=0.2, random_state=0, groups=groups)
    assert all(len(np.unique(groups[masked == label])) == 2 for label in ("a", "b"))


def test_setups_of_the_paper():
    from newfound.masking import SETUPS, paper_setup

    y = np.repeat(np.arange(10), 50)
    seen = {name: paper_setup(name, y, random_state=0) for name in SETUPS}
    assert {name: (len(np.unique(m[m >= 0])), n_new) for name, (m, n_new) in seen.items()} == {
        "unsupervised": (0, 45),
        "semi-supervised": (10, 0),
        "semi-unsupervised": (5, 40),
        "accidental": (5, 0),
    }
    with pytest.raises(ValueError, match="must be one of unsupervised"):
        paper_setup("supervised", y)


def test_words_for_classes_and_shares():
    digits = [str(i) for i in range(10)]
    assert parse_classes("5-7, 9", digits) == ["5", "6", "7", "9"]
    assert parse_classes("a-b,c", ["a-b", "c"]) == ["a-b", "c"]
    assert (parse_keep("20%"), parse_keep("0.5"), parse_keep("10")) == (0.2, 0.5, 10)
