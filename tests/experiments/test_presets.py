"""Presets are changes of names, and a record holds the whole configuration."""

import pytest

from experiments.presets import (
    CONFIG_NAMES,
    OF_THE_TASK,
    PRESETS,
    VARIANTS,
    by_name,
    changes_anything,
    changes_of,
    keywords,
    parse_changes,
    whole_settings,
)
from newfound._internal.records import to_json
from newfound.config import Config
from newfound.estimator import GMDGM


def test_the_paper_preset_is_appendix_c():
    mnist = changes_of("paper", "mnist-0-4", "ssvae")
    har = changes_of("paper", "har-random-split", "gmdgm")
    sizes = ("latent_dim", "hidden_layer_sizes", "batch_size", "learning_rate")
    assert [mnist[name] for name in sizes] == [5, (200, 200), 4, 1e-3]
    assert [har[name] for name in sizes] == [15, (500, 500), 64, 5e-3]
    assert (mnist["likelihood"], mnist["min_std"]) == ("bernoulli", 0.1)
    assert (har["likelihood"], har["sigma"], har["standardize"]) == ("gaussian-fixed", 0.01, False)
    assert mnist["init_scale"] == har["init_scale"] == 0.001
    assert mnist["max_epochs"] == har["max_epochs"] == 400
    assert mnist["pretrain_epochs"] == har["pretrain_epochs"] == 0


@pytest.mark.parametrize("preset", [*PRESETS, *VARIANTS])
def test_every_name_of_a_preset_is_a_setting(preset):
    for dataset in ("mnist", "fashion-mnist", "har"):
        changes = changes_of(preset, dataset, "gmdgm")
        settings = by_name(whole_settings("gmdgm", changes))
        for name, value in changes.items():
            assert settings[name] == (list(value) if isinstance(value, tuple) else value)


def test_the_whole_configuration_is_on_record():
    settings = whole_settings("ssvae", {})
    assert settings.keys() == GMDGM().get_params().keys() - OF_THE_TASK
    assert settings["config"] == to_json(Config())
    assert by_name(settings).keys() == CONFIG_NAMES | settings.keys() - {"config"}


def test_changes_reach_the_estimator_and_its_config():
    model = GMDGM(**keywords({"latent_dim": 3, "temperature": 0.7, "n_trees": 7}))
    assert (model.latent_dim, model.config["temperature"], model.config["n_trees"]) == (3, 0.7, 7)


def test_variants_change_something():
    assert changes_anything("without-hog", "mnist")
    assert not changes_anything("without-hog", "har")  # which has no images
    assert all(changes_anything(variant, "mnist") for variant in VARIANTS)


def test_changes_are_read_from_text():
    texts = ["label_weight=1", "hidden_layer_sizes=[5,6]", "init=kmeans", "init_scale=null", "standardize=false"]
    assert parse_changes(texts) == {
        "label_weight": 1,
        "hidden_layer_sizes": (5, 6),
        "init": "kmeans",
        "init_scale": None,
        "standardize": False,
    }
    assert parse_changes([]) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label_weight", "--set must be name=value, with one of the names activation, "),
        ("alpha=1", "--set must be name=value"),
        ("n_new=3", "--set must be name=value"),
        ("config={}", "--set must be name=value"),
        ("label_weight=-1", "label_weight must be"),
        ("latent_dim=0", "latent_dim must be"),
        ("init=random", "init must be 'graph' or 'kmeans'"),
    ],
)
def test_what_cannot_be_changed(text, message):
    with pytest.raises(ValueError, match=message):
        parse_changes([text])
