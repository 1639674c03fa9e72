"""What lies beside a run while it is made or after a fit was stopped, and what may be in the way of a file."""

import glob
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from newfound._internal.files import TEMPORARY, disk, holder_of
from newfound._internal.words import DataError
from newfound.runs.manifest import LOCK, MANIFEST, Manifest, check_sizes, foreign_files, names_in, read_manifest

# ---- What lies beside a run while it is made, and what a fit that was stopped leaves there ----
# run/                      a run
# .run.lock                 who is making it now
# .run.unfinished-3f9a01bc  the run being made; with a checkpoint/ in it a stopped fit can go on
# .run.former-3f9a01bc      the run that was there before, until the new one is in its place

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
    from newfound.training.checkpoints import checkpoint_files

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


# ---- Files that a command writes where the user says: what may be in the way, and what is told of paths in a run ----


def check_file_out(out: Path, inputs: Iterable[str | None], *, replace: bool) -> None:
    """Refuse to write over what is being read, over a file of a run, and without `replace` over anything."""
    for given in inputs:
        if given is not None and Path(given).exists() and out.exists() and os.path.samefile(given, out):
            raise DataError(f"{str(out)!r} is also read from. Name another file.")
    if (run := run_that_holds(out)) is not None:
        raise DataError(f"{str(out)!r} is a file of the run {str(run)!r}. Name a file elsewhere.")
    if out.is_dir():
        raise DataError(f"{str(out)!r} is a folder. Name a file.")
    if out.exists() and not replace:
        raise DataError(f"{str(out)!r} already exists. Use --replace to write over it, or another name.")


def run_that_holds(path: Path) -> Path | None:
    """The run whose file this is, or would be."""
    real = Path(os.path.realpath(path))
    for folder in (real.parent, real.parent.parent):
        if (folder / MANIFEST).is_file():
            manifest, name = read_manifest(folder), real.relative_to(folder).as_posix()
            if OWN_NAMES.fullmatch(name) or (manifest is not None and name in manifest.files):
                return folder
    return None


def told_path(path: str | os.PathLike) -> str:
    """A path as it may be told to others: relative to where the command ran, or from home; else only its name."""
    given = os.fspath(path)
    if not os.path.isabs(given):
        return given
    bases = ((Path.cwd(), Path()), (Path.home(), Path("~")))
    for base, prefix in sorted(bases, key=lambda pair: -len(pair[0].parts)):
        if Path(given).is_relative_to(base) and base != Path(base.anchor):  # every path is below the root
            return str(prefix / Path(given).relative_to(base))
    return Path(given).name


def told_command() -> str:
    """The command line of this process, in which paths are as they may be told."""
    words = []
    for word in sys.argv[1:]:
        option, is_given, value = word.partition("=") if word.startswith("--") else ("", "", word)
        words.append(f"{option}{is_given}{told_path(value)}" if value else word)
    return shlex.join(["newfound", *words])
