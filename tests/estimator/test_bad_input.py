"""Every refusal says what is wrong, expected against got, and what to do, before any training."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from small import quick

from newfound import GMDGM

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = np.array([0, 1, -1, -1] * 10)


def with_value(value, row=3, column=1):
    changed = X.copy()
    changed[row, column] = value
    return changed


BAD_DATA = {
    "no rows": (X[:0], Y[:0], r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required. Give at least"),
    "no columns": (X[:, :0], Y, r"0 feature\(s\) \(shape=\(40, 0\)\) while a minimum of 1 is required. Give at least"),
    "different length": (X, Y[:-1], "X has 40 rows, y has 39. Give y a label for every row"),
    "NaN": (with_value(np.nan), Y, r"contains NaN: 1 values, in column 1 \(1\). .*fill the gaps"),
    "infinity": (with_value(np.inf), Y, r"contains infinity: 1 values, in column 1 \(1\)"),
    "named NaN": (pd.DataFrame(with_value(np.nan), columns=["a", "b", "c"]), Y, r"in column 'b' \(1\)"),
    "text in a frame": (pd.DataFrame({"a": X[:, 0], "b": ["x"] * 40}), Y, "got text in column 'b'. Drop such"),
    "text in an array": (np.array([["1", "x"]] * 40, dtype=object), Y, "got text in column 1"),
    "images not flattened": (np.zeros((40, 2, 2)), Y, r"got 3 dimensions, shape \(40, 2, 2\). Flatten .*reshape"),
    "one dimension": (X[:, 0], Y, "[Rr]eshape"),
    "sparse": (scipy.sparse.csr_array(X), Y, "[Ss]parse.*toarray"),
    "nothing varies": (np.ones((40, 3)), Y, "No column of X varies: all 3 have"),
    "one class": (X, np.zeros(40, int), "one class only.*expected at least two. Give labels of another class"),
    "one label of a class": (X, np.where(np.arange(40) == 5, 7, Y), r"class .*7.* has 1. Label another row of it"),
    "continuous labels": (X, X[:, 0], "Unknown label type: continuous. Labels must be integers or strings"),
    "mixed labels": (X, ["a", 1, None, None] * 10, "all be of one kind, got numbers and strings. Make them all"),
}


@pytest.mark.parametrize("what", BAD_DATA)
def test_bad_data(what):
    rows, labels, message = BAD_DATA[what]
    with pytest.raises((ValueError, TypeError), match=message):
        GMDGM().fit(rows, labels)


BAD_COMBINATIONS = {
    "all labelled": ({"n_new": 3}, np.array([0, 1] * 20), "expected n_new = 0, got 3. Set n_new = 0"),
    "nothing to learn": ({"n_new": 0}, np.full(40, -1), "y has no labels and n_new = 0. Give some labels"),
    "more new than rows": ({"n_new": 21}, Y, "at most the number of unlabelled rows, 20; got 21. Lower n_new"),
    "bernoulli": ({"likelihood": "bernoulli"}, Y, "needs values from 0 to 1, got .* in column 0 .*Scale X to 0..1"),
    "restarts without validation rows": ({"n_init": 2, "validation_fraction": 0}, Y, "holds nothing out. Set valid"),
}


@pytest.mark.parametrize("what", BAD_COMBINATIONS)
def test_bad_combinations(what):
    settings, labels, message = BAD_COMBINATIONS[what]
    with pytest.raises(ValueError, match=message):
        GMDGM(**settings).fit(X, labels)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(
            (name, value)
            for name in ("latent_dim", "batch_size", "max_epochs", "n_init")
            for value in (0, -1, 2.5, "x")
        ),
        *(("learning_rate", value) for value in (0, -1e-3, 2, None, True, float("nan"))),
        *(("hidden_layer_sizes", value) for value in ((), (0,), (10, -1), 200, "big")),
        ("n_new", -1),
        ("n_new", 10**6),
        ("n_new", "many"),
        ("likelihood", "poisson"),
        ("validation_fraction", 0.9),
        ("verbose", "yes"),
        ("pu_weight", -1),
        ("pu_weight", "always"),
    ],
)
def test_absurd_settings(setting, value):
    with pytest.raises(ValueError, match=rf"^{setting} must be .*; got "):
        GMDGM(**{setting: value}).fit(X, Y)


def test_predict_refuses_other_columns():
    model = GMDGM(n_new=2, **quick(max_epochs=1)).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.raises(ValueError, match="X has 2 features, but GMDGM is expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=["b", "a", "c"]))


def test_predict_before_fit():
    with pytest.raises(ValueError, match="not fitted yet"):
        GMDGM().predict(X)
