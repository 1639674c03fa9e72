"""What is fuzzed: each target takes bytes, makes of them what a user might hand over, and reads it.

A target either works, and then what was read must hold together, or it refuses by an exception of newfound with one
sentence. Everything else (another exception, a crash, a hang, memory beyond the limit) is a find.
"""

import gzip
import io
import json
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_mutations import decoded, encoded
from pyarrow import feather

from newfound._internal.records import to_json
from newfound.tables.read import read_batches, read_dataset

CSV = b"a,b,day,species\n" + b"".join(
    b"%d.5,%d,2024-01-%02d,%s\n" % (i, i % 3, i + 1, b"xy"[i % 2 :][:1]) for i in range(9)
)
PRICES = (
    'id;price;"size, m";is on;label\n'
    + "".join(f'{i};"1.{i}00,5 €";{i} m;{"yes" if i % 2 else "no"};{"cat" if i % 3 else ""}\n' for i in range(8))
).encode()
SHORT = b"a,b,species\n1,0.5,x\n2,,y\n3,1e3,\n4,-2,x\n"  # quickly read, so that most mutations are of it
NAMES = "name,kind,größe,species\n".encode() + b"".join(b"r%d,k%d,%d,%d\n" % (i, i % 2, i, i % 2) for i in range(5))
MAX_BYTES = 65_536


class Target(NamedTuple):
    """Seeds to begin with, how to mutate them, and what reads the result in a folder of its own."""

    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], None]
    kind: str = "bytes"  # as in `fuzz_mutations.MUTATORS`
    needs_run: bool = False


# ---- tables ------------------------------------------------------------------------------------------------------


def _table_target(name: str, seeds: Callable[[], list[bytes]], kind: str, label: str = "species") -> Target:
    def read(data: bytes, folder: Path) -> None:
        path = folder / name
        path.write_bytes(data)
        whole = read_dataset(path, label=label if label.encode() in data or kind != "text" else None)
        _check(whole)
        if len(data) % 8 == 0:  # the same rows by the other door
            again = read_dataset(path, schema=whole.schema)
            blocks = list(read_batches(path, whole.schema, rows=5))
            assert np.array_equal(again.X, np.concatenate([block.X for block in blocks])), (
                "blocks differ from the whole"
            )

    return Target(seeds, read, kind)


def _check(dataset: Any) -> None:
    n, d = dataset.X.shape
    assert n == len(dataset.labels) == len(dataset.row_ids), "rows, labels and ids are not as many"
    assert d == len(dataset.feature_names), "a name for each column"
    assert dataset.X.dtype in (np.float32, np.float64, np.uint8), "another type"
    assert np.isfinite(dataset.X).all(), "X is not finite"
    assert dataset.labels.codes.max(initial=-1) < len(dataset.labels.classes), "a code without a class"
    assert len(set(map(str, dataset.labels.classes))) == len(dataset.labels.classes), "two classes of one name"
    json.dumps(to_json(dataset.schema), allow_nan=False)


def _arrow_tables() -> list[pa.Table]:
    n = 9
    words = pa.array(["x", "y", None] * 3)
    plain = {"a": pa.array(np.arange(n) / 2), "b": pa.array(range(n), pa.int8()), "species": words}
    rich = {
        "flag": pa.array([True, False, None] * 3),
        "when": pa.array(range(n), pa.timestamp("us")),
        "clock": pa.array(range(n), pa.time32("s")),
        "took": pa.array(range(n), pa.duration("ms")),
        "vector": pa.array([[1.0, 2.0, float(i)] for i in range(n)], pa.list_(pa.float32(), 3)),
        "ragged": pa.array([[1.0] * (i % 3) for i in range(n)]),
        "kind": words.dictionary_encode(),
        "money": pa.array(range(n), pa.int64()).cast(pa.decimal128(38, 2)),
        "half": pa.array(np.arange(n, dtype=np.float16)),
        "blob": pa.array([b"\xff%d" % i for i in range(n)]),
        "record": pa.array([{"u": i} for i in range(n)]),
        "nothing": pa.nulls(n),
        "species": pa.array([1, 2, None] * 3),
    }
    return [pa.table(plain), pa.table(rich), pa.table({name: plain[name] for name in ("a", "species")})]


def _parquet_seeds() -> list[bytes]:
    options: list[dict[str, Any]] = [
        {},
        {"compression": "none", "use_dictionary": False},
        {"write_page_checksum": True},
    ]
    return [_written(pq.write_table, table, **kept) for table in _arrow_tables() for kept in options]


def _feather_seeds() -> list[bytes]:
    tables = _arrow_tables()
    return [_written(feather.write_feather, t, compression=c) for t in tables for c in ("uncompressed", "lz4")]


def _written(write: Callable[..., Any], *args: Any, **options: Any) -> bytes:
    content = io.BytesIO()
    write(args[0], content, *args[1:], **options)
    return content.getvalue()


# ---- arrays and images -------------------------------------------------------------------------------------------


def _npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def _npy_seeds() -> list[bytes]:
    arrays = [np.eye(4), np.eye(4, dtype=np.float16), np.arange(12, dtype=np.uint8).reshape(3, 2, 2), np.eye(3) > 0]
    return [_npy(array) for array in arrays] + [_npy(np.array(["a", "b"])), _npy(np.asfortranarray(np.eye(3)))]


def _label_seeds() -> list[bytes]:
    labels = [np.array([0, 1, -1, 1]), np.array(["a", "b", "", "NA"]), np.array([1.0, np.nan, 2.0, -1.0])]
    return [_npy(array) for array in labels] + _npy_seeds()


def _npz_seeds() -> list[bytes]:
    seeds = []
    for save in (np.savez, np.savez_compressed):
        content = io.BytesIO()
        save(content, X=np.eye(4), y=np.array([0, 1, -1, 1]), feature_names=np.array(list("abcd")))
        seeds.append(content.getvalue())
    return seeds


def _read_numpy(name: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        (folder / name).write_bytes(data)
        _check(read_dataset(folder / name))

    return read


def _read_beside(option: str) -> Callable[[bytes, Path], None]:
    """As labels of an array or as features of a table."""

    def read(data: bytes, folder: Path) -> None:
        (folder / "beside.npy").write_bytes(data)
        if option == "labels":
            _check(read_dataset(np.eye(4), labels=folder / "beside.npy"))
        else:
            if not (folder / "t.csv").is_file():
                (folder / "t.csv").write_bytes(b"a,b\n1,2\n3,4\n5,7\n8,8\n")
            _check(read_dataset(folder / "t.csv", features=folder / "beside.npy"))

    return read


def _idx(array: np.ndarray, code: int = 8) -> bytes:
    return bytes([0, 0, code, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def _idx_seeds() -> list[bytes]:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    return [_idx(pixels), _idx(pixels.astype(">f4"), 0x0D), gzip.compress(_idx(pixels), mtime=0)]


def _har_seeds() -> list[bytes]:
    members = {"features.txt": "1 a\n2 b\n3 a\n", "activity_labels.txt": "1 WALKING\n2 SITTING\n"}
    for part in ("train", "test"):
        members |= {
            f"{part}/X_{part}.txt": " 1.5 -2e-1 3\n 4 5 6\n",
            f"{part}/y_{part}.txt": "1\n2\n",
            f"{part}/subject_{part}.txt": "7\n8\n",
        }
    inner = _zip(members)
    return [inner, _zip({"UCI HAR Dataset.zip": inner})]


def _zip(members: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()


def _read_har(data: bytes, folder: Path) -> None:
    sys.path.append(str(Path(__file__).parents[2]))  # `experiments` is not installed
    from experiments.named import read_har

    (folder / "har.zip").write_bytes(data)
    for part in read_har(folder / "har.zip"):
        _check(part)


def _image_seeds() -> list[bytes]:
    from PIL import Image

    grey = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8))
    seeds = []
    for kind in ("png", "jpeg", "gif", "bmp", "tiff", "webp", "ppm"):
        for image in (grey, grey.convert("RGB")):
            content = io.BytesIO()
            image.save(content, kind)
            seeds.append(content.getvalue())
    return seeds


IMAGE_NAMES = {b"\x89P": "i.png", b"\xff\xd8": "i.jpg", b"GI": "i.gif", b"BM": "i.bmp", b"RI": "i.webp", b"P5": "i.pgm"}


def _read_image(data: bytes, folder: Path) -> None:
    place = folder / "images" / "cat"
    place.mkdir(parents=True, exist_ok=True)
    path = place / IMAGE_NAMES.get(data[:2], "i.tiff")
    path.write_bytes(data)
    try:
        _check(read_dataset(folder / "images"))
    finally:
        path.unlink()


def _read_image_labels(data: bytes, folder: Path) -> None:
    place = folder / "labelled-images"
    if not place.is_dir():
        place.mkdir()
        for i, seed in enumerate(_image_seeds()[:1] * 3):
            (place / f"{i}.png").write_bytes(seed)
    (place / "labels.csv").write_bytes(data)
    _check(read_dataset(place))


# ---- runs and models ---------------------------------------------------------------------------------------------

RUN_PARTS = ("acts", "answer", "audit", "changes", "class_map", "classes", "descriptions", "discovered")
RUN_TABLES = ("examples", "history", "latent_map", "predictions", "rows", "schema", "acts_in_effect")
RUN_FILES = (
    *("run.json", "classes.json", "audit.json", "descriptions.json", "acts.jsonl", "changes.json"),
    *("predictions.parquet", "history.parquet", "rows.parquet", "own.parquet", "examples.safetensors"),
)


def make_run(folder: Path) -> None:
    """A small run, and within it a small model, to be damaged."""
    from newfound import GMDGM, Config
    from newfound.runs.derived import Origin, act_on, write_run
    from newfound.runs.run import open_run

    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    cells = 4 * np.eye(3)[truth] + 0.3 * rng.standard_normal((60, 3))
    labels = [("", "x", "y")[t + 1 if t < 2 and i < 30 else 0] for i, t in enumerate(truth)]
    lines = [",".join([*(f"{v:.3f}" for v in row), label]) for row, label in zip(cells, labels, strict=True)]
    source = folder.with_name("source.csv")
    source.write_text("a,b,c,species\n" + "\n".join(lines) + "\n")
    dataset = read_dataset(source, label="species")
    model = GMDGM(
        hidden_layer_sizes=(4,),
        latent_dim=2,
        max_epochs=1,
        random_state=0,
        verbose=False,
        config=Config().replace(pretrain_epochs=0),
    ).fit(dataset.X, dataset.labels)
    write_run(folder, model, dataset, Origin(source.name))
    run = open_run(folder)
    act_on(run, "rename", {"names": [["x", "first"]]}, lambda run: None)


def _run_seeds(good: Path) -> list[bytes]:
    """A file of a run: its number, then its content."""
    files = [(i, good / name) for i, name in enumerate(RUN_FILES)]
    return [bytes([i]) + path.read_bytes() for i, path in files if path.is_file()]


def _read_run(data: bytes, folder: Path) -> None:
    from newfound.runs.run import open_run

    name = RUN_FILES[data[0] % len(RUN_FILES)] if data else RUN_FILES[0]
    run, good = folder / "run", folder / "good"
    path = run / name
    path.write_bytes(data[1:])
    try:
        opened = open_run(run)
        for part in (*RUN_PARTS, *RUN_TABLES):
            getattr(opened, part)
    finally:
        path.unlink()
        if (good / name).is_file():
            shutil.copyfile(good / name, path)


def _model_seeds(good: Path) -> list[bytes]:
    model = good / "model"
    return [b"\0" + (model / "model.json").read_bytes(), b"\1" + next(model.glob("*.safetensors")).read_bytes()]


def _read_model(data: bytes, folder: Path) -> None:
    """As whoever edits a model would leave it: with checksums that fit."""
    from model_forgery import sealed

    from newfound import load

    model, good = folder / "model", folder / "good" / "model"
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(good, model)
    sealed(model, data[1:], is_weights=data[:1] == b"\1")
    load(model)


# ---- what is typed -----------------------------------------------------------------------------------------------


def _read_settings(data: bytes, folder: Path) -> None:
    from newfound.config import Config, check_parameters
    from newfound.estimator import PARAMETER_RULES

    try:
        stored = json.loads(data)
    except (ValueError, RecursionError):
        return
    stored = decoded(stored)
    if not isinstance(stored, dict):
        return
    config = stored.get("config")
    if isinstance(config, dict):
        Config.from_json(config)
    check_parameters({name: stored.get(name) for name in PARAMETER_RULES}, PARAMETER_RULES)


def _settings_seeds() -> list[bytes]:
    from newfound import GMDGM

    return [json.dumps(GMDGM().settings()).encode()]


def _read_options(data: bytes, folder: Path) -> None:
    from newfound.cli.console import number_or_auto
    from newfound.cli.fit import parse_classes, parse_keep

    text = data.decode("utf-8", "surrogateescape")
    names = ["0", "1", "2", "9", "cat", "5-9", "[red]"]
    first, rest = text[:1], text[1:]
    if first == "h":
        assert set(parse_classes(rest, names)) <= set(names)
    elif first == "k":
        assert 0 <= parse_keep(rest) < float("inf")
    else:
        number_or_auto("--epochs", rest)


def _option_seeds() -> list[bytes]:
    return [b"h0-2", b"hcat,9", b"k20%", b"k0.2", b"k10", b"nauto", b"n12"]


def _read_command(data: bytes, folder: Path) -> None:
    """A command line, its words separated by line breaks; nothing is fitted, because there is no such file."""
    import typer.main

    from newfound.cli.app import app

    words = [word for word in data.decode("utf-8", "surrogateescape").split("\n") if word][:20]
    words = [word for word in words if "demo" not in word and "reproduce" not in word and "get" not in word]
    out, err = io.StringIO(), io.StringIO()
    try:
        with _redirected(out, err):
            typer.main.get_command(app).main(words, "newfound", standalone_mode=False)
    except SystemExit:
        return
    except Exception as error:  # Typer says so itself, by exceptions of Click's, which it may carry within
        if type(error).__module__.split(".")[0] not in ("click", "typer"):
            raise
    finally:
        for left in folder.iterdir():
            if left.name not in KEPT and not left.is_dir():
                left.unlink()


def _redirected(out: Any, err: Any) -> Any:
    from contextlib import ExitStack, redirect_stderr, redirect_stdout

    stack = ExitStack()
    stack.enter_context(redirect_stdout(out))
    stack.enter_context(redirect_stderr(err))
    return stack


def _command_seeds() -> list[bytes]:
    lines = [
        "fit none.csv --label species --out nowhere --hide 5-9 --keep 20% --epochs 3 --n-new auto --seed 1",
        "audit none.csv --label s --id i --ignore a --categorical b --numeric c --features none.npy",
        "predict nowhere none.csv --out x.csv --abstain 0.9 --columns a,b --only-new",
        "evaluate nowhere none.csv --label y --json",
        "info nowhere --json",
        "name nowhere a=b",
        "merge nowhere a b --into c",
        "cut nowhere 3",
        "suggest nowhere -n 3",
        "datasets --json",
        "--version",
    ]
    return [line.replace(" ", "\n").encode() for line in lines]


def _read_estimator(data: bytes, folder: Path) -> None:
    """X, y and keywords from a JSON object; everything up to what would be trained on."""
    from newfound import GMDGM
    from newfound.fit import check_number, check_validation

    try:
        given = decoded(json.loads(data))
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    keywords = (
        {str(name): value for name, value in (given.get("keywords") or {}).items()}
        if isinstance(given.get("keywords"), dict)
        else {}
    )
    known = GMDGM().get_params(deep=False).keys() - {"config"}
    model = GMDGM(**{name: value for name, value in keywords.items() if name in known})
    _, labels = model.rows_and_labels(_as_array(given.get("X"), given.get("dtype")), given.get("y"))
    check_number(labels, model.n_new)
    check_validation(labels, model.validation_fraction, chooses_by_elbo=False)
    names = [str(name) for name in labels.classes]
    assert len(set(names)) == len(names), "two classes of one name"


def _as_array(X: Any, dtype: Any) -> Any:
    if dtype not in ("float64", "float32", "uint8", "int64", "object", "str"):
        return X
    try:
        return np.array(X, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        return X


def _estimator_seeds() -> list[bytes]:
    X = [[1.0, 2.0], [2.0, 0.5], [3.0, 1.0], [5.0, 4.0], [0.0, 1.5], [2.5, 2.5]]
    given = [
        {"X": X, "y": [0, 1, 0, 1, -1, -1], "dtype": "float64", "keywords": {"n_new": 1}},
        {"X": X, "y": ["a", "b", "a", "b", "", None], "keywords": {"n_new": "auto", "validation_fraction": 0.0}},
        {"X": [[0, 1], [1, 0]] * 3, "y": None, "dtype": "uint8", "keywords": {"image_shape": [1, 2]}},
        {"X": X, "y": [1e30, 2e30, 1e30, 2e30, None, None], "keywords": {"feature_types": ["numeric", "binary"]}},
    ]
    return [json.dumps(encoded(one)).encode() for one in given]


KEPT = {"good", "run", "model", "shared", "seen"}  # the last two are the fuzzer's own
TARGETS: dict[str, Target] = {
    "csv": _table_target("t.csv", lambda: [SHORT, NAMES, CSV, PRICES, b"\xef\xbb\xbf" + SHORT], "text"),
    "csv.gz": _table_target("t.csv.gz", lambda: [gzip.compress(seed, mtime=0) for seed in (SHORT, CSV)], "gzip"),
    "tsv": _table_target("t.tsv", lambda: [seed.replace(b",", b"\t") for seed in (SHORT, NAMES, CSV)], "text"),
    "parquet": _table_target("t.parquet", _parquet_seeds, "parquet"),
    "feather": _table_target("t.feather", _feather_seeds, "feather"),
    "npy": Target(_npy_seeds, _read_numpy("t.npy"), "npy"),
    "npz": Target(_npz_seeds, _read_numpy("t.npz"), "zip"),
    "labels": Target(_label_seeds, _read_beside("labels"), "npy"),
    "features": Target(_npy_seeds, _read_beside("features"), "npy"),
    "idx": Target(_idx_seeds, _read_numpy("t.idx"), "bytes"),
    "har": Target(_har_seeds, _read_har, "zip"),
    "images": Target(_image_seeds, _read_image, "bytes"),
    "image labels": Target(lambda: [b"file,label\n0.png,cat\n1.png,dog\n"], _read_image_labels, "text"),
    "run": Target(list, _read_run, "numbered", needs_run=True),
    "model": Target(list, _read_model, "numbered", needs_run=True),
    "settings": Target(_settings_seeds, _read_settings, "json"),
    "options": Target(_option_seeds, _read_options, "text"),
    "command line": Target(_command_seeds, _read_command, "words"),
    "estimator": Target(_estimator_seeds, _read_estimator, "json"),
}
READERS = (
    "csv",
    "csv.gz",
    "tsv",
    "parquet",
    "feather",
    "npy",
    "npz",
    "labels",
    "features",
    "idx",
    "har",
    "images",
    "image labels",
)


def seeds_of(name: str, folder: Path) -> list[bytes]:
    if name == "run":
        return _run_seeds(folder / "good")
    if name == "model":
        return _model_seeds(folder / "good")
    return TARGETS[name].seeds()


def prepare(name: str, folder: Path) -> None:
    """What a target needs in its folder."""
    if not TARGETS[name].needs_run or (folder / "good").is_dir():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_run(folder / "good")
    shutil.copytree(folder / "good", folder / "run")
