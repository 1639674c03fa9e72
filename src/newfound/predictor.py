"""What is asked of a fitted model, in NumPy: one way for the estimator and for those who only predict."""

import warnings
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np

from newfound._internal.frames import is_frame, select_columns, values_of, with_columns
from newfound.classes import Decision, answer_columns
from newfound.fitted import Fitted
from newfound.models.in_numpy import normalised
from newfound.preprocessing.checks import RangeCheck, as_rows, check_finite, check_numeric, check_shape
from newfound.saved import load_fitted

# ---- What a fit leaves, by the names that scikit-learn gives such things: each reads the one `Fitted` record ----


def check_fitted(model: Any) -> None:
    """Refuse a model that is not, as scikit-learn does; a look costs nothing where it is."""
    if "fitted_" in vars(model):
        return
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "fitted_")


class ShowsItsDocumentation:
    """In a notebook, beside every parameter and attribute what its documentation says.

    scikit-learn (1.8 or newer) shows that only beside a link to a page with the same text. This page is such a one.
    """

    def _get_params_html(self, deep: bool = True, doc_link: str = "") -> Any:
        shown = super()._get_params_html(deep)  # type: ignore[misc]
        shown.doc_link = doc_link or "#"
        return shown

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        return super()._get_fitted_attr_html(doc_link or "#")  # type: ignore[misc]


class FittedAttributes(ShowsItsDocumentation):
    """The attributes of a fitted estimator that end in an underscore."""

    fitted_: Fitted
    n_features_in_: int
    feature_names_in_: np.ndarray  # where X was a data frame

    classes_ = property(lambda self: self.fitted_.classes.names, doc="Known classes first, then the new ones.")
    labels_ = property(lambda self: self.fitted_.labels, doc="The class of each row that was fitted on.")
    n_new_ = property(lambda self: int(self.fitted_.classes.is_new.sum()), doc="How many new classes there are.")
    n_new_range_ = property(lambda self: self.fitted_.n_new_range, doc="The least and the most there could be.")
    selection_ = property(lambda self: self.fitted_.selection, doc="Whether labels look selected at random.")
    is_sure_ = property(lambda self: self.fitted_.row_is_sure, doc="Of each of these rows, whether its class is sure.")
    class_ids_ = property(lambda self: self.fitted_.classes.ids, doc="Of each class, what no act changes or reuses.")
    is_named_ = property(lambda self: self.fitted_.classes.is_named, doc="Whether a person gave each class its name.")
    tree_ = property(lambda self: self.fitted_.tree, doc="How components of new classes join (`cut`).")
    is_new_ = property(lambda self: self.fitted_.classes.is_new, doc="One flag for each class.")
    component_class_ = property(lambda self: self.fitted_.classes.component_class, doc="The class of each component.")
    temperature_ = property(lambda self: self.fitted_.temperature, doc="By which log q(y | x) is divided.")
    regime_ = property(lambda self: self.fitted_.regime, doc="What the paper calls learning from such labels.")
    restarts_ = property(lambda self: self.fitted_.restarts, doc="What each seed left.")
    best_restart_ = property(lambda self: self.fitted_.best_restart, doc="The position of the restart in use.")
    history_ = property(lambda self: self.fitted_.restart.history, doc="Every term of the objective over time.")
    termination_condition_ = property(
        lambda self: self.fitted_.restart.termination_condition, doc="How training ended."
    )
    validation_indices_ = property(lambda self: self.fitted_.validation_indices, doc="Rows held out of training.")
    preprocessing_ = property(lambda self: self.fitted_.preprocessing, doc="What was decided about the columns.")
    architecture_ = property(lambda self: self.fitted_.architecture, doc="What was decided about the networks.")

    @property
    def sure_labels_(self) -> np.ndarray:
        """`labels_` with no answer (−1, "" or None) where a row is not sure of its class."""
        return self._classes.names_at(self.fitted_.row_classes, self.is_sure_)

    @property
    def evidence_(self) -> dict[Any, dict[str, float]]:
        """Of each new class: its rows, the labels it would hold if it were known, those it holds, and p of so few."""
        evidence = self.fitted_.class_evidence
        if evidence is None:
            return {}
        columns = evidence._asdict() | {"p_value": evidence.p_value}
        names = self.classes_[self.is_new_].tolist()
        return {name: {key: float(of[i]) for key, of in columns.items()} for i, name in enumerate(names)}

    @property
    def _classes(self) -> Any:
        return self.fitted_.classes


# ---- What a fitted model says of rows: one way for the estimator and for `predictor`, in NumPy ----

LAZY = (str, PathLike, np.memmap)
ROWS_LOOKED_AT = 1_000  # to see whether they are where the rows of the fit were
NEEDS_NAMES = "predict_frame needs a model that was fitted on a data frame, whose columns it then finds by their names."

Method = TypeVar("Method", bound=Callable[..., Any])


def in_blocks(method: Method) -> Method:
    """Where X lies on the disk it is read a block at a time; where it is Dask's, the answer is, too."""

    @wraps(method)
    def answer(self: Any, X: Any, **options: Any) -> Any:
        if not isinstance(X, LAZY) and _library(X) not in ("dask", "pyarrow"):
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


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


class PredictsRows(FittedAttributes):
    """The classes of rows and their probabilities. Who inherits says how rows are read and checked (`_read_rows`)."""

    @in_blocks
    def predict(
        self, X: Any, *, abstain: float | None = None, known_only: bool = False, new_threshold: float | None = None
    ) -> np.ndarray:
        """The class of each row: a known one if it is more probable than all new ones together, else a new one.

        `abstain=0.9` gives no answer (−1, "" or None, what means unlabelled) where the class is less probable;
        `known_only` the best known class, also for rows that are new; `new_threshold` calls new where P(new) is above.
        """
        check_fitted(self)
        decision = Decision(abstain, known_only, new_threshold)
        decision.check(self._classes)
        return self._classes.named(self._classes.answer(self.predict_component_proba(X), decision))

    def predict_frame(
        self, frame: Any, *, abstain: float | None = None, known_only: bool = False, new_threshold: float | None = None
    ) -> Any:
        """A data frame (pandas, polars, PyArrow) with four columns beside its own, for each row what is said of it.

        `newfound_class`, `newfound_probability` of that class, `newfound_p_new` and `newfound_is_new`. Columns that
        were not fitted on, such as ids, may be there and are carried along.
        """
        check_fitted(self)
        if not hasattr(self, "feature_names_in_"):
            raise ValueError(NEEDS_NAMES)
        decision = Decision(abstain, known_only, new_threshold)
        if _library(frame) == "dask":
            from newfound.tables.streams import predicted_lazily

            return predicted_lazily(self._for_workers(), "predict_frame", frame, decision._asdict())
        decision.check(self._classes)
        of_components = self.predict_component_proba(select_columns(frame, self.feature_names_in_.tolist()))
        return with_columns(frame, answer_columns(self._classes, self._classes.answer(of_components, decision)))

    @in_blocks
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class of `classes_`, for each row."""
        of_components = self.predict_component_proba(X)
        return self._classes.probabilities(of_components)

    @in_blocks
    def predict_new_proba(self, X: Any) -> np.ndarray:
        """The probability that a row belongs to a class nobody labelled."""
        return self.predict_proba(X)[:, self.is_new_].sum(axis=1)

    @in_blocks
    def predict_component(self, X: Any) -> np.ndarray:
        """The component of each row: the most probable one of its class."""
        of_components = self.predict_component_proba(X)
        return self._classes.answer(of_components).component

    @in_blocks
    def predict_component_proba(self, X: Any) -> np.ndarray:
        """The probability q(y | x) of each component, for each row, at the temperature fitted on held-out labels."""
        check_fitted(self)
        rows = self._read_rows(X)
        self._warn_if_elsewhere(rows)
        return self._of_components(rows)

    def component_probabilities(self, X: Any) -> np.ndarray:
        """The same without a word about rows unlike those of the fit, for those who count them themselves."""
        return self._of_components(self._read_rows(X))

    def _of_components(self, rows: np.ndarray) -> np.ndarray:
        return normalised(self.fitted_.inference.component_probabilities(rows, self.fitted_.temperature))

    @in_blocks
    def transform(self, X: Any) -> np.ndarray:
        """The posterior mean of z."""
        check_fitted(self)
        rows = self._read_rows(X)
        self._warn_if_elsewhere(rows)
        return self.fitted_.inference.latent_means(rows)

    def _warn_if_elsewhere(self, rows: np.ndarray) -> None:
        """Rows in other units than those of the fit get answers that mean nothing, and nobody would notice."""
        preprocessing, names = self.fitted_.preprocessing, self.fitted_.feature_names

        def name(kept: int) -> str:
            column = np.flatnonzero(preprocessing.is_kept)[kept]
            return f"column {column if names is None else repr(names[column])}"

        some = rows[:: max(1, len(rows) // ROWS_LOOKED_AT)]
        if said := RangeCheck.of(some, preprocessing).units_message(name):
            of_some = f" (of {len(some):,} of the {len(rows):,} rows)" if len(some) < len(rows) else ""
            warnings.warn(said + of_some, stacklevel=4)

    def _read_rows(self, X: Any) -> np.ndarray:
        """Rows in floats or bytes, checked."""
        raise NotImplementedError

    def _for_workers(self) -> Any:
        """What is needed to answer rows elsewhere, without those that were fitted on."""
        raise NotImplementedError


# ---- A saved model for those who only predict: NumPy and nothing else is imported, so that it is there at once ----
# For a web service, or the workers of a cluster: it is small, it pickles, and it survives a fork.


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
