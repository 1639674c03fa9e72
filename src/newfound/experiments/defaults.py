"""What newfound's defaults reach on the paper's data and on tables of scikit-learn's, and what each part is worth."""

from pathlib import Path

from newfound.experiments.paper_tables import title_of
from newfound.experiments.presets import DEFAULT, VARIANTS, changes_anything
from newfound.experiments.published import TABLE_2
from newfound.experiments.summaries import NONE, Group, Results
from newfound.experiments.table_files import write_table
from newfound.experiments.tasks import HIDDEN_KNOWN

N_CLASSES = {"mnist": 10, "fashion-mnist": 10, "har": 6}
FEW = 10  # labels a class
N_TABLE_CLASSES = {"digits": 10, "wine": 3, "iris": 3, "breast-cancer": 2}
METHODS = {
    "gmdgm": "newfound",
    "k-means-scaled": "k-means",
    "gaussian-mixture": "Gaussian mixture",
    "self-training": "self-training",
}


def default_table(results: Results, folder: Path) -> list[Path]:
    """The estimator as it comes, apart from the number of components."""
    own = results.of_preset(DEFAULT)

    def groups(regime: str, labels: int | None = None) -> list[Group]:
        return [own.group(dataset, "gmdgm", regime, labels_per_class=labels) for dataset in N_CLASSES]

    semi, few = groups("semi-unsupervised"), groups("semi-unsupervised", FEW)
    true_number = [own.group(dataset, "gmdgm", "semi-unsupervised", n) for dataset, n in N_CLASSES.items()]
    rows = [
        ["semi-unsupervised, 40 new components: many-to-one, all", *_show(semi, "acc_many_to_one")],
        ["… the paper's GM-DGM", *(str(TABLE_2[dataset, "gmdgm", "semi-unsupervised"]) for dataset in N_CLASSES)],
        ["… known classes, in the component of their own", *_show(semi, "acc_own_component")],
        ["… non-empty components, fewest", *(group.show_least("non_empty_components") for group in semi)],
        ["… seconds per seed", *(group.show_mean("seconds") for group in semi)],
        ["as many components as classes: one-to-one, all", *_show(true_number, "acc_one_to_one", "all")],
        [f"{FEW} labels a known class: many-to-one, all", *_show(few, "acc_many_to_one")],
        ["… known classes, in the component of their own", *_show(few, "acc_own_component")],
        ["unsupervised: many-to-one", *_show(groups("unsupervised"), "acc_many_to_one")],
        [
            f"semi-supervised, {FEW} labels a class: accuracy",
            *_show(groups("semi-supervised", FEW), "acc_own_component"),
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


def sklearn_table(results: Results, folder: Path) -> list[Path]:
    """Data that nothing was tuned on, beside what one would use instead."""
    own = results.of_preset(DEFAULT)
    header = ["table", "method", "one-to-one, all", "known", "new", "non-empty", "seconds per seed"]
    rows = [
        [dataset, title, *_method_columns(own.group(dataset, method, "semi-unsupervised", n_classes), n_classes)]
        for dataset, n_classes in N_TABLE_CLASSES.items()
        for method, title in METHODS.items()
    ]
    caption = (
        "Tables of scikit-learn, the second half of the classes hidden and a fifth of the other labels kept; as many "
        "components as classes; one-to-one (Hungarian) accuracy in % on a quarter of the rows, mean ± SD over seeds. "
        "newfound: its defaults. The others see columns of mean 0 and variance 1; k-means and the mixture read no "
        "labels, self-training (of a logistic regression) knows no class without one. non-empty: components with a "
        "test row, the fewest of all seeds."
    )
    return write_table(folder / DEFAULT, "tables", caption, header, rows)


def _method_columns(group: Group, n_classes: int) -> list[str]:
    non_empty = group.show_least("non_empty_components")
    return [
        *(group.show("acc_one_to_one", classes) for classes in ("all", "known", "new")),
        non_empty if non_empty == NONE else f"{non_empty} of {n_classes}",
        group.show_mean("seconds", digits=1),
    ]


def ablation_table(results: Results, folder: Path) -> list[Path]:
    """Every variant on the same tasks, scored by labels that a user has."""
    header = [
        *("", "data", "choices", "all", "known", "hidden", "assigned to known", "non-empty", "validation ELBO"),
        "seconds",
    ]
    rows = [
        [variant, title_of(dataset), *_ablation_columns(of_variant.group(dataset, "gmdgm", HIDDEN_KNOWN))]
        for variant in VARIANTS
        for of_variant in [results.of_preset(variant)]
        for dataset in N_CLASSES
        if changes_anything(variant, dataset)
    ]
    caption = (
        "What each part is worth, by validation on hidden known classes, that is by labels that a user has: of the "
        "known classes some (two of five, or one of three) are hidden on purpose, and a third of all labels is the "
        "validation split, which is scored. all, hidden: many-to-one accuracy in %; known: share of rows in the "
        "component of their own class. assigned to known: share of those rows that are put in a known class's "
        "component, in %. Mean over so many choices of the hidden classes."
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
