"""The loop of labelling as methods of an estimator: which rows to label next, and a fit that takes the labels in."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np

from newfound.fitted import Fitted
from newfound.fitted_attributes import check_fitted
from newfound.labelling.changes import Changes, HeldOut, Named, compare
from newfound.labelling.given import ToLearn, called_now, labels_to_learn
from newfound.labelling.lineage import Lineage
from newfound.labelling.suggestions import Suggestions, suggest_rows
from newfound.labels import Labels
from newfound.parameters import Number, check_parameters
from newfound.wording import and_list


class LabellingLoop:
    """Suggest rows, let a person label some, refit."""

    fitted_: Fitted
    changes_: Changes  # of a refit: what is different from the model before

    def suggest(self, X: Any, n: int = 50, y: Any = None) -> Suggestions:
        """The n rows that would tell most if they were labelled, the most telling first.

        X are the rows that were fitted on. Those that carried a label then, or carry one in y now, are left out. Of
        each suggestion: the number of its row, its class with its probability, and why it would tell much.
        """
        check_fitted(self)
        check_parameters({"n": n}, {"n": (Number(1, whole=True),)})
        fitted = self.fitted_
        latent = self.transform(X)  # type: ignore[attr-defined]
        _check_rows(fitted, len(latent))
        is_open = ~(fitted.row_is_labelled | Labels.read(y, len(latent)).is_labelled)
        return suggest_rows(fitted.classes, fitted.row_probabilities, latent, n, is_open)

    def refit(self, X: Any, y: Any) -> Self:
        """A new estimator for the same rows with more labels: what was found is kept, and the labels correct it.

        y are all labels there are now, by the names that classes have now. A class that has labels is known: one that
        a person named, or in which most of the given labels agree; a name that no class has becomes a class of its
        own. Rows that are like those labelled follow them. `changes_` of the new estimator says what is different.
        """
        check_fitted(self)
        before = self.fitted_
        _check_rows(before, len(X))
        labels = as_called_now(before, Labels.read(y, len(before.row_components)))
        learned = labels_to_learn(before, labels)
        _warn_of_single_labels(learned)
        is_given = learned.labels.is_labelled & ~before.row_is_labelled
        held_out = before.validation_indices[~is_given[before.validation_indices]]
        lineage = Lineage(before, learned.labels.classes, called_now(before, labels))
        after = self._refit(X, learned.labels, lineage, held_out)  # type: ignore[attr-defined]
        after.changes_ = changes_between(self, after, X, learned.labels)
        return after


def _check_rows(fitted: Fitted, n: int) -> None:
    """What was found is known row by row, so these must be the same rows."""
    if n != len(fitted.row_components):
        raise ValueError(
            f"X must be the rows that were fitted on, in the same order: expected {len(fitted.row_components):,}, got "
            f"{n:,}. Give all of them; for other rows there is `predict`."
        )


def as_called_now(fitted: Fitted, labels: Labels) -> Labels:
    """Labels by the names that classes have now: a source goes on saying what it said before one was renamed."""
    classes = fitted.classes
    pairs = zip(classes.ids.tolist(), classes.names.tolist(), strict=True)
    now = {old: new for old, new in pairs if old not in classes.names.tolist()}
    if not now:
        return labels
    names = [now.get(name, name) for name in labels.classes.tolist()]
    return Labels.of_distinct([*names, None], labels.codes)  # UNLABELLED is the last position


def changes_between(before: Any, after: Any, X: Any, labels: Labels) -> Changes:
    """What a refit changed."""
    known = set(before.fitted_.classes.known.astype(str))
    became = [name for name in after.fitted_.classes.known.astype(str).tolist() if name not in known]
    changes = compare(Named.of(before.fitted_), Named.of(after.fitted_), became)
    return replace(changes, held_out=held_out_of_both(before, after, X, labels))


def held_out_of_both(before: Any, after: Any, X: Any, labels: Labels) -> HeldOut | None:
    """How often each model is right on the labels of rows that were validation rows of both."""
    rows = np.intersect1d(before.validation_indices_, after.validation_indices_)
    rows = rows[labels.is_labelled[rows] & before.fitted_.row_is_labelled[rows]]
    if len(rows) == 0:
        return None
    truth = labels.names[rows]
    some = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
    right = [float(np.mean(model.predict(some).astype(str) == truth)) for model in (before, after)]
    return HeldOut(len(rows), *right)


def _warn_of_single_labels(learned: ToLearn) -> None:
    if learned.alone:
        names = and_list(f"“{name}”" for name in learned.alone)
        warnings.warn(
            f"A class needs two labels or more; {names} has one only, which is left out of this fit. Label another "
            f"row of it, or give its name to the new class that it is.",
            stacklevel=3,
        )
