"""What lies beside a run while it is made, and what a fit that was stopped leaves there.

run/                      a run
.run.lock                 who is making it now
.run.unfinished-3f9a01bc  the run being made; with a checkpoint/ in it a stopped fit can go on
.run.former-3f9a01bc      the run that was there before, until the new one is in its place
"""

import glob
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from newfound.checkpoints import checkpoint_files
from newfound.disk import disk
from newfound.errors import DataError
from newfound.files import TEMPORARY
from newfound.locks import holder_of
from newfound.runs.manifest import LOCK, MANIFEST, Manifest, check_sizes, foreign_files, names_in, read_manifest

UNFINISHED, FORMER = ".unfinished-", ".former-"
CHECKPOINT = "checkpoint"  # folder
OWN_NAMES = re.compile(
    r"(run|classes|audit|changes|descriptions|manifest)\.json|(predictions|labelled|disagreements)\.csv|report\.html|"
    r"(predictions|labelled|history|rows|own|all_rows)\.parquet|examples\.safetensors|acts\.jsonl|\.lock|"
    r"model/(model\.json|weights-[0-9a-f]{16}\.safetensors)|"
    r"checkpoint/(fit\.json|discovery-[0-9a-f]{16}\.safetensors|training-\d+-[0-9a-f]{16}\.safetensors)"
)


def lock_of(folder: Path) -> Path:
    """The file that whoever makes a run at this place holds."""
    return folder.parent / f".{folder.name}.lock"


def beside(folder: Path, kind: str, name: str) -> Path:
    return folder.parent / f".{folder.name}{kind}{name}"


def unfinished_folders(folder: Path) -> list[Path]:
    """What fits towards `folder` left, or are still writing; the latest last."""
    return _found(folder, UNFINISHED)


def former_folders(folder: Path) -> list[Path]:
    """Runs that had to make room at `folder`."""
    return _found(folder, FORMER)


def _found(folder: Path, kind: str) -> list[Path]:
    found = folder.parent.glob(glob.escape(f".{folder.name}{kind}") + "*")
    return sorted((path for path in found if path.is_dir()), key=lambda path: (path.stat().st_mtime_ns, path.name))


def is_whole(folder: Path) -> bool:
    """Whether all files of a run are there."""
    try:
        manifest = read_manifest(folder)
        if manifest is None:
            return False
        check_sizes(folder, manifest)
    except (DataError, OSError):
        return False
    return True


def is_resumable(folder: Path) -> bool:
    """Whether a fit can go on from what is here."""
    return bool(checkpoint_files(folder / CHECKPOINT))


def why_missing(folder: Path, description: str) -> str:
    """What is said of a folder that holds no run, and what there is instead."""
    what = f"is not a run: {description} is missing" if folder.is_dir() else "is not there"
    said = f"The run {str(folder)!r} {what}"
    unfinished, former = unfinished_folders(folder), former_folders(folder)
    if (holder := holder_of(lock_of(folder))) is not None:
        return f"{said}; a fit is at work on it: {holder}."
    if whole := [path for path in (*unfinished, *former) if is_whole(path)]:
        names = " and ".join(
            f"{'an earlier one' if FORMER in path.name else 'the new one'} is whole in {path.name}" for path in whole
        )
        return f"{said}: a fit was stopped when it moved it into place; {names}. Rename the one that you want."
    if any(map(is_resumable, unfinished)):
        return f"{said}; a fit was begun and stopped. Go on with it: newfound fit --resume {folder}"
    if unfinished:
        return f"{said}; a fit was begun but has not finished ({unfinished[0].name}): fit again."
    return f"{said}; give the folder that `newfound fit --out` wrote."


def remove_run(folder: Path) -> list[str]:
    """Remove what newfound wrote, and the folder if that was all; the names of files that are not newfound's."""
    foreign = foreign_files(folder)
    manifest = read_manifest(folder) or Manifest()
    _remove(folder, [name for name in (*manifest.files, *_temporary(folder), LOCK, MANIFEST) if name not in foreign])
    return foreign


def remove_unfinished(folder: Path) -> None:
    """The same for a run that was never whole: there is no manifest yet, but a name of its own for every file."""
    _remove(folder, [name for name in names_in(folder) if OWN_NAMES.fullmatch(name)] + [*_temporary(folder)])


def remove_temporary(folder: Path) -> None:
    """What a process that was killed left in a run that another one goes on with."""
    for name in list(_temporary(folder)):
        disk.remove(folder / name)


def _temporary(folder: Path) -> Iterator[str]:
    return (name for name in names_in(folder) if TEMPORARY.fullmatch(name.rpartition("/")[2]))


def _remove(folder: Path, names: list[str]) -> None:
    """Files, in this order, then the folders that are empty."""
    for name in names:
        with suppress(FileNotFoundError):
            disk.remove(folder / name)
    for place, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(place):
            disk.remove_folder(Path(place))
