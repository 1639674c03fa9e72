"""scikit-learn's own checks, with few epochs; with default settings, and of SSVAE, the same class, as slow tests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from newfound import GMDGM, SSVAE

EXPECTED_FAILURES = {
    "check_classifiers_classes": (
        "the check labels one class -1, which means 'unlabelled' here as in sklearn.semi_supervised, whose estimators "
        "the check exempts by name"
    ),
    "check_supervised_y_no_nan": "y of NaN alone means that no row has a label, from which classes are discovered",
}


@parametrize_with_checks([GMDGM(max_epochs=10)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_sklearn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([GMDGM(), SSVAE()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_sklearn_check_in_full(estimator, check):
    check(estimator)
