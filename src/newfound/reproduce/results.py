"""The records of cells, gathered: means and standard deviations over seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.reproduce.cells import Cell, read_cell


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


class Results:
    """All finished cells of one preset in a folder."""

    def __init__(self, folder: Path, preset: str, n_seeds: int):
        self.folder, self.preset, self.n_seeds = folder, preset, n_seeds

    def of_preset(self, preset: str) -> "Results":
        """The cells of another preset in the same folder."""
        return Results(self.folder, preset, self.n_seeds)

    def records(
        self,
        dataset: str,
        model: str,
        regime: str,
        n_components: int | None = None,
        labels_per_class: int | None = None,
    ) -> list[dict[str, Any]]:
        """One record for each seed that is done."""
        of_seeds = (
            Cell(self.preset, dataset, model, regime, seed, n_components, labels_per_class)
            for seed in range(self.n_seeds)
        )
        return [record for record in (read_cell(self.folder, cell) for cell in of_seeds) if record is not None]

    def values(self, dataset: str, model: str, regime: str, *path: str, **of_cell: int | None) -> list[float]:
        """One entry of the records, such as "acc_one_to_one", "new", for each seed that has it."""
        entries = (_entry(record, path) for record in self.records(dataset, model, regime, **of_cell))
        return [entry for entry in entries if entry is not None]

    def summary(self, dataset: str, model: str, regime: str, *path: str) -> Summary | None:
        """Mean and SD over seeds of one entry of the records."""
        values = self.values(dataset, model, regime, *path)
        return Summary.of(values) if values else None


def _entry(record: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = record
    for name in path:
        value = value[name]
    return value
