"""`newfound audit`, and the audit that a run holds."""

import json

import pytest
from pets import newfound, pets, write_csv

from newfound._internal.records import converted, decoded, to_json
from newfound.explain.audit_record import Audit
from newfound.report.page import write_report
from newfound.runs.manifest import seal
from newfound.runs.run import open_run


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A run with its audit."""
    folder = tmp_path_factory.mktemp("audited")
    write_csv(folder / "pets.csv", pets(), ["truth"])
    fit = ("fit", "pets.csv", "--label", "species", "--id", "name", "--epochs", "3", "--out", "run")
    return folder, newfound(*fit, cwd=folder).stdout


def test_the_answer_is_the_first_line(workplace):
    result = newfound("audit", "pets.csv", "--label", "species", "--id", "name", cwd=workplace)
    assert result.stdout.startswith("Probably yes: about 2 kinds of rows without labels")
    assert "\n  cat: " in result.stdout
    assert "Read 240 rows" in result.stderr


def test_machines_get_the_whole_audit(workplace):
    stored = json.loads(
        newfound("audit", "pets.csv", "--label", "species", "--id", "name", "--json", cwd=workplace).stdout
    )
    audit = converted(stored, Audit, "audit.json", "")
    assert (audit.verdict, audit.n_rows) == ("yes", 240)
    assert {hidden.name for hidden in audit.hidden} == {"cat", "dog"}


def test_labels_can_be_hidden_on_purpose(tmp_path):
    write_csv(tmp_path / "pets.csv", pets(labelled=1.0), ["truth"])
    hide = ("--label", "species", "--id", "name", "--hide", "dog", "--keep", "50%", "--json")
    audit = decoded(newfound("audit", "pets.csv", *hide, cwd=tmp_path).stdout, Audit, "audit", "")
    assert audit.verdict == "yes"
    assert audit.hidden == ()  # one class is left


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("pets.csv",), "None of the 240 rows has a label"), (("true-pets.csv", "--label", "truth"), "All 240 rows")],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(workplace, arguments, message):
    error = newfound("audit", *arguments, "--id", "name", cwd=workplace, code=2).stderr
    assert f"newfound: {message}" in error


def test_a_run_holds_its_audit_and_shows_it_everywhere(audited):
    folder, printed = audited
    run = open_run(folder / "run")
    assert run.audit.verdict == "yes"
    assert run.audit.n_new == run.description.n_new  # of one discovery
    assert run.audit.n_new_range == tuple(run.description.n_new_range)
    said = str(run.audit).splitlines()
    assert said[0] in printed
    info = newfound("info", "run", cwd=folder).stdout
    assert all(sentence in info for sentence in said)
    assert json.loads(newfound("info", "run", "--json", cwd=folder).stdout)["audit"] == to_json(run.audit)
    page = (folder / "run" / "report.html").read_text()
    assert page.index(str(run.answer.reason)) < page.index("Are there classes without labels?")
    assert page.index("Are there classes without labels?") < page.index("Probably yes")


def test_a_run_without_an_audit_still_opens(audited):
    folder, _ = audited
    (folder / "run" / "audit.json").rename(folder / "audit.json")
    seal(folder / "run")
    run = open_run(folder / "run")
    assert run.audit is None
    write_report(run)
    assert "Are there classes without labels?" not in (folder / "run" / "report.html").read_text()
    assert "Probably yes" not in newfound("info", "run", cwd=folder).stdout
    (folder / "audit.json").rename(folder / "run" / "audit.json")
    seal(folder / "run")


def test_ctrl_c_during_the_audit_keeps_the_fit(tmp_path, monkeypatch):
    from newfound.runs import new_run

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(new_run, "audit_rows", stop)
    write_csv(tmp_path / "pets.csv", pets(), ["truth"])
    fit = ("fit", "pets.csv", "--label", "species", "--id", "name", "--epochs", "3", "--n-new", "2", "--out", "run")
    assert "the fit is kept" in newfound(*fit, cwd=tmp_path).stdout
    assert open_run(tmp_path / "run").audit is None
