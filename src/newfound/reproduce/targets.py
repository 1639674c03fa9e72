"""Which cells each table and figure needs, and what draws it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from newfound.reproduce import agreement, beyond, figures, tables
from newfound.reproduce.cells import Cell
from newfound.reproduce.presets import OWN, PRESETS, VARIANTS, changes_anything
from newfound.reproduce.printed import TABLE_1, TABLE_2
from newfound.reproduce.results import Results
from newfound.reproduce.tasks import FIRST_HALF, REDISCOVERY


class Wanted(NamedTuple):
    """A cell for every seed; components where they are not the regime's own."""

    dataset: str
    model: str
    regime: str
    n_components: int | None = None
    labels_per_class: int | None = None
    preset: str | None = None  # where it is not for the user to choose


@dataclass(frozen=True)
class Target:
    """A table or a figure: the paper's, or of newfound's own defaults."""

    title: str
    wanted: tuple[Wanted, ...]
    draw: Callable[[Results, Path], list[Path]]
    one_seed: bool = False
    most_seeds: int | None = None
    is_papers: bool = True

    def seeds(self, n_seeds: int) -> range:
        return range(1 if self.one_seed else min(n_seeds, self.most_seeds or n_seeds))


def wanted_of(datasets: Iterable[str], models: Iterable[str], regimes: Iterable[str]) -> tuple[Wanted, ...]:
    return tuple(Wanted(dataset, model, regime) for dataset in datasets for regime in regimes for model in models)


_TABLE_1 = tuple(Wanted(dataset, "ssvae", regime) for dataset, regime in TABLE_1)
_TABLE_2 = tuple(Wanted(*key) for key in TABLE_2)
_KMEANS = wanted_of(tables.DATASETS, ("k-means",), sorted(set(tables.REGIME_OF_SAME_K.values())))
_SETS = ("mnist", "fashion-mnist", "har")
_FIGURE_3 = (Wanted("mnist", "ssvae", "unsupervised", figures.N_FIGURE_3),)

_KMEANS_1 = tuple(Wanted(dataset, "k-means", regime) for dataset, regime in TABLE_1)
_DEFAULT = tuple(
    Wanted(dataset, "gmdgm", regime, n_components, labels, OWN)
    for dataset, n_classes in beyond.N_CLASSES.items()
    for regime, n_components, labels in (
        ("semi-unsupervised", None, None),
        ("semi-unsupervised", n_classes, None),
        ("semi-unsupervised", None, beyond.FEW),
        ("unsupervised", None, None),
        ("semi-supervised", None, beyond.FEW),
    )
)
_SHIPPED = tuple(
    Wanted(dataset, method, "semi-unsupervised", n_classes, preset=OWN)
    for dataset, n_classes in beyond.N_SHIPPED.items()
    for method in beyond.METHODS
)
_ABLATION = tuple(
    Wanted(dataset, "gmdgm", REDISCOVERY, preset=variant)
    for variant in VARIANTS
    for dataset in beyond.N_CLASSES
    if changes_anything(variant, dataset)
)

TARGETS = {
    "table-1": Target("SSVAE by accident", _TABLE_1 + _KMEANS_1, tables.table_1),
    "table-2": Target("both models, three regimes", _TABLE_2 + _KMEANS, tables.table_2),
    "figure-1": Target("what SSVAE generates", _TABLE_1, figures.figure_1, one_seed=True),
    "figure-2": Target("entropy of q(y | x)", _TABLE_1, figures.figure_2, one_seed=True),
    "figure-3": Target("SSVAE without labels", _FIGURE_3, figures.figure_3, one_seed=True),
    "figure-4": Target(
        "confusion, SSVAE", wanted_of(_SETS, ["ssvae"], ["semi-unsupervised"]), figures.figure_4, one_seed=True
    ),
    "figure-5": Target(
        "confusion, GM-DGM", wanted_of(_SETS, ["gmdgm"], ["semi-unsupervised"]), figures.figure_5, one_seed=True
    ),
    "appendix": Target(
        "confusion, Fashion-MNIST",
        wanted_of(["fashion-mnist"], ["ssvae", "gmdgm"], tables.REGIMES),
        figures.appendix,
        one_seed=True,
    ),
    "default": Target("newfound's own defaults", _DEFAULT, beyond.default_table, is_papers=False),
    "tables": Target("… on tables of scikit-learn", _SHIPPED, beyond.shipped_table, is_papers=False),
    "ablation": Target("… what each part is worth", _ABLATION, beyond.ablation_table, most_seeds=2, is_papers=False),
}


def names_of(target: str) -> list[str]:
    """The targets meant by a word: one, or all of the paper's."""
    if target != "all" and target not in TARGETS:
        raise ValueError(f"There is no {target!r} to reproduce. Give one of {', '.join(TARGETS)}, or all.")
    return [name for name in TARGETS if TARGETS[name].is_papers] if target == "all" else [target]


@dataclass(frozen=True)
class Choice:
    """The data sets, models and regimes to compute; an empty one stands for all."""

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    regimes: tuple[str, ...] = ()

    def takes(self, wanted: Wanted) -> bool:
        return (
            (not self.datasets or source_of(wanted.dataset) in self.datasets)
            and (not self.models or wanted.model in self.models)
            and (not self.regimes or wanted.regime in self.regimes)
        )

    def check(self, names: Collection[str]) -> None:
        """Refuse a choice of what is not there, which would silently compute nothing."""
        wanted: list[Wanted] = [of for name in names for of in TARGETS[name].wanted]
        for kind, chosen, there in (
            ("data set", self.datasets, {source_of(of.dataset) for of in wanted}),
            ("model", self.models, {of.model for of in wanted}),
            ("regime", self.regimes, {of.regime for of in wanted}),
        ):
            for value in sorted(set(chosen) - there):
                what = f"No cell of {', '.join(names)} is of the {kind} {value!r}."
                raise ValueError(f"{what} Give one of {', '.join(sorted(there))}.")


def source_of(dataset: str) -> str:
    """The set a user chooses: its first half comes along with it."""
    return dataset.removesuffix(FIRST_HALF)


EVERYTHING = Choice()


def cells_of(names: Collection[str], preset: str, n_seeds: int, choice: Choice = EVERYTHING) -> list[Cell]:
    """The cells that these targets need, seed by seed, each once."""
    if preset not in PRESETS:
        raise ValueError(f"--preset must be {' or '.join(PRESETS)}; got {preset!r}.")
    choice.check(names)
    cells = {
        Cell(of.preset or preset, of.dataset, of.model, of.regime, seed, of.n_components, of.labels_per_class): None
        for seed in range(n_seeds)
        for name in names
        if seed in TARGETS[name].seeds(n_seeds)
        for of in filter(choice.takes, TARGETS[name].wanted)
    }
    return list(cells)


def draw(names: Collection[str], folder: Path, preset: str, n_seeds: int) -> list[Path]:
    """Write the tables and figures from what is done, and the page that compares it with the paper."""
    results = Results(folder, preset, n_seeds)
    paths = []
    for name in names:
        target = TARGETS[name]
        paths += target.draw(results, folder / preset if target.is_papers else folder)
    if any(TARGETS[name].is_papers for name in names):
        paths.append(agreement.write_page(results, folder / preset))
    return paths
