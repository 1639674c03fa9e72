import pytest
import sklearn.manifold  # loads OpenMP, so that its threads can be limited
from pets import FIT, pets, start, write_csv
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """OpenMP's threads wait for each other actively: beside other work, 240 rows of t-SNE take 40 s instead of one."""
    with threadpool_limits(1, user_api="openmp"):
        yield sklearn.manifold


@pytest.fixture(scope="session")
def workplace(tmp_path_factory):
    """Files to read, and a run that the installed command wrote."""
    folder = tmp_path_factory.mktemp("pets")
    write_csv(folder / "pets.csv", pets(), ["truth"])
    write_csv(folder / "true-pets.csv", pets(), ["species"])
    write_csv(folder / "more.csv", pets(seed=1), ["truth", "species"])
    write_csv(folder / "more.tab", pets(seed=1), ["truth", "species"], delimiter="\t")
    write_csv(folder / "more.txt", pets(seed=1), ["truth", "species"])
    write_csv(folder / "test.csv", pets(seed=2), ["species"])
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "cut.parquet").write_bytes(b"PAR1 and not much more")
    process = start(*FIT, "--out", "run", cwd=folder)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    return folder


@pytest.fixture(autouse=True)
def kept_programs(monkeypatch):
    """Commands in this process leave JAX's settings alone; the list tells how often one would have changed them."""
    from newfound.training import steps

    calls = []
    monkeypatch.setattr(steps, "keep_compiled_programs", lambda: calls.append("kept"))
    return calls
