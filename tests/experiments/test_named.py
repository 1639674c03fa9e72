"""Published data sets by name: the real files, a real server to download from, and bad archives."""

import gzip
import io
import os
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from published import har_zip, idx, write_sets

from experiments import named
from experiments.named import (
    NAMED,
    NamedSet,
    RemoteFile,
    cache_folder,
    check_content,
    fetch_named,
    find_named,
    load_named,
    read_har,
)
from newfound._internal.words import DataError
from newfound.tables.dataset import align

NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


@pytest.fixture
def real_data():
    """The folder with the publishers' files."""
    folder = os.environ.get("NEWFOUND_DATA")
    if not folder:
        pytest.skip("needs the real data sets: set NEWFOUND_DATA to a folder with mnist/, fashion-mnist/ and har/")
    return Path(folder)


# ---- the real files ----------------------------------------------------------------------------------------------


def test_digits_come_with_scikit_learn():
    train, test = load_named("digits")
    assert (train.X.shape, test.X.shape) == ((1347, 64), (450, 64))
    assert not set(train.row_ids.tolist()) & set(test.row_ids.tolist())
    share = train.labels.counts / (train.labels.counts + test.labels.counts)
    assert np.all(np.abs(share - 0.75) < 0.01)
    np.testing.assert_array_equal(load_named("digits").train.X, train.X)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "har"])
def test_the_publishers_files(real_data, name):
    known, (train, test) = NAMED[name], load_named(name)
    assert train.X.shape == (known.n_train, known.n_features)
    assert test.X.shape == (known.n_test, known.n_features)
    for part in (train, test):
        assert len(part.labels.classes) == known.n_classes
        assert part.labels.counts.all()
        assert len(set(part.feature_names)) == known.n_features
    assert train.labels.classes.tolist() == test.labels.classes.tolist()


def test_what_is_known_of_mnist(real_data):
    train = load_named("mnist").train
    assert train.labels.counts.tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert (train.X.dtype, train.image_shape) == (np.uint8, (28, 28))
    assert int(((train.X / np.float32(255)).std(axis=0) > 0.1).sum()) == 444  # as in the paper


def test_what_is_known_of_har(real_data):
    train, test = load_named("har")
    assert train.labels.classes.tolist() == [
        "WALKING",
        "WALKING_UPSTAIRS",
        "WALKING_DOWNSTAIRS",
        "SITTING",
        "STANDING",
        "LAYING",
    ]
    assert len(set(train.groups.tolist())) == 21
    assert len(set(test.groups.tolist())) == 9
    assert not set(train.groups.tolist()) & set(test.groups.tolist())
    assert abs(train.X).max() <= 1


def test_the_checksums_are_those_of_the_real_files(real_data):
    for name in ("mnist", "fashion-mnist"):
        for file in NAMED[name].files:
            file.check(real_data / name / file.name)


def test_published_data_sets_keep_the_publishers_order_of_classes(tmp_path, monkeypatch):
    write_sets(tmp_path)
    monkeypatch.setenv("NEWFOUND_DATA", str(tmp_path))
    mnist, fashion = load_named("mnist").train, load_named("fashion-mnist").test
    assert mnist.labels.classes.tolist() == named.DIGITS
    assert fashion.labels.classes.tolist() == named.GARMENTS  # not in order of letters
    aligned = align(mnist, fashion.schema)
    assert aligned.labels.classes.tolist() == [*named.GARMENTS, *named.DIGITS]
    np.testing.assert_array_equal(aligned.labels.names, mnist.labels.names)
    har = load_named("har")
    assert [part.labels.classes.tolist() for part in har] == [[f"ACTIVITY_{i}" for i in range(6)]] * 2
    assert har.train.log[1].startswith("300 labelled rows with 6 classes ('ACTIVITY_0', ")
    assert har.train.log[1].endswith(" from column 'activity'; 0 unlabelled rows.")


@pytest.mark.parametrize("value", ["", None])
def test_downloads_go_to_the_users_cache_unless_told_otherwise(tmp_path, monkeypatch, value):
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path / "data"
    monkeypatch.delenv("NEWFOUND_CACHE")
    if value is not None:
        monkeypatch.setenv("NEWFOUND_CACHE", value)
    assert cache_folder() == platformdirs.user_cache_path("newfound") / "data"


# ---- downloads ---------------------------------------------------------------------------------------------


def tiny_files(folder, n_train=3, n_test=2):
    """Four IDX files like MNIST's, gzipped."""
    folder.mkdir(parents=True)
    for name, n in zip(NAMES, (n_train, n_train, n_test, n_test), strict=True):
        shape = (n, 2, 2) if "images" in name else (n,)
        content = bytes(i % 2 for i in range(int(np.prod(shape))))
        (folder / name).write_bytes(gzip.compress(idx(shape, content)))


class Mirror:
    """A server of one folder on this machine that counts what it is asked for."""

    def __init__(self, folder):
        self.asked = []
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format, *args):
                asked.append(self.path)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def serve():
    mirrors = []

    def start(folder):
        mirrors.append(Mirror(folder))
        return mirrors[-1]

    yield start
    for mirror in mirrors:
        mirror.stop()


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A data set named "tiny" that is published in tmp_path/published, and an empty cache."""
    import hashlib

    tiny_files(tmp_path / "published" / "tiny")
    contents = [gzip.decompress((tmp_path / "published" / "tiny" / name).read_bytes()) for name in NAMES]
    checks = [check_content(hashlib.sha256(content).hexdigest()) for content in contents]
    files = tuple(
        RemoteFile(name, check, ("http://127.0.0.1:9/gone",)) for name, check in zip(NAMES, checks, strict=True)
    )
    read = partial(named._read_idx, class_names=["a", "b"])
    monkeypatch.setitem(NAMED, "tiny", NamedSet("tiny", "Tiny", 3, 2, 4, 2, "none", read, files))
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NEWFOUND_DATA", raising=False)
    monkeypatch.delenv("NEWFOUND_MIRRORS", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path


def test_a_set_is_downloaded_once_and_then_read_from_the_cache(tiny, serve):
    mirror = serve(tiny / "published")
    assert find_named("tiny") is None
    train, test = load_named("tiny", [mirror.address], verbose=True)
    assert (len(train), len(test), train.labels.names.tolist()) == (3, 2, ["a", "b", "a"])
    assert len(mirror.asked) == 4
    assert sorted(path.name for path in (cache_folder() / "tiny").iterdir()) == sorted(NAMES)
    assert find_named("tiny") == [cache_folder() / "tiny" / name for name in NAMES]
    load_named("tiny", [mirror.address])
    assert len(mirror.asked) == 4


def test_mirrors_can_be_named_in_the_environment(tiny, serve, monkeypatch):
    mirror = serve(tiny / "published")
    monkeypatch.setenv("NEWFOUND_MIRRORS", f"http://127.0.0.1:9 {mirror.address}/")
    assert len(load_named("tiny").train) == 3


def test_the_second_mirror_is_asked_where_the_first_has_something_else(tiny, serve):
    tiny_files(tiny / "wrong" / "tiny", n_train=4)
    first, second = serve(tiny / "wrong"), serve(tiny / "published")
    assert len(load_named("tiny", [first.address, second.address]).train) == 3
    assert len(first.asked) == 4
    assert [path.split("/")[-1] for path in second.asked] == list(NAMES[:2])  # its test part is right


def test_the_second_mirror_is_asked_where_the_first_has_nothing(tiny, serve):
    (tiny / "nothing").mkdir()
    first, second = serve(tiny / "nothing"), serve(tiny / "published")
    assert len(load_named("tiny", [first.address, second.address]).train) == 3


@pytest.mark.parametrize("damage", ["other", "short"])
def test_a_file_with_another_checksum_is_deleted(tiny, serve, damage):
    path = tiny / "published" / "tiny" / NAMES[0]
    path.write_bytes(gzip.compress(b"other") if damage == "other" else path.read_bytes()[:-12])
    mirror = serve(tiny / "published")
    with pytest.raises(DataError, match=r"wrong checksum: expected .*got" if damage == "other" else "cut short"):
        load_named("tiny", [mirror.address])
    assert list((cache_folder() / "tiny").iterdir()) == []


def test_the_same_content_may_be_gzipped_in_another_way(tiny, serve):
    for path in (tiny / "published" / "tiny").iterdir():
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1, mtime=1))
    assert len(load_named("tiny", [serve(tiny / "published").address]).train) == 3


def test_a_download_that_was_cut_short_goes_on_where_it_was(tiny, serve):
    mirror = serve(tiny / "published")
    (tiny / "published" / "tiny" / NAMES[3]).rename(tiny / "kept back")
    with pytest.raises(DataError, match="HTTP 404"):
        load_named("tiny", [mirror.address])
    (tiny / "kept back").rename(tiny / "published" / "tiny" / NAMES[3])
    mirror.asked.clear()
    load_named("tiny", [mirror.address])
    assert [path.split("/")[-1] for path in mirror.asked] == [NAMES[3]]


def test_har_is_checked_by_what_it_holds(tiny, serve, monkeypatch):
    (tiny / "published" / "har").mkdir()
    (tiny / "published" / "har" / "UCI HAR Dataset.zip").write_bytes(b"<html>Sorry</html>")
    with pytest.raises(DataError, match="is not a complete zip file"):
        fetch_named("har", [serve(tiny / "published").address])


def test_the_users_folder_comes_first_and_may_hold_unzipped_files(tiny, monkeypatch):
    for path in (tiny / "published" / "tiny").iterdir():
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    monkeypatch.setenv("NEWFOUND_DATA", str(tiny / "published"))
    assert len(load_named("tiny").train) == 3


def test_fashion_mnist_is_found_where_debian_puts_it(tiny, monkeypatch):
    assert NAMED["fashion-mnist"].system_folders == ("/usr/share/dataset-fashion-mnist",)
    from dataclasses import replace

    monkeypatch.setitem(NAMED, "tiny", replace(NAMED["tiny"], system_folders=(str(tiny / "published" / "tiny"),)))
    assert find_named("tiny")[0].parent == tiny / "published" / "tiny"


def test_nothing_found_and_no_network(tiny, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(tiny / "mine"))
    (tiny / "mine" / "tiny").mkdir(parents=True)
    with pytest.raises(DataError) as caught:
        load_named("tiny")
    message = str(caught.value)
    assert "The data set 'tiny' is not on this machine and could not be downloaded. Searched:" in message
    assert f"{tiny / 'mine' / 'tiny'} (lacks 4 of 4 files)" in message
    assert f"{tiny / 'cache' / 'data' / 'tiny'} (" in message
    assert "http://127.0.0.1:9/gone (no connection)" in message
    assert "set NEWFOUND_DATA to a folder with them in 'tiny'" in message


def test_an_unknown_data_set():
    with pytest.raises(DataError, match="no data set 'minst' in the list. Did you mean 'mnist'"):
        load_named("minst")


# ---- HAR's archive: one clear message for every bad one, and nothing is written outside its folder ----


@pytest.fixture
def write(tmp_path):
    def write_file(content):
        path = tmp_path / "har.zip"
        path.write_bytes(content)
        return path

    return write_file


def nested(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("UCI HAR Dataset.names", "about")
        archive.writestr("UCI HAR Dataset.zip", content)
    return file.getvalue()


@pytest.mark.parametrize("pack", [bytes, nested])
def test_har_as_it_is_and_inside_another_zip(write, pack):
    train, test = read_har(write(pack(har_zip())))
    np.testing.assert_array_equal(train.X, np.array([[0.1, 2, 3], [4, 5, 6]], np.float32))
    assert train.feature_names == ["mean", "energy", "energy #2"]
    assert train.labels.names.tolist() == ["LAYING", "WALKING"]
    assert train.groups.tolist() == [7, 8]
    assert test.labels.names.tolist() == ["WALKING"]


@pytest.mark.parametrize("pack", [bytes, nested])
@pytest.mark.parametrize("name", ["../../outside.txt", "/etc/outside.txt", "C:\\outside.txt", "..\\outside.txt"])
def test_a_zip_with_a_path_outside_its_folder(write, tmp_path, pack, name):
    path = write(pack(har_zip({name: "boo"})))
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
        read_har(write(har_zip(changes)))


@pytest.mark.parametrize("content", [b"", b"no zip", har_zip()[:-30]])
def test_a_zip_cut_short(write, content):
    with pytest.raises(DataError, match="'har.zip' is not a complete zip file .* Download it again"):
        read_har(write(content))
