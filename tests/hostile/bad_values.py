"""Labels, settings and options that cannot be used: what must be said of them."""

import datetime
from typing import Any

import numpy as np

LABELS: dict[str, tuple[Any, str]] = {
    "1e30 and 2e30": (
        [1e30, 2e30] * 3,
        "must lie between -9007199254740992 and 9007199254740992, got 1000000000000000019",
    ),
    "floats beyond 2^53": (np.array([2.0**53, 2.0**53 + 2] * 3), "must lie between .* Make them strings"),
    "2^63 - 1": (
        [2**63 - 1, 5] * 3,
        "must lie between -4611686018427387904 and 4611686018427387904, got 92233720368547758",
    ),
    "-2^63": (np.array([-(2**63), 5] * 3), "must lie between"),
    "2^64 - 1": (np.array([2**64 - 1, 5] * 3, np.uint64), "must lie between .*got 18446744073709551615"),
    "10^30": ([10**30, 1] * 3, "must lie between"),
    "infinity": ([np.inf, 1.0] * 3, "Labels must be integers or strings, got an infinite number"),
    "fractions": ([0.5, 1.5] * 3, "Unknown label type: continuous"),
    "numbers and text": ([1, "a"] * 3, "all be of one kind, got numbers and strings"),
    "booleans and numbers": ([True, 1] * 3, "all be of one kind, got booleans and numbers"),
    "pairs": ([[1, 2], [2, 3]] * 3, "y should be a 1d array, got an array of shape"),
    "dictionaries": ([{}, {}] * 3, "Unknown label type"),
    "bytes": ([b"a", b"b"] * 3, "Unknown label type: bytes"),
    "dates": ([datetime.date(2024, 1, 1)] * 6, "Unknown label type: date"),
    "complex numbers": ([1j, 2j] * 3, "Unknown label type: complex"),
    "too few": ([1, 2], "X has 6 rows, y has 2"),
    "a matrix": (np.zeros((6, 2)), "y should be a 1d array, got an array of shape"),
    "one class": ([1] * 6, "There is one class only"),
    "one label of a class": ([1, 1, 2, -1, -1, -1], "class 2 has 1. Label another row of it"),
    "one label of a class of text": (["cat", "cat", "dog", "", "", ""], "class 'dog' has 1. Label another row of it"),
}

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "n_new of 10^400": ({"n_new": 10**400}, "n_new must be a whole number of at least 0 and at most 10,000"),
    "n_new of 10^5000": ({"n_new": 10**5000}, "n_new must be .*; got a number with too many digits to print"),
    "n_new of True": ({"n_new": True}, "n_new must be .*; got True"),
    "latent_dim of 10^9": ({"latent_dim": 10**9}, "latent_dim must be a whole number .* at most 1,000; got 1000000000"),
    "layers of 10^9": ({"hidden_layer_sizes": (10**9,)}, "hidden_layer_sizes must be a tuple"),
    "layers of text": ({"hidden_layer_sizes": "200"}, "hidden_layer_sizes must be a tuple"),
    "layers of nothing": ({"hidden_layer_sizes": None}, "hidden_layer_sizes must be a tuple"),
    "an unknown likelihood": ({"likelihood": "poisson"}, "likelihood must be 'auto' or"),
    "standardize of 1": ({"standardize": 1}, "standardize must be 'auto' or 'min-max' or True or False"),
    "learning rate of infinity": ({"learning_rate": float("inf")}, "learning_rate must be a number above 0"),
    "learning rate of NaN": ({"learning_rate": float("nan")}, "learning_rate must be a number above 0"),
    "epochs of NaN": ({"max_epochs": float("nan")}, "max_epochs must be a whole number"),
    "epochs of text": ({"max_epochs": "10"}, "max_epochs must be a whole number .*, or 'auto'; got '10'"),
    "validation of 0.9": ({"validation_fraction": 0.9}, "validation_fraction must be .* at most 0.5"),
    "batches of 0": ({"batch_size": 0}, "batch_size must be a whole number of at least 1"),
    "restarts of a million": ({"n_init": 10**6}, "n_init must be .* at most 1,000"),
    "verbose of -1": (
        {"verbose": -1},
        "verbose must be .* at least 0, or 'auto' or True or False; got -1",
    ),
    "a weight of -1": ({"pu_weight": -1}, "pu_weight must be a number of at least 0"),
    "too few types": ({"feature_types": ["numeric"]}, "must name a type for each of the 2 columns of X; got 1 types"),
    "an unknown type": ({"feature_types": ["numeric", "text"]}, "feature_types must hold 'numeric', .* got 'text'"),
    "a shape of other pixels": ({"image_shape": (3, 3)}, "makes 9 pixels, but X has 2 columns"),
    "a shape of text": ({"image_shape": "28x28"}, r"image_shape must be \(height, width\)"),
    "a shape of 0": ({"image_shape": (0, 2)}, r"image_shape must be \(height, width\)"),
}

HIDE: dict[str, str] = {
    "0-9999999999": "is a range of more numbers than there are labels: 0, 1, 2, 9 and cat",
    "0-" + "9" * 5_000: "is a range of more numbers than there are labels",
    "9-1": "'9-1' is no range: write the smaller number first, such as 5-9",
    "5-6": "cannot hide '5': no row has that label",
    "dog": "cannot hide 'dog': no row has that label. Labels: 0, 1, 2, 9 and cat",
    "1,dog": "cannot hide 'dog'",
    "²": "cannot hide '²'",
    "-1": "cannot hide '-1'",
    "[red]": r"cannot hide '\[red\]'",
}
KEEP = (
    "nan",
    "-1",
    "inf",
    "-inf",
    "1.5",
    "200%",
    "-20%",
    "nan%",
    "²",
    "20 %%",
    "",
    "%",
    "many",
    "1e400",
    "0x10",
    "--5",
)
NUMBERS = ("²", "-1", "1.5", "1e3", "", "many", "Auto", "½", "٣x", "9" * 30, "0x10", " 5")
