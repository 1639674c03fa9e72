"""newfound's own defaults on the paper's data, on tables that come with scikit-learn, and what each part is worth."""

from pathlib import Path

from newfound.reproduce.presets import OWN, VARIANTS, changes_anything
from newfound.reproduce.printed import TABLE_2
from newfound.reproduce.results import Results, Summary
from newfound.reproduce.tables import TITLES, ours, plain, str_printed, write_table
from newfound.reproduce.tasks import REDISCOVERY

N_CLASSES = {"mnist": 10, "fashion-mnist": 10, "har": 6}
FEW = 10  # labels a class
N_SHIPPED = {"digits": 10, "wine": 3, "iris": 3, "breast-cancer": 2}
METHODS = {
    "gmdgm": "newfound",
    "k-means-scaled": "k-means",
    "gaussian-mixture": "Gaussian mixture",
    "self-training": "self-training",
}


def default_table(results: Results, folder: Path) -> list[Path]:
    """The estimator as it comes, apart from the number of components."""
    header = ["", *(TITLES[dataset] for dataset in N_CLASSES)]
    own = results.of_preset(OWN)

    def row(name: str, path: tuple[str, ...], regime: str, labels: int | None = None, digits: int = 1) -> list[str]:
        return [name, *(_entry(own, dataset, path, regime, None, labels, digits) for dataset in N_CLASSES)]

    paper = [str_printed(TABLE_2[dataset, "gmdgm", "semi-unsupervised"]) for dataset in N_CLASSES]
    true_number = [
        _entry(own, dataset, ("acc_one_to_one", "all"), "semi-unsupervised", n_classes, None, 1)
        for dataset, n_classes in N_CLASSES.items()
    ]
    rows = [
        row("semi-unsupervised, 40 new components: many-to-one, all", ("acc_many_to_one",), "semi-unsupervised"),
        ["… the paper's GM-DGM", *paper],
        row("… known classes, in the component of their own", ("acc_own_component",), "semi-unsupervised"),
        row("… components in use, fewest", ("components_in_use",), "semi-unsupervised", digits=0),
        row("… seconds a seed", ("seconds",), "semi-unsupervised", digits=0),
        ["as many new components as classes: one-to-one, all", *true_number],
        row(f"{FEW} labels a known class: many-to-one, all", ("acc_many_to_one",), "semi-unsupervised", FEW),
        row("… known classes, in the component of their own", ("acc_own_component",), "semi-unsupervised", FEW),
        row("unsupervised: many-to-one", ("acc_many_to_one",), "unsupervised"),
        row(f"semi-supervised, {FEW} labels a class: accuracy", ("acc_own_component",), "semi-supervised", FEW),
    ]
    caption = (
        "newfound's defaults on the paper's test sets, mean ± SD over seeds, in %. Half the classes are hidden, of the "
        "others a fifth of the labels is left, unless it says otherwise. many-to-one: each component stands for the "
        "class most common in it; one-to-one: each class is matched with one component at most."
    )
    return write_table(folder / OWN, "default", caption, header, rows)


def _entry(
    own: Results,
    dataset: str,
    path: tuple[str, ...],
    regime: str,
    n_components: int | None,
    labels: int | None,
    digits: int,
) -> str:
    values = own.values(dataset, "gmdgm", regime, *path, n_components=n_components, labels_per_class=labels)
    if not values:
        return "–"
    if path == ("components_in_use",):
        return f"{min(values):.0f}"
    summary = Summary.of(values)
    return ours(summary, own.n_seeds) if digits else plain(summary, digits)


def shipped_table(results: Results, folder: Path) -> list[Path]:
    """Tables that nothing was tuned on, beside what one would use instead."""
    own = results.of_preset(OWN)
    header = ["table", "method", "one-to-one, all", "known", "new", "in use", "seconds a seed"]
    rows = [
        [
            dataset,
            name,
            *(
                ours(Summary.of(of("acc_one_to_one", group)), own.n_seeds) if of("acc_one_to_one", group) else "–"
                for group in ("all", "known", "new")
            ),
            f"{min(of('components_in_use')):.0f} of {n_classes}" if of("components_in_use") else "–",
            plain(Summary.of(of("seconds")), 1) if of("seconds") else "–",
        ]
        for dataset, n_classes in N_SHIPPED.items()
        for method, name in METHODS.items()
        for of in [_values_of(own, dataset, method, n_classes)]
    ]
    caption = (
        "Tables of scikit-learn, the second half of the classes hidden and a fifth of the other labels left; as many "
        "components as classes; one-to-one accuracy in % on a quarter of the rows, mean ± SD over seeds. newfound: its "
        "defaults. The others see columns of mean 0 and variance 1; k-means and the mixture read no labels, "
        "self-training (of a logistic regression) knows no class without one. in use: components with a test row, the "
        "fewest of all seeds."
    )
    return write_table(folder / OWN, "tables", caption, header, rows)


def _values_of(own: Results, dataset: str, method: str, n_classes: int):
    return lambda *path: own.values(dataset, method, "semi-unsupervised", *path, n_components=n_classes)


def ablation_table(results: Results, folder: Path) -> list[Path]:
    """Every variant on the same tasks, scored by labels that a user has."""
    header = ["", "data", "choices", "all", "known", "hidden", "called known", "in use", "held-out ELBO", "seconds"]
    rows = []
    for variant in VARIANTS:
        of_variant = results.of_preset(variant)
        for dataset in (name for name in N_CLASSES if changes_anything(variant, name)):
            entries = [
                of_variant.values(dataset, "gmdgm", REDISCOVERY, *path)
                for path in (
                    ("acc_many_to_one",),
                    ("acc_own_component",),
                    ("acc_many_to_one_by_group", "new"),
                    ("called_known",),
                    ("components_in_use",),
                    ("training", "heldout_elbo"),
                    ("seconds",),
                )
            ]
            cells = [
                plain(Summary.of(values), 0 if i in (4, 6) else 1) if values else "–"
                for i, values in enumerate(entries)
            ]
            rows.append([variant, TITLES[dataset], str(len(entries[0])), *cells])
    caption = (
        "What each part is worth, by labels that a user has: of the known classes some (two of five, or one of three) "
        "are hidden on purpose, and a third of all labels is set aside and scored. all, hidden: many-to-one accuracy "
        "in %; known: share of rows in the component of their own class. called known: share of those rows that are "
        "put in a known class's component, in %. Mean over so many choices of the hidden classes."
    )
    return write_table(folder / OWN, "ablation", caption, header, rows)
