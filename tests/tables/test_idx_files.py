"""IDX files, in which MNIST is published: one clear message for every bad one."""

import gzip

import numpy as np
import pytest
from published import idx
from refused import check_refused

from newfound._internal.words import DataError
from newfound.tables.images import read_idx, read_idx_images
from newfound.tables.read import read_dataset


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_images_and_their_labels(write, pack):
    images = write(pack(idx((3, 2, 2), bytes(range(12)))), "t-images-idx3-ubyte" + ".gz" * (pack is not bytes))
    labels = write(pack(idx((3,), bytes([0, 7, 0]))), "t-labels-idx1-ubyte" + ".gz" * (pack is not bytes))
    dataset = read_dataset(images, labels=labels)
    assert dataset.X.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert (dataset.kind, dataset.image_shape) == ("images", (2, 2))
    assert dataset.labels.names.tolist() == ["0", "7", "0"]


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
def test_an_idx_file_with_a_wrong_header(write, pack, content, message):
    path = write(pack(content), "t-images-idx3-ubyte")
    check_refused(path, message)


def test_an_idx_file_cut_short_inside_its_gzip(write):
    content = np.random.default_rng(0).integers(0, 256, 10_000, dtype=np.uint8).tobytes()
    path = write(gzip.compress(idx((100, 10, 10), content))[:-500], "t-images-idx3-ubyte.gz")
    check_refused(path, "is cut short or damaged .* Download or copy it again")


def test_labels_in_place_of_images(write):
    check_refused(write(idx((5,)), "t-labels-idx1-ubyte"), r"must hold images of bytes, .* got the shape \(5,\)")


def test_fewer_labels_than_images(write):
    images, labels = write(idx((3, 2, 2)), "t-images-idx3-ubyte"), write(idx((2,)), "t-labels-idx1-ubyte")
    check_refused(images, "must be one for each of the 3 rows", labels=labels)


def test_idx_of_other_types(write):
    content = np.array([1, -2, 300], ">i2").tobytes()
    assert read_idx(write(idx((3,), content, 0x0B), "t.idx")).tolist() == [1, -2, 300]


def test_idx_labels_out_of_range_are_refused(tmp_path):
    (tmp_path / "images").write_bytes(idx((3, 2, 2)))
    (tmp_path / "labels").write_bytes(idx((3,), bytes([0, 7, 1])))
    with pytest.raises(DataError, match="'labels' holds the label 7, but there are 2 classes"):
        read_idx_images(tmp_path / "images", tmp_path / "labels", ["a", "b"])
    (tmp_path / "labels").write_bytes(idx((2,)))
    with pytest.raises(DataError, match=r"one for each of the 3 rows, got an array of shape \(2,\)"):
        read_idx_images(tmp_path / "images", tmp_path / "labels", ["a", "b"])


def test_a_part_of_the_digits_is_named_after_a_colon():
    train, test = read_dataset("digits"), read_dataset("digits:test")
    assert (len(train), len(test)) == (1347, 450)
    assert not set(train.row_ids.tolist()) & set(test.row_ids.tolist())
    np.testing.assert_array_equal(read_dataset("digits:train").X, train.X)
    np.testing.assert_array_equal(read_dataset("digits:test", schema=train.schema).X, test.X)
