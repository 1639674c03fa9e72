"""The short form of `tools/faults.py`: faults at the changes that a save, an act and a prediction make to the disk."""

import importlib.util
from pathlib import Path

import pytest

from newfound.runs.predict import predict_batches


def load_tool():
    path = Path(__file__).parent.parent.parent / "tools" / "faults.py"
    spec = importlib.util.spec_from_file_location("faults", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


faults = load_tool()


@pytest.fixture(scope="module")
def bench(workplace):
    made = faults.Bench(workplace / "run", workplace / "pets.csv", workplace / "more.csv")
    made.tables = list(predict_batches(made.run, str(workplace / "more.csv")))
    return made


EVERY = {
    "fit --replace": 5,
    "fit, new": 17,
    "an act": 11,
    "predict, CSV": 3,
    "model.save": 4,
}  # the others: the long form


@pytest.mark.parametrize("kind", faults.KINDS)
@pytest.mark.parametrize("name", EVERY)
def test_whatever_fails_the_old_run_or_the_new_one_is_whole(bench, tmp_path, name, kind):
    wrong, n_calls = faults.one_fault(bench, name, 0, "", tmp_path)
    assert wrong == []
    assert n_calls >= 5
    for at in range(1 + faults.KINDS.index(kind), n_calls + 1, EVERY[name]):
        assert faults.one_fault(bench, name, at, kind, tmp_path)[0] == []
