"""Tables and figures by name, and what is written before and after anything is done."""

import re

import pytest
from PIL import Image

from experiments import paper_tables, targets
from experiments.paper_tables import TABLE_1, TABLE_2, Published, latex, markdown
from experiments.records import Group, Summary, read_records


def test_all_is_what_the_paper_has():
    assert targets.names_of("all") == ["table-1", "table-2", *(f"figure-{i}" for i in range(1, 6)), "appendix"]
    assert targets.names_of("default") == ["default"]


def test_each_experiment_is_wanted_once():
    experiments = targets.experiments_of(targets.names_of("all"), "quick", 4)
    assert len(experiments) == len(set(experiments)) == 161


def test_targets_say_how_many_seeds_they_need():
    needed = {"figure-4": 1, "ablation": 1, "other-ways": 2, "number": 8, "discovery": 4, "rules": 2}
    for target, n_seeds in needed.items():
        assert {e.seed for e in targets.experiments_of([target], "quick", 4)} == set(range(n_seeds))
    assert {e.preset for e in targets.experiments_of(["default", "discovery"], "quick", 4)} == {"default"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: targets.names_of("table-3"), "There is no 'table-3' to reproduce. Give one of table-1, "),
        (lambda: targets.experiments_of(["table-1"], "slow", 4), "--preset must be quick or paper; got 'slow'"),
        (
            lambda: targets.experiments_of(["table-1"], "quick", 4, targets.Choice(("cifar",))),
            "No experiment of table-1 is of the data set 'cifar'. Give one of fashion-mnist, mnist.",
        ),
        (
            lambda: targets.experiments_of(["table-1"], "quick", 4, targets.Choice(models=("gmdgm",))),
            "No experiment of table-1 is of the model 'gmdgm'",
        ),
        (
            lambda: targets.experiments_of(["claims"], "quick", 4, targets.Choice(regimes=("accidental",))),
            "No experiment of claims is of the regime 'accidental'",
        ),
    ],
)
def test_what_cannot_be_asked_for(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_the_table_shows_our_number_and_the_papers(done):
    targets.draw(["table-1", "table-2"], done, "quick", 1)
    record = read_records(done, "quick")["har-gmdgm-semi-unsupervised-0"]
    lines = (done / "quick" / "table-2.md").read_text().splitlines()
    line = next(line for line in lines if line.startswith("| GM-DGM | HAR, publisher"))
    assert line.endswith(f"| {record['acc_many_to_one']:.1f} | 87.1 ± 2.3 |")
    assert "87.1 $\\pm$ 2.3" in (done / "quick" / "table-2.tex").read_text()
    page = (done / "quick" / "agreement.md").read_text()
    assert len(re.findall("not done", page)) == len(TABLE_1) + len(TABLE_2) - 2
    assert (done / "quick.jsonl").read_text().count("\n") == 3  # what was done is gathered


def test_what_is_not_done_is_left_open(tmp_path):
    names = [
        *("table-1", "table-2", "figure-1", "figure-4"),
        *(n for n, t in targets.TARGETS.items() if not t.is_papers),
    ]
    for path in targets.draw(names, tmp_path, "quick", 4):
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert image.getextrema() != ((255, 255),) * 4  # frames and titles are there
        elif path.suffix == ".md" and path.stem not in (
            "ablation",
            "claims",
        ):  # which have a line for what is done only
            assert "–" in path.read_text()
    assert not list(tmp_path.glob("*.jsonl"))


def test_summary_over_seeds():
    assert Summary.of([1.0, 3.0]) == Summary(2.0, pytest.approx(2**0.5), 2)
    assert Summary.of([5.0]) == Summary(5.0, 0.0, 1)


def test_a_group_says_how_many_seeds_are_done():
    group = Group(
        [{"score": {"all": 1.0}, "n": 3}, {"score": {"all": 3.0}, "n": 2}, {"score": {"all": None}, "n": 4}], 4
    )
    assert group.show("score", "all") == "2.0 ± 1.4 (2 of 4)"
    assert group.show_mean("n", digits=2) == "3.00"
    assert group.show_least("n") == "2"
    assert Group([], 4).show("score") == Group([], 4).show_mean("n") == Group([], 4).show_least("n") == "–"


@pytest.mark.parametrize(
    ("ours", "paper", "expected"),
    [
        (Summary(92.9, 0.1, 4), Published(92.5, 0.3), "agrees"),
        (Summary(95.0, 0.1, 4), Published(92.5, 0.3), "above"),
        (Summary(85.0, 0.1, 4), Published(87.1, 0.3), "below"),
        (Summary(80.0, 4.0, 4), Published(87.1, 2.3), "within the spread"),
    ],
)
def test_verdicts(ours, paper, expected):
    assert paper_tables.verdict(ours, paper) == expected


def test_tables_as_text():
    assert markdown("Caption.", ["a", "b"], [["x", "1 ± 2"]]) == "Caption.\n\n| a | b |\n| --- | --- |\n| x | 1 ± 2 |\n"
    tex = latex("20 %", ["a_b", "c"], [["x", "1 ± 2"]])
    assert r"\caption{20 \%}" in tex
    assert r"x & 1 $\pm$ 2 \\" in tex
    assert r"a\_b & c \\" in tex
