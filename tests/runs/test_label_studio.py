"""Tasks for Label Studio, judged by Label Studio's own package: what its server accepts, and what it does not.

The package weighs half a gigabyte with what it needs, so `tools/test-oldest` installs it and `dev` does not.
"""

import copy

import numpy as np
import pytest

from newfound.runs.labels import as_data_uri, interface, task

label_interface = pytest.importorskip("label_studio_sdk.label_interface", reason="needs pip install label-studio-sdk")

NAMES = ["cat & dog", 'a "b" <c>', "new-1", "Ω 3"]
PIXELS = as_data_uri(np.arange(12, dtype=np.uint8), (3, 4))
SHOWN = {"table": {"columns": {"island": "Dream", "bill": "49.1"}}, "image": {"image": PIXELS}}


def tasks_of(kind):
    return [task(str(i), SHOWN[kind], name, 0.123456, f"between {name} and new-1") for i, name in enumerate(NAMES)]


@pytest.fixture(params=SHOWN)
def kind(request):
    return request.param


@pytest.fixture
def server(kind):
    """What the server makes of the labelling configuration, and checks predictions with."""
    return label_interface.LabelInterface(interface(NAMES, is_image=kind == "image"))


def test_the_configuration_is_valid_and_has_every_class(server):
    server.validate()
    assert list(server.get_control("label").labels) == NAMES
    assert server.get_control("new_name").to_name == ["row"]


def test_every_task_and_prediction_is_accepted(server, kind):
    for each in tasks_of(kind):
        assert server.validate_task({"data": each["data"]})
        for prediction in each["predictions"]:
            assert server.validate_prediction(prediction, return_errors=True) == []


@pytest.mark.parametrize("broken", ["class", "from_name", "to_name", "type", "score"])
def test_the_check_can_fail(server, kind, broken):
    (prediction,) = copy.deepcopy(tasks_of(kind)[0]["predictions"])
    if broken == "class":
        prediction["result"][0]["value"]["choices"] = ["emu"]
    elif broken == "score":
        prediction["score"] = 7
    else:
        prediction["result"][0][broken] = "emu"
    assert server.validate_prediction(prediction, return_errors=True)
