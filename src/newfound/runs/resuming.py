"""How a fit that was stopped goes on: the options it was called with lie beside its checkpoints."""

import json
import os
from pathlib import Path
from typing import Any

from newfound.errors import DataError
from newfound.files import make_folders, replace_file
from newfound.locks import holder_of
from newfound.runs.remains import CHECKPOINT, is_resumable, lock_of, unfinished_folders, why_missing

OPTIONS = "fit.json"


def write_options(building: Path, options: dict[str, Any] | None) -> None:
    """Nothing for a fit that was not called by its options, which only its own program can repeat."""
    if options is not None:
        make_folders(building / CHECKPOINT)
        replace_file(building / CHECKPOINT / OPTIONS, json.dumps(options, indent=1).encode())


def read_options(out: Path) -> tuple[Path, dict[str, Any]]:
    """The unfinished folder of the run that is to go on, and the options it was begun with."""
    out = Path(os.path.realpath(out))
    if (holder := holder_of(lock_of(out))) is not None:
        raise DataError(f"The fit to {out.name!r} is still at work: {holder}.")
    found = [path for path in unfinished_folders(out) if is_resumable(path)]
    if not found:
        raise DataError(f"There is no checkpoint to go on from. {_why(out)}")
    path = found[-1] / CHECKPOINT / OPTIONS
    try:
        return found[-1], dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} is damaged ({error}). Fit again without --resume.") from None


def _why(out: Path) -> str:
    is_there = (out / "run.json").is_file()
    return f"The run {out.name!r} is finished." if is_there else why_missing(out, "run.json")
