"""Folders of images, labelled by sub-folder or by a table beside them."""

import numpy as np
import pytest
from PIL import Image

from newfound._internal.words import DataError
from newfound.labels import UNLABELLED
from newfound.tables.read import read_dataset

RNG = np.random.default_rng(0)


def save(path, shape=(4, 5)):
    """An image of noise, and its pixels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = RNG.integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


@pytest.fixture
def folder(tmp_path):
    pets = tmp_path / "pets"
    for name in ("cat/1.png", "cat/more/2.png", "dog/1.png", "unlabelled/a.png", "unlabelled/b.png"):
        save(pets / name)
    (pets / "README.txt").write_text("not an image")
    (pets / ".thumbs").mkdir()
    save(pets / ".thumbs" / "x.png", (2, 2))
    return pets


def test_one_sub_folder_for_each_label(folder):
    dataset = read_dataset(folder)
    assert (dataset.kind, dataset.image_shape, dataset.X.dtype) == ("images", (4, 5), np.uint8)
    assert dataset.labels.classes.tolist() == ["cat", "dog"]
    assert dataset.row_ids.tolist() == [
        "cat/1.png",
        "cat/more/2.png",
        "dog/1.png",
        "unlabelled/a.png",
        "unlabelled/b.png",
    ]
    assert dataset.labels.codes.tolist() == [0, 0, 1, UNLABELLED, UNLABELLED]
    assert dataset.log == [
        "Read 5 images of 5 × 4 pixels (width × height) as greyscale.",
        "3 labelled rows with 2 classes ('cat' and 'dog') from the sub-folders; 2 unlabelled rows.",
        "Skipped 1 file that is not an image.",
    ]


def test_pixels_are_in_the_order_of_rows(tmp_path):
    pixels = save(tmp_path / "a" / "1.png")
    np.testing.assert_array_equal(read_dataset(tmp_path).X[0].reshape(4, 5), pixels)


def test_grey_images_become_colour_if_others_are(tmp_path):
    colour = save(tmp_path / "1.png", (4, 5, 3))
    grey = save(tmp_path / "2.png")
    dataset = read_dataset(tmp_path)
    assert dataset.image_shape == (4, 5, 3)
    np.testing.assert_array_equal(dataset.X[0].reshape(4, 5, 3), colour)
    np.testing.assert_array_equal(dataset.X[1].reshape(4, 5, 3), np.repeat(grey[..., None], 3, axis=2))
    assert dataset.log[1] == "No labels were given: all rows are unlabelled."


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_table_of_files_and_labels(tmp_path, is_inside):
    for name in ("a.png", "b.png", "sub/c.png", "d.png"):
        save(tmp_path / "pets" / name)
    path = tmp_path / "pets" / "labels.csv" if is_inside else tmp_path / "elsewhere.csv"
    path.write_text("label,file\ncat,a.png\ndog,sub/c.png\n,d.png\n")
    dataset = read_dataset(tmp_path / "pets", labels=None if is_inside else path)
    assert dict(zip(dataset.row_ids.tolist(), dataset.labels.names.tolist(), strict=True)) == {
        "a.png": "cat",
        "b.png": "",
        "d.png": "",
        "sub/c.png": "dog",
    }


def test_folders_named_by_numbers_are_in_their_order(tmp_path):
    for name in ("10", "9", "2"):
        save(tmp_path / name / "1.png")
    assert read_dataset(tmp_path).labels.classes.tolist() == ["2", "9", "10"]


def test_other_images_are_read_by_the_schema(folder, tmp_path):
    schema = read_dataset(folder).schema
    save(tmp_path / "new" / "dog" / "x.png")
    save(tmp_path / "new" / "bird" / "y.png")
    other = read_dataset(tmp_path / "new", schema=schema)
    assert other.labels.classes.tolist() == ["cat", "dog", "bird"]
    assert other.labels.names.tolist() == ["bird", "dog"]
    save(tmp_path / "large" / "x.png", (8, 8))
    with pytest.raises(
        DataError, match="fitted on grey images of 4 × 5 pixels .*but these rows are grey images of 8 × 8"
    ):
        read_dataset(tmp_path / "large", schema=schema)


def test_images_of_different_sizes(tmp_path):
    save(tmp_path / "a" / "1.png")
    save(tmp_path / "b" / "2.png", (4, 6))
    with pytest.raises(DataError, match=r"one size: 'a/1.png' is 5 × 4, but 'b/2.png' is 6 × 4. Scale or crop"):
        read_dataset(tmp_path)


def test_labels_for_files_that_do_not_exist(folder):
    (folder / "labels.csv").write_text("file,label\ncat/1.png,cat\ncat/9.png,cat\nhorse.png,horse\n")
    with pytest.raises(DataError, match=r"2 files that are not in the folder: 'cat/9.png' and 'horse.png'. Write the"):
        read_dataset(folder)


def test_labels_without_the_required_columns(folder):
    (folder / "labels.csv").write_text("files,label\ncat/1.png,cat\n")
    with pytest.raises(DataError, match="no column 'file' in 'labels.csv'. Did you mean 'files'"):
        read_dataset(folder)


def test_two_labels_for_one_file(folder):
    (folder / "labels.csv").write_text("file,label\ncat/1.png,cat\ncat/1.png,dog\n")
    with pytest.raises(DataError, match="names the same file more than once"):
        read_dataset(folder)


def test_a_labels_file_that_does_not_exist(folder):
    with pytest.raises(DataError, match=r"There is no file '.*none.csv' with labels"):
        read_dataset(folder, labels=folder / "none.csv")


@pytest.mark.parametrize("keep", [0, 30, 60])
def test_an_image_cut_short(folder, keep):
    path = folder / "cat" / "1.png"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"'1.png' cannot be read as an image .* Save it again, or remove it"):
        read_dataset(folder)


def test_more_than_eight_bits(tmp_path):
    Image.fromarray(np.zeros((4, 5), np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(DataError, match="'deep.png' has more than 8 bits for a pixel"):
        read_dataset(tmp_path)


def test_a_folder_without_images(tmp_path):
    with pytest.raises(DataError, match="holds no images .* one sub-folder for each label"):
        read_dataset(tmp_path)
