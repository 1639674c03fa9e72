"""Every bad file in a publisher's own format: one clear message, and nothing is written outside its folder."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from published import har_zip, idx
from refused import check_refused

from experiments.named import read_har
from newfound._internal.words import DataError
from newfound.tables.images import read_idx


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx((3, 2, 2), bytes(11)), "announces 3 × 2 × 2 values, 12 bytes, but 11 follow. Download or copy it again"),
        (idx((3, 2, 2), bytes(13)), "announces 3 × 2 × 2 values, 12 bytes, but more follow"),
        (idx((2**32 - 1, 2**16, 2**16), bytes(8)), "announces 4,294,967,295 × 65,536 × 65,536 values, .*but 8 follow"),
        (idx((3, 2, 2))[:9], "ends inside its header"),
        (b"\0\0\x07\3" + bytes(30), "is not an IDX file: it starts with 00 00 07 03"),
        (b"PK\3\4" + bytes(30), "is not an IDX file: it starts with 50 4b 03 04"),
        (b"", "is not an IDX file"),
    ],
)
def test_an_idx_file_whose_header_lies(write, pack, content, message):
    path = write(pack(content), "t-images-idx3-ubyte")
    check_refused(path, message)


def test_an_idx_file_cut_short_inside_its_gzip(write):
    content = np.random.default_rng(0).integers(0, 256, 10_000, dtype=np.uint8).tobytes()
    path = write(gzip.compress(idx((100, 10, 10), content))[:-500], "t-images-idx3-ubyte.gz")
    check_refused(path, "is cut short or damaged .* Download or copy it again")


def test_labels_where_images_are_expected(write):
    check_refused(write(idx((5,)), "t-labels-idx1-ubyte"), r"must hold images of bytes, .* got the shape \(5,\)")


def test_fewer_labels_than_images(write):
    images, labels = write(idx((3, 2, 2)), "t-images-idx3-ubyte"), write(idx((2,)), "t-labels-idx1-ubyte")
    check_refused(images, "must be one for each of the 3 rows", labels=labels)


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
    assert train.labels.names.tolist() == ["LAYING", "WALKING"]
    assert train.groups.tolist() == [7, 8]
    assert test.labels.names.tolist() == ["WALKING"]


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
    with pytest.raises(DataError, match="'har.zip' is not a complete zip file .* Download it again"):
        read_har(write(content, "har.zip"))
