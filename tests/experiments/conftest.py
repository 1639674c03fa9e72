import pytest
from published import write_sets
from tiny import TINY

from experiments import queue, targets


@pytest.fixture(scope="session")
def sets(tmp_path_factory):
    """A folder with small data sets that are read as MNIST, Fashion-MNIST and HAR are."""
    folder = tmp_path_factory.mktemp("sets")
    write_sets(folder)
    return folder


@pytest.fixture
def data(sets, monkeypatch):
    """The small data sets stand for the real ones."""
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))


@pytest.fixture(scope="session")
def done(sets, tmp_path_factory):
    """A folder in which one tiny experiment of each model is done."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWFOUND_DATA", str(sets))
        for target, choice in (
            ("table-1", targets.Choice(("mnist",), ("ssvae",), ("accidental",))),
            ("table-2", targets.Choice(("har",), ("gmdgm",), ("semi-unsupervised",))),
            ("table-2", targets.Choice(("har",), ("k-means",), ("unsupervised",))),
        ):
            experiments = targets.experiments_of([target], "quick", 1, choice)
            assert len(experiments) == 1
            queue.compute(experiments, folder, TINY, 1, lambda *_: None)
    return folder
