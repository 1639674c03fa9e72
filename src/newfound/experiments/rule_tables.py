"""Rules for the new classes of tables: how well a short sentence of conditions says which rows a class holds."""

from pathlib import Path
from statistics import median
from typing import Any

from newfound.experiments.experiment import RULES, Series
from newfound.experiments.findings import NO_RULE
from newfound.experiments.paper_tables import title_of
from newfound.experiments.presets import DEFAULT
from newfound.experiments.summaries import NONE, Group, Results
from newfound.experiments.table_files import write_table

TABLES = {"penguins": 3, "iris": 3, "wine": 3, "breast-cancer": 2, "har-3000-rows": 6}  # and their classes
RULE_SEEDS = 2


def rule_series() -> list[Series]:
    """Every class of every table hidden in turn; discovery alone, and rules for what it finds."""
    return [
        Series(dataset, RULES, f"class-{k}-hidden", preset=DEFAULT)
        for dataset, n_classes in TABLES.items()
        for k in range(n_classes)
    ]


def rule_table(results: Results, folder: Path) -> list[Path]:
    own = Results(results.folder, DEFAULT, RULE_SEEDS)
    groups = {series: own.group(*series) for series in rule_series()}
    rows = [_row(series, group) for series, group in groups.items()]
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


def _row(series: Series, group: Group) -> list[str]:
    rules = _rules(group)
    hidden = series.regime.split("-")[1]
    first = [rule["text"] for rule in group.records[0]["rules"]] if group.records else []
    text = (first[0] or "no rule") if first else NONE
    return [title_of(series.dataset), hidden, str(len(rules)) if group.records else NONE, _median(rules), text]


def _rules(group: Group) -> list[dict[str, Any]]:
    return [rule for record in group.records for rule in record["rules"]]


def _median(rules: list[dict[str, Any]]) -> str:
    return f"{median(rule['fidelity'] for rule in rules):.3f}" if rules else NONE
