"""What a fit leaves, by the names that scikit-learn gives such things: each reads the one `Fitted` record."""

from typing import Any

import numpy as np

from newfound.fitted import Fitted


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
