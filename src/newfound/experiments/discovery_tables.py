"""Tables of experiments in which newfound is not told how many new classes there are."""

from collections.abc import Sequence
from pathlib import Path

from newfound.experiments.experiment import DISCOVERY, Series
from newfound.experiments.paper_tables import title_of
from newfound.experiments.presets import DEFAULT
from newfound.experiments.summaries import NONE, Group, Results
from newfound.experiments.table_files import write_table

SETS = ("digits", "mnist", "fashion-mnist", "har")
FEW = 10  # labels a class
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


def main_series() -> list[Series]:
    """Half of the classes hidden, with many labels and with few, and one hidden."""
    regimes = (("half-hidden", None), ("half-hidden", FEW), ("one-hidden", None))
    return [
        Series(dataset, "gmdgm", regime, labels_per_class=few, preset=DEFAULT)
        for regime, few in regimes
        for dataset in SETS
    ]


def small_series() -> list[Series]:
    """Every class of every small table hidden in turn; the baselines are given the number."""
    return [
        Series(dataset, method, f"class-{k}-hidden", preset=DEFAULT)
        for dataset, n_classes in SMALL.items()
        for k in range(n_classes)
        for method in ("gmdgm", *GIVEN)
    ]


def screen_series() -> list[Series]:
    """Discovery alone, where nothing is hidden and where one class is."""
    return [
        Series(dataset, DISCOVERY, regime, preset=DEFAULT)
        for regime in ("none-hidden", "one-hidden")
        for dataset in SCREENED
    ]


def other_series() -> list[Series]:
    """Classes hidden in other ways."""
    return [
        *(Series(dataset, "gmdgm", "odd-hidden", preset=DEFAULT) for dataset in SETS),
        *(Series(dataset, "gmdgm", regime, preset=DEFAULT) for regime in ("rare-10", "rare-50") for dataset in RARE),
        *(Series("har", "gmdgm", regime, preset=DEFAULT) for regime in ("three-people", "three-people-half-hidden")),
    ]


def novel_series() -> list[Series]:
    """TabularNCD's protocol, with the number given and not."""
    given = {"mnist": 10, "har": 6}
    return [
        Series(dataset, "gmdgm", "novel-only", n, preset=DEFAULT) for dataset in NOVEL for n in (given[dataset], None)
    ]


# ---- what the tables say ---------------------------------------------------------------------------------------------


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
        ("half-hidden", FEW): f"half hidden, {FEW} labels a class",
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
        "Classes hidden in other ways, and labels that are not as one would wish; the number is not given. odd-hidden: "
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
        "in % on a quarter of the rows, mean ± SD over seeds. newfound is not told the number; the others are, and "
        "read no labels. found: the number of each seed. best given?: whether newfound's mean is at least that of the "
        "best of the others."
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
