"""Inputs that look hostile and are not: they work as they are, or are told in the log."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_files import ROWS, picture
from pyarrow import feather

import newfound as package
from newfound._internal.words import DataError
from newfound.tables.read import read_batches, read_dataset


def log_of(dataset):
    return " ".join(dataset.log)


@pytest.mark.parametrize("mark", ["nan", "NA", "?", "null"])
def test_a_class_that_reads_as_missing_is_told(tmp_path, mark):
    (tmp_path / "t.csv").write_text(ROWS.replace(",y\n", f",{mark}\n"))
    told = rf"10 labels are {mark}, which means unlabelled; if {mark} is a class in your data, give it another name"
    dataset = read_dataset(tmp_path / "t.csv", label="species")
    assert told in log_of(dataset)
    assert dataset.labels.classes.tolist() == ["x"]
    pq.write_table(pa.table({"a": np.arange(20) / 3, "species": ["x", mark] * 10}), tmp_path / "t.parquet")
    assert told in log_of(read_dataset(tmp_path / "t.parquet", label="species"))


def test_empty_labels_are_not_told(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS.replace(",y\n", ",\n"))
    assert "means unlabelled" not in log_of(read_dataset(tmp_path / "t.csv", label="species"))


def test_other_columns_are_read_as_before_where_the_label_is_marked(tmp_path):
    rows = "a,b,word,species\n" + "".join(
        f"{'NA' if i == 3 else i / 2},{i % 3},{'' if i % 5 else 'w'},x\n" for i in range(20)
    )
    (tmp_path / "t.csv").write_text(rows)
    with_label, without = (
        read_dataset(tmp_path / "t.csv", label="species"),
        read_dataset(tmp_path / "t.csv", ignore="species"),
    )
    assert with_label.feature_names == without.feature_names
    np.testing.assert_array_equal(with_label.X, without.X)


def save(path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture(**options))


def test_a_folder_called_na_is_told_and_a_link_to_a_folder_is_followed(tmp_path):
    for place in ("images/cat", "images/NA", "elsewhere/dog"):
        save(tmp_path / place / "1.png")
    (tmp_path / "images" / "dog").symlink_to(tmp_path / "elsewhere" / "dog")
    (tmp_path / "images" / "cat" / "loop").symlink_to(tmp_path / "images")
    dataset = read_dataset(tmp_path / "images")
    assert dataset.row_ids.tolist() == ["NA/1.png", "cat/1.png", "dog/1.png"]
    assert dataset.labels.names.tolist() == ["", "cat", "dog"]
    assert "1 label is NA, which means unlabelled" in log_of(dataset)


def test_photos_are_scaled_and_that_is_told(tmp_path):
    save(tmp_path / "images" / "cat" / "1.jpg", kind="jpeg", size=(4000, 3000), mode="RGB")
    save(tmp_path / "images" / "dog" / "2.jpg", kind="jpeg", size=(2000, 1500), mode="RGB")
    dataset = read_dataset(tmp_path / "images")
    assert dataset.image_shape == (96, 128, 3)
    assert "Larger images were scaled down to 128 pixels on the longer side; `image_size` sets another" in log_of(
        dataset
    )
    assert read_dataset(tmp_path / "images", image_size=64).image_shape == (48, 64, 3)
    save(tmp_path / "more" / "3.jpg", kind="jpeg", size=(1000, 750), mode="RGB")
    assert read_dataset(tmp_path / "more", schema=dataset.schema).image_shape == (96, 128, 3)


def test_images_within_the_bound_stay_as_they_are(tmp_path):
    save(tmp_path / "images" / "cat" / "1.png", size=(128, 100))
    dataset = read_dataset(tmp_path / "images")
    assert dataset.image_shape == (100, 128)
    assert "scaled" not in log_of(dataset)
    assert dataset.schema.image_size is None


def test_features_that_are_cut_short_under_a_reader_end_in_a_sentence(tmp_path):
    """Mapped to memory, they would end the process."""
    n = 50_000
    (tmp_path / "t.csv").write_text("a\n" + "".join(f"{i % 7}\n" for i in range(n)))
    np.save(tmp_path / "f.npy", np.arange(n * 3.0).reshape(n, 3))
    schema = read_dataset(tmp_path / "t.csv", features=tmp_path / "f.npy").schema
    blocks = read_batches(tmp_path / "t.csv", schema, rows=5_000, features=tmp_path / "f.npy")
    first = next(blocks)
    np.testing.assert_array_equal(first.X[-1, -3:], [14_997, 14_998, 14_999])
    os.truncate(tmp_path / "f.npy", 200_000)
    with pytest.raises(DataError, match=r"'f.npy' was cut short while it was read. Try again when it is complete."):
        list(blocks)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "feather"])
def test_a_table_that_is_cut_short_under_a_reader_ends_in_a_sentence(tmp_path, suffix):
    """Whether or not all of it was in memory already: else it would be a table of fewer rows."""
    n, path = 20_000, tmp_path / f"t.{suffix}"
    table = pa.table({"a": np.arange(n) % 97 / 7, "b": np.random.default_rng(0).random(n)})
    if suffix == "parquet":
        pq.write_table(table, path, row_group_size=1_000)
    elif suffix == "feather":
        feather.write_feather(table, path, compression="uncompressed", chunksize=1_000)
    else:
        lines = "a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*table.to_pydict().values(), strict=True))
        path.write_bytes(gzip.compress(lines.encode()) if suffix == "csv.gz" else lines.encode())
    blocks = read_batches(path, read_dataset(path).schema, rows=1_000)
    next(blocks)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(DataError, match=rf"'t.{suffix}' (was changed while|is not a complete|is cut short)") as caught:
        list(blocks)
    assert str(caught.value).isprintable()


def test_gzip_in_capitals(tmp_path):
    (tmp_path / "t.csv.GZ").write_bytes(gzip.compress(ROWS.encode()))
    assert len(read_dataset(tmp_path / "t.csv.GZ", label="species")) == 20


def test_decimal_commas(tmp_path):
    rows = "a;b;species\n" + "".join(f"{i},5;{i % 7};x\n" for i in range(20))
    (tmp_path / "t.csv").write_text(rows)
    dataset = read_dataset(tmp_path / "t.csv", label="species")
    assert dataset.X[:, 0].tolist() == [i + 0.5 for i in range(20)]
    assert "decimal comma" in log_of(dataset)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
def test_file_names_that_are_no_text_are_refused(tmp_path):
    path = os.fsencode(tmp_path) + b"/t\xff.csv"
    with open(path, "wb") as file:
        file.write(ROWS.encode())
    with pytest.raises(
        DataError, match=r"The path .*t\\udcff.csv' is not UTF-8 text. Give the file or folder another name"
    ):
        read_dataset(os.fsdecode(path))
    (tmp_path / "images").mkdir()
    with open(os.fsencode(tmp_path) + b"/images/\xff.png", "wb") as file:
        file.write(picture())
    with pytest.raises(DataError, match=r"The file name '\\udcff.png' is not UTF-8 text"):
        read_dataset(tmp_path / "images")


def newfound(*words, cwd, **environment):
    command = [sys.executable, "-m", "newfound", *words]
    return subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, timeout=300)


def test_brackets_in_names_and_a_terminal_of_ascii(tmp_path):
    """A column called [red], a class called [/], a file called [bold].csv; · and … have no place in ASCII."""
    rows = "[red],b,[label]\n" + "".join(f"{i}.5,{i % 3},{'[/]' if i % 2 else ':smile:'}\n" for i in range(20))
    (tmp_path / "[bold].csv").write_text(rows)
    words = ("audit", "[bold].csv", "--label", "[label]", "--hide", "[blink]")
    done = newfound(*words, cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    told = done.stderr.decode("ascii")
    assert done.returncode == 2, told
    assert "'[red]'" in told
    assert "Labels: :smile: and [/]." in told
    assert "Traceback" not in told


def test_text_for_spreadsheets_is_not_computed():
    from newfound.runs.predict import defused

    table = pa.table({"=a": ["=1+1", "+x", "-x", "@x", "\tx", "x=1", None, ""], "b": [-1.0] * 8})
    made = defused(table)
    assert made.column(0).to_pylist() == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "x=1", None, ""]
    assert made.column(1).to_pylist() == [-1.0] * 8
    assert made.schema.names == ["'=a", "b"]


FIT = """
import random, sys
import numpy as np
from newfound import GMDGM, Config
X = np.random.RandomState(0).normal(size=(60, 3)) + 4 * np.eye(3)[np.arange(60) % 3]
y = np.where(np.arange(60) < 30, np.arange(60) % 3, -1)
before = random.getstate()
import jax
settings = dict(jax.config.values)
config = Config().replace(pretrain_epochs=0)
quick = {"hidden_layer_sizes": (4,), "latent_dim": 2, "max_epochs": 1, "verbose": False, "config": config}
GMDGM(n_new=0, random_state=0, **quick).fit(X, y)
assert random.getstate() == before, "Python's random numbers"
assert dict(jax.config.values) == settings, "JAX's settings"
"""


def test_a_fit_leaves_the_random_state_and_the_settings_of_jax_alone():
    """In a process of its own: here, beartype draws random numbers for what it looks at."""
    environment = {name: value for name, value in os.environ.items() if name != "NEWFOUND_CACHE"}
    done = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]


def test_no_interval_is_measured_by_the_clock_on_the_wall():
    """Which may jump: locks, checkpoints and progress count by a clock that does not."""
    source = Path(package.__file__).parent
    assert [path.name for path in source.rglob("*.py") if re.search(r"\btime\.time\(", path.read_text())] == []
