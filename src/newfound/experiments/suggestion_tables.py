"""What suggestions are worth: accuracy after labelling suggested rows, beside as many picked at random."""

from pathlib import Path

from newfound.experiments.experiment import Series
from newfound.experiments.paper_tables import title_of
from newfound.experiments.presets import DEFAULT
from newfound.experiments.simulated_person import NAMED
from newfound.experiments.summaries import NONE, Group, Results
from newfound.experiments.table_files import write_table

SETS = ("digits", "har-3000-rows", "mnist-6000-rows")
BUDGETS = (20, 50, 100)
N_SEEDS = 4
N_DRAWS = 3  # of random rows, for each seed: what luck alone gives differs by a point or two
METRICS = {"accuracy by name": ("acc_by_name",), "one-to-one, all": ("acc_one_to_one", "all")}


def suggestion_series() -> list[Series]:
    """Of each data set: names alone, then labels of rows that were suggested and of rows picked at random."""
    methods = [NAMED, *(method for n in BUDGETS for method in (f"suggested-{n}", *_draws(n)))]
    return [Series(dataset, method, "half-hidden", preset=DEFAULT) for dataset in SETS for method in methods]


def _draws(n: int) -> list[str]:
    return [f"random-{n}-draw-{draw}" for draw in range(N_DRAWS)]


def suggestion_table(results: Results, folder: Path) -> list[Path]:
    own = Results(results.folder, DEFAULT, N_SEEDS)
    rows = []
    for dataset in SETS:
        groups = {s.model: own.group(*s) for s in suggestion_series() if s.dataset == dataset}
        rows += [_row(dataset, metric, n, groups) for metric in METRICS for n in BUDGETS]
    header = ["data", "metric", "rows labelled", "names alone", "suggested rows", "random rows", "suggested win?"]
    caption = (
        "What suggestions are worth. Half of the classes are hidden, a fifth of the other labels is kept, the number "
        "is not given. A simulated person gives each new class the name of the true class most common in it (those of "
        "one name are merged) and labels rows: those that `suggest` gives, or as many at random (drawn three times); "
        "then `refit`. Accuracy in % on test rows, mean ± SD over seeds: by name (a row is right where its class has "
        "the name of its true class) and one-to-one (Hungarian). names alone: without labels and without a second fit."
    )
    return write_table(folder / DEFAULT, "suggestions", caption, header, rows)


def _row(dataset: str, metric: str, n: int, groups: dict[str, Group]) -> list[str]:
    path = METRICS[metric]
    drawn = Group([record for method in _draws(n) for record in groups[method].records], N_DRAWS * N_SEEDS)
    shown = [groups[NAMED], groups[f"suggested-{n}"], drawn]
    suggested, random = (group.summary(*path) for group in shown[1:])
    wins = NONE if suggested is None or random is None else ("yes" if suggested.mean > random.mean else "no")
    return [title_of(dataset), metric, str(n), *(group.show(*path) for group in shown), wins]
