"""Files beside a run: a run being made, a stopped fit, an earlier run; and files that a command would overwrite."""

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

# ---- Beside a run while it is made, and after a stopped fit ----
# run/                      a run
# .run.lock                 who is making it now
# .run.unfinished-3f9a01bc  the run being made; with a checkpoint/ in it a stopped fit can be continued
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
    """Return the lock file for making a run at this place."""
    return folder.parent / f".{folder.name}.lock"


def beside(folder: Path, kind: str, name: str) -> Path:
    return folder.parent / f".{folder.name}{kind}{name}"


def unfinished_folders(folder: Path) -> list[Path]:
    """Return folders that fits to `folder` left behind or are still writing, the latest last."""
    return _found(folder, UNFINISHED)


def former_folders(folder: Path) -> list[Path]:
    """Return earlier runs that were moved away from `folder`."""
    return _found(folder, FORMER)


def _found(folder: Path, kind: str) -> list[Path]:
    found = folder.parent.glob(glob.escape(f".{folder.name}{kind}") + "*")
    return sorted((path for path in found if path.is_dir()), key=lambda path: (path.stat().st_mtime_ns, path.name))


def is_whole(folder: Path) -> bool:
    """Return whether all files of a run are there."""
    try:
        manifest = read_manifest(folder)
        if manifest is None:
            return False
        check_sizes(folder, manifest)
    except (DataError, OSError):
        return False
    return True


def is_resumable(folder: Path) -> bool:
    """Return whether a fit can be continued from here."""
    from newfound.training.checkpoints import checkpoint_files

    return bool(checkpoint_files(folder / CHECKPOINT))


def why_missing(folder: Path, description: str) -> str:
    """Return a sentence about a folder that holds no run, with what is there instead."""
    what = f"is not a run: {description} is missing" if folder.is_dir() else "does not exist"
    said = f"The run {str(folder)!r} {what}"
    unfinished, former = unfinished_folders(folder), former_folders(folder)
    if (holder := holder_of(lock_of(folder))) is not None:
        return f"{said}. A fit is working on it: {holder}."
    if whole := [path for path in (*unfinished, *former) if is_whole(path)]:
        names = " and ".join(
            f"{'an earlier one' if FORMER in path.name else 'the new one'} is whole in {path.name}" for path in whole
        )
        return f"{said}: a fit was stopped while it moved the run into place; {names}. Rename the one that you want."
    if any(map(is_resumable, unfinished)):
        return f"{said}. A fit was started and stopped. To continue: newfound fit --resume {folder}"
    if unfinished:
        return f"{said}. A fit was started but did not finish ({unfinished[0].name}). Fit again."
    return f"{said}. Give the folder that `newfound fit --out` wrote."


def remove_run(folder: Path) -> list[str]:
    """Remove newfound's own files, and the folder if it is then empty; return the names of all other files."""
    foreign = foreign_files(folder)
    manifest = read_manifest(folder) or Manifest()
    _remove(folder, [name for name in (*manifest.files, *_temporary(folder), LOCK, MANIFEST) if name not in foreign])
    return foreign


def remove_unfinished(folder: Path) -> None:
    """Remove a run that has no manifest yet: its files are known by their names."""
    _remove(folder, [name for name in names_in(folder) if OWN_NAMES.fullmatch(name)] + [*_temporary(folder)])


def remove_temporary(folder: Path) -> None:
    """Remove the temporary files of a killed process from a run that another process continues."""
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


# ---- Files that a command writes where the user says ----


def check_file_out(out: Path, inputs: Iterable[str | None], *, replace: bool) -> None:
    """Refuse to overwrite an input or a file of a run, and without `replace` any file."""
    for given in inputs:
        if given is not None and Path(given).exists() and out.exists() and os.path.samefile(given, out):
            raise DataError(f"{str(out)!r} is also read from. Name another file.")
    if (run := run_that_holds(out)) is not None:
        raise DataError(f"{str(out)!r} is a file of the run {str(run)!r}. Name a file elsewhere.")
    if out.is_dir():
        raise DataError(f"{str(out)!r} is a folder. Name a file.")
    if out.exists() and not replace:
        raise DataError(f"{str(out)!r} already exists. Use --replace to overwrite it, or another name.")


def run_that_holds(path: Path) -> Path | None:
    """Return the run that this file is, or would be, a part of."""
    real = Path(os.path.realpath(path))
    for folder in (real.parent, real.parent.parent):
        if (folder / MANIFEST).is_file():
            manifest, name = read_manifest(folder), real.relative_to(folder).as_posix()
            if OWN_NAMES.fullmatch(name) or (manifest is not None and name in manifest.files):
                return folder
    return None


def shareable_path(path: str | os.PathLike) -> str:
    """Return a path that is safe to share: relative to the working directory or to home; else only its name."""
    given = os.fspath(path)
    if not os.path.isabs(given):
        return given
    bases = ((Path.cwd(), Path()), (Path.home(), Path("~")))
    for base, prefix in sorted(bases, key=lambda pair: -len(pair[0].parts)):
        if Path(given).is_relative_to(base) and base != Path(base.anchor):  # every path is below the root
            return str(prefix / Path(given).relative_to(base))
    return Path(given).name


def shareable_command() -> str:
    """Return the command line of this process, with shareable paths."""
    words = []
    for word in sys.argv[1:]:
        option, is_given, value = word.partition("=") if word.startswith("--") else ("", "", word)
        words.append(f"{option}{is_given}{shareable_path(value)}" if value else word)
    return shlex.join(["newfound", *words])
