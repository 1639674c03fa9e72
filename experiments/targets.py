"""Which experiments each table and figure needs, and what draws it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from experiments import default_tables as own
from experiments import figures, paper_tables
from experiments.claims import claims_page
from experiments.experiment import Experiment, Series
from experiments.paper_tables import TABLE_1, TABLE_2
from experiments.presets import PRESETS, VARIANTS
from experiments.records import Results, gather
from experiments.tasks import FIRST_HALF


@dataclass(frozen=True)
class Target:
    """A table or a figure: the paper's, or of newfound's defaults."""

    series: tuple[Series, ...]
    draw: Callable[[Results, Path], list[Path]]
    max_seeds: int | None = None
    n_seeds: int | None = None  # where the user does not choose
    is_papers: bool = True

    def seeds(self, n_seeds: int) -> range:
        return range(self.n_seeds or min(n_seeds, self.max_seeds or n_seeds))


def _series_of(datasets: Iterable[str], models: Iterable[str], regimes: Iterable[str]) -> tuple[Series, ...]:
    return tuple(Series(dataset, model, regime) for dataset in datasets for regime in regimes for model in models)


_TABLE_1 = tuple(Series(dataset, "ssvae", regime) for dataset, regime in TABLE_1)
_TABLE_2 = tuple(Series(*key) for key in TABLE_2)
_KMEANS_1 = tuple(Series(dataset, "k-means", regime) for dataset, regime in TABLE_1)
_KMEANS_2 = _series_of(paper_tables.DATASETS, ["k-means"], sorted(set(paper_tables.REGIME_OF_SAME_K.values())))
_FIGURE_3 = (Series("mnist", "ssvae", "unsupervised", figures.N_FIGURE_3),)
_FIGURE_4, _FIGURE_5 = (
    _series_of(("mnist", "fashion-mnist", "har"), [model], ["semi-unsupervised"]) for model in ("ssvae", "gmdgm")
)
_APPENDIX = _series_of(["fashion-mnist"], paper_tables.PAPER_MODELS, paper_tables.REGIMES)


TARGETS = {
    "table-1": Target(_TABLE_1 + _KMEANS_1, paper_tables.table_1),
    "table-2": Target(_TABLE_2 + _KMEANS_2, paper_tables.table_2),
    "figure-1": Target(_TABLE_1, figures.figure_1, max_seeds=1),
    "figure-2": Target(_TABLE_1, figures.figure_2, max_seeds=1),
    "figure-3": Target(_FIGURE_3, figures.figure_3, max_seeds=1),
    "figure-4": Target(_FIGURE_4, figures.figure_4, max_seeds=1),
    "figure-5": Target(_FIGURE_5, figures.figure_5, max_seeds=1),
    "appendix": Target(_APPENDIX, figures.appendix, max_seeds=1),
} | {
    name: replace(target, is_papers=False)
    for name, target in {
        "default": Target(own.default_series(), own.default_table),
        "discovery": Target(own.main_series(), own.discovery_table),
        "small-tables": Target(own.small_series(), own.small_table),
        "number": Target(own.screen_series(), own.screen_table, n_seeds=own.SCREEN_SEEDS),
        "other-ways": Target(own.other_series(), own.other_table, max_seeds=2),
        "novel-only": Target(own.novel_series(), own.novel_table, max_seeds=2),
        "rules": Target(own.rule_series(), own.rule_table, max_seeds=own.RULE_SEEDS),
        "ablation": Target(own.ablation_series(), own.ablation_table, max_seeds=1),
        "suggestions": Target(own.suggestion_series(), own.suggestion_table, n_seeds=own.SUGGESTION_SEEDS),
        "claims": Target((), claims_page),  # from what is done
    }.items()
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

    def takes(self, series: Series) -> bool:
        return (
            (not self.datasets or source_of(series.dataset) in self.datasets)
            and (not self.models or series.model in self.models)
            and (not self.regimes or series.regime in self.regimes)
        )

    def check(self, names: Collection[str]) -> None:
        """Refuse a choice that no experiment fits, which would silently compute nothing."""
        series: list[Series] = [of for name in names for of in TARGETS[name].series]
        for kind, chosen, there in (
            ("data set", self.datasets, {source_of(of.dataset) for of in series}),
            ("model", self.models, {of.model for of in series}),
            ("regime", self.regimes, {of.regime for of in series}),
        ):
            for value in sorted(set(chosen) - there):
                what = f"No experiment of {', '.join(names)} is of the {kind} {value!r}."
                raise ValueError(f"{what} Give one of {', '.join(sorted(there))}." if there else what)


def source_of(dataset: str) -> str:
    """The data set a user chooses: its first half comes along with it."""
    return dataset.removesuffix(FIRST_HALF)


EVERYTHING = Choice()


def experiments_of(names: Collection[str], preset: str, n_seeds: int, choice: Choice = EVERYTHING) -> list[Experiment]:
    """The experiments that these targets need, seed by seed, each once."""
    if preset not in PRESETS:
        raise ValueError(f"--preset must be {' or '.join(PRESETS)}; got {preset!r}.")
    choice.check(names)
    experiments = {
        of.experiment(preset, seed): None
        for name in names
        for seed in TARGETS[name].seeds(n_seeds)
        for of in filter(choice.takes, TARGETS[name].series)
    }
    return list(experiments)


def draw(names: Collection[str], folder: Path, preset: str, n_seeds: int) -> list[Path]:
    """Write the tables and figures from what is done, and the page that compares it with the paper."""
    for each in (*PRESETS, *VARIANTS):
        gather(folder, each)
    paths = []
    for name in names:
        target = TARGETS[name]
        results = Results(folder, preset, len(target.seeds(n_seeds)))
        paths += target.draw(results, folder / preset if target.is_papers else folder)
    if any(TARGETS[name].is_papers for name in names):
        paths.append(paper_tables.agreement_page(Results(folder, preset, n_seeds), folder / preset))
    return paths
