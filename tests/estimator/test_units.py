"""A data set in mixed units: what is found and predicted is the same in any units."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from small import quick

from newfound import GMDGM

X, TRUTH = load_wine(return_X_y=True)
Y = np.where((TRUTH < 2) & (np.arange(len(X)) % 2 == 0), TRUTH, -1)


def fitted(rows):
    return GMDGM(1, **quick(max_epochs=10)).fit(rows, Y)


@pytest.fixture(scope="module")
def plain():
    return fitted(X)


@pytest.mark.parametrize(
    "units",
    [
        1e-30,
        np.where(np.arange(13) % 4 == 0, 1.0, 1e-3),  # three of four columns in thousandths
        10.0 ** np.linspace(-9, 9, 13),
    ],
)
def test_the_answer_does_not_depend_on_units(plain, units):
    other = fitted(X * units)
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_allclose(other.predict_new_proba(X * units), plain.predict_new_proba(X), atol=1e-3)


def test_the_answer_does_not_depend_on_where_zero_is(plain):
    other = fitted(X + 1e9)
    assert (other.labels_ == plain.labels_).mean() > 0.99
    np.testing.assert_allclose(other.predict_new_proba(X + 1e9), plain.predict_new_proba(X), atol=0.05)


def test_one_outlier_changes_no_other_row(plain):
    """Clipped to ten ranges away, it halved P(new) of the new rows."""
    rows = X.copy()
    rows[0, 3] = 1e9
    with pytest.warns(UserWarning, match=r"1 outlier cell in column 3 was clipped \(kept range: -25.8 to 30\)"):
        other = fitted(rows)
    new = (TRUTH == 2) & (np.arange(len(X)) > 0)
    assert other.predict_new_proba(rows)[new].mean() > plain.predict_new_proba(X)[new].mean() - 0.05
