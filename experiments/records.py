"""Records of experiments on disk, and their means over seeds: one file of JSON lines for each preset.

- results/quick.jsonl, committed: one record a line, in the order of their names
- results/quick/arrays/, committed: what figures need beside the records
- results/work/quick/, not committed: a file for each experiment finished since, written at once
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.experiment import Experiment, Series
from newfound._internal.files import replace_file

Record = dict[str, Any]
AGAIN = "Remove it; the experiment is then computed again."


def lines_file(folder: Path, preset: str) -> Path:
    return folder / f"{preset}.jsonl"


def work_folder(folder: Path, preset: str) -> Path:
    return folder / "work" / preset


def arrays_file(folder: Path, experiment: Experiment) -> Path:
    return folder / experiment.preset / "arrays" / f"{experiment.name}.safetensors"


def save_record(folder: Path, experiment: Experiment, record: Record, arrays: dict[str, np.ndarray]) -> None:
    """Write a finished experiment; its record comes last, so that a record implies its arrays."""
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


# ---- The records of many experiments: means and standard deviations over seeds ----

NONE = "–"


class Summary(NamedTuple):
    """Mean and standard deviation of a number over the seeds that have one."""

    mean: float
    sd: float  # of the sample, as the paper's "over four runs" is read; 0 for one seed
    n: int

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Summary":
        return cls(float(np.mean(numbers)), float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0, len(numbers))

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.sd:.1f}" if self.n > 1 else f"{self.mean:.1f}"


@dataclass(frozen=True)
class Group:
    """The finished experiments of a series. An entry of their records is named by its path of keys."""

    records: list[Record]
    n_seeds: int

    def values(self, *path: str) -> list[float]:
        """One entry, such as "acc_one_to_one", "new", of each record that has it."""
        entries: Iterable[Any] = (reduce(getitem, path, record) for record in self.records)
        return [entry for entry in entries if entry is not None]

    def summary(self, *path: str) -> Summary | None:
        values = self.values(*path)
        return Summary.of(values) if values else None

    def show(self, *path: str) -> str:
        """Mean ± SD, and the number of seeds if some are not done."""
        summary = self.summary(*path)
        if summary is None:
            return NONE
        return str(summary) if summary.n == self.n_seeds else f"{summary} ({summary.n} of {self.n_seeds})"

    def show_mean(self, *path: str, digits: int = 0) -> str:
        summary = self.summary(*path)
        return NONE if summary is None else f"{summary.mean:.{digits}f}"

    def show_least(self, *path: str) -> str:
        values = self.values(*path)
        return f"{min(values):.0f}" if values else NONE


class Results:
    """All finished experiments of one preset in a folder, read once."""

    def __init__(self, folder: Path, preset: str, n_seeds: int):
        self.folder, self.preset, self.n_seeds = folder, preset, n_seeds

    @cached_property
    def by_name(self) -> dict[str, Record]:
        return read_records(self.folder, self.preset)

    def of_preset(self, preset: str) -> "Results":
        """The experiments of another preset in the same folder."""
        return self if preset == self.preset else Results(self.folder, preset, self.n_seeds)

    def group(self, *series: Any, **changes: Any) -> Group:
        """The records of a `Series`, given by its fields."""
        wanted = Series(*series, **changes)
        names = (wanted.experiment(self.preset, seed).name for seed in range(self.n_seeds))
        return Group([self.by_name[name] for name in names if name in self.by_name], self.n_seeds)

    def arrays(self, experiment: Experiment) -> dict[str, np.ndarray] | None:
        """The arrays of an experiment for figures; None if it is not done."""
        return read_arrays(self.folder, experiment) if experiment.name in self.by_name else None
