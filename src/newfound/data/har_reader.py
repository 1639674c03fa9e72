"""UCI's Human Activity Recognition Using Smartphones, read straight from the zip: nothing is unpacked to disk."""

import io
import warnings
from collections import Counter
from os import PathLike
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.array_reader import with_columns
from newfound.data.dataset import Dataset, TrainTest
from newfound.data.limits import check_memory
from newfound.data.numpy_files import DAMAGED, check_packed
from newfound.errors import DataError
from newfound.labels import Labels, means_unlabelled
from newfound.wording import count

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
    """A path outside the folder could do no harm here, but it means that the archive is not to be trusted."""
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
                *preprocessing_log.about_labels("activity", labels),
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
