"""What newfound's defaults reach on the paper's data and on tables of scikit-learn's, and what each part is worth."""

from pathlib import Path

from newfound.experiments.paper_tables import title_of
from newfound.experiments.presets import DEFAULT, VARIANTS, changes_anything
from newfound.experiments.published import TABLE_2
from newfound.experiments.summaries import Group, Results
from newfound.experiments.table_files import write_table
from newfound.experiments.tasks import HIDDEN_KNOWN

N_CLASSES = {"mnist": 10, "fashion-mnist": 10, "har": 6}
FEW = 10  # labels a class
ABLATED = ("mnist-10000-rows", "fashion-mnist-10000-rows", "har")


def default_table(results: Results, folder: Path) -> list[Path]:
    """The estimator as it comes, apart from the number of components."""
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
        for dataset in ABLATED
        if changes_anything(variant, dataset) and of_variant.group(dataset, "gmdgm", HIDDEN_KNOWN).records
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
