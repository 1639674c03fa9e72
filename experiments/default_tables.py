"""Tables of newfound's defaults: on the paper's data, on small tables, and with one part left out at a time.

For each table: the series of experiments that it needs, then the function that draws it.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from experiments.experiment import DISCOVERY, RULES, Series
from experiments.paper_tables import TABLE_2, title_of, write_table
from experiments.person import NAMED
from experiments.presets import DEFAULT, VARIANTS, changes_anything
from experiments.records import NONE, Group, Results
from experiments.scores import NO_RULE
from experiments.tasks import HIDDEN_KNOWN

N_CLASSES = {"mnist": 10, "fashion-mnist": 10, "har": 6}
FEW_LABELS = 10  # labels a class
ABLATED = ("mnist-10000-rows", "fashion-mnist-10000-rows", "har")


def default_series() -> tuple[Series, ...]:
    """The paper's data, the number of components given."""
    regimes = (("semi-unsupervised", None), ("unsupervised", None), ("semi-supervised", FEW_LABELS))
    return tuple(
        Series(dataset, "gmdgm", regime, labels_per_class=labels, preset=DEFAULT)
        for dataset in N_CLASSES
        for regime, labels in regimes
    )


def default_table(results: Results, folder: Path) -> list[Path]:
    """The estimator's defaults, apart from the number of components."""
    own = results.of_preset(DEFAULT)

    def groups(regime: str, labels: int | None = None) -> list[Group]:
        return [own.group(dataset, "gmdgm", regime, labels_per_class=labels) for dataset in N_CLASSES]

    semi = groups("semi-unsupervised")
    rows = [
        ["semi-unsupervised, 40 new components: many-to-one, all", *_show(semi, "acc_many_to_one")],
        ["… the paper's GM-DGM", *(str(TABLE_2[dataset, "gmdgm", "semi-unsupervised"]) for dataset in N_CLASSES)],
        ["… known classes, in the component of their own", *_show(semi, "acc_own_component")],
        ["… non-empty components, fewest", *(group.show_least("non_empty_components") for group in semi)],
        ["… seconds per seed", *(group.show_mean("seconds") for group in semi)],
        ["unsupervised: many-to-one", *_show(groups("unsupervised"), "acc_many_to_one")],
        [
            f"semi-supervised, {FEW_LABELS} labels a class: accuracy",
            *_show(groups("semi-supervised", FEW_LABELS), "acc_own_component"),
        ],
    ]
    caption = (
        "newfound's defaults on the paper's test sets, mean ± SD over seeds, in %. Half the classes are hidden, and of "
        "the others a fifth of the labels is kept, unless it says otherwise. many-to-one (purity): each component "
        "stands for the class most common in it; one-to-one (Hungarian): each class is matched with one component at "
        "most."
    )
    return write_table(folder / DEFAULT, "default", caption, ["", *map(title_of, N_CLASSES)], rows)


def _show(groups: list[Group], *path: str) -> list[str]:
    return [group.show(*path) for group in groups]


def ablation_series() -> tuple[Series, ...]:
    """The defaults, and every variant that is another fit on this data."""
    return tuple(
        Series(dataset, "gmdgm", HIDDEN_KNOWN, preset=variant)
        for variant in VARIANTS
        for dataset in ABLATED
        if changes_anything(variant, dataset)
    )


def ablation_table(results: Results, folder: Path) -> list[Path]:
    """Every variant on the same tasks, scored by labels that a user has."""
    header = [
        *("", "data", "choices", "all", "known", "hidden", "assigned to known", "non-empty", "validation ELBO"),
        "seconds",
    ]
    rows = []
    for variant in VARIANTS:
        own = results.of_preset(variant)
        groups = {series.dataset: own.group(*series) for series in ablation_series() if series.preset == variant}
        rows += [[variant, title_of(d), *_ablation_columns(group)] for d, group in groups.items() if group.records]
    caption = (
        "What each part contributes, by validation on hidden known classes, that is by labels that a user has: of the "
        "known classes some (two of five, or one of three) are hidden on purpose, and a third of all labels is the "
        "validation split, which is scored. all, hidden: many-to-one accuracy in %; known: share of rows in the "
        "component of their own class. assigned to known: share of those rows that are put in a known class's "
        "component, in %. choices: how many choices of the hidden classes the means are over."
    )
    return write_table(folder / DEFAULT, "ablation", caption, header, rows)


def _ablation_columns(group: Group) -> list[str]:
    return [
        str(len(group.records)),
        group.show_mean("acc_many_to_one", digits=1),
        group.show_mean("acc_own_component", digits=1),
        group.show_mean("acc_many_to_one_by_group", "new", digits=1),
        group.show_mean("assigned_to_known", digits=1),
        group.show_mean("non_empty_components"),
        group.show_mean("training", "validation_elbo", digits=1),
        group.show_mean("seconds"),
    ]


# ---- The number of new classes is not given ----

DISCOVERY_SETS = ("digits", "mnist", "fashion-mnist", "har")
SMALL = {"penguins": 3, "iris": 3, "wine": 3, "breast-cancer": 2}  # tables, and their classes
GIVEN = {"k-means-scaled": "k-means", "gaussian-mixture": "mixture", "tied-mixture": "mixture, tied"}
SCREENED = {  # and how many classes each has
    "digits": 10,
    "penguins": 3,
    "iris": 3,
    "wine": 3,
    "breast-cancer": 2,
    "mnist-6000-rows": 10,
    "fashion-mnist-6000-rows": 10,
    "har-3000-rows": 6,
}
SCREEN_SEEDS = 8
RARE = ("mnist-12000-rows", "har")
NOVEL = {"mnist": ("91.4 ± 4.2", "61.1"), "har": ("99.0 ± 0.2", "77.0")}  # TabularNCD and k-means, as printed there


def main_series() -> tuple[Series, ...]:
    """Half of the classes hidden, with many labels and with few, and one hidden."""
    regimes = (("half-hidden", None), ("half-hidden", FEW_LABELS), ("one-hidden", None))
    return tuple(
        Series(dataset, "gmdgm", regime, labels_per_class=few, preset=DEFAULT)
        for regime, few in regimes
        for dataset in DISCOVERY_SETS
    )


def small_series() -> tuple[Series, ...]:
    """Every class of every small table hidden in turn; the baselines are given the number."""
    return tuple(
        Series(dataset, method, f"class-{k}-hidden", preset=DEFAULT)
        for dataset, n_classes in SMALL.items()
        for k in range(n_classes)
        for method in ("gmdgm", *GIVEN)
    )


def screen_series() -> tuple[Series, ...]:
    """Discovery alone, where nothing is hidden and where one class is."""
    return tuple(
        Series(dataset, DISCOVERY, regime, preset=DEFAULT)
        for regime in ("none-hidden", "one-hidden")
        for dataset in SCREENED
    )


def other_series() -> tuple[Series, ...]:
    """Classes hidden in other ways."""
    return (
        *(Series(dataset, "gmdgm", "odd-hidden", preset=DEFAULT) for dataset in DISCOVERY_SETS),
        *(Series(dataset, "gmdgm", regime, preset=DEFAULT) for regime in ("rare-10", "rare-50") for dataset in RARE),
        *(Series("har", "gmdgm", regime, preset=DEFAULT) for regime in ("three-people", "three-people-half-hidden")),
    )


def novel_series() -> tuple[Series, ...]:
    """TabularNCD's protocol, with the number given and not."""
    given = {"mnist": 10, "har": 6}
    return tuple(
        Series(dataset, "gmdgm", "novel-only", n, preset=DEFAULT) for dataset in NOVEL for n in (given[dataset], None)
    )


def numbers(group: Group) -> str:
    """The number each seed found, in the order of the seeds, and the true one."""
    if not group.records:
        return NONE
    found = ", ".join(str(record["found"]["n_new"]) for record in group.records)
    return f"{found} ({', '.join(sorted({str(record['found']['n_true']) for record in group.records}))})"


def _columns(group: Group) -> list[str]:
    return [
        numbers(group),
        *(group.show("acc_one_to_one", classes) for classes in ("all", "known", "new")),
        group.show("acc_one_to_one_macro"),
        group.show("found", "rows_fitted_on", "all"),
        group.show_mean("found", "auroc_p_new", digits=3),
        group.show_mean("found", "calibration_error_known", digits=3),
        group.show_mean("found", "agreement", digits=3),
        group.show_mean("seconds"),
    ]


HEADER = (
    *("", "data", "found (true)", "one-to-one, all", "known", "new", "mean over classes", "rows fitted on"),
    *("AUROC of P(new)", "calibration error, known", "agreement", "seconds"),
)
LEGEND = (
    "found: the number of new classes of each seed, and the true number. one-to-one (Hungarian) accuracy in % on test "
    "rows, mean ± SD over seeds; mean over classes: the same with every class counting alike; rows fitted on: that of "
    "`labels_` on training rows without a label. agreement: share of training rows for which network and discovery "
    "give the same class. seconds: of a fit, on the cores that the record names."
)


def discovery_table(results: Results, folder: Path) -> list[Path]:
    own = results.of_preset(DEFAULT)
    titles = {
        ("half-hidden", None): "half hidden",
        ("half-hidden", FEW_LABELS): f"half hidden, {FEW_LABELS} labels a class",
        ("one-hidden", None): "one hidden",
    }
    rows = [
        [titles[series.regime, series.labels_per_class], title_of(series.dataset), *_columns(own.group(*series))]
        for series in main_series()
    ]
    caption = f"newfound's defaults; the number is not given; a fifth of the labels of known classes is kept. {LEGEND}"
    return write_table(folder / DEFAULT, "discovery", caption, HEADER, rows)


def other_table(results: Results, folder: Path) -> list[Path]:
    own = results.of_preset(DEFAULT)
    rows = [[series.regime, title_of(series.dataset), *_columns(own.group(*series))] for series in other_series()]
    caption = (
        "Classes hidden in other ways, and labels that are few or uneven; the number is not given. odd-hidden: "
        "every second class, which no setting was chosen on but for digits. rare-10, rare-50: half hidden, and every "
        "second class, known or hidden, has one row in 10 or 50 only. three-people: labels of three people of 21, of "
        f"all classes or of the first half. {LEGEND}"
    )
    return write_table(folder / DEFAULT, "other-ways", caption, HEADER, rows)


def small_table(results: Results, folder: Path) -> list[Path]:
    own = results.of_preset(DEFAULT)
    rows = []
    for dataset, n_classes in SMALL.items():
        for k in range(n_classes):
            groups = {m: own.group(dataset, m, f"class-{k}-hidden") for m in ("gmdgm", *GIVEN)}
            rows.append(_small_row(dataset, k, groups))
    header = ["table", "hidden class", "found (true)", "newfound", "rows fitted on", *GIVEN.values(), "best given?"]
    caption = (
        "Small tables, every class hidden in turn, a fifth of the other labels kept; one-to-one (Hungarian) accuracy "
        "in % on a quarter of the rows, mean ± SD over seeds. newfound has to find the number; the others are given "
        "it, and read no labels. found: the number of each seed. best given?: whether newfound's mean is at least that "
        "of the best of the others."
    )
    return write_table(folder / DEFAULT, "small-tables", caption, header, rows)


def _small_row(dataset: str, k: int, groups: dict[str, Group]) -> list[str]:
    means = [group.summary("acc_one_to_one", "all") for group in groups.values()]
    done = [summary.mean for summary in means if summary is not None]
    is_best = NONE if len(done) < len(means) else ("yes" if done[0] >= max(done[1:]) else "no")
    own = groups["gmdgm"]
    given = [groups[method].show("acc_one_to_one", "all") for method in GIVEN]
    return [
        *(dataset, str(k), numbers(own), own.show("acc_one_to_one", "all"), own.show("found", "rows_fitted_on", "all")),
        *(*given, is_best),
    ]


def screen_table(results: Results, folder: Path) -> list[Path]:
    own = Results(results.folder, DEFAULT, SCREEN_SEEDS)
    rows = []
    for regime in ("none-hidden", "one-hidden"):
        groups = [own.group(dataset, DISCOVERY, regime) for dataset in SCREENED]
        rows += [_screen_row(regime, title_of(d), [group]) for d, group in zip(SCREENED, groups, strict=True)]
        rows.append(_screen_row(regime, "all", groups))
    header = ["", "data", "cases", "number right", "at least one found", "most too many", "one-to-one, mean"]
    caption = (
        "Discovery alone, without any training: how many new classes it finds where nothing is hidden (0 is right) and "
        "where one class is (1 is right; another class with every seed), a fifth of the other labels kept, eight "
        "seeds. one-to-one (Hungarian) accuracy in % on the rows without a label."
    )
    return write_table(folder / DEFAULT, "number", caption, header, rows)


def _screen_row(regime: str, title: str, groups: Sequence[Group]) -> list[str]:
    records = [record["found"] for group in groups for record in group.records]
    if not records:
        return [regime, title, *[NONE] * 5]
    right = sum(record["n_new"] == record["n_true"] for record in records)
    some = sum(record["n_new"] > 0 for record in records)
    most = max(record["n_new"] - record["n_true"] for record in records)
    mean = sum(record["rows_fitted_on"]["all"] for record in records) / len(records)
    return [regime, title, str(len(records)), str(right), str(some), str(max(most, 0)), f"{mean:.1f}"]


def novel_table(results: Results, folder: Path) -> list[Path]:
    own = results.of_preset(DEFAULT)
    rows = []
    for dataset, (printed, k_means) in NOVEL.items():
        for series in novel_series():
            if series.dataset == dataset:
                group = own.group(*series)
                number = "given" if series.n_components else numbers(group)
                rows.append([title_of(dataset), number, group.show("acc_one_to_one", "new"), printed, k_means])
    header = ["data", "number of novel classes", "newfound", "TabularNCD", "k-means"]
    caption = (
        "TabularNCD's protocol: known classes are fully labelled, rows without a label are of novel classes only. "
        "one-to-one (Hungarian) accuracy in % on test rows of novel classes, mean ± SD over seeds; TabularNCD and "
        "k-means as printed in its paper, the number given."
    )
    return write_table(folder / DEFAULT, "novel-only", caption, header, rows)


# ---- Rules for new classes: how well a short sentence of conditions describes which rows a class holds ----

TABLES = {"penguins": 3, "iris": 3, "wine": 3, "breast-cancer": 2, "har-3000-rows": 6}  # and their classes
RULE_SEEDS = 2


def rule_series() -> tuple[Series, ...]:
    """Every class of every table hidden in turn; discovery alone, and rules for what it finds."""
    return tuple(
        Series(dataset, RULES, f"class-{k}-hidden", preset=DEFAULT)
        for dataset, n_classes in TABLES.items()
        for k in range(n_classes)
    )


def rule_table(results: Results, folder: Path) -> list[Path]:
    own = Results(results.folder, DEFAULT, RULE_SEEDS)
    groups = {series: own.group(*series) for series in rule_series()}
    rows = [_rule_row(series, group) for series, group in groups.items()]
    everything = [rule for group in groups.values() for rule in _rules(group)]
    rows.append(["all", "", str(len(everything)) if everything else NONE, _median(everything), ""])
    header = ["table", "hidden class", "new classes", "fidelity, median", "the largest new class of the first seed"]
    caption = (
        "How well short rules say what the new classes of tables are: every class hidden in turn, a fifth of the other "
        "labels kept, discovery alone, two seeds. fidelity: balanced accuracy of a rule in telling the rows that "
        f"discovery put in a class from all others, on a third of them that its tree was not grown on; {NO_RULE} where "
        "no rule is given."
    )
    return write_table(folder / DEFAULT, "rules", caption, header, rows)


def _rule_row(series: Series, group: Group) -> list[str]:
    rules = _rules(group)
    hidden = series.regime.split("-")[1]
    first = [rule["text"] for rule in group.records[0]["rules"]] if group.records else []
    text = (first[0] or "no rule") if first else NONE
    return [title_of(series.dataset), hidden, str(len(rules)) if group.records else NONE, _median(rules), text]


def _rules(group: Group) -> list[dict[str, Any]]:
    return [rule for record in group.records for rule in record["rules"]]


def _median(rules: list[dict[str, Any]]) -> str:
    return f"{median(rule['fidelity'] for rule in rules):.3f}" if rules else NONE


# ---- Accuracy after labelling suggested rows, beside as many picked at random ----

SUGGESTION_SETS = ("digits", "har-3000-rows", "mnist-6000-rows")
BUDGETS = (20, 50, 100)
SUGGESTION_SEEDS = 4
N_DRAWS = 3  # of random rows, for each seed: what luck alone gives differs by a point or two
METRICS = {"accuracy by name": ("acc_by_name",), "one-to-one, all": ("acc_one_to_one", "all")}


def suggestion_series() -> tuple[Series, ...]:
    """Of each data set: names alone, then labels of rows that were suggested and of rows picked at random."""
    methods = [NAMED, *(method for n in BUDGETS for method in (f"suggested-{n}", *_draws(n)))]
    return tuple(
        Series(dataset, method, "half-hidden", preset=DEFAULT) for dataset in SUGGESTION_SETS for method in methods
    )


def _draws(n: int) -> list[str]:
    return [f"random-{n}-draw-{draw}" for draw in range(N_DRAWS)]


def suggestion_table(results: Results, folder: Path) -> list[Path]:
    own = Results(results.folder, DEFAULT, SUGGESTION_SEEDS)
    rows = []
    for dataset in SUGGESTION_SETS:
        groups = {s.model: own.group(*s) for s in suggestion_series() if s.dataset == dataset}
        rows += [_suggestion_row(dataset, metric, n, groups) for metric in METRICS for n in BUDGETS]
    header = ["data", "metric", "rows labelled", "names alone", "suggested rows", "random rows", "suggested win?"]
    caption = (
        "What suggestions add. Half of the classes are hidden, a fifth of the other labels is kept, the number "
        "is not given. A simulated person gives each new class the name of the true class most common in it (those of "
        "one name are merged) and labels rows: those that `suggest` gives, or as many at random (drawn three times); "
        "then `refit`. Accuracy in % on test rows, mean ± SD over seeds: by name (a row is right where its class has "
        "the name of its true class) and one-to-one (Hungarian). names alone: without labels and without a second fit."
    )
    return write_table(folder / DEFAULT, "suggestions", caption, header, rows)


def _suggestion_row(dataset: str, metric: str, n: int, groups: dict[str, Group]) -> list[str]:
    path = METRICS[metric]
    drawn = Group([record for method in _draws(n) for record in groups[method].records], N_DRAWS * SUGGESTION_SEEDS)
    shown = [groups[NAMED], groups[f"suggested-{n}"], drawn]
    suggested, random = (group.summary(*path) for group in shown[1:])
    wins = NONE if suggested is None or random is None else ("yes" if suggested.mean > random.mean else "no")
    return [title_of(dataset), metric, str(n), *(group.show(*path) for group in shown), wins]
