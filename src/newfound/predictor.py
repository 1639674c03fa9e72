"""A saved model for those who only predict: NumPy and nothing else is imported, so that it is there at once.

For a web service, or the workers of a cluster: it is small, it pickles, and it survives a fork.
"""

from os import PathLike
from typing import Any

import numpy as np

from newfound.fitted import Fitted
from newfound.frames import is_frame, select_columns, values_of
from newfound.prediction import PredictsRows
from newfound.preprocessing import as_rows, check_finite, check_numeric, check_shape
from newfound.storage import load_fitted


class Predictor(PredictsRows):
    """What a fitted model says of rows, without scikit-learn and without JAX.

    It has the methods of an estimator that begin with `predict`, `transform`, and all attributes that end in an
    underscore. Of a data frame it takes the columns that were fitted on, by their names and in any order.
    """

    def __init__(self, fitted: Fitted):
        self.fitted_ = fitted
        self.n_features_in_ = fitted.n_features
        if fitted.feature_names is not None:
            self.feature_names_in_ = np.array(fitted.feature_names, dtype=object)

    def _for_workers(self) -> "Predictor":
        return Predictor(self.fitted_.without_rows())

    def _read_rows(self, X: Any) -> np.ndarray:
        names = self.fitted_.feature_names
        check_shape(X)
        if is_frame(X):
            X = X if names is None else select_columns(X, names)
            check_numeric(X)
            X = values_of(X)
        rows = np.asarray(X)
        check_numeric(rows)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have {self.n_features_in_} columns, as in fit; got shape {rows.shape}. "
                f"Give one row for each thing to predict, with the columns that were fitted on, in the same order."
            )
        rows = as_rows(rows)
        check_finite(rows, None if names is None else np.array(names))
        return rows


def load_predictor(folder: str | PathLike) -> Predictor:
    """The model that was saved to `folder`, to predict with and nothing else; `load` gives the whole estimator."""
    return Predictor(load_fitted(folder)[0])
