"""Dask: sampled, summed over and answered where the rows lie; a cluster of processes on this machine."""

import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from small import blobs, imported_by, quick, some_labels
from threadpoolctl import threadpool_limits

pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'newfound[distributed]'")
pytest.importorskip("distributed", reason="Dask is not installed: pip install 'newfound[distributed]'")

import dask
import dask.array as da
import dask.dataframe as dd

from newfound import GMDGM, DataError

NAMES = [f"c{i}" for i in range(5)]
N = 3_000
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1"}  # else OpenMP's threads wait for each other, for minutes


def frame() -> pd.DataFrame:
    X, truth = blobs(n=N)
    order = np.random.default_rng(0).permutation(N)
    return pd.DataFrame(X[order], columns=NAMES).assign(label=some_labels(truth, share=0.1)[order])


@pytest.fixture(scope="module", autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def model():
    return GMDGM(**quick()).fit(dd.from_pandas(frame(), npartitions=5), "label", sample_rows=600)


def test_a_dask_frame_is_fitted_on_a_sample_of_all_partitions(model):
    rows = frame()
    assert model.n_new_ == 2
    assert 600 <= len(model.sample_indices_) <= 660
    assert (np.diff(model.sample_indices_) > 0).all()
    assert set(model.sample_indices_ // 600) == {0, 1, 2, 3, 4}
    given = rows["label"].to_numpy()[model.sample_indices_]
    assert (model.labels_[given >= 0] == given[given >= 0]).all()
    np.testing.assert_allclose(model.fitted_.preprocessing.centre, rows[NAMES].to_numpy(float).mean(axis=0), atol=1e-5)


def test_predictions_are_lazy_and_equal_those_of_a_frame_in_memory(model):
    rows = frame()
    parts = dd.from_pandas(rows, npartitions=7)
    lazy = model.predict(parts)
    assert isinstance(lazy, dd.Series)
    assert (lazy.compute() == model.predict(rows[NAMES])).all()
    np.testing.assert_allclose(model.predict_proba(parts).compute(), model.predict_proba(rows[NAMES]), atol=1e-6)
    beside = model.predict_frame(parts).compute()
    assert beside.columns.tolist() == model.predict_frame(rows).columns.tolist()
    assert beside.index.tolist() == rows.index.tolist()


def test_predictions_for_arrays_do_not_depend_on_their_chunks():
    rows = frame()
    X, y = rows[NAMES].to_numpy(), rows["label"].to_numpy()
    lazy = da.from_array(X, chunks=(700, 3))
    model = GMDGM(**quick()).fit(lazy, da.from_array(y, chunks=500), sample_rows=600)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert (model.predict(lazy).compute() == model.predict(X)).all()
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), model.predict_proba(X), atol=1e-6)
    assert model.transform(lazy).compute().shape == (N, 2)


def test_predictions_for_an_empty_partition_are_empty(model):
    rows = frame()
    parts = dd.concat(
        [dd.from_pandas(rows[:50]), dd.from_pandas(rows[:50]).query("c0 > 1e9"), dd.from_pandas(rows[50:])]
    )
    assert parts.map_partitions(len).compute().tolist() == [50, 0, N - 50]
    assert (model.predict(parts).compute() == model.predict(rows[NAMES])).all()
    assert len(model.predict_frame(parts).compute()) == N
    again = GMDGM(**quick()).fit(parts, "label", sample_rows=600)
    assert again.n_new_ == 2


def test_no_label_and_no_row_are_refused():
    rows = frame()
    with pytest.raises(DataError, match="No partition has a row with a label"):
        GMDGM(**quick()).fit(dd.from_pandas(rows.assign(label=-1), npartitions=3), "label")
    with pytest.raises(DataError, match="No partition of X has a row"):
        GMDGM(**quick()).fit(dd.from_pandas(rows, npartitions=3).query("c0 > 1e9"), "label")
    with pytest.raises(ValueError, match="There is no label column 'nothing'"):
        GMDGM(**quick()).fit(dd.from_pandas(rows, npartitions=3), "nothing")
    with pytest.raises(ValueError, match="partitioned like X"):
        GMDGM(**quick()).fit(dd.from_pandas(rows[NAMES], npartitions=3), rows["label"])


def test_workers_get_a_model_without_rows_and_without_jax(model, tmp_path):
    import pickle

    sent = pickle.dumps(model._for_workers())
    assert len(sent) < 100_000
    (tmp_path / "model.pickle").write_bytes(sent)
    imported = imported_by(
        "import pickle, sys, numpy as np\n"
        "model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "model._read_rows, model.fitted_.inference.component_probabilities(np.zeros((3, 5), np.float32))",
        tmp_path / "model.pickle",
    )
    assert not imported & {"jax", "sklearn", "equinox"}


# ---- a cluster -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers, processes of their own that listen on 127.0.0.1 only."""
    folder = tmp_path_factory.mktemp("cluster")
    about = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, "env": ONE_THREAD}
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = [sys.executable, "-m", "dask", "scheduler", *here, "--port", "0", "--scheduler-file", str(about)]
    processes = [subprocess.Popen(scheduler, **quiet)]
    worker = [sys.executable, "-m", "dask", "worker", "--scheduler-file", str(about), *here]
    worker += ["--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
    processes += [subprocess.Popen(worker, **quiet) for _ in range(2)]
    end = time.monotonic() + 60
    while not about.exists() and time.monotonic() < end:
        time.sleep(0.1)
    import json

    try:
        yield json.loads(about.read_text())["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A run, and a folder of Parquet files to answer."""
    from newfound.runs.derived import Origin
    from newfound.runs.new_run import fit_run
    from newfound.tables.read import read_dataset

    folder = tmp_path_factory.mktemp("work")
    (folder / "parts").mkdir()
    rows = frame().assign(
        label=lambda f: f["label"].map({0: "a", 1: "b"}).fillna(""), name=[f"row {i}" for i in range(N)]
    )
    for i in range(3):
        rows[i * 1_000 : (i + 1) * 1_000].to_parquet(folder / "parts" / f"{i}.parquet", row_group_size=300)
    dataset = read_dataset(folder / "parts", label="label", id="name", sample_rows=600)
    settings = quick()
    run = fit_run(dataset, folder / "run", Origin("parts"), settings=settings)
    return folder, run


def test_a_cluster_predicts_like_one_process_even_if_a_worker_dies(cluster, work):
    from distributed import Client

    from newfound.runs.cluster import predict_on_cluster
    from newfound.runs.predict import predict_file

    address, processes = cluster
    folder, run = work
    seen: list[int] = []

    def kill_one(n_rows: int) -> None:
        if not seen:
            processes[1].kill()
        seen.append(n_rows)

    with Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        n = predict_on_cluster(run, str(folder / "parts"), folder / "there.parquet", address, progress=kill_one)
        imported = client.run(lambda: sorted({"jax", "equinox", "sklearn"} & set(sys.modules)))
    assert n == N
    assert predict_file(run, str(folder / "parts"), folder / "here.parquet") == N
    there, here = (pq.read_table(folder / f"{name}.parquet") for name in ("there", "here"))
    assert there.drop_columns(["newfound_probability", "newfound_p_new"]).equals(
        here.drop_columns(["newfound_probability", "newfound_p_new"])
    )
    np.testing.assert_allclose(there["newfound_probability"], here["newfound_probability"], atol=1e-6)
    assert there["name"].to_pylist() == [f"row {i}" for i in range(N)]  # nothing lost, nothing twice, in order
    assert list(imported.values()) == [[]]  # one worker is left, and needed none of these


def test_workers_of_another_version_are_named(cluster, work, monkeypatch):
    from newfound.runs import cluster as on_cluster

    address, _ = cluster
    folder, run = work
    monkeypatch.setattr(on_cluster, "__version__", "9.9.9")
    with pytest.raises(DataError, match=r"The Dask worker tcp://127.0.0.1:\d+ has newfound .*, but this is .* 9.9.9"):
        on_cluster.predict_on_cluster(run, str(folder / "parts"), folder / "other.parquet", address)
    assert not (folder / "other.parquet").exists()


def test_a_corrupt_file_on_the_cluster_is_named_and_nothing_is_written(cluster, work, tmp_path):
    from newfound.runs.cluster import predict_on_cluster

    address, _ = cluster
    folder, run = work
    for path in (folder / "parts").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    bad = tmp_path / "1.parquet"
    content = bytearray(bad.read_bytes())
    content[4:400] = b"\xff" * 396
    bad.write_bytes(content)
    out = tmp_path / "out"
    with pytest.raises(DataError, match="'1.parquet' is not a complete Parquet file"):
        predict_on_cluster(run, str(tmp_path), out / "there.parquet", address)
    assert not out.exists() or not list(out.iterdir())


def test_a_scheduler_that_does_not_answer_is_reported_in_time(work):
    from newfound.runs.cluster import predict_on_cluster

    folder, run = work
    with pytest.raises(DataError, match=r"No Dask scheduler answers at 'tcp://127.0.0.1:9' within 0.5 s"):
        predict_on_cluster(run, str(folder / "parts"), folder / "none.csv", "tcp://127.0.0.1:9", timeout=0.5)
    assert not (folder / "none.csv").exists()


def test_hidden_classes_are_spread_over_a_cluster_by_joblib(cluster):
    from distributed import Client
    from joblib import parallel_config

    from newfound import audit

    X, truth = blobs()
    y = some_labels(truth, known=(0, 1))
    with threadpool_limits(1, user_api="openmp"):
        here = audit(X, y, verbose=False)
    with Client(cluster[0]), parallel_config(backend="dask"):
        there = audit(X, y, verbose=False)
    assert there == here
    assert len(there.hidden) == 2
