"""A run of a source that is not held: fitted on a sample, every row answered, and all counts of all rows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small import blobs, quick, some_labels
from typer.testing import CliRunner

from newfound.cli.app import app
from newfound.report.page import write_report
from newfound.runs.derived import Origin, act_on
from newfound.runs.new_run import fit_run
from newfound.runs.predict import predict_file
from newfound.runs.run import open_run
from newfound.tables.read import read_dataset

N, KINDS = 3_000, np.array(["ant", "bee", ""])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Three files; of four clouds two have labels, on a third of their rows: more than a tenth of the sample."""
    folder = tmp_path_factory.mktemp("large")
    X, truth = blobs(n=N)
    order = np.random.default_rng(1).permutation(N)
    X, labels = X[order], KINDS[some_labels(truth)[order]]
    (folder / "parts").mkdir()
    for i in range(3):
        part = slice(i * 1_000, (i + 1) * 1_000)
        columns = {f"x{j}": X[part, j] for j in range(5)}
        pq.write_table(pa.table(columns | {"kind": labels[part]}), folder / "parts" / f"{i}.parquet")
    return folder, labels


@pytest.fixture(scope="module")
def run(place):
    folder, _ = place
    dataset = read_dataset(folder / "parts", label="kind", sample_rows=600)
    return fit_run(dataset, folder / "run", Origin("parts"), settings=quick(), with_audit=True, finish=write_report)


def test_every_row_of_the_source_is_answered_once_and_in_its_order(place, run):
    folder, labels = place
    answers = pq.read_table(run.folder / "all_rows.parquet")
    assert answers["row_id"].to_pylist() == list(range(N))
    assert answers["observed_label"].to_pylist() == labels.tolist()
    predict_file(run, str(folder / "parts"), folder / "again.parquet", replace=True)
    again = pq.read_table(folder / "again.parquet")
    assert answers["class"].to_pylist() == again["newfound_class"].to_pylist()


def test_what_is_told_is_of_all_rows(place, run):
    _, labels = place
    about = run.description
    assert about.n_rows == about.discovery.n_rows == N
    assert about.n_labelled == (labels != "").sum()
    assert 600 <= about.all_rows.n_sampled <= 660
    assert sum(c.n_rows for c in run.classes) == N
    assert {c.name: c.n_observed for c in run.classes if not c.is_new} == {
        name: (labels == name).sum() for name in ("ant", "bee")
    }
    answers = np.array(pq.read_table(run.folder / "all_rows.parquet")["class"].to_pylist())
    assert {c.name: c.n_rows for c in run.classes} == {c.name: (answers == c.name).sum() for c in run.classes}
    n_new = sum(c.n_rows for c in run.classes if c.is_new)
    assert f"{n_new:,} rows" in str(run.answer)
    assert abs(n_new - N / 2) < 0.03 * N
    assert run.audit.n_rows == N
    assert run.audit.n_rows_new in (0, n_new)


def test_the_rows_of_the_run_are_the_sample(run):
    rows = run.rows
    assert len(rows.row_ids) == run.description.all_rows.n_sampled == len(run.predictions["class"])
    assert rows.own.num_rows == len(rows.row_ids)


def test_acts_keep_counting_all_rows(place, run, tmp_path):
    import shutil

    shutil.copytree(run.folder, tmp_path / "run")
    copy = open_run(tmp_path / "run")
    new = [c.name for c in copy.classes if c.is_new]
    before = {c.name: c.n_rows for c in copy.classes}
    assert len(new) == 2
    act_on(copy, "merge", {"classes": new, "into": new[0]})
    act_on(open_run(tmp_path / "run"), "rename", {"names": [[new[0], "others"]]})
    after = {c.name: c.n_rows for c in open_run(tmp_path / "run").classes}
    assert after["others"] == sum(before[name] for name in new)
    assert sum(after.values()) == N


def test_info_and_report_tell_the_same(run):
    said = json.loads(CliRunner().invoke(app, ["info", str(run.folder), "--json"]).output)
    assert said["n_rows"] == N
    assert f"{N:,} rows" in (run.folder / "report.html").read_text()
    assert run.check() == []


def test_a_run_whose_files_changed_meanwhile_is_not_begun(place, tmp_path):
    """What is wrong with a part is found in the first pass, before anything is fitted, and nothing is left."""
    folder, _ = place
    for path in (folder / "parts").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "1.parquet").write_bytes(b"PAR1 and no more")
    out = tmp_path / "out" / "run"
    done = CliRunner().invoke(app, ["fit", str(tmp_path), "--label", "kind", "--out", str(out)])
    assert done.exit_code == 2
    assert "'1.parquet'" in done.output
    assert not out.parent.exists()
