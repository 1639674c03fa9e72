"""What a reader feels: how many rooms lie between a question and its answer (`python tools/rooms.py`)."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "tools" / "rooms.py"


@pytest.fixture(scope="module")
def rooms():
    spec = importlib.util.spec_from_file_location("rooms", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_listing_fits_on_a_page_and_a_file_is_read_in_one_go(rooms):
    sizes = rooms.sizes()
    assert sizes["functions"] > 500  # the count counts
    assert sizes["entries at the top"] <= 28
    assert sizes["files"] <= 115
    assert sizes["lines of the largest file"] <= 800
    assert sizes["lines of the longest function"] <= 80


def test_a_parameter_stands_in_a_signature_and_in_one_table_of_rules(rooms):
    assert 1 <= len(rooms.places_of("learning_rate")) <= 2
    settings = rooms.settings()
    assert settings["settings in Config"] <= 38
    assert settings["own mixins of the estimator"] == 0


def test_a_call_runs_few_files_and_imports_few_modules(rooms):
    calls = rooms.calls()
    assert 10 < calls["files run by GMDGM().fit"] <= 35
    assert calls["files run by newfound fit"] <= 80
    assert calls["files run by newfound predict"] <= 22
    assert calls["files run by newfound merge"] <= 40
    assert calls["modules imported by newfound predict"] <= 45
    assert calls["modules imported before the fit of an array begins"] <= 50
