"""Records on disk: what is done is found, what is damaged is named, and the newer of two counts."""

import os

import numpy as np
import pytest

from experiments.experiment import Experiment
from experiments.records import (
    arrays_file,
    gather,
    lines_file,
    read_arrays,
    read_records,
    save_record,
    work_folder,
    write_records,
)


def experiment(seed=0, **changes):
    return Experiment("quick", "mnist", "k-means", "unsupervised", seed, **changes)


def record(seed=0, score=90.0):
    return {
        **{"preset": "quick", "dataset": "mnist", "model": "k-means", "regime": "unsupervised", "seed": seed},
        "n_components": None,
        "acc_many_to_one": score,
        "settings": {"n_init": 1},
    }


def file_of(folder, seed=0):
    return work_folder(folder, "quick") / f"{experiment(seed).name}.json"


def test_the_name_says_what_differs_from_the_regime():
    assert experiment().name == "mnist-k-means-unsupervised-0"
    assert (
        experiment(2, n_components=20, labels_per_class=10).name
        == "mnist-k-means-unsupervised-20-components-10-labels-2"
    )
    assert Experiment.of(record(3)) == experiment(3)


def test_a_finished_experiment_is_read_at_once_and_gathered_later(tmp_path):
    for seed in (1, 0):
        save_record(tmp_path, experiment(seed), record(seed), {})
    assert not lines_file(tmp_path, "quick").exists()
    before = read_records(tmp_path, "quick")
    assert before == {experiment(seed).name: record(seed) for seed in (0, 1)}
    gather(tmp_path, "quick")
    lines = lines_file(tmp_path, "quick").read_text().splitlines()
    assert [line.index('"seed": 0') > 0 for line in lines[:1]] == [True]  # in the order of the names
    assert len(lines) == 2
    assert read_records(tmp_path, "quick") == before
    file_of(tmp_path).unlink()
    assert read_records(tmp_path, "quick") == before


def test_gathering_twice_changes_nothing(tmp_path):
    save_record(tmp_path, experiment(), record(), {})
    gather(tmp_path, "quick")
    content = lines_file(tmp_path, "quick").read_bytes()
    gather(tmp_path, "quick")
    assert lines_file(tmp_path, "quick").read_bytes() == content


def test_of_two_records_the_newer_counts(tmp_path):
    write_records(tmp_path, "quick", {experiment().name: record(score=80.0)})
    save_record(tmp_path, experiment(), record(score=90.0), {})
    written = lines_file(tmp_path, "quick").stat().st_mtime_ns
    for shift, score in ((10**9, 90.0), (-(10**9), 80.0)):
        os.utime(file_of(tmp_path), ns=(written + shift, written + shift))
        assert read_records(tmp_path, "quick")[experiment().name]["acc_many_to_one"] == score


def test_nothing_is_done_in_an_empty_folder(tmp_path):
    assert read_records(tmp_path / "results", "quick") == {}
    gather(tmp_path / "results", "quick")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("content", ["", "[1]", '{"dataset": "mnist"}', "7", "\udcff", '{"preset": "paper"}'])
def test_a_damaged_or_foreign_file_is_named(tmp_path, content):
    file_of(tmp_path).parent.mkdir(parents=True)
    file_of(tmp_path).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"unsupervised-0.json' is damaged, or no record of .* Remove it; .*again\.$"):
        read_records(tmp_path, "quick")


def test_the_record_of_another_experiment_is_named(tmp_path):
    save_record(tmp_path, experiment(0), record(1), {})
    with pytest.raises(ValueError, match=r"is the record of another experiment, mnist-k-means-unsupervised-1\. Remove"):
        read_records(tmp_path, "quick")


def test_a_truncated_last_line_is_named(tmp_path):
    write_records(tmp_path, "quick", {experiment(seed).name: record(seed) for seed in range(3)})
    lines = lines_file(tmp_path, "quick")
    lines.write_bytes(lines.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"^Line 3 of '.*quick.jsonl' is damaged, .* Remove it; .*again\.$"):
        read_records(tmp_path, "quick")


def test_two_lines_of_one_experiment_are_refused(tmp_path):
    write_records(tmp_path, "quick", {"a": record(), "b": record()})
    with pytest.raises(ValueError, match=r"Line 2 of .* is a second record of .*-0\. Remove one of the two\."):
        read_records(tmp_path, "quick")


def test_arrays_are_kept_beside_the_record(tmp_path):
    save_record(tmp_path, experiment(), record(), {"grid": np.arange(6, dtype=np.uint8).reshape(2, 3).T})
    np.testing.assert_array_equal(read_arrays(tmp_path, experiment())["grid"], [[0, 3], [1, 4], [2, 5]])
    for damage in (lambda path: path.write_bytes(b"no"), lambda path: path.unlink()):
        damage(arrays_file(tmp_path, experiment()))
        with pytest.raises(
            ValueError, match=r"safetensors' cannot be read \(.*\)\. Remove the record of mnist-k-means"
        ):
            read_arrays(tmp_path, experiment())
