"""The records of cells, gathered: means and standard deviations over seeds."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.reproduce.cells import Cell, read_cell


class Summary(NamedTuple):
    """A number over the seeds for which there is one."""

    mean: float
    sd: float  # of the sample, as the paper's "over four runs" is read; 0 for one seed
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.sd:.1f}" if self.n > 1 else f"{self.mean:.1f}"


class Results:
    """All finished cells of one preset in a folder."""

    def __init__(self, folder: Path, preset: str, n_seeds: int):
        self.folder, self.preset, self.n_seeds = folder, preset, n_seeds

    def records(self, dataset: str, model: str, regime: str, n_components: int | None = None) -> list[dict[str, Any]]:
        """One record for each seed that is done."""
        cells = [Cell(self.preset, dataset, model, regime, seed, n_components) for seed in range(self.n_seeds)]
        return [record for record in (read_cell(self.folder, cell) for cell in cells) if record is not None]

    def summary(self, dataset: str, model: str, regime: str, *path: str) -> Summary | None:
        """Mean and SD over seeds of one entry of the records, such as "acc_one_to_one", "new"."""
        return summarise(_entry(record, path) for record in self.records(dataset, model, regime))


def _entry(record: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = record
    for name in path:
        value = value[name]
    return value


def summarise(values: Iterable[float | None]) -> Summary | None:
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    return Summary(float(np.mean(numbers)), float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0, len(numbers))
