"""A run folder: what it holds, that it appears whole or not at all, and what is said of one that did not."""

import csv
import json
import shutil
import signal
import time

import numpy as np
import pytest
from pets import FIT, newfound, pets, start

from newfound._internal.words import DataError
from newfound.config import Config
from newfound.runs.derived import Origin, write_run
from newfound.runs.leftovers import unfinished_folders
from newfound.runs.new_run import fit_run
from newfound.runs.records import Listener
from newfound.runs.run import open_run
from newfound.tables.read import read_dataset

FILES = [
    "classes.json",
    "descriptions.json",
    "disagreements.csv",
    "examples.safetensors",
    "history.parquet",
    "labelled.csv",
    "manifest.json",
    "model",
    "own.parquet",
    "predictions.csv",
    "predictions.parquet",
    "rows.parquet",
    "run.json",
]


@pytest.fixture(scope="module")
def dataset(workplace):
    return read_dataset(workplace / "pets.csv", label="species", id="name")


def test_run_holds_everything(workplace):
    run = open_run(workplace / "run")
    assert sorted(path.name for path in run.folder.iterdir()) == sorted([*FILES, "report.html"])
    assert [c.name for c in run.classes] == ["cat", "dog", "new-1", "new-2"]
    assert run.model.architecture_.likelihood == "mixed"
    assert {"jax", "numpy", "python"} <= run.description.versions.keys()
    assert len(run.description.fingerprint) == 64
    assert unfinished_folders(run.folder) == []


def test_run_holds_the_whole_configuration(workplace):
    settings = open_run(workplace / "run").description.settings
    assert Config.from_json(settings["config"]) == Config()
    assert settings["n_new"] == 2
    assert settings["max_epochs"] == 3
    assert settings["pu_weight"] == "auto"


def test_classes_of_a_run_are_those_of_its_model(workplace):
    run = open_run(workplace / "run")
    of_model = run.model.fitted_.classes
    for name in ("names", "ids", "is_new", "is_named", "component_class"):
        np.testing.assert_array_equal(getattr(run.class_map, name), getattr(of_model, name))


def test_observed_labels_come_back_untouched(workplace):
    table = open_run(workplace / "run").predictions
    observed = [row["species"] for row in pets()]
    assert table["observed_label"].tolist() == observed
    assert table["row_id"].tolist() == [row["name"] for row in pets()]
    with (workplace / "run" / "disagreements.csv").open() as file:
        listed = [row["row_id"] for row in csv.DictReader(file)]
    differ = np.array([o != "" and o != c for o, c in zip(observed, table["class"], strict=True)])
    assert listed == table["row_id"][differ].tolist()


def test_a_loaded_model_can_be_written_as_a_run(workplace, dataset, tmp_path):
    run = open_run(workplace / "run")
    stages = []
    again = write_run(tmp_path / "run", run.model, dataset, Origin("pets.csv"), listener=Listener(stage=stages.append))
    assert sorted(path.name for path in again.folder.iterdir()) == FILES
    assert again.description.calibration == run.description.calibration
    assert again.classes == run.classes
    for name, column in run.predictions.items():
        np.testing.assert_array_equal(again.predictions[name], column)
    for name, column in run.examples.items():
        np.testing.assert_array_equal(again.examples[name], column)
    assert again.descriptions == run.descriptions
    assert stages == ["predicting", "laying out the latent map", "describing the classes"]


def test_a_run_whose_finish_fails_does_not_appear(workplace, dataset, tmp_path):
    def fail(run):
        assert sorted(path.name for path in run.folder.iterdir()) == [n for n in FILES if n != "manifest.json"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path / "run", open_run(workplace / "run").model, dataset, Origin("pets.csv"), finish=fail)
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_run_stays_until_the_new_one_is_whole(workplace, dataset, tmp_path):
    shutil.copytree(workplace / "run", tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_text()

    def fail(run):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path / "run", open_run(workplace / "run").model, dataset, Origin("pets.csv"), finish=fail)
    assert (tmp_path / "run" / "run.json").read_text() == before
    write_run(tmp_path / "run", open_run(workplace / "run").model, dataset, Origin("again"))
    assert open_run(tmp_path / "run").description.source == "again"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("when", ["training", "writing"])
def test_a_killed_fit_leaves_no_run(workplace, tmp_path, when):
    """By SIGKILL, which nothing can catch. A second fit to the same place is not in its way."""
    shutil.copy(workplace / "pets.csv", tmp_path)
    epochs = ("--epochs", "1000000") if when == "training" else ()
    process = start(*FIT, *epochs, "--out", "run", cwd=tmp_path)
    sign = ".run.unfinished-*" if when == "training" else ".run.unfinished-*/rows.parquet"
    _wait_for(lambda: any(tmp_path.glob(sign)), process)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert not (tmp_path / "run").exists()
    (unfinished,) = unfinished_folders(tmp_path / "run")
    with pytest.raises(DataError, match=rf"A fit was started but did not finish \({unfinished.name}\). Fit again"):
        open_run(tmp_path / "run")
    if when == "writing":
        newfound(*FIT, "--out", "run", cwd=tmp_path)
        assert not unfinished.exists()
        assert open_run(tmp_path / "run").description.n_rows == 240


def _wait_for(is_there, process, seconds=120):
    until = time.monotonic() + seconds
    while not is_there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def test_interrupted_fit_leaves_a_usable_run(dataset, tmp_path, interrupted_at_third_chunk):
    settings = {"n_new": 2, "random_state": 0, "hidden_layer_sizes": (8, 8)}
    fit_run(dataset, tmp_path / "run", Origin("pets.csv"), settings=settings)
    run = open_run(tmp_path / "run")
    assert run.description.termination_condition == "interrupted"
    assert run.model.predict(dataset.X).shape == (len(dataset),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, r"was written by an earlier newfound \(format 1\).* Fit again\."),
        ({"format": 99}, r"was written by a newer newfound .* Upgrade with pip"),
        ({"format": "two"}, r"is damaged .* Fit again\."),
    ],
)
def test_other_formats_are_refused_in_one_sentence(workplace, tmp_path, change, message):
    stored = json.loads((workplace / "run" / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(stored | change))
    with pytest.raises(DataError, match=message):
        open_run(tmp_path)
