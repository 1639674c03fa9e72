"""The paper's Tables 1 and 2: its published numbers, ours beside them, and whether the two agree.

Every table is written twice, as Markdown and as LaTeX (`write_table`).
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.records import NONE, Group, Results, Summary
from experiments.tasks import FIRST_HALF, SAMPLE

Rows = list[list[str]]
ESCAPED = (("%", r"\%"), ("±", r"$\pm$"), ("–", "--"), ("_", r"\_"), ("&", r"\&"), ("≥", r"$\geq$"))


def write_table(folder: Path, name: str, caption: str, header: Sequence[str], rows: Rows) -> list[Path]:
    """The same table as Markdown and as LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.md", folder / f"{name}.tex"]
    paths[0].write_text(markdown(caption, header, rows))
    paths[1].write_text(latex(caption, header, rows))
    return paths


def markdown(caption: str, header: Sequence[str], rows: Rows) -> str:
    lines = [" | ".join(row) for row in (header, ["---"] * len(header), *rows)]
    return f"{caption}\n\n" + "".join(f"| {line} |\n" for line in lines)


def latex(caption: str, header: Sequence[str], rows: Rows) -> str:
    """A table for the booktabs package."""
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (header, *rows)]
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_escaped(caption)}}}",
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


def _escaped(text: str) -> str:
    for plain, escaped in ESCAPED:
        text = text.replace(plain, escaped)
    return text


# ---- The numbers published in the paper: test accuracy in per cent, mean and standard deviation over four runs ----

N_SEEDS = 4


class Published(NamedTuple):
    """A mean and its standard deviation over runs."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.sd:.1f}"


# Table 1: SSVAE on classes 0-4; the first column is trained on those classes alone.
TABLE_1 = {
    ("mnist-0-4", "semi-supervised"): Published(97.0, 0.4),
    ("mnist", "accidental"): Published(97.4, 0.3),
    ("fashion-mnist-0-4", "semi-supervised"): Published(90.1, 0.3),
    ("fashion-mnist", "accidental"): Published(89.8, 0.2),
}

# Table 2. The paper does not say how it split HAR into training and test rows, so two splits stand beside its numbers.
_HAR = {
    ("ssvae", "unsupervised"): Published(29.0, 1.1),
    ("ssvae", "semi-supervised"): Published(97.7, 0.1),
    ("ssvae", "semi-unsupervised"): Published(49.7, 7.5),
    ("gmdgm", "unsupervised"): Published(81.7, 1.8),
    ("gmdgm", "semi-supervised"): Published(96.6, 0.3),
    ("gmdgm", "semi-unsupervised"): Published(87.1, 2.3),
}
_IMAGES = {
    ("mnist", "ssvae", "unsupervised"): Published(26.1, 2.8),
    ("mnist", "ssvae", "semi-supervised"): Published(97.6, 0.1),
    ("mnist", "ssvae", "semi-unsupervised"): Published(54.3, 0.9),
    ("mnist", "gmdgm", "unsupervised"): Published(90.0, 1.5),
    ("mnist", "gmdgm", "semi-supervised"): Published(97.7, 0.1),
    ("mnist", "gmdgm", "semi-unsupervised"): Published(92.5, 0.3),
    ("fashion-mnist", "ssvae", "unsupervised"): Published(18.2, 0.4),
    ("fashion-mnist", "ssvae", "semi-supervised"): Published(86.8, 0.2),
    ("fashion-mnist", "ssvae", "semi-unsupervised"): Published(38.7, 1.7),
    ("fashion-mnist", "gmdgm", "unsupervised"): Published(75.8, 0.3),
    ("fashion-mnist", "gmdgm", "semi-supervised"): Published(86.9, 0.1),
    ("fashion-mnist", "gmdgm", "semi-unsupervised"): Published(78.22, 1.1),
}
TABLE_2 = _IMAGES | {(dataset, *key): value for dataset in ("har", "har-random-split") for key, value in _HAR.items()}


# ---- Tables 1 and 2, with the paper's number in the next column ----

REGIMES = ("unsupervised", "semi-supervised", "semi-unsupervised")
REGIME_OF_SAME_K = {  # k-means reads no label, so regimes with the same number of components are the same to it
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
    """The name of a data set in tables."""
    source = dataset.removesuffix(FIRST_HALF)
    if sample := SAMPLE.fullmatch(source):
        return f"{title_of(sample[1])}, {int(sample[2]):,} rows"
    return DATASETS.get(source, source) + (", classes 0–4 only" if source != dataset else "")


def model_title(model: str) -> str:
    """The paper's name of a model."""
    from newfound.models.architecture import MODELS

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


# ---- A page that compares every published number with ours: it agrees, is above or below, and why ----

CLOSE = 1.0  # points: as near as another implementation can be expected to come

_EASIER = "five classes are easier than ten, for which the paper has 97.6; α is not printed, and 100 favours the labels"
_NO_K = "the paper does not say how many components; more of them are purer"
_PEOPLE = "test rows are of other people; the paper's figure fits a random split (docs/paper.md)"
_PRETRAINED = "pretraining begins from clusters of a VAE's z-space; the paper has none"

# Why a number of the preset "quick" differs from the paper's.
REASONS = {
    ("mnist-0-4", "ssvae", "semi-supervised"): _EASIER,
    ("mnist", "ssvae", "accidental"): _EASIER,
    **{(dataset, "ssvae", "unsupervised"): _NO_K for dataset in ("mnist", "fashion-mnist", "har", "har-random-split")},
    ("mnist", "ssvae", "semi-unsupervised"): "some seeds find most of the new digits, others none (docs/paper.md)",
    **{("har", model, "semi-supervised"): _PEOPLE for model in ("ssvae", "gmdgm")},
    **{(dataset, "gmdgm", "unsupervised"): _PRETRAINED for dataset in ("mnist", "har", "har-random-split")},
    **{(dataset, "gmdgm", "semi-unsupervised"): _PRETRAINED for dataset in ("mnist", "har", "har-random-split")},
    ("fashion-mnist", "gmdgm", "unsupervised"): "200 units and 30 epochs; the paper has 500 and up to 400",
    ("fashion-mnist", "gmdgm", "semi-unsupervised"): _PRETRAINED,
    ("fashion-mnist", "ssvae", "semi-unsupervised"): "known classes at 90 % make 45 points alone; the paper is below",
}


def verdict(ours: Summary, paper: Published) -> str:
    """Agreement is a difference of at most one point; the spread, two standard deviations of both results together."""
    difference = ours.mean - paper.mean
    if abs(difference) <= CLOSE:
        return "agrees"
    if abs(difference) <= 2 * math.hypot(ours.sd, paper.sd):
        return "within the spread"
    return "above" if difference > 0 else "below"


def agreement_page(results: Results, folder: Path) -> Path:
    """Every number of Tables 1 and 2 beside the paper's."""
    rows = []
    for (dataset, regime), paper in TABLE_1.items():
        rows.append(["Table 1", *_row(results, dataset, "ssvae", regime, "acc_own_component", paper)])
    for (dataset, model, regime), paper in TABLE_2.items():
        rows.append(["Table 2", *_row(results, dataset, model, regime, "acc_many_to_one", paper)])
    caption = (
        "# Beside the paper, number by number\n\n"
        f"Preset `{results.preset}`, accuracy in % on the test set (Table 1: the share of rows in their own class's "
        "component; Table 2: many-to-one), mean ± SD over seeds. A number *agrees* where the means differ by at most "
        "one point, and is *within the spread* where they differ by at most two standard deviations of both together; "
        "else it is *above* or *below*. What was chosen where the paper does not say, and how, is in docs/paper.md."
    )
    header = ["table", "data", "model", "regime", "newfound", "paper", "difference", "verdict", "why"]
    path = folder / "agreement.md"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(caption, header, rows))
    return path


def _row(results: Results, dataset: str, model: str, regime: str, metric: str, paper: Published) -> list[str]:
    ours = results.group(dataset, model, regime).summary(metric)
    named = [title_of(dataset), model_title(model), regime]
    if ours is None:
        return [*named, NONE, str(paper), NONE, "not done", ""]
    judged = verdict(ours, paper)
    is_explained = judged != "agrees" and results.preset == "quick"
    why = REASONS.get((dataset, model, regime), "") if is_explained else ""
    return [*named, str(ours), str(paper), f"{ours.mean - paper.mean:+.1f}", judged, why]
