"""The published data sets by name: found on this machine, or downloaded from several mirrors in turn and checked.

pooch fetches one file. The check is of its content, inside the gzip or of the whole archive, because mirrors compress
the same content into different bytes.
"""

import hashlib
import io
import os
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote
from zipfile import ZipFile

import numpy as np

from newfound._internal.words import DataError, count, did_you_mean
from newfound.labels import Labels, means_unlabelled
from newfound.tables import log
from newfound.tables.arrays import DAMAGED, check_packed, with_columns
from newfound.tables.dataset import Dataset, TrainTest
from newfound.tables.images import DIGITS, open_unzipped, read_digits, read_idx_images
from newfound.tables.limits import check_memory

TIMEOUT = 30  # seconds without an answer
CHUNK = 1 << 20  # bytes


class DownloadError(DataError):
    """No mirror gave the file; `tried` has the reason for each address."""

    def __init__(self, tried: Sequence[str]):
        super().__init__("; ".join(tried))
        self.tried = list(tried)


def download(
    addresses: Sequence[str], target: Path, check: Callable[[Path], object], verbose: bool | str = "auto"
) -> None:
    """Get `target` from the first address whose file passes `check`; a file that fails is deleted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    tried = []
    for address in addresses:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".download-", suffix=target.suffix)
        os.close(handle)
        try:
            _fetch(address, name, target.name, verbose)
            check(Path(name))
            os.replace(name, target)
            return
        except (DataError, OSError) as error:  # requests' own errors are OSErrors
            tried.append(f"{address} ({_reason(error)})")
        finally:
            Path(name).unlink(missing_ok=True)
    raise DownloadError(tried)


def check_content(sha256: str) -> Callable[[Path], None]:
    """A check of what is inside the gzip."""

    def check(path: Path) -> None:
        digest = hashlib.sha256()
        try:
            with open_unzipped(path) as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
        except (EOFError, zlib.error):
            raise DataError("cut short or damaged") from None
        if digest.hexdigest() != sha256:
            raise DataError(f"wrong checksum: expected {sha256[:12]}…, got {digest.hexdigest()[:12]}…")

    return check


def _fetch(address: str, name: str, title: str, verbose: bool | str) -> None:
    import pooch

    with _bar(verbose, title) as bar:
        pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)(address, name, None)


def _reason(error: Exception) -> str:
    from requests import exceptions

    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code}"
    if isinstance(error, exceptions.Timeout):
        return f"no answer within {TIMEOUT} seconds"
    if isinstance(error, exceptions.ConnectionError):
        return "no connection"
    return str(error)


@contextmanager
def _bar(verbose: bool | str, title: str) -> Iterator[Any]:
    """A progress bar; "auto" shows it only in a terminal."""
    if verbose is False or (verbose == "auto" and not sys.stderr.isatty()):
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, progress.add_task(title, total=None))


class _Bar:
    """rich's bar with the four names that pooch uses."""

    def __init__(self, progress: Any, task: Any):
        self.progress, self.task = progress, task

    @property
    def total(self) -> float | None:
        return self.progress.tasks[0].total

    @total.setter
    def total(self, n: int) -> None:
        self.progress.update(self.task, total=n or None)

    def update(self, n: int) -> None:
        self.progress.advance(self.task, n)

    def reset(self) -> None:
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        """The bar is closed with its Progress."""


# ---- UCI's Human Activity Recognition Using Smartphones, read from the zip without unpacking it to disk ----

INNER = "UCI HAR Dataset.zip"  # inside the outer zip that the archive gives today
REMEDY = "Download it again."


def read_har(path: str | PathLike) -> TrainTest:
    """Both parts, with the subjects as groups."""
    path = Path(path)
    try:
        with ZipFile(path) as outer:
            _check_members(outer, path.name)
            inner = next((name for name in outer.namelist() if name.split("/")[-1] == INNER), None)
            if inner is None:
                return _read_parts(outer, path.name)
            with ZipFile(io.BytesIO(outer.read(inner))) as nested:
                _check_members(nested, inner)
                return _read_parts(nested, inner)
    except DataError:
        raise
    except DAMAGED as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path.name!r} is not a complete zip file of HAR ({reason}). {REMEDY}") from None


def _check_members(archive: ZipFile, where: str) -> None:
    """Nothing is unpacked, so a path outside the folder does no harm, but such an archive cannot be trusted."""
    check_memory(sum(member.file_size for member in archive.infolist()), repr(where))
    for member in archive.infolist():
        check_packed(archive, member, f"The file {member.filename!r} of {where!r}")
        name = member.filename
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]):
            raise DataError(
                f"{where!r} holds a file with a path outside its folder, {name!r}. Do not unpack it; get the archive "
                f"from its publisher."
            )


def _read_parts(archive: ZipFile, where: str) -> TrainTest:
    features = _distinct([name for _, name in _pairs(archive, "features.txt", where)])
    activities = dict(_pairs(archive, "activity_labels.txt", where))
    return TrainTest(*(_read_part(archive, where, part, features, activities) for part in ("train", "test")))


def _pairs(archive: ZipFile, member: str, where: str) -> list[tuple[str, str]]:
    """Lines of a number and a name."""
    pairs = [tuple(line.split(maxsplit=1)) for line in _lines(archive, member, where)]
    wrong = next((pair for pair in pairs if len(pair) != 2), None)
    if wrong is not None or not pairs:
        got = "nothing" if wrong is None else repr(wrong[0])
        raise DataError(f"{member!r} of {where!r} must hold lines of a number and a name, got {got}. {REMEDY}")
    return [(number, name) for number, name in pairs]


def _read_part(archive: ZipFile, where: str, part: str, features: list[str], activities: dict[str, str]) -> Dataset:
    numbers = _lines(archive, f"{part}/y_{part}.txt", where)
    subjects = _lines(archive, f"{part}/subject_{part}.txt", where)
    X = _matrix(_member(archive, f"{part}/X_{part}.txt", where), f"{part}/X_{part}.txt", len(features))
    if not len(X) == len(numbers) == len(subjects):
        raise DataError(
            f"The {part} part of {where!r} has {count(len(X), 'row')} of features, {count(len(numbers), 'label')} and "
            f"{count(len(subjects), 'subject')}, which should be equal. {REMEDY}"
        )
    labels = _labels(numbers, activities, f"The {part} part of {where!r}")
    return with_columns(
        Dataset(
            X=X,
            labels=labels,
            feature_names=features,
            row_ids=np.arange(len(X)),
            kind="table",
            groups=_numbers(subjects, f"{part}/subject_{part}.txt"),
            label_column="activity",
            group_column="subject",
            log=[
                f"Read {count(len(X), 'row')} of {count(len(features), 'feature')} from {len(set(subjects))} subjects.",
                *log.about_labels("activity", labels),
            ],
        )
    )


def _numbers(lines: list[str], where: str) -> np.ndarray:
    wrong = next((line for line in lines if not (line.isdecimal() and len(line) < 10)), None)
    if wrong is not None:
        raise DataError(f"{where!r} must hold a whole number a line, got {wrong[:40]!r}. {REMEDY}")
    return np.array(lines, dtype=np.int64)


def _labels(numbers: list[str], activities: dict[str, str], where: str) -> Labels:
    unknown = sorted(set(numbers) - set(activities))
    if unknown:
        raise DataError(f"{where} has the label {unknown[0]}, which activity_labels.txt lacks. {REMEDY}")
    position = {number: i for i, number in enumerate(activities)}
    names = list(activities.values())
    if len(set(names)) < len(names) or any(map(means_unlabelled, names)):
        raise DataError(f"activity_labels.txt must give each number a name of its own, got {names}. {REMEDY}")
    return Labels.of_distinct(names, np.array([position[number] for number in numbers]), declared=names)


def _member(archive: ZipFile, member: str, where: str) -> bytes:
    """A file by the end of its path; the copies of names that macOS adds do not count."""
    matches = [n for n in archive.namelist() if f"/{n}".endswith(f"/{member}") and not n.startswith("__MACOSX")]
    if not matches:
        raise DataError(f"{where!r} is not the HAR archive: it has no {member}. Get it from the UCI repository.")
    return archive.read(matches[0])


def _lines(archive: ZipFile, member: str, where: str) -> list[str]:
    return [line.strip() for line in _member(archive, member, where).decode().splitlines() if line.strip()]


def _matrix(content: bytes, where: str, width: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # of NumPy, where it stops at a word
        try:
            values = np.fromstring(content, dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            raise DataError(f"{where!r} holds something other than numbers. {REMEDY}") from None
    if not np.isfinite(values).all():
        raise DataError(f"{where!r} holds numbers that are not finite. {REMEDY}")
    if len(values) == 0 or len(values) % width:
        raise DataError(f"{where!r} has {len(values):,} numbers, which do not fill rows of {width}. {REMEDY}")
    return values.reshape(-1, width)


def _distinct(names: list[str]) -> list[str]:
    """42 names of the publisher's occur three times, once for each axis: the second is marked #2, the third #3."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return distinct


# ---- What the data sets are, where they are published, and how they are read ----

GARMENTS = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class RemoteFile(NamedTuple):
    """A file of a data set: where it is published, and the check that it is the right one."""

    name: str
    check: Callable[[Path], object]
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class NamedSet:
    """A data set before it is read."""

    name: str
    title: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    licence: str
    read: Callable[[Sequence[Path]], TrainTest]  # from its files, in their order
    files: tuple[RemoteFile, ...] = ()
    system_folders: tuple[str, ...] = ()  # where a package of the operating system may have put the files


def _idx_files(bases: Sequence[str], *checksums: str) -> tuple[RemoteFile, ...]:
    """The SHA-256 is of what is inside the gzip, since each publisher and mirror compresses it differently."""
    names = [f"{part}-{what}-ubyte.gz" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]
    return tuple(
        RemoteFile(name, check_content(sha256), tuple(base + name for base in bases))
        for name, sha256 in zip(names, checksums, strict=True)
    )


def _read_idx(paths: Sequence[Path], class_names: list[str]) -> TrainTest:
    train_images, train_labels, test_images, test_labels = paths
    return TrainTest(
        read_idx_images(train_images, train_labels, class_names), read_idx_images(test_images, test_labels, class_names)
    )


_SETS = (
    NamedSet(
        "digits",
        "Optical recognition of handwritten digits, the copy in scikit-learn",
        *(1347, 450, 64, 10),
        licence="CC BY 4.0",
        read=lambda paths: read_digits(),
    ),
    NamedSet(
        "mnist",
        "MNIST handwritten digits",
        *(60_000, 10_000, 784, 10),
        licence="CC BY-SA 3.0",
        read=partial(_read_idx, class_names=DIGITS),
        files=_idx_files(
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "http://yann.lecun.com/exdb/mnist/",  # the publisher's own, which seldom answers
            ),
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    NamedSet(
        "fashion-mnist",
        "Fashion-MNIST, images of clothing",
        *(60_000, 10_000, 784, 10),
        licence="MIT",
        read=partial(_read_idx, class_names=GARMENTS),
        files=_idx_files(
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            ),
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        system_folders=("/usr/share/dataset-fashion-mnist",),  # Debian's package of that name
    ),
    NamedSet(
        "har",
        "Human Activity Recognition Using Smartphones (Anguita et al., ESANN 2013)",
        *(7352, 2947, 561, 6),
        licence="CC BY 4.0 at the publisher; its README of 2012 says no commercial use",
        read=lambda paths: read_har(paths[0]),
        files=(
            RemoteFile(
                "UCI HAR Dataset.zip",
                # The archive now nests this zip in another one, whose checksum is not known here. So the check reads
                # all of it: members have a CRC, and features, labels and subjects must agree.
                read_har,
                (
                    "https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
                    "https://d396qusza40orc.cloudfront.net/getdata%2Fprojectfiles%2FUCI%20HAR%20Dataset.zip",
                ),
            ),
        ),
    ),
)
NAMED = {known.name: known for known in _SETS}


# ---- Find a data set in the user's folder, the cache or a system package, or else download it ----

DATA_VARIABLE = "NEWFOUND_DATA"  # a folder with a sub-folder for each data set
CACHE_VARIABLE = "NEWFOUND_CACHE"  # a folder for downloads, in place of the user's cache folder
MIRRORS_VARIABLE = "NEWFOUND_MIRRORS"  # addresses, separated by spaces, of folders laid out like the first


def load_named(name: str, mirrors: Sequence[str] | None = None, verbose: bool | str = "auto") -> TrainTest:
    """The train and test part of a data set, downloaded if need be."""
    return get_named(name).read(fetch_named(name, mirrors, verbose))


def get_named(name: str) -> NamedSet:
    if name not in NAMED:
        raise DataError(f"There is no data set {name!r} in the list. {did_you_mean(name, NAMED)}")
    return NAMED[name]


def find_named(name: str) -> list[Path] | None:
    """The files of a data set where they are on this machine already; None where no folder has them all."""
    known = get_named(name)
    found = ([_existing(folder, file.name) for file in known.files] for folder in _folders(known))
    return next(([path for path in paths if path] for paths in found if None not in paths), None)


def fetch_named(name: str, mirrors: Sequence[str] | None = None, verbose: bool | str = "auto") -> list[Path]:
    """The files of a data set, downloaded into the cache where they are not on this machine."""
    known = get_named(name)
    found = find_named(name)
    if found is not None:
        return found
    folder = cache_folder() / name
    try:
        return [_existing(folder, file.name) or _get(known, file, folder, mirrors, verbose) for file in known.files]
    except DownloadError as error:
        raise DataError(_not_found(known, error.tried)) from None


def cache_folder() -> Path:
    """Where downloads are kept: below the folder in NEWFOUND_CACHE if it is set, else in the user's cache folder."""
    from platformdirs import user_cache_path

    own = os.environ.get(CACHE_VARIABLE)
    return (Path(own) if own else user_cache_path("newfound")) / "data"


def _get(known: NamedSet, file: RemoteFile, folder: Path, mirrors: Sequence[str] | None, verbose: bool | str) -> Path:
    bases = os.environ.get(MIRRORS_VARIABLE, "").split() if mirrors is None else mirrors
    addresses = [f"{base.rstrip('/')}/{known.name}/{quote(file.name)}" for base in bases] or file.addresses
    download(addresses, folder / file.name, file.check, verbose)
    return folder / file.name


def _folders(known: NamedSet) -> list[Path]:
    own = os.environ.get(DATA_VARIABLE)
    return [*([Path(own) / known.name] if own else []), cache_folder() / known.name, *map(Path, known.system_folders)]


def _existing(folder: Path, name: str) -> Path | None:
    """The file, or the same file already unzipped."""
    choices = (folder / name, folder / name.removesuffix(".gz"))
    return next((path for path in choices if path.is_file()), None)


def _not_found(known: NamedSet, tried: Sequence[str]) -> str:
    searched = [f"{folder} ({_lacking(folder, known)})" for folder in _folders(known)]
    if not os.environ.get(DATA_VARIABLE):
        searched.insert(0, f"the folder in {DATA_VARIABLE} (not set)")
    places = "".join(f"\n  - {place}" for place in [*searched, *tried])
    return (
        f"The data set {known.name!r} is not on this machine and could not be downloaded. Searched:{places}\n"
        f"Connect to the network and try again; or put {', '.join(repr(file.name) for file in known.files)} "
        f"into {cache_folder() / known.name}; or set {DATA_VARIABLE} to a folder with them in {known.name!r}."
    )


def _lacking(folder: Path, known: NamedSet) -> str:
    if not folder.is_dir():
        return "no such folder"
    n = sum(_existing(folder, file.name) is None for file in known.files)
    return f"lacks {n} of {count(len(known.files), 'file')}"
