"""Every bad file: one clear message with the problem, its place and the remedy."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from refused import check_refused

from newfound._internal.words import DataError
from newfound.tables.read import read_batches, read_dataset

ROWS = "a,b,species\n" + "".join(f"{i}.5,{i},{'xy'[i % 2]}\n" for i in range(20))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.feather"])
def test_an_empty_file(write, name):
    check_refused(write("", name), rf"'{name}' is empty. Give a file with a header and at least one row", label="y")


def test_a_file_of_blank_lines(write):
    check_refused(write("\n\n \n"), "'t.csv' is empty")


def test_an_empty_numpy_file(write):
    check_refused(write("", "t.npy"), "'t.npy' is not a complete NumPy file")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_header_and_no_rows(write, name):
    content = b"a,b\n"
    check_refused(write(gzip.compress(content) if name.endswith("gz") else content, name), "has a header but no rows")


def test_one_column_only(write):
    check_refused(write("a b species\n1 2 x\n"), r"has only one column, 'a b species'. .* save it again with commas")


def test_only_the_label(write):
    message = "has no features: no column is left .* Dropped because all cells are missing: 'empty'"
    check_refused(write("empty,species\n,x\n,y\n"), message, label="species")


def test_no_header(write):
    check_refused(
        write("5.1,3.5,setosa\n4.9,3.0,setosa\n"),
        r"seems to have no header: its first row is '5.1', '3.5' and 'setosa'. Add a first line with the names",
        label="species",
    )


def test_no_header_above_whole_numbers(write):
    check_refused(write("3,1,2\n4,5,6\n"), "seems to have no header")


def test_duplicate_names(write):
    check_refused(write("a,b,a\n1,2,3\n"), "more than one column named 'a'. Give each a different name")


def test_duplicate_names_in_a_frame():
    frame = pd.DataFrame(np.eye(2), columns=["a", "a"])
    check_refused(frame, "The data frame has more than one column named 'a'")


def test_more_than_one_blank_name(write):
    check_refused(write(",a,column 1\n0,1,2\n"), "more than one column named 'column 1'")


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("specie", "Did you mean 'species'"),
        ("Species", "Did you mean 'species'"),
        ("zzz", "It has 'a', 'b' and 'species'"),
    ],
)
def test_a_label_column_that_does_not_exist(write, label, hint):
    check_refused(write(ROWS), rf"no label column '{label}' in 't.csv'. {hint}", label=label)


@pytest.mark.parametrize("options", [{"id": "q"}, {"ignore": ["q"]}, {"categorical": ["q"]}])
def test_other_columns_that_do_not_exist(write, options):
    check_refused(write(ROWS), "There is no .*column.* 'q' in 't.csv'", **options)


def test_a_column_named_twice(write):
    check_refused(write(ROWS), "'a' is named twice. Name it once", label="a", ignore=["a"])


@pytest.mark.parametrize(("bad", "n"), [("1.5,2\n", 2), ("1.5,2,x,4\n", 4)])
def test_a_ragged_row(write, bad, n):
    check_refused(
        write(ROWS + bad), rf"Row 21 of the data has {n} cells, but the header has 3: .*double quotes", label="species"
    )


def test_a_ragged_row_in_blocks(write):
    schema = read_dataset(write(ROWS), label="species").schema
    with pytest.raises(DataError, match="Row 21 of the data has 2 cells"):
        list(read_batches(write(ROWS + "1.5,2\n"), schema))


@pytest.mark.parametrize("where", ["header", "cell"])
def test_a_wrong_encoding(write, where):
    text = ROWS.replace("species", "espèce") if where == "header" else ROWS + "1.5,2,é\n"
    n = 1 if where == "header" else 22
    check_refused(
        write(text.encode("latin-1")),
        rf"'t.csv' is not UTF-8 text: line {n} holds the byte 0xe[89] .*Save the file again as UTF-8",
    )


def test_sixteen_bits_for_a_letter(write):
    check_refused(write(ROWS.encode("utf-16")), "is not UTF-8 text: line 1 holds the byte 0xff")


def test_a_word_among_numbers(write):
    message = (
        r"Column 'b' holds numbers, but row 8 of the data has 'seven'. Correct or empty that cell, or name .*`ignore`"
    )
    bad = ROWS.replace("7.5,7,", "7.5,seven,")
    schema = read_dataset(write(ROWS), label="species").schema
    check_refused(write(bad), message, schema=schema)
    with pytest.raises(DataError, match=message):
        list(read_batches(write(bad), schema, rows=3))


def test_a_word_among_numbers_of_a_typed_file(tmp_path):
    schema = read_dataset(pa.table({"a": [1.5, 2.5], "b": [1, 2]})).schema
    pq.write_table(pa.table({"a": [1.5] * 6, "b": ["1", "2", "3", "4", "five", "6"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="Column 'b' holds numbers, but row 5 of the data has 'five'"):
        list(read_batches(tmp_path / "t.parquet", schema, rows=2))


def test_a_table_of_text_only(write):
    text = "x,name\n" + "".join(f"long story {i},person {i}\n" for i in range(200))
    check_refused(write(text), "has no features: .* Dropped as free text: 'x'. To use it, make embeddings")


def test_a_numeric_column_without_numbers(write):
    check_refused(write(ROWS), "'species' is named in `numeric`, but none of its cells is a number", numeric="species")


def test_a_cell_that_is_not_a_date(write):
    schema = read_dataset(write("x,day\n1,2024-01-05\n2,2024-01-06\n")).schema
    message = r"Column 'day' holds dates or times \(year first\), but row 2 of the data has 'soon'. Correct or empty"
    check_refused(write("x,day\n1,2024-01-05\n2,soon\n"), message, schema=schema)


def test_lists_of_another_length(tmp_path):
    schema = read_dataset(pa.table({"x": [1.0, 3.0], "v": [[1.0, 2.0], [3.0, 4.0]]})).schema
    message = "Column 'v' holds lists of 2 numbers, but row 2 of the data has 3. Give a list of that length"
    check_refused(pa.table({"x": [1.0, 3.0], "v": [[1.0, 2.0], [3.0, 4.0, 5.0]]}), message, schema=schema)
    check_refused(pa.table({"x": [1.0], "v": [1.0]}), "fitted on lists of 2 numbers. Give such lists", schema=schema)


def test_features_that_do_not_fit(write, tmp_path):
    np.save(tmp_path / "v.npy", np.eye(19))
    message = "`features` holds 19 rows, but 't.csv' has 20. Give one row of numbers for each row of the table"
    check_refused(write(ROWS), message, features=tmp_path / "v.npy")
    check_refused(write(ROWS), "`features` must be a matrix with a row of numbers", features=np.zeros(20))


def test_labels_that_are_measurements(write):
    check_refused(write(ROWS), r"labels in 'a' are numbers with fractions, such as 0.5, .*cut these numbers", label="a")


def test_missing_columns_of_the_fit(write):
    schema = read_dataset(write(ROWS), label="species").schema
    check_refused(
        write("a,c\n1,2\n"), "lacks 1 of the 2 columns the model was fitted on: 'b'. It has 'a' and 'c'", schema=schema
    )


def test_a_table_for_a_model_of_images(write):
    schema = read_dataset(np.zeros((2, 3, 3), np.uint8)).schema
    check_refused(write(ROWS), "fitted on images, but 't.csv' is a table", schema=schema)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_file_cut_short(tmp_path, name, share):
    table = pa.table({"a": np.random.default_rng(0).normal(size=1000), "b": np.arange(1000)})
    (pq.write_table if name == "t.parquet" else feather.write_feather)(table, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(share * len(content))])
    check_refused(
        tmp_path / name,
        rf"'{name}' is not a complete (Parquet|Feather) file: .*Copy or download it again",
    )


def test_a_damaged_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.random.default_rng(0).normal(size=5000), "b": np.arange(5000)}), path)
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    check_refused(path, "'t.parquet' is not a complete Parquet file")


def test_a_gzip_cut_short(write):
    check_refused(write(gzip.compress(ROWS.encode())[:40], "t.csv.gz"), "'t.csv.gz' cannot be read")
    rng = np.random.default_rng(0)
    rows = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.normal(size=(20_000, 2)))
    content = gzip.compress(rows.encode())
    schema = read_dataset(write(content, "t.csv.gz")).schema
    damaged = content[:100_000] + bytes(200) + content[100_200:]
    for bad in (content[:-5000], damaged):
        path = write(bad, "t.csv.gz")
        check_refused(path, "'t.csv.gz' cannot be read as a table .*Copy it again|Row .* of the data has")
        with pytest.raises(
            DataError, match="'t.csv.gz' cannot be read as a table|Row .* of the data has|holds numbers"
        ):
            list(read_batches(path, schema))


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    check_refused(tmp_path / "t.npy", "holds Python objects or is not a NumPy file, and newfound does not unpickle")
    np.savez(tmp_path / "t.npz", X=np.array([[None]]), y=np.array([1]))
    check_refused(tmp_path / "t.npz", "newfound does not unpickle")


def test_an_npz_cut_short(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(30))
    content = (tmp_path / "t.npz").read_bytes()
    (tmp_path / "t.npz").write_bytes(content[:-100])
    check_refused(tmp_path / "t.npz", r"'t.npz' is not a complete NumPy file .*write it again with np.save or np.savez")


def test_an_npz_without_x(tmp_path):
    np.savez(tmp_path / "t.npz", x_train=np.eye(3))
    check_refused(tmp_path / "t.npz", r"has no array named 'X'. It has 'x_train'. Write it with np.savez")


def test_an_unknown_suffix(write):
    check_refused(
        write("x", "t.xlsx"),
        r"'t.xlsx' has no format that newfound reads. It reads .csv, .*save the sheet as CSV",
    )


@pytest.mark.parametrize("source", ["nowhere.csv", "nowhere.npz", "nowhere", "minst"])
def test_a_name_that_does_not_exist(source):
    check_refused(
        source,
        f"There is no file or folder named '{source}'. Check the path. .\"digits\" is the one data set that newfound",
    )


def test_labels_beside_a_table(write):
    check_refused(write(ROWS), "a table has its labels in a column. Name that column in `label`", labels=[1])


def test_a_frame_with_mixed_values():
    frame = pd.DataFrame({"a": [1, "x", None, {}], "b": [1, 2, 3, 4]})
    check_refused(frame, r"The data frame cannot be read \(.*column a.*\). Give each column values of one type")
    assert read_dataset(frame, ignore=["a"]).feature_names == ["b"]
