from dataclasses import FrozenInstanceError, fields, replace

import pytest

from newfound import Config
from newfound._internal.records import to_json
from newfound.config import NAMES, PARTS, Objective


def test_it_is_hashable_frozen_and_the_same_after_json():
    config = Config().replace(temperature=0.7, n_trees=10, propagation_dampings=(0.5,))
    assert hash(config) == hash(Config().replace(temperature=0.7, n_trees=10, propagation_dampings=(0.5,)))
    assert Config.from_json(to_json(config)) == config != Config()
    with pytest.raises(FrozenInstanceError):
        config.objective.temperature = 1.0


def test_a_name_is_in_one_part_only_and_is_found_by_itself():
    names = [name for part in NAMES.values() for name in part]
    assert len(names) == len(set(names))
    for part, kind in PARTS.items():
        for field in fields(kind):
            assert Config()[field.name] == getattr(getattr(Config(), part), field.name)


def test_parts_can_be_replaced_as_dataclasses():
    assert replace(Config(), objective=Objective(temperature=0.7)) == Config().replace(temperature=0.7)


@pytest.mark.parametrize("part", PARTS)
def test_help_tells_what_every_setting_means(part):
    for field in fields(PARTS[part]):
        assert f"{field.name} : {field.metadata['meaning']}" in PARTS[part].__doc__


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("posterior", "full"),
        ("expectation", "mean"),
        ("temperature", 0),
        ("label_weight", -1),
        ("prior_known", 0),
        ("prior_known", 1),
        ("sigma", 0),
        ("activation", "sigmoid"),
        ("pretrain_epochs", -1),
        ("early_stopping", "yes"),
        ("n_iter_no_change", 0),
        ("init", "random"),
        ("init", "spectral"),
        ("resolution", 0),
        ("new_class_p", 1.5),
        ("min_new_share", -0.1),
        ("n_trees", 0),
        ("selection_ratio", 0.5),
        ("n_neighbors", 2.5),
        ("propagation_dampings", ()),
        ("propagation_dampings", 0.9),
    ],
)
def test_absurd_values_are_refused_when_the_record_is_made(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be .*; got "):
        Config().replace(**{name: value})


def test_a_name_that_is_not_there_is_said_to_be_so():
    with pytest.raises(ValueError, match="Config has no setting 'temprature'. It has .*temperature"):
        Config().replace(temprature=1.0)
    with pytest.raises(
        ValueError,
        match="stored configuration has other settings than this newfound",
    ):
        Config.from_json({"objective": {"alpha": 1}})
