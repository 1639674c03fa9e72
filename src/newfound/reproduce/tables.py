"""Tables 1 and 2, as Markdown and as LaTeX, with the paper's number in the next column."""

from collections.abc import Sequence
from pathlib import Path

from newfound.reproduce.printed import TABLE_1, TABLE_2, Printed
from newfound.reproduce.results import Results, Summary

REGIMES = ("unsupervised", "semi-supervised", "semi-unsupervised")
REGIME_OF_SAME_K = {  # k-means reads no label, so two regimes with as many components are one to it
    "unsupervised": "unsupervised",
    "semi-supervised": "semi-supervised",
    "semi-unsupervised": "unsupervised",
}
DATASETS = ("mnist", "fashion-mnist", "har", "har-random-split")
TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "har": "HAR, publisher's split",
    "har-random-split": "HAR, random split",
    "ssvae": "SSVAE",
    "gmdgm": "GM-DGM",
}
Rows = list[list[str]]


def table_1(results: Results, folder: Path) -> list[Path]:
    """SSVAE on classes 0-4: trained on those alone, and with the others unlabelled among them."""
    header = ["", "SS, classes 0–4 only", "paper", "accidental SUS", "paper", "seconds a seed"]
    rows = []
    for dataset in ("mnist", "fashion-mnist"):
        row, seconds = [TITLES[dataset]], []
        for source, regime in ((f"{dataset}-0-4", "semi-supervised"), (dataset, "accidental")):
            accuracy = results.summary(source, "ssvae", regime, "acc_own_component")
            row += [ours(accuracy, results.n_seeds), str_printed(TABLE_1[source, regime])]
            seconds.append(results.summary(source, "ssvae", regime, "seconds"))
        rows.append([*row, " / ".join(plain(s, 0) for s in seconds)])
    caption = (
        "Table 1. SSVAE, accuracy in % on the test rows of classes 0–4: the share of rows in the component of their "
        "own class. SS: trained on classes 0–4 alone, 20 % of the labels kept. Accidental SUS: rows of classes 5–9 are "
        "among the unlabelled ones."
    )
    return write_table(folder, "table-1", caption, header, rows) + _every_metric_of_table_1(results, folder)


def _every_metric_of_table_1(results: Results, folder: Path) -> list[Path]:
    header = [
        *("data", "regime", "K", "own component", "paper", "many-to-one", "k-means, same K"),
        *("one-to-one, all", "known", "NMI", "ARI", "in use", "seconds a seed"),
    ]
    rows = []
    for (dataset, regime), printed in TABLE_1.items():

        def of(*path: str, of_model: str = "ssvae", dataset: str = dataset, regime: str = regime) -> Summary | None:
            return results.summary(dataset, of_model, regime, *path)

        records = results.records(dataset, "ssvae", regime)
        rows.append(
            [
                TITLES[dataset.removesuffix("-0-4")] + (", classes 0–4 only" if dataset.endswith("-0-4") else ""),
                regime,
                str(records[0]["n_known"] + records[0]["n_new"]) if records else "–",
                ours(of("acc_own_component"), results.n_seeds),
                str_printed(printed),
                ours(of("acc_many_to_one"), results.n_seeds),
                ours(of("acc_many_to_one", of_model="k-means"), results.n_seeds),
                *(ours(of("acc_one_to_one", group), results.n_seeds) for group in ("all", "known")),
                plain(of("nmi"), 2),
                plain(of("ari"), 2),
                plain(of("components_in_use"), 0),
                plain(of("seconds"), 0),
            ]
        )
    caption = (
        "Table 1 in full. Test rows of classes 0–4, all of them known. Accuracies in %; the paper's number is the "
        "share of rows in the component of their own class. k-means sees the same rows and no label; many-to-one."
    )
    return write_table(folder, "table-1-in-full", caption, header, rows)


def table_2(results: Results, folder: Path) -> list[Path]:
    """Both models, all data sets, all regimes: the paper's own table, then every metric."""
    header = ["model", "data", *(cell for regime in REGIMES for cell in (regime, "paper"))]
    rows: Rows = []
    for dataset in DATASETS:
        for model in ("ssvae", "gmdgm"):
            row = [TITLES[model], TITLES[dataset]]
            for regime in REGIMES:
                accuracy = results.summary(dataset, model, regime, "acc_many_to_one")
                row += [ours(accuracy, results.n_seeds), str_printed(TABLE_2[dataset, model, regime])]
            rows.append(row)
    caption = (
        "Table 2. Many-to-one accuracy (the paper's ACC: each component stands for the class most common in it) in % "
        "on the test set, mean ± SD over seeds."
    )
    return write_table(folder, "table-2", caption, header, rows) + _every_metric(results, folder)


def _every_metric(results: Results, folder: Path) -> list[Path]:
    header = [
        *("data", "regime", "model", "K", "many-to-one", "paper", "k-means, same K"),
        *("one-to-one, all", "known", "new", "NMI", "ARI", "in use", "seconds a seed"),
    ]
    rows = [
        _metrics_row(results, dataset, regime, model)
        for dataset in DATASETS
        for regime in REGIMES
        for model in ("ssvae", "gmdgm")
    ]
    caption = (
        "Table 2 in full. Accuracies in %. many-to-one: each component stands for the class most common in it; "
        "one-to-one: each class is matched with one component at most. K: components; in use: components that hold a "
        "test row, mean over seeds. k-means sees no label and is scored many-to-one."
    )
    return write_table(folder, "table-2-in-full", caption, header, rows)


def _metrics_row(results: Results, dataset: str, regime: str, model: str) -> list[str]:
    def of(*path: str) -> Summary | None:
        return results.summary(dataset, model, regime, *path)

    records = results.records(dataset, model, regime)
    one_to_one = [ours(of("acc_one_to_one", group), results.n_seeds) for group in ("all", "known", "new")]
    return [
        TITLES[dataset],
        regime,
        TITLES[model],
        str(records[0]["n_known"] + records[0]["n_new"]) if records else "–",
        ours(of("acc_many_to_one"), results.n_seeds),
        str_printed(TABLE_2[dataset, model, regime]),
        ours(results.summary(dataset, "k-means", REGIME_OF_SAME_K[regime], "acc_many_to_one"), results.n_seeds),
        *one_to_one,
        plain(of("nmi"), 2),
        plain(of("ari"), 2),
        plain(of("components_in_use"), 0),
        plain(of("seconds"), 0),
    ]


def ours(summary: Summary | None, n_seeds: int) -> str:
    """Mean ± SD; said to be of fewer seeds where some are not done."""
    if summary is None:
        return "–"
    return str(summary) if summary.n == n_seeds else f"{summary} ({summary.n} of {n_seeds})"


def plain(summary: Summary | None, digits: int) -> str:
    return "–" if summary is None else f"{summary.mean:.{digits}f}"


def str_printed(printed: Printed) -> str:
    return f"{printed.mean:.1f} ± {printed.sd:.1f}"


def write_table(folder: Path, name: str, caption: str, header: Sequence[str], rows: Rows) -> list[Path]:
    """The same table twice."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.md", folder / f"{name}.tex"]
    paths[0].write_text(markdown(caption, header, rows))
    paths[1].write_text(latex(caption, header, rows))
    return paths


def markdown(caption: str, header: Sequence[str], rows: Rows) -> str:
    lines = [" | ".join(cells) for cells in (header, ["---"] * len(header), *rows)]
    return f"{caption}\n\n" + "".join(f"| {line} |\n" for line in lines)


def latex(caption: str, header: Sequence[str], rows: Rows) -> str:
    """A table for the booktabs package."""
    lines = [" & ".join(map(_tex, cells)) + r" \\" for cells in (header, *rows)]
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_tex(caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _tex(text: str) -> str:
    for plain, escaped in (("%", r"\%"), ("±", r"$\pm$"), ("–", "--"), ("_", r"\_"), ("&", r"\&"), ("≥", r"$\geq$")):
        text = text.replace(plain, escaped)
    return text
