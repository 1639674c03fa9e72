"""`newfound fit --resume`: a fit that was asked to end goes on from a checkpoint in the folder being made."""

import shutil

import numpy as np
import pytest
from pets import FIT, newfound

from newfound._internal.files import Terminated
from newfound._internal.words import DataError
from newfound.runs.leftovers import unfinished_folders
from newfound.runs.run import open_run
from newfound.training import loop


@pytest.fixture
def stopped(workplace, tmp_path, monkeypatch):
    """A folder in which the fit of the workplace was asked to end after its third chunk of steps."""
    shutil.copy(workplace / "pets.csv", tmp_path)
    real, seen = loop.Training._advance, []

    def advance(*arguments):
        real(*arguments)
        seen.append(1)
        if len(seen) == 3:
            raise Terminated

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "_advance", advance)
        result = newfound(*FIT, "--out", "run", cwd=tmp_path, code=143)
    assert "To continue: newfound fit --resume run" in " ".join(result.stdout.split())
    return tmp_path


def test_a_stopped_fit_goes_on_to_the_same_run(workplace, stopped):
    with pytest.raises(DataError, match="A fit was started and stopped. To continue: newfound fit --resume"):
        open_run(stopped / "run")
    newfound("fit", "--resume", "run", cwd=stopped)
    run, whole = open_run(stopped / "run"), open_run(workplace / "run")
    run.check()
    assert unfinished_folders(stopped / "run") == []
    assert not (stopped / "run" / "checkpoint").exists()
    for name, column in whole.predictions.items():
        np.testing.assert_array_equal(run.predictions[name], column)
    weights = [next((folder / "run" / "model").glob("weights-*")).name for folder in (stopped, workplace)]
    assert weights[0] == weights[1]


def test_other_rows_are_not_gone_on_with(stopped):
    lines = (stopped / "pets.csv").read_text().splitlines()
    (stopped / "pets.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert "is of another fit" in newfound("fit", "--resume", "run", cwd=stopped, code=2).stderr
    assert len(unfinished_folders(stopped / "run")) == 1


def test_what_there_is_to_go_on_from_is_told(workplace, tmp_path):
    assert "The run 'run' is finished." in newfound("fit", "--resume", "run", cwd=workplace, code=2).stderr
    assert "There is no checkpoint" in newfound("fit", "--resume", "nothing", cwd=tmp_path, code=2).stderr
    assert "Missing argument SOURCE" in newfound("fit", cwd=tmp_path, code=2).stderr
