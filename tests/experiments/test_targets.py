"""The paper's tables and figures, end to end, on sets too small to say anything about the paper."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from published import write_sets
from typer.testing import CliRunner

from newfound.cli import app
from newfound.reproduce import agreement, targets, work
from newfound.reproduce.cells import Cell, read_arrays, read_cell
from newfound.reproduce.figures import reflected_density
from newfound.reproduce.presets import VARIANTS, settings_of
from newfound.reproduce.printed import N_SEEDS, TABLE_1, TABLE_2, Printed
from newfound.reproduce.results import Summary
from newfound.reproduce.tables import latex, markdown
from newfound.reproduce.tasks import make_task

COMMITTED = Path(__file__).parent.parent / "paper"

ONE_CELL = {
    "table-1": ["--dataset", "mnist", "--regime", "accidental", "--model", "ssvae"],
    "table-2": ["--dataset", "har", "--model", "gmdgm", "--regime", "semi-unsupervised"],
    "figure-1": ["--dataset", "mnist", "--regime", "accidental"],
    "figure-2": ["--dataset", "mnist", "--regime", "accidental"],
    "figure-3": [],
    "figure-4": ["--dataset", "har"],
    "figure-5": ["--dataset", "har"],
    "appendix": ["--model", "gmdgm", "--regime", "semi-supervised"],
}
OWN_CELLS = {
    "default": ["--dataset", "har", "--regime", "unsupervised"],
    "tables": ["--dataset", "wine", "--model", "gmdgm"],
    "ablation": ["--dataset", "har"],
}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    write_sets(folder)
    return folder


@pytest.fixture(scope="module")
def done(sets, tmp_path_factory):
    """A folder in which one tiny cell of every table and figure is done."""
    folder = tmp_path_factory.mktemp("paper")
    for target, chosen in ONE_CELL.items():
        result = reproduce(sets, folder, target, "--seeds", "1", "--set", "max_epochs=2", *chosen)
        assert result.exit_code == 0, result.output
        assert "1 of 1" in result.output
    return folder


def reproduce(sets, folder, *arguments):
    return CliRunner().invoke(
        app, ["reproduce", "--out", str(folder), *arguments], env={"NEWFOUND_DATA": str(sets), "COLUMNS": "200"}
    )


@pytest.mark.parametrize("target", ONE_CELL)
def test_every_table_and_figure_is_written(done, target):
    kinds = ("md", "tex") if target.startswith("table") else ("png", "pdf")
    for name in ("appendix-ssvae", "appendix-gmdgm") if target == "appendix" else (target,):
        for kind in kinds:
            assert (done / "quick" / f"{name}.{kind}").stat().st_size > 200
    assert set(ONE_CELL) | set(OWN_CELLS) == set(targets.TARGETS)


def test_a_cell_is_on_record_with_all_that_is_needed_to_judge_it(done):
    record = json.loads((done / "quick" / "cells" / "har-gmdgm-semi-unsupervised-0.json").read_text())
    assert (record["dataset"], record["model"], record["regime"], record["seed"]) == (
        *("har", "gmdgm", "semi-unsupervised"),
        0,
    )
    assert record["n_labelled"] == 30  # one in five of half the rows
    assert np.sum(record["counts"]) == record["n_test"] == 120
    assert np.shape(record["counts"]) == (6, 43)
    assert record["acc_many_to_one"] >= record["acc_one_to_one"]["all"] > 0
    assert set(record["acc_one_to_one"]) == {"all", "known", "new"}
    assert 0 <= record["nmi"] <= 1
    assert -1 <= record["ari"] <= 1
    assert record["settings"]["max_epochs"] == 2
    assert record["seconds"] > 0
    assert {"newfound", "jax", "numpy", "python"} <= set(record["versions"])


def test_the_table_shows_our_number_and_the_papers(done):
    record = read_cell(done, Cell("quick", "har", "gmdgm", "semi-unsupervised", 0))
    line = next(
        line
        for line in (done / "quick" / "table-2.md").read_text().splitlines()
        if line.startswith("| GM-DGM | HAR, publisher")
    )
    assert line.endswith(f"| {record['acc_many_to_one']:.1f} | 87.1 ± 2.3 |")
    assert "87.1 $\\pm$ 2.3" in (done / "quick" / "table-2.tex").read_text()
    page = (done / "quick" / "agreement.md").read_text()
    assert len(re.findall("not done", page)) == len(TABLE_1) + len(TABLE_2) - 4
    assert len(page.splitlines()) >= len(TABLE_1) + len(TABLE_2)


@pytest.mark.parametrize("target", OWN_CELLS)
def test_the_tables_of_newfounds_own_defaults_are_written(sets, tmp_path, target, monkeypatch):
    two = tuple(of for of in targets.TARGETS["ablation"].wanted if of.preset in ("default", "without-warm-start"))
    monkeypatch.setitem(targets.TARGETS, "ablation", replace(targets.TARGETS["ablation"], wanted=two))
    result = reproduce(sets, tmp_path, target, "--seeds", "1", "--set", "max_epochs=1", *OWN_CELLS[target])
    assert result.exit_code == 0, result.output
    table = (tmp_path / "default" / f"{target}.md").read_text()
    assert re.search(r"\d\d\.\d", table)
    records = [json.loads(path.read_text()) for path in tmp_path.glob("*/cells/*.json")]
    assert {record["preset"] for record in records} == {"default"} | (
        {"without-warm-start"} if target == "ablation" else set()
    )
    for record in records:
        settings = settings_of(record["preset"], record["dataset"], record["model"])
        assert record["settings"] == json.loads(json.dumps(settings | {"max_epochs": 1}))
    assert not (tmp_path / "quick").exists()


def test_known_classes_are_hidden_on_purpose(sets, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    for seed in (0, 1):
        known = make_task("mnist", "semi-unsupervised", seed)
        task = make_task("mnist", "rediscovery", seed)
        hidden = set(known.known) - set(task.known)
        assert len(hidden) == 2
        assert set(task.truth) <= set(known.known)  # scored on labels that are left, of no other class
        assert (task.y >= 0).sum() + len(task.truth) <= (known.y >= 0).sum()
        scored = set(map(bytes, task.X_test))
        assert not scored & set(map(bytes, task.X[task.y >= 0]))


@pytest.mark.parametrize(("labels", "kept"), [(None, 0.2), (3, 3)])
def test_few_labels_a_class(sets, monkeypatch, labels, kept):
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    task = make_task("har", "semi-unsupervised", 0, labels_per_class=labels)
    counts = np.bincount(task.y[task.y >= 0])
    totals = np.bincount(task.all_labels)[: len(counts)]
    np.testing.assert_array_equal(counts, kept if labels else np.round(kept * totals))


def test_what_is_done_is_not_computed_again(sets, done, monkeypatch):
    monkeypatch.setattr(work, "run_cell", lambda *_: pytest.fail("computed again"))
    for target, chosen in ONE_CELL.items():
        result = reproduce(sets, done, target, "--seeds", "1", "--set", "max_epochs=2", *chosen)
        assert result.exit_code == 0, result.output


def test_cells_of_other_settings_are_not_mixed(sets, done):
    result = reproduce(sets, done, "table-1", "--seeds", "1", "--set", "max_epochs=3", *ONE_CELL["table-1"])
    assert result.exit_code == 2
    assert "was made with max_epochs = 2, now it is 3" in result.output
    assert "--out" in result.output


def test_the_list_says_what_is_done(sets, done):
    result = reproduce(sets, done, "table-1", "--seeds", "2", "--set", "max_epochs=2", "--list")
    assert "1 of 16 cells are done" in result.output
    assert re.search(r"done +mnist-ssvae-accidental-0", result.output)
    assert re.search(r"to do +mnist-ssvae-accidental-1", result.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table-3"], "There is no 'table-3' to reproduce. Give one of table-1, "),
        (["table-1", "--preset", "slow"], "--preset must be quick or paper; got 'slow'"),
        (["table-1", "--set", "alpha"], "--set must be name=value, with one of the names activation, alpha, "),
        (["table-1", "--set", "n_new=3"], "--set must be name=value"),
        (["table-1", "--set", "alpha=-1"], "alpha must be"),
        (["table-1", "--dataset", "cifar"], "No cell of table-1 is of the data set 'cifar'"),
        (["table-1", "--model", "gmdgm"], "No cell of table-1 is of the model 'gmdgm'"),
    ],
)
def test_what_cannot_be_asked_for(sets, tmp_path, arguments, message):
    result = reproduce(sets, tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize("content", ["", "[1]", '{"dataset": "mnist"}'])
def test_a_damaged_cell_is_said_to_be_so(sets, tmp_path, content):
    cells = tmp_path / "quick" / "cells"
    cells.mkdir(parents=True)
    (cells / "mnist-ssvae-accidental-0.json").write_text(content)
    result = reproduce(sets, tmp_path, "table-1", "--list")
    assert result.exit_code == 2
    assert "mnist-ssvae-accidental-0.json' is damaged. Remove it" in result.output


def test_cells_go_into_a_folder(sets, tmp_path):
    (tmp_path / "paper").write_text("notes")
    result = reproduce(sets, tmp_path / "paper", "table-1")
    assert result.exit_code == 2
    assert "is a file, not a folder for cells. Give another --out." in result.output
    assert (tmp_path / "paper").read_text() == "notes"


def test_an_interrupted_cell_is_not_saved(sets, tmp_path, monkeypatch):
    """Training that is stopped by Ctrl-C keeps what it learned; a cell must not take that for its result."""
    from newfound.training import loop

    def stop(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "compiled_train_chunk", lambda: stop)
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    cell = Cell("quick", "har", "gmdgm", "semi-supervised", 0)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="interrupted"):
        work.compute([cell], tmp_path, {"max_epochs": 1}, 1, lambda *_: None)
    assert read_cell(tmp_path, cell) is None


def test_pictures_are_of_every_component(done):
    arrays = read_arrays(done, Cell("quick", "mnist", "ssvae", "unsupervised", 0, 20))
    assert arrays["grid"].shape == (8, 20, 784)
    assert arrays["surest"].shape == (20, 10, 784)
    assert len(arrays["entropy"]) == len(arrays["is_known"]) == 200
    assert arrays["entropy"].max() <= np.log(20) + 1e-5


def test_jobs_share_the_cores_and_lose_none():
    everything = sorted(core for share in work.shares_of_cores(1) for core in share)
    for jobs in (2, 3):
        shares = work.shares_of_cores(jobs)
        assert len(shares) == jobs
        assert sorted({core for share in shares for core in share}) == everything
        assert all(shares) or not everything


def test_several_at_a_time(sets, tmp_path, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    choice = targets.Choice(("har",), ("k-means",), ("semi-supervised",))
    cells = targets.cells_of(["table-2"], "quick", 2, choice)
    told = []
    work.compute(cells, tmp_path, {}, 2, lambda cell, record: told.append((cell, record["acc_many_to_one"])))
    assert sorted(cell.seed for cell, _ in told) == [0, 1]
    assert all(accuracy > 90 for _, accuracy in told)  # clouds that lie apart


@pytest.mark.parametrize("regime", ["unsupervised", "semi-supervised", "semi-unsupervised", "accidental"])
def test_tasks_are_the_papers(sets, monkeypatch, regime):
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    task = make_task("mnist", regime, seed=0)
    n_known, n_new = {
        "unsupervised": (0, 45),
        "semi-supervised": (10, 0),
        "semi-unsupervised": (5, 40),
        "accidental": (5, 0),
    }[regime]
    assert (len(task.known), task.n_new) == (n_known, n_new)
    assert set(task.truth[task.is_scored]) == set(range(5 if regime == "accidental" else 10))


def test_the_semi_supervised_half_of_table_1_has_never_seen_the_other_classes(sets, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    half, whole = make_task("mnist-0-4", "semi-supervised", 0), make_task("mnist", "accidental", 0)
    assert len(half.X) < len(whole.X)
    assert half.known.tolist() == whole.known.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(half.X_test[half.is_scored], whole.X_test[whole.is_scored])


def test_a_random_split_has_the_same_rows_otherwise_parted(sets, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(sets))
    published, shuffled = make_task("har", "unsupervised", 0), make_task("har-random-split", "unsupervised", 0)
    assert shuffled.X.shape == published.X.shape

    def pool(task):
        return sorted(map(tuple, np.concatenate([task.X, task.X_test])))

    assert pool(shuffled) == pool(published)
    assert not np.array_equal(shuffled.X, published.X)


def test_the_paper_preset_is_appendix_c():
    mnist = settings_of("paper", "mnist-0-4", "ssvae")
    har = settings_of("paper", "har-random-split", "gmdgm")
    assert (mnist["latent_dim"], mnist["hidden"], mnist["batch_size"], mnist["learning_rate"]) == (
        5,
        (200, 200),
        4,
        1e-3,
    )
    assert (mnist["likelihood"], mnist["min_sd"]) == ("bernoulli", 0.1)
    assert (har["latent_dim"], har["hidden"], har["batch_size"], har["learning_rate"]) == (15, (500, 500), 64, 5e-3)
    assert (har["likelihood"], har["sigma"], har["standardize"]) == ("gaussian-fixed", 0.01, False)
    assert mnist["kernel_sd"] == har["kernel_sd"] == 0.001
    assert mnist["max_epochs"] == har["max_epochs"] == 400
    assert mnist["warm_epochs"] == har["warm_epochs"] == 0


def test_summary_over_seeds():
    assert Summary.of([1.0, 3.0]) == Summary(2.0, pytest.approx(np.sqrt(2)), 2)
    assert Summary.of([5.0]) == Summary(5.0, 0.0, 1)


@pytest.mark.parametrize(
    ("ours", "paper", "expected"),
    [
        (Summary(92.9, 0.1, 4), Printed(92.5, 0.3), "agrees"),
        (Summary(95.0, 0.1, 4), Printed(92.5, 0.3), "above"),
        (Summary(85.0, 0.1, 4), Printed(87.1, 0.3), "below"),
        (Summary(80.0, 4.0, 4), Printed(87.1, 2.3), "within the spread"),
    ],
)
def test_verdicts(ours, paper, expected):
    assert agreement.verdict(ours, paper) == expected


def test_a_density_is_one_and_stays_above_zero():
    points = np.linspace(0, 3, 3001)
    density = reflected_density(np.array([0.0, 0.01, 1.0]), points)
    assert np.trapezoid(density, points) == pytest.approx(1, abs=1e-3)


# ---- the committed results -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory):
    """Tables and the page of agreement, made anew from the committed cells."""
    folder = tmp_path_factory.mktemp("redrawn")
    (folder / "quick").mkdir()
    (folder / "quick" / "cells").symlink_to(COMMITTED / "quick" / "cells")
    targets.draw(["table-1", "table-2"], folder, "quick", N_SEEDS)
    return folder / "quick"


@pytest.mark.parametrize(
    "name",
    ["table-1.md", "table-1.tex", "table-1-in-full.md", "table-2.md", "table-2-in-full.md", "agreement.md"],
)
def test_committed_tables_are_what_the_committed_cells_say(redrawn, name):
    assert (redrawn / name).read_text() == (COMMITTED / "quick" / name).read_text()


def test_committed_cells_are_of_the_present_settings():
    cells = targets.cells_of(targets.names_of("all"), "quick", N_SEEDS)
    assert work.missing(cells, COMMITTED, {}) == []


@pytest.mark.parametrize("target", OWN_CELLS)
def test_committed_results_of_the_defaults_are_of_the_present_settings(tmp_path, target):
    cells = targets.cells_of([target], "quick", N_SEEDS)
    assert len(work.missing(cells, COMMITTED, {})) < len(cells)  # some are done, none with other settings
    for preset in VARIANTS:
        if (COMMITTED / preset).exists():
            (tmp_path / preset).mkdir()
            (tmp_path / preset / "cells").symlink_to(COMMITTED / preset / "cells")
    targets.draw([target], tmp_path, "quick", N_SEEDS)
    for kind in ("md", "tex"):
        name = Path("default", f"{target}.{kind}")
        assert (tmp_path / name).read_text() == (COMMITTED / name).read_text()


def test_committed_figures_are_there():
    for name in [f"figure-{i}" for i in range(1, 6)] + ["appendix-ssvae", "appendix-gmdgm"]:
        assert (COMMITTED / "quick" / f"{name}.png").is_file()
        assert (COMMITTED / "quick" / f"{name}.pdf").is_file()


def test_tables_as_text():
    assert markdown("Caption.", ["a", "b"], [["x", "1 ± 2"]]) == "Caption.\n\n| a | b |\n| --- | --- |\n| x | 1 ± 2 |\n"
    tex = latex("20 %", ["a_b", "c"], [["x", "1 ± 2"]])
    assert r"\caption{20 \%}" in tex
    assert r"x & 1 $\pm$ 2 \\" in tex
    assert r"a\_b & c \\" in tex
