"""A run whose JSON somebody edited, with checksums that fit again: it is read, or refused in one sentence."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pets import newfound

from newfound.report.content import content_of
from newfound.runs.derived import act_on, caught_up, undo
from newfound.runs.labels import current_labels
from newfound.runs.manifest import seal
from newfound.runs.new_run import as_dataset
from newfound.runs.predict import predict_file
from newfound.runs.run import open_run
from newfound.saved import with_checksum

FILES = ("run.json", "model/model.json", "classes.json", "descriptions.json", "audit.json", "changes.json")
N_SAMPLED = 96
GONE = object()
VALUES = (GONE, None, "x", -1, 0.5, 10**12, True, [], [[]], {}, {"x": 1}, [None, "x"])
PARTS = (
    "answer",
    "discovered",
    "classes",
    "class_map",
    "audit",
    "descriptions",
    "changes",
    "acts",
    "predictor",
    "model",
)


@pytest.fixture(scope="module")
def whole(workplace, tmp_path_factory):
    """A refitted run with an audit, in which a person decided something: every kind of JSON file is in it."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copy(workplace / "pets.csv", folder)
    shutil.copy(workplace / "more.csv", folder)
    newfound("fit", "pets.csv", "--label", "species", "--id", "name", "--epochs", "2", "--out", "first", cwd=folder)
    run = open_run(folder / "first")
    new = next(c.name for c in run.classes if c.is_new)
    row = run.rows.row_ids[np.flatnonzero(run.predictions["class"] == new)[0]]
    (folder / "labels.csv").write_text(f"newfound_row_id,label\n{row},fox\n")
    newfound("label", "first", "labels.csv", cwd=folder)
    newfound("refit", "first", "--out", "run", cwd=folder)
    newfound("name", "run", f"{open_run(folder / 'run').classes[-1].name}=emu", cwd=folder)
    newfound("name", "run", "emu=owl", cwd=folder)
    newfound("undo", "run", cwd=folder)
    return folder


def paths(value: Any, at: tuple = ()) -> Iterator[tuple]:
    """Where each value of a JSON document is; of a long list the first and last entries."""
    yield at
    if isinstance(value, dict):
        for name, one in value.items():
            yield from paths(one, (*at, name))
    if isinstance(value, list):
        for i in sorted({0, len(value) - 1} & {*range(len(value))}):
            yield from paths(value[i], (*at, i))


def changed(document: Any, at: tuple, value: Any) -> Any:
    if not at:
        return None if value is GONE else value
    document = json.loads(json.dumps(document))
    inner = document
    for name in at[:-1]:
        inner = inner[name]
    if value is GONE:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return document


def variants(run: Path) -> list[tuple[str, tuple, Any]]:
    found = [
        (name, at, value) for name in FILES for at in paths(json.loads((run / name).read_text())) for value in VALUES
    ]
    lines = (run / "acts.jsonl").read_text().splitlines()
    found += [
        ("acts.jsonl", (i, *at), value)
        for i, line in enumerate(lines)
        for at in paths(json.loads(line))
        for value in VALUES
    ]
    return found


def put(run: Path, name: str, at: tuple, value: Any) -> None:
    """Write the variant, and all checksums so that they fit it."""
    path = run / name
    if name == "acts.jsonl":
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines[at[0]] = changed(lines[at[0]], at[1:], value)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        document = changed(json.loads(path.read_text()), at, value)
        if name == "model/model.json" and isinstance(document, dict) and at != ("checksum",):
            document = with_checksum(document)
        path.write_text(json.dumps(document))
    seal(run)


def use(run: Path, source: Path) -> None:
    """All that is read of a run, and what is done with it; what is refused is a ValueError."""
    opened = open_run(run)
    for name in PARTS:
        getattr(opened, name)
    content_of(opened)
    as_dataset(opened, current_labels(opened))
    predict_file(opened, str(source), run.parent / "p.csv", replace=True)
    opened = caught_up(opened)
    act_on(opened, "cut", {"n_new": 1})
    undo(open_run(run))


def outcome(whole: Path, folder: Path, variant: tuple[str, tuple, Any]) -> str:
    """ "used", "refused", or what should not have happened."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    shutil.copytree(whole / "run", folder / "run")
    put(folder / "run", *variant)
    try:
        use(folder / "run", whole / "more.csv")
    except (ValueError, FileNotFoundError) as error:
        sentence = str(error)
    except Exception as error:
        return f"{variant}: {error!r}"
    else:
        return "used"
    return "refused" if sentence.endswith((".", "?")) and "\n" not in sentence else f"{variant}: {sentence}"


def test_the_run_is_used_as_it_is(whole, tmp_path):
    shutil.copytree(whole / "run", tmp_path / "run")
    use(tmp_path / "run", whole / "more.csv")


@pytest.mark.parametrize("part", range(4))
def test_a_changed_and_resealed_run_is_used_or_refused_in_a_sentence(whole, tmp_path, part):
    found = variants(whole / "run")
    chosen = np.random.default_rng(part).permutation(len(found))[: N_SAMPLED // 4]
    assert {outcome(whole, tmp_path, found[i]) for i in chosen.tolist()} == {"used", "refused"}


@pytest.mark.slow
def test_every_changed_and_resealed_run_is_used_or_refused_in_a_sentence(whole, tmp_path):
    assert {outcome(whole, tmp_path, variant) for variant in variants(whole / "run")} == {"used", "refused"}
