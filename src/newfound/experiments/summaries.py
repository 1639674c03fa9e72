"""The records of many experiments: means and standard deviations over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.experiments.experiment import Experiment, Series
from newfound.experiments.records import Record, read_arrays, read_records

NONE = "–"


class Summary(NamedTuple):
    """A number over the seeds for which there is one."""

    mean: float
    sd: float  # of the sample, as the paper's "over four runs" is read; 0 for one seed
    n: int

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Summary":
        """Of one number at least."""
        return cls(float(np.mean(numbers)), float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0, len(numbers))

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.sd:.1f}" if self.n > 1 else f"{self.mean:.1f}"


@dataclass(frozen=True)
class Group:
    """The finished experiments of a series. An entry of their records is named by the path that leads to it."""

    records: list[Record]
    n_seeds: int

    def values(self, *path: str) -> list[float]:
        """One entry, such as "acc_one_to_one", "new", of each record that has it."""
        entries = (_entry(record, path) for record in self.records)
        return [entry for entry in entries if entry is not None]

    def summary(self, *path: str) -> Summary | None:
        values = self.values(*path)
        return Summary.of(values) if values else None

    def show(self, *path: str) -> str:
        """Mean ± SD, and of how many seeds where some are not done."""
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


def _entry(record: Record, path: tuple[str, ...]) -> float | None:
    value: Any = record
    for name in path:
        value = value[name]
    return value


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
        """The records of a `Series`, which is given by its fields."""
        wanted = Series(*series, **changes)
        names = (wanted.experiment(self.preset, seed).name for seed in range(self.n_seeds))
        return Group([self.by_name[name] for name in names if name in self.by_name], self.n_seeds)

    def arrays(self, experiment: Experiment) -> dict[str, np.ndarray] | None:
        """What an experiment left for figures; None where it is not done."""
        return read_arrays(self.folder, experiment) if experiment.name in self.by_name else None
