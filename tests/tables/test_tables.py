"""The same rows give the same Dataset in every format; and columns follow the rules."""

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather

from newfound._internal.records import converted, to_json
from newfound.labels import UNLABELLED
from newfound.tables.dataset import MISSING_CATEGORY, Schema
from newfound.tables.log import about_missing, add_counts
from newfound.tables.read import read_batches, read_dataset

SINGLES = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)


@st.composite
def tables(draw):
    """Columns of every kind, with gaps, and labels that are words or numbers."""
    n = draw(st.integers(12, 24))

    def column(cells):
        return draw(st.lists(st.none() | cells, min_size=n, max_size=n))

    return {
        "size": [0.5 * i for i in range(n)],
        "weight": column(SINGLES),
        "legs": column(st.integers(-3, 300)),
        "is tame": column(st.booleans()),
        "switch": column(st.integers(0, 1)),
        "colour": column(st.sampled_from(["red", "blue bird", "grün", 'a "b", c'])),
        "class": column(st.sampled_from(draw(st.sampled_from([["cat", "dog"], [3, 10, 20]])))),
    }


def write_delimited(columns, path, delimiter):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_all(columns, folder):
    """Every form a table can come in."""
    table = pa.table(columns)
    write_delimited(columns, folder / "t.csv", ",")
    write_delimited(columns, folder / "t.tsv", "\t")
    pq.write_table(table, folder / "t.parquet")
    feather.write_feather(table, folder / "t.feather")
    return [*(folder / f"t.{suffix}" for suffix in ("csv", "tsv", "parquet", "feather")), table.to_pandas(), table]


def assert_same(a, b):
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.labels.codes, b.labels.codes)
    np.testing.assert_array_equal(a.row_ids, b.row_ids)
    assert a.X.dtype == b.X.dtype
    assert (a.feature_names, a.columns) == (b.feature_names, b.columns)
    assert a.schema == b.schema
    assert a.fingerprint() == b.fingerprint()


@settings(max_examples=20)
@given(tables())
def test_all_forms_of_a_table_give_the_same_dataset(tmp_path_factory, columns):
    forms = write_all(columns, tmp_path_factory.mktemp("forms"))
    first, *others = [read_dataset(form, label="class") for form in forms]
    for other in others:
        assert_same(first, other)


@settings(max_examples=20)
@given(tables())
def test_reading_by_the_schema_gives_the_same_dataset_whole_and_in_blocks(tmp_path_factory, columns):
    forms = write_all(columns, tmp_path_factory.mktemp("forms"))
    first = read_dataset(forms[0], label="class")
    schema = converted(to_json(first.schema), Schema, "The schema", "")
    assert schema == first.schema
    for form in forms:
        assert_same(first, read_dataset(form, schema=schema))
    for path in forms[:4]:
        blocks = list(read_batches(path, schema, rows=5))
        assert [len(block) for block in blocks[:-1]] == [5] * (len(blocks) - 1)
        for part in (lambda d: d.X, lambda d: d.labels.codes, lambda d: d.row_ids):
            np.testing.assert_array_equal(np.concatenate([part(block) for block in blocks]), part(first))
        totals = []
        for block in blocks:
            totals = add_counts(totals, block.columns)
        assert totals == first.columns


@settings(max_examples=20)
@given(tables())
def test_a_numpy_file_gives_the_same_numbers(tmp_path_factory, columns):
    folder = tmp_path_factory.mktemp("forms")
    numeric = {name: columns[name] for name in ("size", "weight", "legs", "is tame", "switch")}
    kept = {name: cells for name, cells in numeric.items() if any(cell is not None for cell in cells)}
    table = read_dataset(pa.table(kept | {"class": columns["class"]}), label="class")
    X = np.array([[np.nan if cell is None else cell for cell in cells] for cells in kept.values()], float).T
    labels = ["" if cell is None else str(cell) for cell in columns["class"]]
    np.savez(folder / "t.npz", X=X, y=np.array(labels), feature_names=np.array(list(kept)))
    matrix = read_dataset(folder / "t.npz")
    np.testing.assert_array_equal(table.X, matrix.X)
    np.testing.assert_array_equal(table.labels.codes, matrix.labels.codes)
    assert table.schema.class_names == matrix.schema.class_names
    assert table.feature_names == matrix.feature_names
    assert [(c.positions, c.fill_value, c.n_missing) for c in table.columns] == [
        (c.positions, c.fill_value, c.n_missing) for c in matrix.columns
    ]
    assert matrix.kind == "matrix"


def rows_of(path, text):
    path.write_text(text, encoding="utf-8")
    return path


PLANTS = """id,height,leaf,evergreen,nothing,note,species
p1,1.5,broad,true,,x,oak
p2,,needle,false,,y,
p3,2.5,,true,,z,pine
p4,3.5,broad,,,w,oak
p5,9.5,needle,true,,v,
"""


@pytest.fixture
def plants(tmp_path):
    return read_dataset(rows_of(tmp_path / "plants.csv", PLANTS), label="species", id="id", ignore=["note"])


def test_each_type_of_column_by_its_rule(plants):
    assert plants.feature_names == ["height", "leaf=broad", "leaf=needle", f"leaf={MISSING_CATEGORY}", "evergreen"]
    assert [column.feature_type for column in plants.columns] == ["numeric", "categorical", "binary"]
    np.testing.assert_array_equal(
        plants.X,
        np.array([[1.5, 1, 0, 0, 1], [3, 0, 1, 0, 0], [2.5, 0, 0, 1, 1], [3.5, 1, 0, 0, 1], [9.5, 0, 1, 0, 1]]),
    )
    assert plants.columns[0].fill_value == 3.0  # the median
    assert [column.n_missing for column in plants.columns] == [1, 1, 1]


def test_empty_labels_are_unlabelled_and_rows_keep_their_ids(plants):
    assert plants.labels.classes.tolist() == ["oak", "pine"]
    assert plants.labels.codes.tolist() == [0, UNLABELLED, 1, 0, UNLABELLED]
    assert plants.labels.names.tolist() == ["oak", "", "pine", "oak", ""]
    assert plants.labels.n_labelled == 3
    assert plants.row_ids.tolist() == ["p1", "p2", "p3", "p4", "p5"]


def test_the_preprocessing_log_is_sentences_with_counts(plants):
    assert plants.log == [
        "Read 5 rows and 7 columns from 'plants.csv'.",
        "3 labelled rows with 2 classes ('oak' and 'pine') from column 'species'; 2 unlabelled rows.",
        "1 numeric column: 'height'.",
        "1 binary column (only 0 and 1): 'evergreen'.",
        "1 categorical column, one feature for each category: 'leaf' (3).",
        "1 cell was missing and filled with the column's median: 'height' (1).",
        "1 cell was missing and filled with the column's most frequent value: 'evergreen' (1).",
        "1 cell was missing and read as the category '(missing)': 'leaf' (1).",
        "In all, 5 features.",
        "Dropped as requested: 'note'.",
        "Dropped because all cells are missing: 'nothing'.",
    ]


def test_ids_that_repeat_are_counted(tmp_path):
    dataset = read_dataset(rows_of(tmp_path / "t.csv", "i,x\n7,1.5\n7,2\n8,3\n"), id="i")
    assert dataset.log[-1] == "1 id in 'i' repeated an earlier one."


def test_a_single_name_may_be_given_without_a_list(tmp_path):
    dataset = read_dataset(rows_of(tmp_path / "t.csv", "x,note,y\n1,2,3\n"), ignore="note")
    assert dataset.feature_names == ["x", "y"]


def test_taken_rows_keep_their_labels_ids_and_groups(plants):
    part = plants.take(np.array([3, 0]))
    assert part.row_ids.tolist() == ["p4", "p1"]
    assert part.labels.names.tolist() == ["oak", "oak"]
    assert part.schema == plants.schema


def test_another_file_is_read_by_the_same_schema(plants, tmp_path):
    text = "species,evergreen,leaf,height,extra\nfern,2,scale,,1\noak,1,,7,1\n"
    other = read_dataset(rows_of(tmp_path / "more.csv", text), schema=plants.schema)
    assert other.labels.classes.tolist() == ["oak", "pine", "fern"]
    assert other.labels.codes.tolist() == [2, 0]
    np.testing.assert_array_equal(other.X, [[3, 0, 0, 0, 1], [7, 0, 0, 1, 1]])
    assert [column.n_unknown for column in other.columns] == [0, 1, 1]
    assert about_missing(other.columns) == [
        "1 cell was missing and filled with the column's median: 'height' (1).",
        "1 cell was neither 0 nor 1 and filled with the column's most frequent value: 'evergreen' (1).",
        "1 cell was missing and read as the category '(missing)': 'leaf' (1).",
        "1 cell was of an unknown category and given none of the column's categories: 'leaf' (1).",
    ]
    assert "Not used, because the model was fitted without: 'extra'." in other.log


def test_a_file_to_predict_needs_no_label(plants, tmp_path):
    other = read_dataset(rows_of(tmp_path / "more.csv", "height,leaf,evergreen\n1,broad,0\n"), schema=plants.schema)
    assert other.labels.codes.tolist() == [UNLABELLED]
    assert other.schema.class_names == plants.schema.class_names
    assert other.row_ids.tolist() == [0]


def test_classes_that_first_appear_late_have_one_code_in_all_blocks(tmp_path):
    first = read_dataset(rows_of(tmp_path / "a.csv", "x,y\n1,a\n2,b\n3,a\n"), label="y")
    late = rows_of(tmp_path / "b.csv", "x,y\n1,z\n2,a\n3,q\n4,z\n5,q\n6,b\n")
    blocks = list(read_batches(late, first.schema, rows=2))
    assert [block.labels.names.tolist() for block in blocks] == [["z", "a"], ["q", "z"], ["q", "b"]]
    assert np.concatenate([block.labels.codes for block in blocks]).tolist() == [2, 0, 3, 2, 3, 1]


def test_minus_one_and_the_usual_marks_are_no_labels(tmp_path):
    path = rows_of(tmp_path / "t.csv", "x,y\n1,10\n2,-1\n3,NA\n4,?\n5,9\n6, \n")
    dataset = read_dataset(path, label="y")
    assert dataset.labels.classes.tolist() == ["9", "10"]  # in the order of numbers
    assert dataset.labels.names.tolist() == ["10", "", "", "", "9", ""]
    assert any(sentence.startswith("1 label is -1, which means unlabelled") for sentence in dataset.log)


def test_numbers_can_be_declared_categories(tmp_path):
    path = rows_of(tmp_path / "t.csv", "x,zone\n" + "".join(f"{i},{i % 3}\n" for i in range(9)))
    assert read_dataset(path).feature_names == ["x", "zone"]
    assert read_dataset(path, categorical=["zone"]).feature_names == ["x", "zone=0", "zone=1", "zone=2"]


def test_pandas_categories_are_categories_even_of_numbers(tmp_path):
    frame = pd.DataFrame(
        {"x": [1.0, 2, 3, 4], "zone": pd.Categorical(["1", "2", "1", "2"])}, index=["a", "b", "c", "d"]
    )
    dataset = read_dataset(frame)
    assert dataset.feature_names == ["x", "zone=1", "zone=2"]
    assert dataset.row_ids.tolist() == ["a", "b", "c", "d"]  # the frame's own index
    frame.to_parquet(tmp_path / "t.parquet")
    stored = read_dataset(tmp_path / "t.parquet")
    np.testing.assert_array_equal(stored.X, dataset.X)
    assert "Dropped because they are the index that pandas stored: '__index_level_0__'." in stored.log


def test_infinite_numbers_count_as_missing(tmp_path):
    dataset = read_dataset(rows_of(tmp_path / "t.csv", "x,z\n1,5\ninf,6\n3,1e300\n"))
    np.testing.assert_array_equal(dataset.X, np.array([[1, 5], [2, 6], [3, 5.5]], np.float32))
    assert [column.n_missing for column in dataset.columns] == [1, 1]


def test_a_column_that_counts_the_rows_is_dropped_unless_it_is_declared_numeric(tmp_path):
    path = rows_of(tmp_path / "t.csv", "n,x\n" + "".join(f"{i},{i % 7}\n" for i in range(40)))
    assert read_dataset(path).feature_names == ["x"]
    assert read_dataset(path, numeric=["n"]).feature_names == ["n", "x"]


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_csv_may_have_other_separators(tmp_path, delimiter):
    text = "x,z,y\n1,2.5,a\n2,3.5,b\n".replace(",", delimiter)
    dataset = read_dataset(rows_of(tmp_path / "t.csv", text), label="y")
    assert dataset.X.tolist() == [[1, 2.5], [2, 3.5]]


def test_csv_may_be_gzipped_have_a_byte_order_mark_and_spaces(tmp_path):
    import gzip

    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("\ufeff\nx, z ,y\r\n1, 2,  a b \r\n2,3,a b\r\n\r\n".encode()))
    dataset = read_dataset(path, label="y")
    assert (dataset.feature_names, dataset.schema.class_names) == (["x", "z"], ("a b",))
    assert next(read_batches(path, dataset.schema)).X.tolist() == [[1, 2], [2, 3]]


def test_increasing_numbers_may_be_column_names(tmp_path):
    pd.DataFrame(np.eye(3) * 2).to_csv(tmp_path / "t.csv", index=False)
    assert read_dataset(tmp_path / "t.csv").feature_names == ["0", "1", "2"]


def test_a_large_file_is_read_in_blocks_of_limited_size(tmp_path):
    rng = np.random.default_rng(0)
    n, path = 500_000, tmp_path / "large.csv"
    columns = {f"x{i}": rng.normal(size=n).round(3) for i in range(10)}
    arrow_csv.write_csv(pa.table(columns), path)
    schema = read_dataset(pa.table({name: cells[:100] for name, cells in columns.items()})).schema
    sizes, allocated = [], []
    for block in read_batches(path, schema, rows=4096):
        sizes.append(len(block))
        allocated.append(pa.total_allocated_bytes())
    assert sum(sizes) == n
    assert set(sizes[:-1]) == {4096}
    half = len(sizes) // 2
    assert max(allocated[half:]) < 1.5 * max(allocated[:half])  # it does not grow with what has been read


@pytest.mark.slow
def test_a_row_of_a_wide_table_fits_its_block(tmp_path):
    names = [f"a rather long name for one of very many columns: number {i}" for i in range(10_000)]
    row = ",".join("1.25" + "0" * 120 for _ in names)  # more than one of the usual blocks
    path = rows_of(tmp_path / "wide.csv", ",".join(names) + "\n" + f"{row}\n{row}\n")
    assert read_dataset(path).X.shape == (2, 10_000)


def test_importing_the_package_imports_nothing_heavy():
    import subprocess
    import sys

    heavy = ("pyarrow", "PIL", "sklearn", "jax")
    code = f"import newfound.tables.read, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_a_csv_by_its_schema_imports_only_what_it_needs(tmp_path):
    import subprocess
    import sys

    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2.5\n3,4.5\n")
    code = (
        "import sys\n"
        "from newfound.tables.dataset import Column, Schema\n"
        "from newfound.tables.read import read_batches, read_dataset\n"
        "columns = tuple(Column(name, 'numeric', (i,), fill_value=0.0) for i, name in enumerate('ab'))\n"
        "schema = Schema('table', columns, ())\n"
        "assert len(read_dataset(sys.argv[1], schema=schema)) == sum(map(len, read_batches(sys.argv[1], schema)))\n"
        "print(*(name.rpartition('.')[2] for name in sys.modules if name.startswith('newfound.tables.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"cells", "dataset", "encode", "formats", "limits", "log", "read", "sources"}
