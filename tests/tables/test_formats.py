"""Every table format in the registry: the same columns come back whole and in batches."""

import csv
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from newfound._internal.words import DataError
from newfound.tables.formats import FORMATS, ColumnSelection, streams
from newfound.tables.read import read_batches, read_dataset

SUFFIXES = list(FORMATS)
COLUMNS = {" size ": [1.5, None, 3.0], "name": ["a, b", "ü", None], "count": [3, 4, 5], "species": ["cat", None, "dog"]}


def write_csv(columns, path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=FORMATS["".join(path.suffixes)].delimiter or ",")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


WRITERS = {
    "CSV": write_csv,
    "Parquet": lambda columns, path: pq.write_table(pa.table(columns), path),
    "Feather": lambda columns, path: feather.write_feather(pa.table(columns), path, chunksize=10_000),
}


def write(columns, path):
    WRITERS[FORMATS["".join(path.suffixes)].name](columns, path)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_round_trip_through_every_format(tmp_path, suffix):
    path, table_format = write(COLUMNS, tmp_path / f"t{suffix}"), FORMATS[suffix]
    assert table_format.column_names(path) == list(COLUMNS)  # as they are written
    selection = ColumnSelection(["species", "size"], text={"species"}, numbers={"size"})
    whole = table_format.read(path, selection)
    batches = pa.Table.from_batches(table_format.batches(path, selection, 2))
    for table in (whole, batches):
        assert table.to_pydict() == {"species": ["cat", None, "dog"], " size ": [1.5, None, 3.0]}


def test_a_row_group_as_large_as_the_file_is_read_a_few_pages_at_a_time(tmp_path):
    columns, path = {f"x{i}": np.random.default_rng(i).random(200_000) for i in range(20)}, tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path, data_page_size=2**16, use_dictionary=False)
    assert pq.read_metadata(path).num_row_groups == 1
    before, most = pa.total_allocated_bytes(), 0
    for _ in FORMATS[".parquet"].batches(path, ColumnSelection(list(columns)), 10_000):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size / 2


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_dataset_from_every_format(tmp_path, suffix):
    path = write(COLUMNS, tmp_path / f"t{suffix}")
    dataset = read_dataset(path, label="species", ignore=["name"])
    assert dataset.X.tolist() == [[1.5, 3], [2.25, 4], [3, 5]]
    assert dataset.feature_names == ["size", "count"]
    assert dataset.labels.names.tolist() == ["cat", "", "dog"]
    blocks = list(read_batches(path, dataset.schema, rows=2))
    assert [block.X.tolist() for block in blocks] == [[[1.5, 3], [2.25, 4]], [[3, 5]]]
    assert [block.labels.codes.tolist() for block in blocks] == [[0, -1], [1]]


@pytest.mark.parametrize("suffix", [s for s in SUFFIXES if not s.endswith(".gz")])  # Arrow tells gzip by lower case
def test_upper_case_suffixes(tmp_path, suffix):
    path = write(COLUMNS, tmp_path / f"t{suffix}")
    assert len(read_dataset(path.rename(tmp_path / f"T{suffix.upper()}"), label="species", ignore=["name"])) == 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_format_that_streams_gives_a_large_file_in_parts(tmp_path, suffix):
    assert streams(f"t{suffix}") == FORMATS[suffix].streams
    n = 100_000
    path = write({"a": np.arange(n) / 7, "b": np.arange(n)}, tmp_path / f"t{suffix}")
    first = next(FORMATS[suffix].batches(path, ColumnSelection(["a", "b"]), 1000))
    assert (0 < first.num_rows < n / 2) == FORMATS[suffix].streams


@pytest.mark.parametrize("name", ["t.csv", "t.tab", "t.pq", "t.PARQUET", "some.folder/t.csv.gz", "2024.01.t.tsv"])
def test_files_that_stream(name):
    assert streams(name)


@pytest.mark.parametrize(
    "name", ["t.txt", "t.gz", "t.npz", "t.npy", "t-images-idx3-ubyte.gz", "mnist", "mnist:test", "t"]
)
def test_other_files_do_not_stream(name):
    assert not streams(name)


def test_a_folder_does_not_stream(tmp_path):
    (tmp_path / "images.csv").mkdir()
    assert not streams(tmp_path / "images.csv")


def test_batches_need_a_table_file(tmp_path):
    schema = read_dataset(np.eye(3)).schema
    (tmp_path / "t.txt").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"'t.txt' is not a table file. Give a file that ends in .csv, "):
        next(read_batches(tmp_path / "t.txt", schema))
    with pytest.raises(DataError, match=r"There is no file '.*none.csv'. Check the path"):
        next(read_batches(tmp_path / "none.csv", schema))


@pytest.mark.parametrize("suffix", [".tsv", ".tab"])
def test_suffixes_that_mean_tabs(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_text("a,b,c,d\tx\n1\t2\n")  # more commas than tabs
    assert read_dataset(path).feature_names == ["a,b,c,d", "x"]


def test_a_new_format_is_one_registry_line(tmp_path, monkeypatch):
    from newfound.tables.formats import TableFormat

    class OneRow(TableFormat):
        name, streams = "one row", False

        def column_names(self, path):
            return path.read_text().split()

        def read(self, path, selection):
            return pa.table({name: [i] for i, name in enumerate(self.column_names(path))}).select(selection.names)

        def batches(self, path, selection, rows):
            yield from self.read(path, selection).to_batches()

    monkeypatch.setitem(FORMATS, ".row", OneRow())
    path = tmp_path / "t.row"
    path.write_text("a b c")
    dataset = read_dataset(path, label="b")
    assert (dataset.X.tolist(), dataset.labels.names.tolist()) == ([[0, 2]], ["1"])
    assert not streams(path)
    assert next(read_batches(path, dataset.schema)).X.tolist() == [[0, 2]]
