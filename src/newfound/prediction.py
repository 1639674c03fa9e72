"""What a fitted model says of rows: one way for the estimator and for `predictor`, in NumPy."""

import warnings
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np

from newfound.classes import Decision, answer_columns
from newfound.fitted_attributes import FittedAttributes, check_fitted
from newfound.frames import select_columns, with_columns
from newfound.inference import normed
from newfound.preprocessing import Reach, about_reach

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
        from newfound.distributed import predicted_lazily
        from newfound.row_sources import blocks_of, is_streamed

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
            from newfound.distributed import predicted_lazily

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
        return normed(self.fitted_.inference.component_probabilities(rows, self.fitted_.temperature))

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
        if said := about_reach(Reach.of(some, preprocessing), preprocessing, name):
            of_some = f" (of {len(some):,} of the {len(rows):,} rows)" if len(some) < len(rows) else ""
            warnings.warn(said + of_some, stacklevel=4)

    def _read_rows(self, X: Any) -> np.ndarray:
        """Rows in floats or bytes, checked."""
        raise NotImplementedError

    def _for_workers(self) -> Any:
        """What is needed to answer rows elsewhere, without those that were fitted on."""
        raise NotImplementedError
