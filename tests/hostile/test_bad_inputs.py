"""Every named bad input is refused in one sentence that says what is wrong; nothing is trained, nothing is written.

What makes them is in the modules beside this one; a new bad input is one line there.
"""

import numpy as np
import pytest
from all_bad_inputs import ALL, FILES
from bad_archives import ARCHIVES
from bad_values import HIDE, KEEP, LABELS, NUMBERS, SETTINGS

from experiments.named import read_har
from newfound import GMDGM
from newfound._internal.words import DataError
from newfound.cli.console import number_or_auto
from newfound.cli.fit import parse_classes, parse_keep
from newfound.fit import check_number, check_validation
from newfound.tables.read import read_dataset

X = np.array([[1.0, 2.0], [2.0, 0.5], [3.0, 1.0], [5.0, 4.0], [0.0, 1.5], [2.5, 2.5]])


def check_sentence(caught):
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 2_500
    assert "np." not in said.replace("np.save", "").replace("np.str", "np.")


@pytest.mark.parametrize("what", FILES)
def test_bad_files(what, tmp_path):
    make, message = FILES[what]
    source, options = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError, match=message) as caught:
        read_dataset(source, **options)
    check_sentence(caught)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("what", ARCHIVES)
def test_bad_archives(what, tmp_path):
    content, message = ARCHIVES[what]
    (tmp_path / "har.zip").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_har(tmp_path / "har.zip")
    check_sentence(caught)


def check_labels(y):
    _, labels = GMDGM().rows_and_labels(X, y)
    check_number(labels, 0)
    check_validation(labels, 0.1, chooses_by_elbo=False)


@pytest.mark.parametrize("what", LABELS)
def test_bad_labels(what):
    y, message = LABELS[what]
    with pytest.raises(ValueError, match=message) as caught:
        check_labels(y)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize("what", SETTINGS)
def test_bad_settings(what):
    settings, message = SETTINGS[what]
    with pytest.raises(ValueError, match=message):
        GMDGM(**settings).rows_and_labels(X, None)


@pytest.mark.parametrize("text", HIDE)
def test_bad_classes_to_hide(text):
    with pytest.raises(DataError, match=HIDE[text]) as caught:
        parse_classes(text, ["0", "1", "2", "9", "cat"])
    check_sentence(caught)


@pytest.mark.parametrize("text", KEEP)
def test_bad_shares_to_keep(text):
    with pytest.raises(DataError, match="--keep must be a share such as 20% or 0.2, or a number of labels"):
        parse_keep(text)


@pytest.mark.parametrize("text", NUMBERS)
def test_bad_numbers(text):
    with pytest.raises(ValueError, match="--epochs must be a whole number or auto; got"):
        number_or_auto("--epochs", text)


def test_there_are_at_least_160_of_them():
    assert sum(map(len, ALL.values())) >= 160
