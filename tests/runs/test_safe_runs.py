"""Nothing of the user's is ever destroyed: what is in the way of a run or a file, who is at work, what faults leave."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest
from pets import FIT, newfound

from newfound._internal.files import Holder, LockedError, Terminated, defer_signals, disk, ending_in_order, held, sweep
from newfound._internal.records import to_json
from newfound._internal.words import DataError
from newfound.runs.derived import Origin, act_on, no_op, write_run
from newfound.runs.leftovers import beside, lock_of, shareable_command, shareable_path, unfinished_folders
from newfound.runs.making import atomic_folder, check_out
from newfound.runs.manifest import read_manifest
from newfound.runs.new_run import NewRun, run_of
from newfound.runs.records import SILENT, Listener
from newfound.runs.run import open_run


@pytest.fixture
def place(workplace, tmp_path):
    """A folder of the user's, with a table, notes and a run."""
    shutil.copytree(workplace / "run", tmp_path / "run")
    shutil.copy(workplace / "pets.csv", tmp_path)
    shutil.copy(workplace / "more.csv", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    return tmp_path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(building):
    """What a fit would write, in short."""
    (building / "run.json").write_text('{"format": 4, "newfound": "0"}')


# ---- what is in the way of a run -------------------------------------------------------------------------------------


def test_replace_refuses_a_run_with_files_of_the_users(place):
    (place / "run" / "my-analysis.ipynb").write_text("hours of work")
    before = contents(place)
    said = newfound(*FIT, "--out", "run", "--replace", cwd=place, code=2).stderr
    assert "holds files that newfound did not write, or that were changed since: 'my-analysis.ipynb'" in said
    assert contents(place) == before


def test_replace_refuses_a_run_whose_file_a_user_changed(place):
    (place / "run" / "labelled.csv").write_text("corrected by hand")
    with pytest.raises(DataError, match=r"changed since: 'labelled.csv'"):
        check_out(place / "run", replace=True)


def test_a_folder_is_no_run_for_a_file_called_run_json(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text('{"my": "own settings"}')
    with pytest.raises(DataError, match=r"has no manifest.json, so newfound cannot know which of its files"):
        check_out(tmp_path / "run", replace=True)


def test_a_link_to_a_run_stays_a_link(place):
    (place / "elsewhere").mkdir()
    (place / "run").rename(place / "elsewhere" / "run")
    (place / "run").symlink_to(place / "elsewhere" / "run")
    with atomic_folder(place / "run") as building:
        put(building)
    assert (place / "run").is_symlink()
    assert sorted(path.name for path in (place / "elsewhere" / "run").iterdir()) == ["manifest.json", "run.json"]
    assert [path.name for path in (place / "elsewhere").iterdir()] == ["run"]


def test_a_folder_that_appears_meanwhile_is_left_alone(tmp_path):
    out = tmp_path / "run"

    def made_while_another_appears():
        with atomic_folder(out, replace=False) as building:
            put(building)
            out.mkdir()
            (out / "thesis.tex").write_text("mine")

    with pytest.raises(DataError, match=r"exists and is not a run.* The new run is whole, in '.*run-2'"):
        made_while_another_appears()
    assert (out / "thesis.tex").read_text() == "mine"
    assert (tmp_path / "run-2" / "run.json").is_file()


# ---- who is at work --------------------------------------------------------------------------------------------------


def test_a_second_fit_to_one_place_is_refused_and_told_who_is_at_work(tmp_path):
    with atomic_folder(tmp_path / "run") as building:
        put(building)
        here = Holder.read(lock_of(tmp_path / "run"))
        assert here.process == os.getpid()
        said = rf"working on the run 'run': process {here.process} on {here.host}, since"
        with pytest.raises(LockedError, match=said), atomic_folder(tmp_path / "run"):
            pass
        with pytest.raises(DataError, match=rf"A fit is working on it: process {here.process}"):
            open_run(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert here.host.encode() not in b"".join(contents(tmp_path).values())


@pytest.mark.parametrize("process", [os.getpid(), 1, 4_000_000], ids=["this one", "the first", "one that is not there"])
def test_a_dead_process_s_lock_is_taken_over_whatever_its_number(tmp_path, process):
    """In a container a process number repeats: whether it exists says nothing."""
    path = tmp_path / ".run.lock"
    path.write_text(json.dumps(to_json(Holder.this().replace(process=process))))
    with held(path, "the run"):
        assert Holder.read(path).process == os.getpid()
    assert not path.exists()


def test_a_lock_of_another_host_is_for_a_person_to_judge(tmp_path):
    path = tmp_path / ".run.lock"
    path.write_text(json.dumps(to_json(Holder(12, "elsewhere", "2026-01-01T00:00:00+00:00", "another boot"))))
    said = r"may be working on the run: process 12 on elsewhere.* remove '.*\.run\.lock'"
    with pytest.raises(LockedError, match=said), held(path, "the run"):
        pass


# ---- a fault between renames -----------------------------------------------------------------------------------------


def test_where_a_rename_fails_the_earlier_run_comes_back(place, monkeypatch):
    before = contents(place / "run")
    real, calls = disk.rename, []

    def fails_at_the_second(old, new):
        calls.append(new)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        real(old, new)

    monkeypatch.setattr(disk, "rename", fails_at_the_second)
    said = r"Input/output error. The new run is whole, in '.*run-2'"
    with pytest.raises(DataError, match=said), atomic_folder(place / "run") as building:
        put(building)
    assert contents(place / "run") == before
    assert (place / "run-2" / "manifest.json").is_file()


def test_after_a_kill_between_renames_both_runs_are_named(place):
    former, new = beside(place / "run", ".former-", "0badcafe"), beside(place / "run", ".unfinished-", "0badcafe")
    shutil.copytree(place / "run", new)
    (place / "run").rename(former)
    said = newfound("info", "run", cwd=place, code=2).stderr
    assert (
        "the new one is whole in .run.unfinished-0badcafe and an earlier one is whole in .run.former-0badcafe" in said
    )
    notes = []
    refit = atomic_folder(place / "run", replace=False, note=notes.append)
    with pytest.raises(DataError, match="already holds a run"), refit:
        pass
    assert notes == ["A fit to 'run' was stopped while it replaced the earlier run; the earlier run is back."]
    open_run(place / "run").check()


def test_what_dead_fits_left_is_cleaned_up_and_what_is_whole_stays_until_the_next_is(place):
    dead, whole = (beside(place / "run", ".unfinished-", name) for name in ("00000001", "00000002"))
    dead.mkdir()
    (dead / "rows.parquet").write_text("half")
    shutil.copytree(place / "run", whole)
    notes = []
    with atomic_folder(place / "run", note=notes.append) as building:
        put(building)
        assert unfinished_folders(place / "run") == sorted([whole, building])
    assert unfinished_folders(place / "run") == []
    assert notes == [f"An earlier fit to 'run' was stopped and is whole; {whole.name} stays until this one is done."]


def test_what_a_person_put_into_an_unfinished_folder_stays(tmp_path):
    dead = beside(tmp_path / "run", ".unfinished-", "00000001")
    dead.mkdir()
    (dead / "thesis.tex").write_text("mine")
    with atomic_folder(tmp_path / "run") as building:
        put(building)
    assert (dead / "thesis.tex").read_text() == "mine"


# ---- noticed before training, kept after it --------------------------------------------------------------------------


def never(labels, building):
    raise AssertionError("nothing should be fitted")


def fit_to(out, dataset, fit=never, finish=no_op, listener=SILENT):
    return run_of(fit, NewRun(dataset, None, Origin("pets.csv"), out, True, listener=listener, finish=finish))


@pytest.fixture(scope="module")
def dataset(workplace):
    from newfound.tables.read import read_dataset

    return read_dataset(workplace / "pets.csv", label="species", id="name")


@pytest.mark.parametrize("out", ["notes.txt/run", "x" * 250, "run/../" + "y" * 254])
def test_a_place_that_cannot_be_written_to_is_noticed_before_training(place, dataset, out):
    before = contents(place)
    with pytest.raises(DataError, match=r"is a file, so no run can be made in it|name of --out is too long: 2\d\d"):
        fit_to(place / out, dataset)
    assert contents(place) == before


def test_where_the_disk_fills_up_the_trained_model_is_kept_and_it_is_said_where(place, dataset, monkeypatch, tmp_path):
    import newfound
    from newfound.runs import derived

    model = open_run(place / "run").model

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived, "latent_map", full)
    said = r"could not be written .*No space left.* is saved in '.*again-model-.*newfound.load"
    with pytest.raises(DataError, match=said):
        fit_to(tmp_path / "again", dataset, lambda labels, building: model)
    (kept,) = tmp_path.glob("again-model-*")
    assert newfound.load(kept).predict(dataset.X).tolist() == model.predict(dataset.X).tolist()
    assert not (tmp_path / "again").exists()


@pytest.fixture
def interruptible():
    """Also where tests run in the background, in which a shell ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "ends"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_a_signal_while_saving_waits_until_it_is_saved(place, dataset, number, ends):
    model, notes = open_run(place / "run").model, []

    def finish(run):
        os.kill(os.getpid(), number)

    with pytest.raises(ends), ending_in_order():
        fit_to(place / "again", dataset, lambda labels, building: model, finish, Listener(note=notes.append))
    open_run(place / "again").check()
    assert notes == [f"Interrupted while saving; the run {str(place / 'again')!r} was saved first."]
    assert Terminated().code == 143


@pytest.mark.usefixtures("interruptible")
def test_signals_are_what_they_were_after_they_were_held_back():
    before = signal.getsignal(signal.SIGINT)
    passed = []

    def interrupted():
        with defer_signals():
            os.kill(os.getpid(), signal.SIGINT)
            passed.append("the rest")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert passed == ["the rest"]
    assert signal.getsignal(signal.SIGINT) is before


# ---- files that are written where the user says ----------------------------------------------------------------------


def test_predict_writes_over_nothing_unasked(place):
    before = contents(place)
    for out, words in (
        ("more.csv", "is also read from"),
        ("run/predictions.csv", "is a file of the run"),
        ("run/labelled.parquet", "is a file of the run"),
        ("pets.csv", "already exists. Use --replace"),
    ):
        for replace in ((),) if out == "pets.csv" else ((), ("--replace",)):
            assert words in newfound("predict", "run", "more.csv", "--out", out, *replace, cwd=place, code=2).stderr
    (place / "link.csv").symlink_to("more.csv")
    assert "is also read" in newfound("predict", "run", "more.csv", "--out", "link.csv", cwd=place, code=2).stderr
    (place / "link.csv").unlink()
    assert contents(place) == before
    (place / "old.csv").write_text("old")
    newfound("predict", "run", "more.csv", "--out", "old.csv", "--replace", cwd=place)
    assert "newfound_class" in (place / "old.csv").read_text()


def test_suggest_does_not_write_over_labels_that_a_person_filled_in(place):
    (place / "suggest.csv").write_text("newfound_row_id,label\npet 1,cat\n")
    before = contents(place)
    assert "already exists. Use --replace" in newfound("suggest", "run", cwd=place, code=2).stderr
    assert contents(place) == before


def test_predict_says_what_it_filled(place):
    lines = (place / "more.csv").read_text().splitlines()
    for row, column, cell in ((1, 1, "inf"), (2, 1, ""), (3, 2, "-inf")):
        cells = lines[row].split(",")
        cells[column] = cell
        lines[row] = ",".join(cells)
    (place / "gaps.csv").write_text("\n".join(lines) + "\n")
    said = newfound("predict", "run", "gaps.csv", "--out", "out.csv", cwd=place).stdout
    assert "filled with the column's median: 'weight' (" in " ".join(said.split())


def test_a_file_with_a_header_only(place):
    header = (place / "more.csv").read_text().splitlines()[0]
    (place / "none.csv").write_text(header + "\n")
    for out in ("out.csv", "out.parquet"):
        result = newfound("predict", "run", "none.csv", "--out", out, cwd=place, code=None)
        is_told = result.exit_code == 2 and "holds no rows" in result.stderr
        is_written = result.exit_code == 0 and (place / out).is_file()
        assert is_told or is_written, result.output
    assert "no rows" in newfound("evaluate", "run", "none.csv", cwd=place, code=2).stderr


def test_what_a_dead_process_left_is_swept_away_and_what_is_being_written_is_not(place):
    (place / ".newfound-0123456789ab.tmp").write_text("half")
    program = (
        "import fcntl; file = open('.newfound-ba9876543210.tmp', 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
        "input(print('locked', flush=True))"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    alive = subprocess.Popen([sys.executable, "-c", program], cwd=place, **pipes)
    alive.stdout.readline()
    sweep(place)
    assert sorted(path.name for path in place.glob(".newfound-*")) == [".newfound-ba9876543210.tmp"]
    alive.communicate(b"\n")
    sweep(place)
    assert list(place.glob(".newfound-*")) == []


# ---- what a run holds ------------------------------------------------------------------------------------------------


def test_every_file_of_a_run_is_on_its_list_and_may_be_read_by_the_same_people(workplace):
    run = workplace / "run"
    files = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert files == {*read_manifest(run).files, "manifest.json"}
    assert {stat.S_IMODE((run / name).stat().st_mode) for name in files} == {0o666 & ~umask()}


def umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", ["rows.parquet", "classes.json", "model/model.json", "run.json"])
def test_a_file_that_was_changed_or_cut_is_named(place, name):
    path = place / "run" / name
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    with pytest.raises(DataError, match=rf"{name}' is damaged"):
        open_run(place / "run")
    path.write_bytes(content.replace(b"a", b"b", 1) if b"a" in content else b"x" + content[1:])
    said = newfound("info", "run", cwd=place, code=2).stderr
    assert f"{name}' is damaged" in said
    assert len(said.strip().splitlines()) == 1


def test_a_manifest_cannot_point_outside_its_run(place):
    stored = json.loads((place / "run" / "manifest.json").read_text())
    for name in ("../notes.txt", "/etc/passwd", "a/b/c", "model/../../notes.txt"):
        stored["files"][name] = [4, "0" * 64]
        (place / "run" / "manifest.json").write_text(json.dumps(stored))
        with pytest.raises(DataError, match=r"manifest.json' is damaged"):
            check_out(place / "run", replace=True)
        del stored["files"][name]


def test_an_act_does_not_write_over_what_a_user_changed(place):
    (place / "run" / "labelled.csv").write_text("corrected by hand")
    before = read_manifest(place / "run")
    with pytest.raises(DataError, match=r"changed since newfound wrote them.*'labelled.csv'"):
        act_on(open_run(place / "run"), "rename", {"names": [["new-1", "emu"]]})
    assert (place / "run" / "labelled.csv").read_text() == "corrected by hand"
    assert read_manifest(place / "run") == before
    assert "Changed or removed since newfound wrote them: 'labelled.csv'" in newfound("info", "run", cwd=place).stdout


def test_a_run_holds_nothing_personal(place, monkeypatch):
    monkeypatch.setenv("HOME", str(place / "home"))
    monkeypatch.chdir(place)
    assert shareable_path(place / "pets.csv") == "pets.csv"
    assert shareable_path("data/pets.csv") == "data/pets.csv"
    assert shareable_path("/srv/secret-project/pets.csv") == "pets.csv"
    monkeypatch.chdir("/")
    assert shareable_path(place / "home" / "pets.csv") == "~/pets.csv"
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["newfound", "fit", "/srv/pets.csv", "--out=/srv/run", "--label", "kind"])
    assert shareable_command() == "newfound fit pets.csv --out=run --label kind"
    text = b"".join(content for name, content in contents(place / "run").items() if name.endswith((".json", ".html")))
    assert str(place).encode() not in text
    assert b'"host"' not in text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has none")
def test_what_cannot_be_printed_is_told(place):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "newfound", "info", "run"]
        ended = subprocess.run(command, cwd=place, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr.strip() == "newfound: No space left on device. Free some disk space and try again."


def test_write_run_leaves_what_it_did_not_write(workplace, dataset, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("mine")
    with pytest.raises(DataError, match="exists and is not a run"):
        write_run(tmp_path / "run", open_run(workplace / "run").model, dataset, Origin("pets.csv"))
    assert contents(tmp_path) == {"run/thesis.tex": b"mine"}


def test_a_saved_model_s_folder_keeps_other_weights(workplace, tmp_path):
    model = open_run(workplace / "run").model
    (tmp_path / "weights-mine.safetensors").write_text("mine")
    model.save(tmp_path)
    model.save(tmp_path)
    assert (tmp_path / "weights-mine.safetensors").read_text() == "mine"


def test_a_mount_point_is_refused_before_training(tmp_path, monkeypatch):
    """A volume of a container: nothing can be renamed to its place."""
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) == str(tmp_path / "volume"))
    with pytest.raises(DataError, match=r"is a mount point. Name a folder in it with --out, '.*volume/run'"):
        check_out(tmp_path / "volume", replace=False)


def test_what_a_killed_save_left_is_not_taken_for_part_of_the_run(tmp_path):
    with atomic_folder(tmp_path / "run") as building:
        put(building)
        (building / ".newfound-0123456789ab.tmp").write_text("half")
        (building / "checkpoint").mkdir()
        (building / "checkpoint" / "fit.json").write_text("{}")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["manifest.json", "run.json"]
    assert list(read_manifest(tmp_path / "run").files) == ["run.json"]


def test_the_log_of_a_run_counts_outliers(workplace, tmp_path):
    from newfound.runs.derived import Origin, write_run
    from newfound.tables.read import read_dataset

    lines = (workplace / "pets.csv").read_text().splitlines()
    cells = lines[5].split(",")
    (tmp_path / "outlier.csv").write_text("\n".join([*lines[:5], ",".join([cells[0], "1e9", *cells[2:]]), *lines[6:]]))
    fitted = open_run(workplace / "run")
    assert fitted.description.log[-1].startswith("In all")
    spoiled = read_dataset(tmp_path / "outlier.csv", label="species", id="name")
    log = write_run(tmp_path / "run", fitted.model, spoiled, Origin("outlier.csv")).description.log
    assert "1 outlier cell in 'weight' was clipped" in log[-1]
    assert "(kept range: " in log[-1]
