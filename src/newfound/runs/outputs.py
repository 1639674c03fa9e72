"""Files that a command writes where the user says: what may be in the way, and what is told of paths in a run."""

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from newfound.errors import DataError
from newfound.runs.manifest import MANIFEST, read_manifest
from newfound.runs.remains import OWN_NAMES


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
