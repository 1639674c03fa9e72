"""How a run is written: into a folder beside its place, then moved there whole; and how a stopped fit is continued."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from newfound._internal.files import disk, held, holder_of, make_folders, replace_file, sync_folder
from newfound._internal.records import encoded, read_json
from newfound._internal.words import DataError, quoted_list
from newfound.runs.leftovers import (
    CHECKPOINT,
    FORMER,
    UNFINISHED,
    beside,
    former_folders,
    is_resumable,
    is_whole,
    lock_of,
    remove_run,
    remove_temporary,
    remove_unfinished,
    unfinished_folders,
    why_missing,
)
from newfound.runs.manifest import MANIFEST, alone, foreign_files, seal
from newfound.runs.records import ignore
from newfound.runs.run import DESCRIPTION

# ---- A stopped fit: the options of its command are saved beside its checkpoints ----

OPTIONS = "fit.json"
Kind = TypeVar("Kind")


def write_options(building: Path, options: dict[str, Any] | None) -> None:
    """Save the options of the command; None for a fit from Python, which only its own program can repeat."""
    if options is not None:
        make_folders(building / CHECKPOINT)
        replace_file(building / CHECKPOINT / OPTIONS, encoded(options))


def read_options(out: Path, kind: type[Kind]) -> tuple[Path, Kind]:
    """Return the unfinished folder of the fit to continue, and the options it was started with."""
    out = Path(os.path.realpath(out))
    if (holder := holder_of(lock_of(out))) is not None:
        raise DataError(f"The fit to {out.name!r} is still running: {holder}.")
    found = [path for path in unfinished_folders(out) if is_resumable(path)]
    if not found:
        is_there = (out / "run.json").is_file()
        why = f"The run {out.name!r} is finished." if is_there else why_missing(out, "run.json")
        raise DataError(f"There is no checkpoint to continue from. {why}")
    path = found[-1] / CHECKPOINT / OPTIONS
    if not path.is_file():
        raise DataError(f"{str(path)!r} is missing. Fit again without --resume.")
    return found[-1], read_json(path, kind, "Fit again without --resume.")


# ---- A run is made beside its place, then moved there whole ----
# The user decides about files that are in the way. One fit at a time makes a run at a place (`.run.lock` names it).
# Files that newfound did not write are never removed. After any failure or kill, the earlier run or the new one is
# there, under its own name or under one that `open_run` reports.

PROBE = ".newfound-000000000000.tmp"


def check_out(folder: Path, *, replace: bool) -> None:
    """Refuse a place with files that may not be overwritten, before anything is computed."""
    check_place(folder)
    has_run = (folder / DESCRIPTION).is_file()
    if os.path.ismount(folder):  # a run takes its place by a rename
        raise DataError(f"{str(folder)!r} is a mount point. Name a folder in it with --out, {str(folder / 'run')!r}.")
    if has_run and not replace:
        raise DataError(f"{str(folder)!r} already holds a run. Use --replace to overwrite it, or another --out.")
    if not has_run and (folder.is_symlink() or folder.exists()) and not _is_empty(folder):
        raise DataError(f"{str(folder)!r} exists and is not a run. Name another folder with --out.")
    if has_run:
        _refuse_foreign(folder)


def check_place(folder: Path) -> None:
    """Refuse a name that no folder can have; the unfinished folder beside it has a longer one."""
    try:
        os.lstat(beside(folder.absolute(), UNFINISHED, "0" * 8))
    except NotADirectoryError:
        file = next(path for path in folder.absolute().parents if path.exists())
        raise DataError(f"{str(file)!r} is a file, so no run can be made in it. Name another --out.") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            n_bytes = len(os.fsencode(folder.name))
            raise DataError(f"The name of --out is too long: {n_bytes} bytes. Give it a shorter one.") from None


def _is_empty(folder: Path) -> bool:
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _refuse_foreign(folder: Path) -> None:
    """Refuse to replace a run with files that newfound did not write: they would be lost."""
    if not (folder / MANIFEST).is_file():
        raise DataError(
            f"{str(folder)!r} has no {MANIFEST}, so newfound cannot know which of its files are yours. Move it "
            f"away, or name another folder with --out."
        )
    if foreign := foreign_files(folder):
        raise DataError(
            f"{str(folder)!r} holds files that newfound did not write, or that were changed since: "
            f"{quoted_list(foreign)}. They would be lost: move them away, or name another folder with --out."
        )


@contextmanager
def atomic_folder(
    folder: Path, *, replace: bool = True, note: Callable[[str], None] = ignore, resumed: Path | None = None
) -> Iterator[Path]:
    """Yield an empty folder to write to, which takes the place of `folder` at the end.

    A first file is written at once, so that a place that cannot be written to is found before anything is computed.
    After a failure the folder is removed, unless a fit can be continued from a checkpoint in it (then as `resumed`).
    """
    folder = Path(os.path.realpath(folder))  # a link stays a link
    check_place(folder)
    made = make_folders(folder.parent)
    try:
        with held(lock_of(folder), f"the run {str(folder.name)!r}"):
            _put_back(folder, note)
            check_out(folder, replace=replace)
            kept = _tidy(folder, note, resumed)
            building = resumed or _begun(folder)
            try:
                yield building
                _seal(building)
            except BaseException:
                if not is_resumable(building):
                    _without_fail(remove_unfinished, building)
                raise
            _take_place(building, folder, replace)
            for old in kept:
                _without_fail(remove_unfinished, old)
    except BaseException:
        _remove_empty(made)
        raise


def _begun(folder: Path) -> Path:
    building = beside(folder, UNFINISHED, uuid4().hex[:8])
    disk.make_folder(building)
    try:
        replace_file(building / PROBE, b"Can this place be written to?\n")
        disk.remove(building / PROBE)
    except BaseException:
        _without_fail(remove_unfinished, building)
        raise
    return building


def _seal(building: Path) -> None:
    """Write the manifest, the last step of making a run, and remove its checkpoints."""
    remove_temporary(building)
    seal(building, but=CHECKPOINT)
    checkpoint = building / CHECKPOINT
    if checkpoint.is_dir():
        for path in sorted(checkpoint.iterdir()):
            disk.remove(path)
        disk.remove_folder(checkpoint)


def _put_back(folder: Path, note: Callable[[str], None]) -> None:
    """After a kill between two renames, move the earlier run back."""
    whole = [path for path in former_folders(folder) if is_whole(path)]
    if whole and not folder.exists():
        disk.rename(whole[-1], folder)
        note(f"A fit to {folder.name!r} was stopped while it replaced the earlier run; the earlier run is back.")


def _tidy(folder: Path, note: Callable[[str], None], resumed: Path | None) -> list[Path]:
    """Remove the folders of dead fits; return those that are whole or resumable, which stay until this fit is done."""
    kept = []
    for left in former_folders(folder):
        _without_fail(remove_run, left)
    for left in unfinished_folders(folder):
        if left == resumed:
            continue
        if is_whole(left) or is_resumable(left):
            kept.append(left)
            what = "is whole" if is_whole(left) else "can be continued (newfound fit --resume)"
            note(f"An earlier fit to {folder.name!r} was stopped and {what}; {left.name} stays until this one is done.")
        else:
            _without_fail(remove_unfinished, left)
    return kept


def _take_place(building: Path, folder: Path, replace: bool) -> None:
    """Move the whole run to its place; after a failure the earlier run is moved back and the new one kept."""
    try:
        check_out(folder, replace=replace)  # it may have changed while a fit went on
        if not folder.exists():
            disk.rename(building, folder)
        elif _is_empty(folder):
            disk.remove_folder(folder)
            disk.rename(building, folder)
        else:
            with alone(folder):
                _exchange(building, folder)
    except (OSError, DataError) as error:
        kept = _kept(building, folder)
        reason = str(error).rstrip(".")
        raise DataError(f"{reason}. The new run is whole, in {str(kept)!r}.") from None
    sync_folder(folder.parent)


def _exchange(building: Path, folder: Path) -> None:
    former = beside(folder, FORMER, uuid4().hex[:8])
    disk.rename(folder, former)
    try:
        disk.rename(building, folder)
    except BaseException:
        disk.rename(former, folder)
        raise
    try:
        foreign = remove_run(former)
    except OSError:
        return  # the next fit removes it
    if foreign:
        raise DataError(
            f"Files that newfound did not write appeared in the earlier run meanwhile ({quoted_list(foreign)}); they "
            f"are in {str(former)!r}."
        )


def _kept(building: Path, folder: Path) -> Path:
    """Move a whole run that cannot take its place to the next free name: run-2."""
    if not building.exists():  # it is in its place, and only what came after failed
        return folder
    for i in range(2, 1000):
        other = folder.with_name(f"{folder.name}-{i}")
        if not other.exists():
            try:
                disk.rename(building, other)
            except OSError:
                break
            return other
    return building


def _without_fail(remove: Callable[[Path], object], folder: Path) -> None:
    """Remove what can be removed: the next fit removes the rest, and an earlier error is not hidden."""
    with suppress(OSError, DataError):
        remove(folder)


def _remove_empty(made: list[Path]) -> None:
    for folder in reversed(made):
        if folder.is_dir() and not any(folder.iterdir()):
            disk.remove_folder(folder)
