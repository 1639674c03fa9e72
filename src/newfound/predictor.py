"""`Predictor`: the answers of a fitted model about rows, in NumPy alone. It is also the base of the estimators.

A saved model loads without scikit-learn and without JAX, so it starts at once: for a web service or for the workers of
a cluster. A predictor is small, pickles, and survives a fork.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np
from msgspec.structs import asdict

from newfound._internal.frames import is_frame, select_columns, values_of, with_columns
from newfound.classes import Decision, answer_columns
from newfound.fitted import Fitted
from newfound.models.in_numpy import normalised
from newfound.preprocessing.checks import RangeCheck, as_rows, check_finite, check_numeric, check_shape

ROWS_CHECKED = 1_000  # of those to predict, to see whether they are in the range of the fitted rows

Method = TypeVar("Method", bound=Callable[..., Any])


def check_fitted(model: Any) -> None:
    """Raise scikit-learn's NotFittedError for a model that is not fitted; free for one that is."""
    if "fitted_" in vars(model):
        return
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "fitted_")


def may_be_lazy(X: Any) -> bool:
    """Whether X can be a table file, an array mapped from disk, or a collection of PyArrow or Dask."""
    return isinstance(X, str | PathLike | np.memmap) or _library(X) in ("dask", "pyarrow")


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def lazy_input(method: Method) -> Method:
    """Let a method also take X that is not in memory: from disk it is read in blocks; for Dask the answer is lazy."""

    @wraps(method)
    def answer(self: Any, X: Any, **options: Any) -> Any:
        if not may_be_lazy(X):
            return method(self, X, **options)
        from newfound.tables.streams import blocks_of, is_streamed, predicted_lazily

        check_fitted(self)
        if _library(X) == "dask":
            return predicted_lazily(self._for_workers(), method.__name__, X, options)
        if not is_streamed(X):
            return method(self, X, **options)
        blocks = blocks_of(X, self.fitted_.feature_names)
        return np.concatenate([method(self, block, **options) for block in blocks])

    return cast(Method, answer)


class Predictor:
    """A fitted model without scikit-learn and without JAX, as `load_predictor` returns it.

    It has the methods of an estimator whose names begin with `predict`, `transform`, and all attributes that end in an
    underscore. From a data frame it takes the columns of the fit by their names, in any order.
    """

    fitted_: Fitted
    n_features_in_: int
    feature_names_in_: np.ndarray  # where X was a data frame

    def __init__(self, fitted: Fitted):
        self.fitted_ = fitted
        self.n_features_in_ = fitted.n_features
        if fitted.feature_names is not None:
            self.feature_names_in_ = np.array(fitted.feature_names, dtype=object)

    # ---- attributes: each reads the `Fitted` record ------------------------------------------------------------------

    classes_ = property(lambda self: self.fitted_.classes.names, doc="Known classes first, then the new ones.")
    class_ids_ = property(lambda self: self.fitted_.classes.ids, doc="The id of each class: never changed or reused.")
    is_new_ = property(lambda self: self.fitted_.classes.is_new, doc="Whether each class is new.")
    is_named_ = property(lambda self: self.fitted_.classes.is_named, doc="Whether a person named each class.")
    component_class_ = property(lambda self: self.fitted_.classes.component_class, doc="The class of each component.")
    n_new_ = property(lambda self: int(self.fitted_.classes.is_new.sum()), doc="The number of new classes.")
    n_new_range_ = property(lambda self: self.fitted_.n_new_range, doc="The least and most new classes there could be.")
    labels_ = property(lambda self: self.fitted_.labels, doc="The class of each fitted row.")
    is_sure_ = property(lambda self: self.fitted_.row_is_sure, doc="Whether the class of each fitted row is sure.")
    selection_ = property(lambda self: self.fitted_.selection, doc="Whether labels look selected at random.")
    tree_ = property(lambda self: self.fitted_.tree, doc="How the components of new classes join (see `cut`).")
    temperature_ = property(lambda self: self.fitted_.temperature, doc="The divisor of log q(y | x).")
    regime_ = property(lambda self: self.fitted_.regime, doc="The paper's name for learning from such labels.")
    restarts_ = property(lambda self: self.fitted_.restarts, doc="The result of each restart.")
    best_restart_ = property(lambda self: self.fitted_.best_restart, doc="The position of the restart in use.")
    history_ = property(lambda self: self.fitted_.restart.history, doc="Every term of the objective over time.")
    termination_condition_ = property(
        lambda self: self.fitted_.restart.termination_condition, doc="How training ended."
    )
    validation_indices_ = property(lambda self: self.fitted_.validation_indices, doc="Rows held out of training.")
    preprocessing_ = property(lambda self: self.fitted_.preprocessing, doc="How columns are selected and scaled.")
    architecture_ = property(lambda self: self.fitted_.architecture, doc="The shape of the networks.")

    @property
    def sure_labels_(self) -> np.ndarray:
        """`labels_`, with no answer (−1, "" or None) where the class of a row is not sure."""
        return self.fitted_.classes.names_at(self.fitted_.row_classes, self.is_sure_)

    @property
    def evidence_(self) -> dict[Any, dict[str, float]]:
        """For each new class: its rows, the labels expected if it were known, those it has, and the p-value."""
        evidence = self.fitted_.class_evidence
        if evidence is None:
            return {}
        columns = asdict(evidence) | {"p_value": evidence.p_value}
        names = self.classes_[self.is_new_].tolist()
        return {name: {key: float(of[i]) for key, of in columns.items()} for i, name in enumerate(names)}

    # ---- answers -----------------------------------------------------------------------------------------------------

    @lazy_input
    def predict(
        self, X: Any, *, abstain: float | None = None, known_only: bool = False, new_threshold: float | None = None
    ) -> np.ndarray:
        """Return the class of each row: a known one if it is more probable than all new ones together, else a new one.

        Parameters
        ----------
        X : array, data frame, table file, mapped array, PyArrow dataset or Dask collection
            Rows with the columns of `fit`.
        abstain : float or None
            Rows whose class is less probable than this get no answer: −1, "" or None, the values that mean unlabelled.
        known_only : bool
            Always return the best known class.
        new_threshold : float or None
            Return a new class exactly where P(new) is above this.
        """
        check_fitted(self)
        classes, decision = self.fitted_.classes, Decision(abstain, known_only, new_threshold)
        decision.check(classes)
        return classes.named(classes.answer(self.predict_component_proba(X), decision))

    def predict_frame(
        self, frame: Any, *, abstain: float | None = None, known_only: bool = False, new_threshold: float | None = None
    ) -> Any:
        """Return a data frame (pandas, polars, PyArrow or Dask) with four more columns.

        `newfound_class`, `newfound_probability` of that class, `newfound_p_new` and `newfound_is_new`. Columns that
        were not fitted on, such as ids, are kept. The options are those of `predict`.
        """
        check_fitted(self)
        if not hasattr(self, "feature_names_in_"):
            raise ValueError(
                "predict_frame needs a model that was fitted on a data frame, to find columns by their names. Fit on "
                "one, or use predict."
            )
        classes, decision = self.fitted_.classes, Decision(abstain, known_only, new_threshold)
        if _library(frame) == "dask":
            from newfound.tables.streams import predicted_lazily

            return predicted_lazily(self._for_workers(), "predict_frame", frame, decision._asdict())
        decision.check(classes)
        of_components = self.predict_component_proba(select_columns(frame, self.feature_names_in_.tolist()))
        return with_columns(frame, answer_columns(classes, classes.answer(of_components, decision)))

    @lazy_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each row: (rows, classes), in the order of `classes_`."""
        of_components = self.predict_component_proba(X)
        return self.fitted_.classes.probabilities(of_components)

    @lazy_input
    def predict_new_proba(self, X: Any) -> np.ndarray:
        """Return the probability that each row belongs to any new class."""
        return self.predict_proba(X)[:, self.is_new_].sum(axis=1)

    @lazy_input
    def predict_component(self, X: Any) -> np.ndarray:
        """Return the component of each row: the most probable one of its class."""
        of_components = self.predict_component_proba(X)
        return self.fitted_.classes.answer(of_components).component

    @lazy_input
    def predict_component_proba(self, X: Any) -> np.ndarray:
        """Return q(y | x), the probability of each component, at the temperature fitted on held-out labels."""
        return self._of_components(self._checked_rows(X))

    def component_probabilities(self, X: Any) -> np.ndarray:
        """As `predict_component_proba`, without the warning about rows out of range, for callers that count these."""
        return self._of_components(self._read_rows(X))

    @lazy_input
    def transform(self, X: Any) -> np.ndarray:
        """Return the posterior mean of z for each row: (rows, latent_dim)."""
        return self.fitted_.inference.latent_means(self._checked_rows(X))

    def _of_components(self, rows: np.ndarray) -> np.ndarray:
        return normalised(self.fitted_.inference.component_probabilities(rows, self.fitted_.temperature))

    def _checked_rows(self, X: Any) -> np.ndarray:
        """Rows to predict; a warning if they are out of the range of the fit, as they are in other units."""
        check_fitted(self)
        rows = self._read_rows(X)
        preprocessing, names = self.fitted_.preprocessing, self.fitted_.feature_names

        def name(kept: int) -> str:
            column = np.flatnonzero(preprocessing.is_kept)[kept]
            return f"column {column if names is None else repr(names[column])}"

        some = rows[:: max(1, len(rows) // ROWS_CHECKED)]
        if message := RangeCheck.of(some, preprocessing).units_message(name):
            of_some = f" (of {len(some):,} of the {len(rows):,} rows)" if len(some) < len(rows) else ""
            warnings.warn(message + of_some, stacklevel=4)
        return rows

    def _read_rows(self, X: Any) -> np.ndarray:
        """Rows as floats or bytes, checked."""
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
                f"Give one row for each thing to predict, with the columns of the fit in the same order."
            )
        rows = as_rows(rows)
        check_finite(rows, None if names is None else np.array(names))
        return rows

    def _for_workers(self) -> "Predictor":
        """The same predictor without the fitted rows, small enough to send to workers."""
        return Predictor(self.fitted_.without_rows())


def load_predictor(folder: str | PathLike) -> Predictor:
    """Return the model saved to `folder`, for predictions only; `load` returns the whole estimator."""
    from newfound.saved import load_fitted

    return Predictor(load_fitted(folder)[0])
