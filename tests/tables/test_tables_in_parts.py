"""Folders of tables, PyArrow datasets, and sources that are not held: read as one table, or as a sample of it."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from newfound._internal.words import DataError
from newfound.preprocessing.columns import ColumnStatistics, Moments
from newfound.tables.read import read_batches, read_dataset


def table(n: int = 400, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    kind = np.array(["cat", "dog", "", ""])[rng.integers(4, size=n)]
    return pa.table(
        {
            "weight": rng.normal(10, 2, n),
            "height": rng.normal(0, 1e-3, n) + 5,
            "place": np.array(["north", "south"])[rng.integers(2, size=n)],
            "kind": kind,
        }
    )


@pytest.fixture
def folder(tmp_path):
    """Four files of 100 rows each, and the notes that Spark leaves."""
    whole = table()
    for i in range(4):
        pq.write_table(
            whole.slice(100 * i, 100), tmp_path / f"part-{i}.parquet", row_group_size=40, write_page_checksum=True
        )
    (tmp_path / "_SUCCESS").write_text("")
    return tmp_path


def same(a, b):
    assert (a.X == b.X).all()
    assert (a.labels.names == b.labels.names).all()
    assert a.feature_names == b.feature_names


def test_a_folder_is_read_as_one_table(folder):
    same(read_dataset(folder, label="kind"), read_dataset(table(), label="kind"))


def test_a_pyarrow_dataset_is_read_as_one_table(folder):
    same(read_dataset(ds.dataset(folder), label="kind"), read_dataset(table(), label="kind"))


def test_a_folder_of_csv_has_the_types_of_all_its_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,kind\n" + "1,2,a\n" * 20 + "2,3,\n" * 20)
    (tmp_path / "b.csv").write_text("x,y,kind\n" + "1.5,NA,b\n" * 20 + "3,4,\n" * 20)
    dataset = read_dataset(tmp_path, label="kind")
    assert [column.feature_type for column in dataset.columns] == ["numeric", "numeric"]
    assert dataset.columns[1].n_missing == 20
    assert set(dataset.X[:, 0]) == {1, 1.5, 2, 3}


@pytest.mark.parametrize("kind", ["folder", "dataset", "csv", "npy"])
def test_a_sample_has_rows_of_the_source_and_can_read_all(folder, tmp_path, kind):
    whole = table()
    if kind == "npy":
        numbers = np.stack([whole["weight"], whole["height"]], axis=1)
        np.save(tmp_path / "x.npy", numbers)
        source, options = tmp_path / "x.npy", {"labels": whole["kind"].to_numpy(zero_copy_only=False)}
    elif kind == "csv":
        from pyarrow import csv

        csv.write_csv(whole, tmp_path / "t.csv")
        source, options = tmp_path / "t.csv", {"label": "kind"}
    else:
        source, options = folder if kind == "folder" else ds.dataset(folder), {"label": "kind"}
    held = read_dataset(whole, label="kind") if kind != "npy" else read_dataset(numbers, **options)
    sample = read_dataset(source, **options, sample_rows=150)
    assert 150 <= len(sample) <= 165
    assert (held.X[sample.row_ids] == sample.X).all()
    assert (sample.labels.names == held.labels.names[sample.row_ids]).all()
    assert sample.population.n_rows == 400
    assert sum(sample.population.label_counts.values()) == held.labels.n_labelled
    batches = list(sample.population.batches(sample.schema))
    assert (np.concatenate([batch.X for batch in batches]) == held.X).all()
    assert any("a sample of" in sentence for sentence in sample.log)
    again = read_dataset(source, **options, sample_rows=150)
    assert (again.row_ids == sample.row_ids).all()


def test_a_sample_of_all_rows_is_the_table_itself(folder):
    sample = read_dataset(folder, label="kind", sample_rows=400)
    assert sample.population is None
    same(sample, read_dataset(table(), label="kind"))


def test_statistics_of_all_rows_in_one_pass_are_those_of_all_rows_in_memory():
    """In double precision: 1e9 with unit noise keeps its noise; an outlier is left out of both."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(1e9, 1, 5_000), rng.normal(0, 1e-6, 5_000), np.full(5_000, 3.0)])
    X[17, 1] = 1e9
    sample = X[::7]
    blocks = np.array_split(X, 13)

    def of_all(of_block):
        total = of_block(blocks[0])
        for block in blocks[1:]:
            total = total + of_block(block)
        assert isinstance(total, Moments)
        return total

    streamed, held = ColumnStatistics.of(sample, of_all=of_all), ColumnStatistics.of(X)
    np.testing.assert_allclose(streamed.mean, held.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(streamed.std, held.std, rtol=1e-6)
    assert streamed.std[2] == 0


# ---- errors name the part --------------------------------------------------------------------------------------------


def test_a_file_without_a_column_is_named(folder):
    pq.write_table(table(10).drop_columns(["height"]), folder / "part-2.parquet")
    with pytest.raises(DataError, match=r"'part-2.parquet' lacks 'height', compared with 'part-0.parquet'"):
        read_dataset(folder, label="kind")


@pytest.mark.parametrize("sample_rows", [None, 100])
def test_a_file_with_another_type_is_named(folder, sample_rows):
    other = table(10).drop_columns(["height"]).append_column("height", pa.array(["tall"] * 10))
    pq.write_table(other, folder / "part-2.parquet")
    with pytest.raises(DataError, match=r"'height' holds text in 'part-2.parquet', but numbers in 'part-0.parquet'"):
        read_dataset(folder, label="kind", sample_rows=sample_rows)


def test_whole_numbers_and_fractions_are_one_type(folder):
    weight = pa.array(range(100), pa.int32())
    pq.write_table(table(100).set_column(0, "weight", weight), folder / "part-2.parquet")
    assert read_dataset(folder, label="kind").X[200, 0] == 0


@pytest.mark.parametrize("sample_rows", [None, 100])
def test_a_corrupt_file_in_the_middle_is_named(folder, sample_rows):
    path = folder / "part-2.parquet"
    content = bytearray(path.read_bytes())
    content[200:260] = b"\xff" * 60
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'part-2.parquet' is not a complete Parquet file"):
        read_dataset(folder, label="kind", sample_rows=sample_rows)


def test_an_empty_part_is_skipped(folder):
    pq.write_table(table().slice(0, 0), folder / "part-1b.parquet")
    same(read_dataset(folder, label="kind"), read_dataset(table(), label="kind"))


def test_a_file_of_no_bytes_is_named(folder):
    (folder / "part-1b.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="'part-1b.parquet' is empty"):
        read_dataset(folder, label="kind")


def test_parts_that_are_all_empty_are_refused(tmp_path):
    pq.write_table(table().slice(0, 0), tmp_path / "a.parquet")
    pq.write_table(table().slice(0, 0), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="no rows"):
        read_dataset(tmp_path, label="kind")
    with pytest.raises(DataError, match="no rows"):
        read_dataset(tmp_path, label="kind", sample_rows=100)


@pytest.mark.parametrize("sample_rows", [None, 100])
def test_no_label_in_any_part_is_refused_by_the_name_of_the_folder(folder, sample_rows):
    for path in folder.glob("*.parquet"):
        part = pq.read_table(path)
        pq.write_table(part.set_column(3, "kind", pa.array([""] * len(part))), path)
    with pytest.raises(DataError, match=f"No row of the folder '{folder.name}' has a label in column 'kind'"):
        read_dataset(folder, label="kind", sample_rows=sample_rows)


@pytest.mark.parametrize("sample_rows", [None, 100])
def test_a_dataset_names_the_file_that_it_cannot_read(folder, sample_rows):
    dataset = ds.dataset(folder, format="parquet")
    (folder / "part-2.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"part-2.parquet"):
        read_dataset(dataset, label="kind", sample_rows=sample_rows)


def test_batches_of_a_folder_do_not_cross_files(folder):
    schema = read_dataset(folder, label="kind").schema
    assert [len(batch) for batch in read_batches(folder, schema, rows=70)] == [70, 30] * 4
