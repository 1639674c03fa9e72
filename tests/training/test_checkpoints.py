"""A fit that was stopped goes on with the same bits; what is written on the way is small, pruned, and checked."""

import numpy as np
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM
from newfound._internal.files import Terminated, disk
from newfound.training import loop
from newfound.training.checkpoints import Checkpoints, checkpoint_files, latest

X, truth = blobs()
y = some_labels(truth)


def model(**changes):
    return GMDGM(2, **quick(**changes))


def stopped_after(monkeypatch, n_chunks, folder, every=1e9, **changes):
    """A fit that is asked to end (SIGTERM) after some chunks of steps."""
    real, seen = loop.Training._advance, []

    def advance(*arguments):
        real(*arguments)
        seen.append(1)
        if len(seen) == n_chunks:
            raise Terminated

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "_advance", advance)
        with pytest.raises(Terminated):
            model(**changes)._fit(X, y, checkpoints=Checkpoints(folder, every))


def bits(fitted):
    """All that was learned, and how; not how long it took."""
    state = fitted.fitted_
    history = {name: column.tobytes() for name, column in fitted.history_.items() if name != "seconds"}
    of_rows = [state.row_components, state.row_probabilities, fitted.predict_component_proba(X), fitted.transform(X)]
    return [array.tobytes() for array in of_rows], history, state.temperature, fitted.termination_condition_


@pytest.mark.parametrize(("n_chunks", "changes"), [(1, {}), (2, {}), (3, {"n_init": 2})])
def test_a_fit_goes_on_with_the_same_bits(monkeypatch, tmp_path, n_chunks, changes):
    whole = model(**changes).fit(X, y)
    stopped_after(monkeypatch, n_chunks, tmp_path, **changes)
    resumed = model(**changes)._fit(X, y, checkpoints=latest(tmp_path))
    assert bits(resumed) == bits(whole)


def test_what_was_discovered_is_not_looked_for_again(monkeypatch, tmp_path):
    from newfound import fit

    stopped_after(monkeypatch, 2, tmp_path)
    monkeypatch.setattr(fit, "discover", None)
    model()._fit(X, y, checkpoints=latest(tmp_path))


def test_old_checkpoints_are_pruned_and_a_damaged_one_is_passed_over(tmp_path):
    model()._fit(X, y, checkpoints=Checkpoints(tmp_path, every=0.0))
    older, newer = checkpoint_files(tmp_path)
    assert int(older.name.split("-")[1]) + 32 == int(newer.name.split("-")[1])
    content = bytearray(newer.read_bytes())
    content[-1] ^= 1
    newer.write_bytes(bytes(content))
    assert latest(tmp_path).resumed.about["step"] == int(older.name.split("-")[1])
    older.write_bytes(older.read_bytes()[:-1])
    assert latest(tmp_path) is None


def test_a_full_disk_does_not_end_training(monkeypatch, tmp_path):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "create", full)
    with pytest.warns(UserWarning, match=r"No checkpoint could be written .*No space left.*; training continues"):
        fitted = model()._fit(X, y, checkpoints=Checkpoints(tmp_path, every=0.0))
    assert str(fitted.termination_condition_) == "max_epochs"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("other", ["rows", "labels", "settings"])
def test_a_checkpoint_of_another_fit_is_refused(monkeypatch, tmp_path, other):
    stopped_after(monkeypatch, 1, tmp_path)
    rows = X + np.float32(other == "rows")
    labels = np.where(np.arange(len(y)) == len(y) - 1, 0, y) if other == "labels" else y
    changes = {"max_epochs": 11} if other == "settings" else {}
    with pytest.raises(ValueError, match="The checkpoint is of another fit: the data or the settings"):
        model(**changes)._fit(rows, labels, checkpoints=latest(tmp_path))
