"""One page with one table: each claim, the command that computes it, its number, and the minutes it takes."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.default_tables import FEW_LABELS, N_CLASSES, main_series
from experiments.experiment import Series
from experiments.paper_tables import N_SEEDS, TABLE_1, TABLE_2, markdown, model_title, title_of
from experiments.presets import DEFAULT, PRESETS
from experiments.records import NONE, Results
from experiments.tasks import FIRST_HALF

SEMI = "semi-unsupervised"
MANY, ONE, OWN = "many-to-one (purity)", "one-to-one (Hungarian)", "known classes in the component of their own"


class Claim(NamedTuple):
    """A number of the records, in words."""

    text: str
    target: str
    series: Series
    path: tuple[str, ...]

    @property
    def command(self) -> str:
        source = self.series.dataset.removesuffix(FIRST_HALF)
        chosen = f"--dataset {source} --model {self.series.model} --regime {self.series.regime}"
        preset = f" --preset {self.series.preset} --seeds 1" if self.series.preset == "paper" else ""
        return f"`python -m experiments reproduce {self.target} {chosen}{preset}`"


def all_claims() -> Iterator[Claim]:
    """Of the defaults, given a number and not, and of the paper's tables."""
    for dataset in N_CLASSES:
        yield from _of_defaults(dataset)
    for series in main_series():
        labels = "" if series.labels_per_class is None else f", {series.labels_per_class} labels a class"
        text = f"{title_of(series.dataset)}, {series.regime}{labels}, number not given: {ONE}"
        yield Claim(text, "discovery", series, ("acc_one_to_one", "all"))
    for (dataset, regime), paper in TABLE_1.items():
        text = f"Table 1, SSVAE, {title_of(dataset)}, {regime}: {OWN} (paper: {paper})"
        yield Claim(text, "table-1", Series(dataset, "ssvae", regime, preset="quick"), ("acc_own_component",))
    for (dataset, model, regime), paper in TABLE_2.items():
        text = f"Table 2, {model_title(model)}, {title_of(dataset)}, {regime}: {MANY} (paper: {paper})"
        yield Claim(text, "table-2", Series(dataset, model, regime, preset="quick"), ("acc_many_to_one",))
    text = f"Table 2, GM-DGM, {title_of('har')}, {SEMI}, the paper's settings as printed: {MANY}"
    yield Claim(text, "table-2", Series("har", "gmdgm", SEMI, preset="paper"), ("acc_many_to_one",))


def _of_defaults(dataset: str) -> Iterator[Claim]:
    paper, hidden = TABLE_2[dataset, "gmdgm", SEMI], "half the classes hidden"
    for text, regime, n_components, labels, path in (
        (f"{hidden}, 40 new components: {MANY} (paper: {paper})", SEMI, None, None, ("acc_many_to_one",)),
        (f"{hidden}, 40 new components: {OWN}", SEMI, None, None, ("acc_own_component",)),
        (f"no labels: {MANY}", "unsupervised", None, None, ("acc_many_to_one",)),
        (f"{FEW_LABELS} labels of every class: accuracy", "semi-supervised", None, FEW_LABELS, ("acc_own_component",)),
    ):
        series = Series(dataset, "gmdgm", regime, n_components, labels, DEFAULT)
        yield Claim(f"{title_of(dataset)}, {text}", "default", series, path)


def claims_page(results: Results, folder: Path) -> list[Path]:
    """The page, from the records of all presets."""
    of_preset = {preset: Results(results.folder, preset, N_SEEDS) for preset in (DEFAULT, *PRESETS)}
    rows = []
    for claim in all_claims():
        group = of_preset[claim.series.preset or DEFAULT].group(*claim.series)
        if not group.records:  # no claim without a record
            continue
        summary, minutes = group.summary(*claim.path), f"{sum(group.values('seconds')) / 60:.1f}"
        number = NONE if summary is None else f"{summary.mean:.2f}" + f" ± {summary.sd:.2f}" * (summary.n > 1)
        rows.append([claim.text, claim.command, number, str(len(group.records)), minutes])
    caption = (
        "# What newfound claims\n\n"
        "Accuracy in % on the test rows, mean ± SD over the seeds, as recorded. "
        "Minutes: what the recorded fits of this number took together, on one core at most; a command may compute "
        "other numbers of the same data too. The commands read what is done from `results/`; with `--out elsewhere` "
        "they compute it again. This page is written by `python -m experiments reproduce claims`."
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "claims.md"
    path.write_text(markdown(caption, ["claim", "command", "number", "seeds", "minutes"], rows))
    return [path]
