"""Every bad file: one clear message that says what is wrong, where, and what to do."""

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from published import har_zip, idx
from pyarrow import feather

from newfound.data import DataError, read_batches, read_dataset
from newfound.data.har import read_har
from newfound.data.idx import read_idx

ROWS = "a,b,species\n" + "".join(f"{i}.5,{i},{'xy'[i % 2]}\n" for i in range(20))


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def refused(source, message, **options):
    with pytest.raises(DataError, match=message) as caught:
        read_dataset(source, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.feather"])
def test_an_empty_file(write, name):
    refused(write("", name), rf"'{name}' is empty. Give a file with a header and at least one row", label="y")


def test_a_file_of_blank_lines(write):
    refused(write("\n\n \n"), "'t.csv' is empty")


def test_an_empty_numpy_file(write):
    refused(write("", "t.npy"), "'t.npy' is not a whole NumPy file")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_header_and_no_rows(write, name):
    content = b"a,b\n"
    refused(write(gzip.compress(content) if name.endswith("gz") else content, name), "has a header but no rows")


def test_one_column_only(write):
    refused(write("a b species\n1 2 x\n"), r"has one column only, 'a b species'. .* save it again with commas")


def test_only_the_label(write):
    refused(write("empty,species\n,x\n,y\n"), "no column to learn from", label="species")


def test_no_header(write):
    refused(
        write("5.1,3.5,setosa\n4.9,3.0,setosa\n"),
        r"seems to have no header: its first row is '5.1', '3.5' and 'setosa'. Put a line with the names of the 3",
        label="species",
    )


def test_no_header_above_whole_numbers(write):
    refused(write("3,1,2\n4,5,6\n"), "seems to have no header")


def test_duplicate_names(write):
    refused(write("a,b,a\n1,2,3\n"), "more than one column named 'a'. Give every column a name of its own")


def test_duplicate_names_in_a_frame():
    frame = pd.DataFrame(np.eye(2), columns=["a", "a"])
    refused(frame, "The data frame has more than one column named 'a'")


def test_blank_names(write):
    message = r"Column 1 of 't.csv' has no name \(1 such column\). .* write the file again with index=False"
    refused(write(",a,b\n0,1,2\n"), message)


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("specie", "Did you mean 'species'"),
        ("Species", "Did you mean 'species'"),
        ("zzz", "It has 'a', 'b' and 'species'"),
    ],
)
def test_a_label_column_that_is_not_there(write, label, hint):
    refused(write(ROWS), rf"no label column '{label}' in 't.csv'. {hint}", label=label)


@pytest.mark.parametrize("options", [{"id": "q"}, {"ignore": ["q"]}, {"categorical": ["q"]}])
def test_other_columns_that_are_not_there(write, options):
    refused(write(ROWS), "There is no .*column.* 'q' in 't.csv'", **options)


def test_a_column_asked_for_twice(write):
    refused(write(ROWS), "'a' is asked for in two ways", label="a", ignore=["a"])


@pytest.mark.parametrize(("bad", "n"), [("1.5,2\n", 2), ("1.5,2,x,4\n", 4)])
def test_a_ragged_row(write, bad, n):
    refused(
        write(ROWS + bad), rf"Row 21 of the data has {n} cells where the header has 3: .*double quotes", label="species"
    )


def test_a_ragged_row_in_blocks(write):
    layout = read_dataset(write(ROWS), label="species").layout
    with pytest.raises(DataError, match="Row 21 of the data has 2 cells"):
        list(read_batches(write(ROWS + "1.5,2\n"), layout))


@pytest.mark.parametrize("where", ["header", "cell"])
def test_a_wrong_encoding(write, where):
    text = ROWS.replace("species", "espèce") if where == "header" else ROWS + "1.5,2,é\n"
    n = 1 if where == "header" else 22
    refused(
        write(text.encode("latin-1")),
        rf"'t.csv' is not text in UTF-8: line {n} holds the byte 0xe[89] .*Save the file again as UTF-8",
    )


def test_sixteen_bits_for_a_letter(write):
    refused(write(ROWS.encode("utf-16")), "is not text in UTF-8: line 1 holds the byte 0xff")


def test_a_word_among_numbers(write):
    message = (
        r"Column 'b' holds numbers, but row 8 of the data has 'seven'. Correct or empty that cell, or name .*`ignore`"
    )
    bad = ROWS.replace("7.5,7,", "7.5,seven,")
    refused(write(bad), message, label="species")
    layout = read_dataset(write(ROWS), label="species").layout
    refused(write(bad), message, layout=layout)
    with pytest.raises(DataError, match=message):
        list(read_batches(write(bad), layout, rows=3))


def test_a_word_among_numbers_of_a_typed_file(tmp_path):
    layout = read_dataset(pa.table({"a": [1.5, 2.5], "b": [1, 2]})).layout
    pq.write_table(pa.table({"a": [1.5] * 6, "b": ["1", "2", "3", "4", "five", "6"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="Column 'b' holds numbers, but row 5 of the data has 'five'"):
        list(read_batches(tmp_path / "t.parquet", layout, rows=2))


def test_text_with_too_many_values(write):
    text = "x,name\n" + "".join(f"{i}.5,person {i}\n" for i in range(200))
    refused(write(text), r"Column 'name' is text with 200 different values in 200 rows, .*Name it in `ignore`")


def test_dates(write):
    refused(write("x,day\n1,2024-01-05\n2,2024-01-06\n"), r"Column 'day' holds dates or times, .*Name it in `ignore`")


def test_lists_in_cells(tmp_path):
    pq.write_table(pa.table({"x": [1.0], "v": [[1.0, 2.0]]}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "Column 'v' holds values of type list")


def test_labels_that_are_measurements(write):
    refused(write(ROWS), r"labels in 'a' are numbers with fractions, such as 0.5, .*cut these numbers", label="a")


def test_columns_the_model_was_fitted_on_are_lacking(write):
    layout = read_dataset(write(ROWS), label="species").layout
    refused(
        write("a,c\n1,2\n"), "lacks 1 of the 2 columns the model was fitted on: 'b'. It has 'a' and 'c'", layout=layout
    )


def test_a_table_for_a_model_of_images(write):
    layout = read_dataset(np.zeros((2, 3, 3), np.uint8)).layout
    refused(write(ROWS), "fitted on images, and 't.csv' is a table", layout=layout)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_file_cut_short(tmp_path, name, share):
    table = pa.table({"a": np.random.default_rng(0).normal(size=1000), "b": np.arange(1000)})
    (pq.write_table if name == "t.parquet" else feather.write_feather)(table, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(share * len(content))])
    refused(
        tmp_path / name, rf"'{name}' is not a whole (Parquet|Feather) file: it is cut short.*Copy or download it again"
    )


def test_a_damaged_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.random.default_rng(0).normal(size=5000), "b": np.arange(5000)}), path)
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    refused(path, "'t.parquet' is not a whole Parquet file")


def test_a_gzip_cut_short(write):
    refused(write(gzip.compress(ROWS.encode())[:40], "t.csv.gz"), "'t.csv.gz' cannot be read")
    rng = np.random.default_rng(0)
    rows = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.normal(size=(20_000, 2)))
    content = gzip.compress(rows.encode())
    layout = read_dataset(write(content, "t.csv.gz")).layout
    damaged = content[:100_000] + bytes(200) + content[100_200:]
    for bad in (content[:-5000], damaged):
        path = write(bad, "t.csv.gz")
        refused(path, "'t.csv.gz' cannot be read as a table .*Copy it again|Row .* of the data has")
        with pytest.raises(
            DataError, match="'t.csv.gz' cannot be read as a table|Row .* of the data has|holds numbers"
        ):
            list(read_batches(path, layout))


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refused(tmp_path / "t.npy", "holds Python objects or is no NumPy file, and newfound unpickles nothing")
    np.savez(tmp_path / "t.npz", X=np.array([[None]]), y=np.array([1]))
    refused(tmp_path / "t.npz", "newfound unpickles nothing")


def test_an_npz_cut_short(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(30))
    content = (tmp_path / "t.npz").read_bytes()
    (tmp_path / "t.npz").write_bytes(content[:-100])
    refused(tmp_path / "t.npz", r"'t.npz' is not a whole NumPy file .*write it anew with np.save or np.savez")


def test_an_npz_without_x(tmp_path):
    np.savez(tmp_path / "t.npz", x_train=np.eye(3))
    refused(tmp_path / "t.npz", r"has no array named 'X': it has 'x_train'. Write it with np.savez\(path, X=X, y=y\)")


def test_an_unknown_ending(write):
    refused(
        write("x", "t.xlsx"), r"'t.xlsx' ends in nothing newfound reads. It reads .csv, .*save the file as one of these"
    )


@pytest.mark.parametrize("source", ["nowhere.csv", "nowhere.npz", "nowhere", "minst"])
def test_nothing_of_that_name(source):
    refused(source, f"There is no file, folder or set named '{source}'. Check the path; the sets are 'digits', 'mnist'")


def test_labels_beside_a_table(write):
    refused(write(ROWS), "a table has its labels in a column. Please name that column as `label`", labels=[1])


def test_a_frame_with_mixed_values():
    frame = pd.DataFrame({"a": [1, "x", None, {}], "b": [1, 2, 3, 4]})
    refused(frame, r"The data frame cannot be read \(.*column a.*\). Give each column values of one kind")
    assert read_dataset(frame, ignore=["a"]).feature_names == ["b"]


# ---- the publishers' formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx((3, 2, 2), bytes(11)), "announces 3 × 2 × 2 values, 12 bytes, but 11 follow. Download or copy it again"),
        (idx((3, 2, 2), bytes(13)), "announces 3 × 2 × 2 values, 12 bytes, but more follow"),
        (idx((2**32 - 1, 2**16, 2**16), bytes(8)), "announces 4,294,967,295 × 65,536 × 65,536 values, .*but 8 follow"),
        (idx((3, 2, 2))[:9], "ends inside its header"),
        (b"\0\0\x07\3" + bytes(30), "is not an IDX file: it starts with the bytes 00 00 07 03"),
        (b"PK\3\4" + bytes(30), "is not an IDX file: it starts with the bytes 50 4b 03 04"),
        (b"", "is not an IDX file"),
    ],
)
def test_an_idx_file_whose_header_lies(write, pack, content, message):
    path = write(pack(content), "t-images-idx3-ubyte")
    refused(path, message)


def test_an_idx_file_cut_short_inside_its_gzip(write):
    content = np.random.default_rng(0).integers(0, 256, 10_000, dtype=np.uint8).tobytes()
    path = write(gzip.compress(idx((100, 10, 10), content))[:-500], "t-images-idx3-ubyte.gz")
    refused(path, "is cut short or damaged .* Download or copy it again")


def test_labels_where_images_are_expected(write):
    refused(write(idx((5,)), "t-labels-idx1-ubyte"), r"must hold images of bytes, .* got the shape \(5,\)")


def test_fewer_labels_than_images(write):
    images, labels = write(idx((3, 2, 2)), "t-images-idx3-ubyte"), write(idx((2,)), "t-labels-idx1-ubyte")
    refused(images, "must be one for each of the 3 rows", labels=labels)


def test_idx_of_other_types(write):
    content = np.array([1, -2, 300], ">i2").tobytes()
    assert read_idx(write(idx((3,), content, 0x0B), "t.idx")).tolist() == [1, -2, 300]


def nested(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("UCI HAR Dataset.names", "about")
        archive.writestr("UCI HAR Dataset.zip", content)
    return file.getvalue()


@pytest.mark.parametrize("pack", [bytes, nested])
def test_har_as_it_is_and_inside_another_zip(write, pack):
    train, test = read_har(write(pack(har_zip()), "har.zip"))
    np.testing.assert_array_equal(train.X, np.array([[0.1, 2, 3], [4, 5, 6]], np.float32))
    assert train.feature_names == ["mean", "energy", "energy #2"]
    assert train.labels.tolist() == ["LAYING", "WALKING"]
    assert train.groups.tolist() == [7, 8]
    assert test.labels.tolist() == ["WALKING"]


@pytest.mark.parametrize("pack", [bytes, nested])
@pytest.mark.parametrize("name", ["../../outside.txt", "/etc/outside.txt", "C:\\outside.txt", "..\\outside.txt"])
def test_a_zip_with_a_path_outside_its_folder(write, tmp_path, pack, name):
    path = write(pack(har_zip({name: "boo"})), "har.zip")
    with pytest.raises(
        DataError, match=r"holds a file with a path outside its folder, .*outside.txt'. Do not unpack it"
    ):
        read_har(path)
    assert [file.name for file in tmp_path.iterdir()] == ["har.zip"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train/X_train.txt": None}, "is not the HAR archive: it has no train/X_train.txt"),
        ({"train/y_train.txt": "1\n"}, "has 2 rows of features, 1 label and 2 subjects, which should be equal"),
        ({"train/X_train.txt": "1 2 3 4\n"}, "has 4 numbers, which do not fill rows of 3"),
        ({"train/X_train.txt": "1 2 word\n4 5 6"}, "train/X_train.txt"),
        ({"train/y_train.txt": "1\n3\n"}, "has the label 3, which activity_labels.txt lacks"),
    ],
)
def test_har_archives_that_do_not_add_up(write, changes, message):
    with pytest.raises(DataError, match=message):
        read_har(write(har_zip(changes), "har.zip"))


@pytest.mark.parametrize("content", [b"", b"no zip", har_zip()[:-30]])
def test_a_zip_cut_short(write, content):
    with pytest.raises(DataError, match="'har.zip' is not a whole zip file .* Download it again"):
        read_har(write(content, "har.zip"))
