"""Acts on a run: every file follows, undo restores, the source is not needed, and one act waits for another."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from pets import newfound

from newfound._internal.files import disk
from newfound._internal.words import DataError
from newfound.runs import manifest
from newfound.runs.derived import act_on, caught_up, undo
from newfound.runs.run import open_run
from newfound.tables.read import read_dataset

FOLLOWING = ("predictions.parquet", "predictions.csv", "disagreements.csv", "classes.json", "examples.safetensors")
SEQUENCE = [
    ("rename", {"names": [["new-1", "emu"], ["cat", "felis"]]}),
    ("merge", {"classes": ["new-2"], "into": "dog"}),
    ("split", {"class_name": "dog"}),
    ("merge", {"classes": ["emu", "new-3"]}),
    ("cut", {"n_new": 2}),
    ("discard", {"class_name": "new-4"}),
]


@pytest.fixture
def run(workplace, tmp_path):
    """A copy of a run, far from the file it was fitted on."""
    shutil.copytree(workplace / "run", tmp_path / "run")
    return open_run(tmp_path / "run")


@pytest.fixture(scope="module")
def X(workplace):
    return read_dataset(workplace / "pets.csv", label="species", id="name").X


def files(run):
    about = json.loads((run.folder / "run.json").read_text())
    return {name: (run.folder / name).read_bytes() for name in FOLLOWING} | {"run.json": about | {"n_acts": 0}}


def check_agreement(run, X):
    """What the run says of the rows it was fitted on is what its model says."""
    model, table = run.model, run.predictions
    assert [c.name for c in run.classes] == model.classes_.tolist()
    assert [c.id for c in run.classes] == model.class_ids_.tolist()
    assert table["class"].tolist() == model.predict(X).tolist()
    best = [model.classes_.tolist().index(name) for name in table["class"]]
    np.testing.assert_array_equal(table["probability"], model.predict_proba(X)[np.arange(len(X)), best])
    np.testing.assert_allclose(table["p_new"], model.predict_new_proba(X), atol=1e-15)
    assert table["discovered_class"].tolist() == model.labels_.tolist()
    assert table["is_sure"].tolist() == model.is_sure_.tolist()
    assert (run.discovered.n_new, run.description.n_new) == (model.n_new_, model.n_new_)
    shown = run.examples
    for i, c in enumerate(run.classes):
        for which in ("prototypes", "lowest_confidence"):
            rows = shown[which][i][shown[which][i] >= 0]
            assert set(table["class"][rows]) <= {c.name}
            assert set(rows) <= set(shown["shown"])
        assert c.n_rows == (table["class"] == c.name).sum()


def test_every_file_follows_every_act_and_undo_restores_each(run, X):
    before = [files(run)]
    for act, arguments in SEQUENCE:
        run, line = act_on(run, act, arguments)
        assert line.act == act
        check_agreement(run, X)
        before.append(files(run))
    assert [c.name for c in run.classes] == ["felis", "dog", "emu"]
    for expected in reversed(before[:-1]):
        run, line = undo(run)
        assert line.act == "undo"
        assert files(run) == expected
    with pytest.raises(DataError, match="There is nothing to undo: no act is in effect"):
        undo(run)
    assert len(run.acts) == 2 * len(SEQUENCE)
    assert run.acts_in_effect == []


def test_a_merge_leaves_all_other_rows_as_they_were(run):
    before = run.predictions
    after = act_on(run, "merge", {"classes": ["new-2"], "into": "dog"}).run.predictions
    stays = ~np.isin(before["class"], ["new-2", "dog"])
    for name in ("class", "probability", "component", "entropy", "observed_label"):
        np.testing.assert_array_equal(after[name][stays], before[name][stays])
    assert set(after["class"][~stays]) == {"dog"}


def test_a_known_class_that_is_renamed_takes_its_labels_along(run, workplace):
    before = run.description.n_disagreements, run.description.calibration, [c.n_observed for c in run.classes]
    run = act_on(run, "rename", {"names": [["cat", "felis"]]}).run
    assert (
        run.description.n_disagreements,
        run.description.calibration,
        [c.n_observed for c in run.classes],
    ) == before
    assert "cat" not in run.predictions["observed_label"]
    metrics = [
        json.loads(newfound("evaluate", folder, "test.csv", "--label", "truth", "--json", cwd=workplace).stdout)
        for folder in (run.folder, "run")
    ]
    for one in metrics:
        one.pop("confusion")
    assert metrics[0] == metrics[1]


def test_ids_of_an_act_that_was_taken_back_are_not_given_again(run):
    run = act_on(run, "merge", {"classes": ["new-2"], "into": "dog"}).run
    run = act_on(run, "split", {"class_name": "dog"}).run
    assert run.classes[-1].id == "new-3"
    run = undo(run).run
    run = act_on(run, "split", {"class_name": "dog"}).run
    assert run.classes[-1].id == "new-4"
    assert run.model.class_ids_.tolist()[-1] == "new-4"  # when it is replayed, too


def test_what_is_refused_leaves_no_trace(run):
    before = files(run)
    with pytest.raises(ValueError, match="both known"):
        act_on(run, "merge", {"classes": ["cat", "dog"]})
    with pytest.raises(ValueError, match="act must be 'rename'"):
        act_on(run, "marry", {})
    assert files(run) == before
    assert run.acts == []


def test_one_act_waits_for_another(run, monkeypatch):
    with ThreadPoolExecutor(2) as pool:
        pairs = [[["new-1", "emu"]], [["new-2", "fox"]]]
        list(pool.map(lambda names: act_on(run, "rename", {"names": names}), pairs))
    assert {c.name for c in open_run(run.folder).classes} == {"cat", "dog", "emu", "fox"}
    monkeypatch.setattr(manifest, "PATIENCE", 0.05)
    with manifest.alone(run.folder), pytest.raises(DataError, match="Another newfound is working on the run"):
        undo(run)


def test_an_act_that_was_cut_short_is_finished_by_whoever_opens_the_run(run, monkeypatch):
    def cut_short(old, new):
        if new.name == "classes.json":
            raise OSError(5, "Input/output error")
        os.replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "replace", cut_short)
        with pytest.raises(OSError, match="Input/output"):
            act_on(run, "rename", {"names": [["new-1", "emu"]]})
    again = open_run(run.folder)
    assert again.check() == []
    assert again.description.n_acts == len(again.acts)
    assert [c.name for c in again.classes] == ["cat", "dog", "emu", "new-2"]


def test_files_follow_a_log_of_acts_that_was_moved_away(run):
    act_on(run, "rename", {"names": [["new-1", "emu"]]})
    (run.folder / "acts.jsonl").unlink()
    behind = open_run(run.folder)
    assert behind.description.n_acts > len(behind.acts)
    again = caught_up(behind)
    assert again.description.n_acts == len(again.acts)
    assert [c.name for c in again.classes] == ["cat", "dog", "new-1", "new-2"]


def test_a_damaged_log_is_told(run):
    (run.folder / "acts.jsonl").write_text("{\n")
    with pytest.raises(DataError, match=r"acts.jsonl' is damaged.* move it away to go back to the classes as fitted"):
        run.acts  # noqa: B018
    line = {"number": 1, "time": "", "act": "marry", "arguments": {}, "sentence": "", "next_new": 3}
    (run.folder / "acts.jsonl").write_text(json.dumps(line))
    manifest.seal(run.folder)
    with pytest.raises(DataError, match=r"holds an act that this version does not have \('marry'\). Upgrade with"):
        run.acts  # noqa: B018


def test_the_same_by_the_command_line(run):
    cwd = run.folder.parent
    printed = newfound("name", "run", "new-1=big bird", "new-2=a=b", cwd=cwd).stdout
    assert printed.splitlines() == [
        "“new-1” is now called “big bird” and “new-2” is now called “a=b”.",
        "2 new classes, as asked for",
    ]
    newfound("name", "run", "a=b=[red]c", cwd=cwd)
    assert "[red]c" in (run.folder / "predictions.csv").read_text()
    merged = json.loads(newfound("merge", "run", "big bird", "new-2", "--into", "[red]c", "--json", cwd=cwd).stdout)
    assert merged["act"]["sentence"].startswith("“big bird” and “[red]c” are one class now: “[red]c”, ")
    assert [c["name"] for c in merged["classes"]] == ["cat", "dog", "[red]c"]
    assert "“[red]c” is two classes now: " in newfound("split", "run", "new-2", cwd=cwd).stdout
    assert newfound("cut", "run", "1", cwd=cwd).stdout.splitlines()[-1] == "1 new class"
    assert "[red]c" in (run.folder / "report.html").read_text()
    assert "is discarded" in newfound("discard", "run", "[red]c", cwd=cwd).stdout
    assert newfound("undo", "run", cwd=cwd).stdout.startswith("Undone: “[red]c” is discarded")
    lines = newfound("history", "run", cwd=cwd).stdout.splitlines()
    assert len(lines) == 7
    assert lines[5].endswith("(undone)")
    assert [act["is_in_effect"] for act in json.loads(newfound("history", "run", "--json", cwd=cwd).stdout)] == [
        *[True] * 5,
        False,
        False,
    ]
    told = newfound("info", "run", cwd=cwd).stdout
    assert "2 earlier changes: newfound history run" in told
    assert "There is 1 new class now: “[red]c”" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("name", "run", "new-1"), "Write a class and its new name as OLD=NEW, such as new-1=chinstrap; got 'new-1'."),
        (("name", "run", "new-7=fox"), "There is no class 'new-7'. The classes are 'cat', 'dog', 'new-1', 'new-2'."),
        (("merge", "run", "cat", "dog"), "are both known"),
        (("merge", "run", "cat", "--into", "new-1"), "Merge the other way round, --into cat."),
        (("split", "run", "cat"), "cannot be split"),
        (("cut", "run", "9"), "can be cut into 1 to 2 groups; got 9. For more groups fit again with --n-new 9."),
        (("undo", "run"), "There is nothing to undo"),
    ],
)
def test_commands_refuse_in_one_sentence(run, arguments, message):
    result = newfound(*arguments, cwd=run.folder.parent, code=2)
    assert message in result.stderr
    assert not any(word in result.stderr for word in ("classes_", "class_name", "n_new"))  # which are Python's
    assert run.acts == []
