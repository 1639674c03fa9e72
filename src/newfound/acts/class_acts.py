"""Acts as methods of an estimator: each gives a new fitted one, and leaves this one as it is."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

from newfound.acts.registry import ACTS
from newfound.fitted import Fitted
from newfound.fitted_attributes import check_fitted


class ClassActs:
    """What a person may decide about the classes of a fitted model. A class is given by its name or its id."""

    fitted_: Fitted

    def rename(self, names: Mapping[Any, Any]) -> Self:
        """The same model with other names for some classes: `model.rename({"new-1": "chinstrap"})`."""
        return self._after("rename", names=names)

    def merge(self, classes: Sequence[Any], into: Any = None) -> Self:
        """The same model with several classes as one: `model.merge(["new-3"], into="login")`.

        All rows of other classes keep their class and its probability. The one class has the id and name of `into`,
        else of a known one, else of one that a person named, else of the largest; the ids of the others retire.
        """
        return self._after("merge", classes=classes, into=into)

    def split(self, class_name: Any) -> Self:
        """The same model with one class as two, where the class tree parts it: the larger part keeps id and name.

        What was merged into a known class is taken out of it again.
        """
        return self._after("split", class_name=class_name)

    def cut(self, n_new: int) -> Self:
        """The same model with another number of new classes, without a second fit: finer, or joined to fewer.

        `tree_` holds the components of new classes and in which order they join. A class of the same components as
        before keeps id and name. Discarded classes, and what was merged into known ones, stay as they are.
        """
        return self._after("cut", n_new=n_new)

    def discard(self, class_name: Any) -> Self:
        """The same model without one of its new classes: each of its rows takes the best class that remains.

        Probabilities are those given that a row is not of the discarded class; rows fitted on that belonged to it are
        not sure (`is_sure_`).
        """
        return self._after("discard", class_name=class_name)

    def _after(self, act: str, **arguments: Any) -> Self:
        check_fitted(self)
        other = copy.copy(self)
        other.fitted_ = ACTS[act].apply(self.fitted_, **arguments)
        return other
