"""The committed results: of the present settings, with tables and figures that say what the records say."""

import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from tiny import COMMITTED

from experiments import queue, targets
from experiments.claims import all_claims
from experiments.experiment import Experiment
from experiments.figures import reflected_density
from experiments.paper_tables import N_SEEDS
from experiments.presets import DEFAULT, PRESETS, VARIANTS
from experiments.records import read_records
from experiments.scores import evaluation_of, recorded_classes, scores
from newfound.config import Config, Initialisation, Objective, Optimisation
from newfound.estimator import DeepGenerativeClassifier

FIGURES = [*(f"figure-{i}" for i in range(1, 6)), "appendix-ssvae", "appendix-gmdgm"]


def check_all_settings():
    for preset in (*PRESETS, *VARIANTS):
        records = read_records(COMMITTED, preset)
        assert records or preset not in (*PRESETS, DEFAULT)
        for record in records.values():
            queue.check_settings(Experiment.of(record), record, {}, COMMITTED)


def test_every_record_is_of_the_present_settings():
    check_all_settings()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("label_weight", Config(objective=replace(Objective(), label_weight=1.0))),
        ("init_scale", Config(optimisation=replace(Optimisation(), init_scale=0.1))),
        ("n_trees", Config(initialisation=replace(Initialisation(), n_trees=10))),
    ],
)
def test_a_changed_default_of_the_config_is_noticed(monkeypatch, name, changed):
    defaults = (changed.objective, changed.optimisation, changed.initialisation)
    monkeypatch.setattr(Config.__init__, "__defaults__", defaults)
    with pytest.raises(ValueError, match=f"was made with {name} = "):
        check_all_settings()


@pytest.mark.parametrize(("name", "value"), [("pu_weight", 0.0), ("batch_size", 32), ("validation_fraction", 0.2)])
def test_a_changed_default_of_the_estimator_is_noticed(monkeypatch, name, value):
    constructor = DeepGenerativeClassifier.__init__
    monkeypatch.setattr(constructor, "__kwdefaults__", constructor.__kwdefaults__ | {name: value})
    with pytest.raises(ValueError, match=f"was made with {name} = "):
        check_all_settings()


@pytest.mark.parametrize("target", ["all", "discovery", "small-tables", "number", "rules"])
def test_everything_is_done(target):
    experiments = targets.experiments_of(targets.names_of(target), "quick", N_SEEDS)
    assert queue.missing(experiments, COMMITTED, {}) == []


def test_rules_of_new_classes_in_tables_hold():
    """The median fidelity over all new classes; where there is no rule, it is that of saying nothing."""
    records = read_records(COMMITTED, DEFAULT).values()
    rules = [rule for record in records for rule in record.get("rules", [])]
    assert len(rules) >= 30
    assert np.median([rule["fidelity"] for rule in rules]) >= 0.85


@pytest.mark.parametrize("preset", sorted(path.stem for path in COMMITTED.glob("*.jsonl")))
def test_scores_are_those_of_the_counts(preset):
    records = read_records(COMMITTED, preset)
    lines = (COMMITTED / f"{preset}.jsonl").read_text().splitlines()
    assert len(lines) == len(records)
    assert list(records) == sorted(records)
    for record in records.values():
        assert np.sum(record["counts"]) == record["n_test"]
        again = scores(evaluation_of(record), recorded_classes(record))
        assert again == {name: record[name] for name in again}


# ---- tables and figures ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory):
    """All tables and figures, drawn from the committed records in another folder."""
    folder = tmp_path_factory.mktemp("redrawn")
    for path in COMMITTED.glob("*.jsonl"):
        (folder / path.name).symlink_to(path)
    (folder / "quick").mkdir()
    (folder / "quick" / "arrays").symlink_to(COMMITTED / "quick" / "arrays")
    targets.draw(list(targets.TARGETS), folder, "quick", N_SEEDS)
    targets.draw(["table-2"], folder, "paper", 1)
    return folder


def committed(*suffixes):
    return sorted(str(path.relative_to(COMMITTED)) for path in COMMITTED.rglob("*.*") if path.suffix in suffixes)


def test_every_table_and_figure_is_committed(redrawn):
    drawn = {str(p.relative_to(redrawn)) for p in redrawn.rglob("*.*") if p.suffix in (".md", ".tex", ".png", ".pdf")}
    assert drawn == set(committed(".md", ".tex", ".png", ".pdf"))


@pytest.mark.parametrize("name", committed(".md", ".tex"))
def test_tables_say_what_the_records_say(redrawn, name):
    assert (redrawn / name).read_text() == (COMMITTED / name).read_text()


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("L"), dtype=float) / 255


@pytest.mark.parametrize("name", FIGURES)
def test_figures_show_what_the_records_say(redrawn, name):
    """Within what another version of fonts and of matplotlib moves; a blank or another figure differs by more."""
    ours, theirs = pixels(redrawn / "quick" / f"{name}.png"), pixels(COMMITTED / "quick" / f"{name}.png")
    assert ours.shape == theirs.shape
    assert ours.std() > 0.05  # not blank
    assert np.abs(ours - theirs).mean() < 0.01
    assert (COMMITTED / "quick" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_figures_differ_from_each_other_by_more_than_the_tolerance():
    for one, other in (("figure-4", "figure-5"), ("appendix-ssvae", "appendix-gmdgm")):
        first, second = (pixels(COMMITTED / "quick" / f"{name}.png") for name in (one, other))
        assert first.shape != second.shape or np.abs(first - second).mean() > 0.02


def test_a_density_is_one_and_stays_above_zero():
    points = np.linspace(0, 3, 3001)
    density = reflected_density(np.array([0.0, 0.01, 1.0]), points)
    assert np.trapezoid(density, points) == pytest.approx(1, abs=1e-3)


# ---- the page of claims ----------------------------------------------------------------------------------------------


def test_every_claim_has_a_number_and_a_command_that_computes_it():
    for claim in all_claims():
        words = claim.command.strip("`").split()
        assert words[:4] == ["python", "-m", "experiments", "reproduce"]
        options = dict(zip(words[5::2], words[6::2], strict=True))
        choice = targets.Choice((options["--dataset"],), (options["--model"],), (options["--regime"],))
        preset, seeds = options.get("--preset", "quick"), int(options.get("--seeds", N_SEEDS))
        computed = targets.experiments_of(targets.names_of(words[4]), preset, seeds, choice)
        assert {claim.series.experiment(preset, seed) for seed in range(seeds)} <= set(computed)
    page = (COMMITTED / "claims.md").read_text()
    rows = re.findall(r"^\| .* \| `python .*` \| (.*) \| (.*) \| (.*) \|$", page, re.M)
    assert 30 < len(rows) <= len(list(all_claims()))
    for number, seeds, minutes in rows:
        assert re.fullmatch(r"\d+\.\d\d" if seeds == "1" else r"\d+\.\d\d ± \d+\.\d\d", number)
        assert float(minutes) > 0


def test_the_main_claim():
    page = (COMMITTED / "claims.md").read_text()
    all_records = read_records(COMMITTED, "default")
    names = [name for name in all_records if re.fullmatch(r"digits-gmdgm-half-hidden-\d", name)]
    scores_of = [all_records[name]["acc_one_to_one"]["all"] for name in names]
    line = next(line for line in page.splitlines() if line.startswith("| digits, half-hidden, number not given"))
    assert len(names) == N_SEEDS
    assert f"| {np.mean(scores_of):.2f} ± {np.std(scores_of, ddof=1):.2f} | {N_SEEDS} |" in line
