"""Tables 1 and 2, with the paper's number in the next column."""

from pathlib import Path

from newfound.experiments.published import TABLE_1, TABLE_2
from newfound.experiments.summaries import NONE, Group, Results
from newfound.experiments.table_files import write_table
from newfound.experiments.tasks import FIRST_HALF, SAMPLE

REGIMES = ("unsupervised", "semi-supervised", "semi-unsupervised")
REGIME_OF_SAME_K = {  # k-means reads no label, so two regimes with as many components are one to it
    "unsupervised": "unsupervised",
    "semi-supervised": "semi-supervised",
    "semi-unsupervised": "unsupervised",
}
PAPER_MODELS = ("ssvae", "gmdgm")
DATASETS = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "har": "HAR, publisher's split",
    "har-random-split": "HAR, random split",
}


def title_of(dataset: str) -> str:
    """As tables name a data set."""
    source = dataset.removesuffix(FIRST_HALF)
    if sample := SAMPLE.fullmatch(source):
        return f"{title_of(sample[1])}, {int(sample[2]):,} rows"
    return DATASETS.get(source, source) + (", classes 0–4 only" if source != dataset else "")


def model_title(model: str) -> str:
    """As the paper names a model."""
    from newfound.models import MODELS

    return MODELS[model].title


def table_1(results: Results, folder: Path) -> list[Path]:
    """SSVAE on classes 0-4: trained on those alone, and with the others unlabelled among them."""
    header = ["", "SS, classes 0–4 only", "paper", "accidental SUS", "paper", "seconds per seed"]
    rows = []
    for dataset in ("mnist", "fashion-mnist"):
        columns = ((dataset + FIRST_HALF, "semi-supervised"), (dataset, "accidental"))
        groups = [results.group(source, "ssvae", regime) for source, regime in columns]
        pairs = [(group.show("acc_own_component"), str(TABLE_1[c])) for group, c in zip(groups, columns, strict=True)]
        rows.append([title_of(dataset), *pairs[0], *pairs[1], " / ".join(g.show_mean("seconds") for g in groups)])
    caption = (
        "Table 1. SSVAE, accuracy in % on the test rows of classes 0–4: the share of rows in the component of their "
        "own class. SS: trained on classes 0–4 alone, 20 % of the labels kept. Accidental SUS: rows of classes 5–9 are "
        "among the unlabelled ones."
    )
    return write_table(folder, "table-1", caption, header, rows) + _table_1_in_full(results, folder)


def _table_1_in_full(results: Results, folder: Path) -> list[Path]:
    header = [
        *("data", "regime", "K", "own component", "paper", "many-to-one", "k-means, same K"),
        *("one-to-one, all", "known", "NMI", "ARI", "non-empty", "seconds per seed"),
    ]
    rows = []
    for (dataset, regime), published in TABLE_1.items():
        group = results.group(dataset, "ssvae", regime)
        rows.append(
            [
                *(title_of(dataset), regime, _n_components(group), group.show("acc_own_component"), str(published)),
                group.show("acc_many_to_one"),
                results.group(dataset, "k-means", regime).show("acc_many_to_one"),
                *(group.show("acc_one_to_one", classes) for classes in ("all", "known")),
                *_last_columns(group),
            ]
        )
    caption = (
        "Table 1 in full. Test rows of classes 0–4, all of them known. Accuracies in %; the paper's number is the "
        "share of rows in the component of their own class. k-means sees the same rows and no label; many-to-one. "
        "K: components; non-empty: components that hold a test row, mean over seeds."
    )
    return write_table(folder, "table-1-in-full", caption, header, rows)


def table_2(results: Results, folder: Path) -> list[Path]:
    """Both models, all data sets, all regimes: the paper's own table, then every metric."""
    header = ["model", "data", *(column for regime in REGIMES for column in (regime, "paper"))]
    rows = []
    for dataset in DATASETS:
        for model in PAPER_MODELS:
            row = [model_title(model), title_of(dataset)]
            for regime in REGIMES:
                ours = results.group(dataset, model, regime).show("acc_many_to_one")
                row += [ours, str(TABLE_2[dataset, model, regime])]
            rows.append(row)
    caption = (
        "Table 2. Many-to-one accuracy (purity, the paper's ACC: each component stands for the class most common in "
        "it) in % on the test set, mean ± SD over seeds."
    )
    return write_table(folder, "table-2", caption, header, rows) + _table_2_in_full(results, folder)


def _table_2_in_full(results: Results, folder: Path) -> list[Path]:
    header = [
        *("data", "regime", "model", "K", "many-to-one", "paper", "k-means, same K"),
        *("one-to-one, all", "known", "new", "NMI", "ARI", "non-empty", "seconds per seed"),
    ]
    rows = [
        _row_in_full(results, dataset, regime, model)
        for dataset in DATASETS
        for regime in REGIMES
        for model in PAPER_MODELS
    ]
    caption = (
        "Table 2 in full. Accuracies in %. many-to-one (purity): each component stands for the class most common in "
        "it; one-to-one (Hungarian): each class is matched with one component at most. K: components; non-empty: "
        "components that hold a test row, mean over seeds. k-means sees no label and is scored many-to-one."
    )
    return write_table(folder, "table-2-in-full", caption, header, rows)


def _row_in_full(results: Results, dataset: str, regime: str, model: str) -> list[str]:
    group = results.group(dataset, model, regime)
    return [
        *(title_of(dataset), regime, model_title(model), _n_components(group), group.show("acc_many_to_one")),
        str(TABLE_2[dataset, model, regime]),
        results.group(dataset, "k-means", REGIME_OF_SAME_K[regime]).show("acc_many_to_one"),
        *(group.show("acc_one_to_one", classes) for classes in ("all", "known", "new")),
        *_last_columns(group),
    ]


def _n_components(group: Group) -> str:
    return str(len(group.records[0]["component_class"])) if group.records else NONE


def _last_columns(group: Group) -> list[str]:
    return [
        *(group.show_mean(name, digits=2) for name in ("nmi", "ari")),
        *(group.show_mean(name) for name in ("non_empty_components", "seconds")),
    ]
