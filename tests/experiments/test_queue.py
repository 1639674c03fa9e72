"""Many experiments: none is computed twice, none is mixed with others, and Ctrl-C leaves no half result."""

import pytest
from tiny import TINY

from experiments import queue, targets
from experiments.experiment import Experiment
from experiments.records import read_records

KMEANS = targets.Choice(("har",), ("k-means",), ("semi-supervised",))


def test_what_is_done_is_not_missing(done):
    everything = targets.experiments_of(["table-1", "table-2"], "quick", 1)
    missing = queue.missing(everything, done, TINY)
    assert sorted(e.name for e in set(everything) - set(missing)) == [
        "har-gmdgm-semi-unsupervised-0",
        "har-k-means-unsupervised-0",
        "mnist-ssvae-accidental-0",
    ]


@pytest.mark.parametrize(("name", "then", "now"), [("max_epochs", "1", "3"), ("n_trees", "5", "7")])
def test_experiments_of_other_settings_are_not_mixed(done, name, then, now):
    experiments = targets.experiments_of(["table-1"], "quick", 1)
    message = f"accidental-0 in .* was made with {name} = {then}, now it is {now}. Give another folder with --out, or "
    with pytest.raises(ValueError, match=message):
        queue.missing(experiments, done, TINY | {name: int(now)})


def test_settings_of_a_baseline_are_its_own(done):
    experiments = [Experiment("quick", "har", "k-means", "unsupervised", 0)]
    assert queue.missing(experiments, done, {"max_epochs": 77}) == []


def test_results_go_into_a_folder(tmp_path):
    (tmp_path / "results").write_text("notes")
    with pytest.raises(ValueError, match=r"is a file, not a folder for results. Give another --out\."):
        queue.missing([], tmp_path / "results", {})
    assert (tmp_path / "results").read_text() == "notes"


def test_an_interrupted_experiment_is_not_saved(data, tmp_path, monkeypatch):
    """Training that is stopped by Ctrl-C keeps what it learned; an experiment must not take that for its result."""
    from newfound.training import loop

    def stop(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "compiled_train_chunk", lambda is_brief: stop)
    experiment = Experiment("quick", "har", "gmdgm", "semi-supervised", 0)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="interrupted"):
        queue.compute([experiment], tmp_path, TINY, 1, lambda *_: pytest.fail("told"))
    assert read_records(tmp_path, "quick") == {}


def test_jobs_share_the_cores_and_lose_none():
    everything = sorted(core for share in queue.shares_of_cores(1) for core in share)
    for jobs in (2, 3):
        shares = queue.shares_of_cores(jobs)
        assert len(shares) == jobs
        assert sorted({core for share in shares for core in share}) == everything
        assert all(shares) or not everything


def test_several_at_a_time(data, tmp_path):
    experiments = targets.experiments_of(["table-2"], "quick", 2, KMEANS)
    told = []
    queue.compute(experiments, tmp_path, {}, 2, lambda experiment, record: told.append((experiment, record)))
    assert sorted(experiment.seed for experiment, _ in told) == [0, 1]
    assert all(record["acc_many_to_one"] > 90 for _, record in told)  # clouds that lie apart
    assert read_records(tmp_path, "quick") == {experiment.name: record for experiment, record in told}
