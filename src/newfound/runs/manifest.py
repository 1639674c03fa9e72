"""The list of a run's files with their checksums, `manifest.json`: it tells newfound's files from a user's.

    {"files": {"run.json": [2311, "<sha256>"], "model/model.json": […], …}, "moving": {}}

Only files on the list that are unchanged since are ever overwritten or removed. Several files change together
(`put_files`): all are written under temporary names; the manifest then lists which of them move where; they move; the
manifest gets the new checksums. If that is cut short, the next process that opens the run finishes it.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

from newfound._internal.files import TEMPORARY, Sum, defer_signals, disk, held, replace_file, staged, sweep, sync_folder
from newfound._internal.records import Meta, Record, encoded, read_json
from newfound._internal.words import DataError, quoted_list

MANIFEST = "manifest.json"
LOCK = ".lock"  # held while a run changes
PATIENCE = 60  # seconds to wait for another command
FOR_PEOPLE = (  # never read
    *("labelled.csv", "labelled.parquet", "predictions.csv", "disagreements.csv", "report.html", "all_rows.parquet"),
)
MAY_BE_MISSING = ("acts.jsonl",)  # without it, the classes are as fitted


# At most one folder deep: a manifest cannot point outside its own folder.
PART = r"(?!\.{1,2}(/|$))[^/\\\x00]+"
Name = Annotated[str, Meta(pattern=f"^{PART}(/{PART})?$")]
Waiting = Annotated[str, Meta(pattern=f"^{TEMPORARY.pattern}$")]


class Manifest(Record, frozen=True):
    """What newfound wrote into a folder."""

    files: dict[Name, Sum] = {}
    moving: dict[Name, tuple[Sum, Waiting]] = {}  # about to take a place, and the temporary name until then

    def knows(self, name: str, content: Sum) -> bool:
        """Whether this is what was written under the name, or what is about to be."""
        return content in (self.files.get(name), self.moving.get(name, (None,))[0])


def read_manifest(folder: Path) -> Manifest | None:
    """None where there is none."""
    try:
        return read_json(folder / MANIFEST, Manifest, "Copy the whole run again, or fit again.")
    except FileNotFoundError:
        return None


def seal(folder: Path, but: str = "") -> Manifest:
    """Write the list of all files in a new run, except those in the folder `but`."""
    names = sorted(set(names_in(folder)) - {MANIFEST, LOCK})
    names = [name for name in names if not but or not name.startswith(f"{but}/")]
    manifest = Manifest({name: Sum.of_file(folder / name) for name in names})
    replace_file(folder / MANIFEST, encoded(manifest))
    return manifest


def names_in(folder: Path) -> Iterable[str]:
    """All files and links below a folder, as a manifest names them."""
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        yield from ((Path(place) / name).relative_to(folder).as_posix() for name in (*files, *links))


def foreign_files(folder: Path) -> list[str]:
    """Return the files in a run's folder that are a user's: files newfound did not write, or that changed since."""
    manifest = read_manifest(folder) or Manifest()
    return [name for name in sorted(names_in(folder)) if not _is_own(folder, name, manifest)]


def _is_own(folder: Path, name: str, manifest: Manifest) -> bool:
    path = folder / name
    if path.is_symlink():
        return False
    if name in (MANIFEST, LOCK) or TEMPORARY.fullmatch(path.name):
        return True
    return (name in manifest.files or name in manifest.moving) and manifest.knows(name, Sum.of_file(path))


def read_checked(folder: Path, name: str) -> bytes:
    """Return the content of a run's file; refuse one that does not match the manifest."""
    for _ in range(3):  # an act may be moving files meanwhile
        content = _content(folder, name)
        manifest = read_manifest(folder)
        if manifest is None or manifest.knows(name, Sum.of(content)):
            return content
    raise DataError(damaged(folder, name, _why(name, content, manifest or Manifest())))


def _content(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        raise DataError(damaged(folder, name, "it is missing")) from None


def _why(name: str, content: bytes, manifest: Manifest) -> str:
    if name not in manifest.files:
        return "it is not on the run's list of files"
    n = manifest.files[name].bytes
    return f"it has {len(content):,} bytes, not {n:,}" if len(content) != n else "its content is not what was written"


def damaged(folder: Path, name: str, why: str) -> str:
    then = "move it away to go back to the classes as fitted" if name in MAY_BE_MISSING else "fit again"
    return f"{str(folder / name)!r} is damaged: {why}. Copy the whole run again, or {then}."


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Refuse a run with missing or shortened files, without reading them."""
    for name, written in manifest.files.items():
        path = folder / name
        if name in manifest.moving or name in FOR_PEOPLE or (name in MAY_BE_MISSING and not path.exists()):
            continue
        n = path.stat().st_size if path.is_file() else None
        if n != written.bytes and read_manifest(folder) == manifest:
            why = "it is missing" if n is None else f"it has {n:,} bytes, not {written.bytes:,}"
            raise DataError(damaged(folder, name, why))


def check_all(folder: Path) -> list[str]:
    """Read every file of a run, and refuse the first that changed since it was written.

    Return the names of changed files that are only for people: nothing else is made from these.
    """
    manifest = read_manifest(folder) or Manifest()
    for name in manifest.files:
        if name not in FOR_PEOPLE and (name not in MAY_BE_MISSING or (folder / name).exists()):
            read_checked(folder, name)
    for_people = [name for name in manifest.files if name in FOR_PEOPLE]
    return [name for name in for_people if not (folder / name).is_file() or not _is_own(folder, name, manifest)]


def put_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write several files of a run, all or none; in an unfinished run, one after the other."""
    manifest = read_manifest(folder)
    if manifest is None:
        for name, content in files.items():
            replace_file(folder / name, content)
        return
    _refuse_changed(folder, manifest, files)
    with defer_signals():
        _stage(folder, manifest, files)
        finish_moving(folder)


def _stage(folder: Path, manifest: Manifest, files: dict[str, bytes]) -> None:
    """Write all files under temporary names, then list them in the manifest as moving."""
    waiting: dict[str, Path] = {}
    try:
        for name, content in files.items():
            waiting[name] = staged(folder, content)
        moving = {name: (Sum.of(content), waiting[name].name) for name, content in files.items()}
        replace_file(folder / MANIFEST, encoded(manifest.replace(moving=moving)))
    except BaseException:
        for path in waiting.values():
            with suppress(OSError):
                disk.remove(path)
        raise


def _refuse_changed(folder: Path, manifest: Manifest, names: Iterable[str]) -> None:
    """Refuse to overwrite files that a user changed."""
    changed = [name for name in names if (folder / name).exists() and not _is_own(folder, name, manifest)]
    if changed:
        raise DataError(
            f"The run {str(folder)!r} holds files that were changed since newfound wrote them, and would be "
            f"overwritten: {quoted_list(changed)}. Move them away and try again."
        )


def finish_moving(folder: Path) -> None:
    """Do the second half of `put_files`; also after it was cut short."""
    manifest = read_manifest(folder)
    if manifest is None or not manifest.moving:
        return
    for name, (_, waits) in manifest.moving.items():
        if (folder / waits).exists():
            disk.replace(folder / waits, folder / name)
    files = dict(manifest.files)
    for name in manifest.moving:
        content = Sum.of(_content(folder, name))
        if not manifest.knows(name, content):
            raise DataError(damaged(folder, name, "a change of the run was cut short, and its new content is gone"))
        files[name] = content
    sync_folder(folder)
    replace_file(folder / MANIFEST, encoded(Manifest(files)))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the run's lock; first finish a change that was cut short, and remove its temporary files."""
    with held(folder / LOCK, f"the run {str(folder)!r}", PATIENCE):
        finish_moving(folder)
        sweep(folder)
        yield
