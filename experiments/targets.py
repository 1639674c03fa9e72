"""Which experiments each table and figure needs, and what draws it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from experiments import figures, more_tables, tables
from experiments.experiment import Experiment, Series
from experiments.presets import DEFAULT, PRESETS, VARIANTS, changes_anything
from experiments.records import Results, gather
from experiments.tables import TABLE_1, TABLE_2
from experiments.tasks import FIRST_HALF, HIDDEN_KNOWN


@dataclass(frozen=True)
class Target:
    """A table or a figure: the paper's, or of newfound's defaults."""

    title: str
    series: tuple[Series, ...]
    draw: Callable[[Results, Path], list[Path]]
    max_seeds: int | None = None
    n_seeds: int | None = None  # where it is not for the user to choose
    is_papers: bool = True

    def seeds(self, n_seeds: int) -> range:
        return range(self.n_seeds or min(n_seeds, self.max_seeds or n_seeds))


def series_of(datasets: Iterable[str], models: Iterable[str], regimes: Iterable[str]) -> tuple[Series, ...]:
    return tuple(Series(dataset, model, regime) for dataset in datasets for regime in regimes for model in models)


_TABLE_1 = tuple(Series(dataset, "ssvae", regime) for dataset, regime in TABLE_1)
_TABLE_2 = tuple(Series(*key) for key in TABLE_2)
_KMEANS_1 = tuple(Series(dataset, "k-means", regime) for dataset, regime in TABLE_1)
_KMEANS_2 = series_of(tables.DATASETS, ["k-means"], sorted(set(tables.REGIME_OF_SAME_K.values())))
_SETS = ("mnist", "fashion-mnist", "har")
_FIGURE_3 = (Series("mnist", "ssvae", "unsupervised", figures.N_FIGURE_3),)
_DEFAULT = tuple(
    Series(dataset, "gmdgm", regime, None, labels, DEFAULT)
    for dataset in more_tables.N_CLASSES
    for regime, labels in (("semi-unsupervised", None), ("unsupervised", None), ("semi-supervised", more_tables.FEW))
)
_ABLATION = tuple(
    Series(dataset, "gmdgm", HIDDEN_KNOWN, preset=variant)
    for variant in VARIANTS
    for dataset in more_tables.ABLATED
    if changes_anything(variant, dataset)
)


def _confusion(model: str) -> tuple[Series, ...]:
    return series_of(_SETS, [model], ["semi-unsupervised"])


TARGETS = {
    "table-1": Target("SSVAE by accident", _TABLE_1 + _KMEANS_1, tables.table_1),
    "table-2": Target("both models, three regimes", _TABLE_2 + _KMEANS_2, tables.table_2),
    "figure-1": Target("what SSVAE generates", _TABLE_1, figures.figure_1, max_seeds=1),
    "figure-2": Target("entropy of q(y | x)", _TABLE_1, figures.figure_2, max_seeds=1),
    "figure-3": Target("SSVAE without labels", _FIGURE_3, figures.figure_3, max_seeds=1),
    "figure-4": Target("confusion, SSVAE", _confusion("ssvae"), figures.figure_4, max_seeds=1),
    "figure-5": Target("confusion, GM-DGM", _confusion("gmdgm"), figures.figure_5, max_seeds=1),
    "appendix": Target(
        "confusion, Fashion-MNIST",
        series_of(["fashion-mnist"], tables.PAPER_MODELS, tables.REGIMES),
        figures.appendix,
        max_seeds=1,
    ),
    "default": Target("newfound's defaults", _DEFAULT, more_tables.default_table, is_papers=False),
    "discovery": Target(
        "… the number not given",
        tuple(more_tables.main_series()),
        more_tables.discovery_table,
        is_papers=False,
    ),
    "small-tables": Target(
        "… on small tables",
        tuple(more_tables.small_series()),
        more_tables.small_table,
        is_papers=False,
    ),
    "number": Target(
        "… nothing hidden, one hidden",
        tuple(more_tables.screen_series()),
        more_tables.screen_table,
        n_seeds=more_tables.SCREEN_SEEDS,
        is_papers=False,
    ),
    "other-ways": Target(
        "… hidden in other ways",
        tuple(more_tables.other_series()),
        more_tables.other_table,
        max_seeds=2,
        is_papers=False,
    ),
    "novel-only": Target(
        "… TabularNCD's protocol",
        tuple(more_tables.novel_series()),
        more_tables.novel_table,
        max_seeds=2,
        is_papers=False,
    ),
    "rules": Target(
        "… in a few words, on tables",
        tuple(more_tables.rule_series()),
        more_tables.rule_table,
        max_seeds=more_tables.RULE_SEEDS,
        is_papers=False,
    ),
    "ablation": Target(
        "… what each part is worth", _ABLATION, more_tables.ablation_table, max_seeds=1, is_papers=False
    ),
    "suggestions": Target(
        "what labelling suggested rows is worth",
        tuple(more_tables.suggestion_series()),
        more_tables.suggestion_table,
        n_seeds=more_tables.N_SEEDS,
        is_papers=False,
    ),
    "claims": Target("every number with its command, from what is done", (), more_tables.write_page, is_papers=False),
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
        """Refuse a choice of what is not there, which would silently compute nothing."""
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
        paths.append(tables.write_page(Results(folder, preset, n_seeds), folder / preset))
    return paths
