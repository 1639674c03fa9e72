"""Records on disk: one file of JSON lines for each preset, and a work folder with what was finished since.

- results/quick.jsonl, committed: one record a line, in the order of their names
- results/quick/arrays/, committed: what figures need beside the records
- results/work/quick/, not committed: a file for each experiment, written the moment it is done
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from newfound.experiments.experiment import Experiment
from newfound.files import replace_file

Record = dict[str, Any]
AGAIN = "Remove it; the experiment is then computed again."


def lines_file(folder: Path, preset: str) -> Path:
    return folder / f"{preset}.jsonl"


def work_folder(folder: Path, preset: str) -> Path:
    return folder / "work" / preset


def arrays_file(folder: Path, experiment: Experiment) -> Path:
    return folder / experiment.preset / "arrays" / f"{experiment.name}.safetensors"


def save_record(folder: Path, experiment: Experiment, record: Record, arrays: dict[str, np.ndarray]) -> None:
    """Write a finished experiment; its record comes last, so that where it is, all is."""
    from safetensors.numpy import save

    if arrays:
        path = arrays_file(folder, experiment)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    path = work_folder(folder, experiment.preset) / f"{experiment.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (_to_line(record) + "\n").encode())


def read_arrays(folder: Path, experiment: Experiment) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = arrays_file(folder, experiment)
    try:
        return load(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise ValueError(
            f"{str(path)!r} cannot be read ({error}). Remove the record of {experiment.name}, and it is computed again."
        ) from None


def read_records(folder: Path, preset: str) -> dict[str, Record]:
    """All records of a preset by name. Where there are two of one experiment, the later one counts."""
    lines = lines_file(folder, preset)
    gathered = _read_lines(lines, preset) if lines.is_file() else {}
    since = lines.stat().st_mtime_ns if gathered else 0
    for path in sorted(work_folder(folder, preset).glob("*.json")):
        if path.stem not in gathered or path.stat().st_mtime_ns >= since:
            gathered[path.stem] = _read_file(path, preset)
    return gathered


def gather(folder: Path, preset: str) -> None:
    """Bring finished experiments from the work folder into the file of the preset."""
    if work_folder(folder, preset).is_dir():
        write_records(folder, preset, read_records(folder, preset))


def write_records(folder: Path, preset: str, records: dict[str, Record]) -> None:
    text = "".join(_to_line(records[name]) + "\n" for name in sorted(records))
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(lines_file(folder, preset), text.encode())


def _to_line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False)


def _read_lines(path: Path, preset: str) -> dict[str, Record]:
    records: dict[str, Record] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        where = f"Line {number} of {str(path)!r}"
        name, record = _read(line, preset, where)
        if name in records:
            raise ValueError(f"{where} is a second record of {name}. Remove one of the two.")
        records[name] = record
    return records


def _read_file(path: Path, preset: str) -> Record:
    where = repr(str(path))
    name, record = _read(path.read_bytes(), preset, where)
    if name != path.stem:
        raise ValueError(f"{where} is the record of another experiment, {name}. {AGAIN}")
    return record


def _read(text: bytes, preset: str, where: str) -> tuple[str, Record]:
    try:
        record = json.loads(text)
        experiment = Experiment.of(record)
        if experiment.preset == preset:
            return experiment.name, record | {"settings": dict(record["settings"])}
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{where} is damaged, or no record of the preset {preset!r}. {AGAIN}")
