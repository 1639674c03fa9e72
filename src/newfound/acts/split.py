"""A class that is two."""

from typing import Any

import numpy as np

from newfound.acts.regroup import with_groups
from newfound.fitted import Fitted
from newfound.wording import count


def split(fitted: Fitted, class_name: Any) -> Fitted:
    """A class as two, where the class tree parts it last; the larger part keeps id and name, the other gets fresh ones.

    What was merged into a known class is taken out of it again.
    """
    classes = fitted.classes
    position = classes.position(class_name)
    own = classes.components(position)
    if len(own) < 2:
        raise ValueError(
            f"The class {classes.names[position].item()!r} is a single component of the model and cannot be split. "
            f"Fit again for more new classes, or label some of its rows."
        )
    group = classes.component_class.copy()
    group[_part(fitted, own)] = len(classes)
    return with_groups(fitted, group)


def say_split(before: Fitted, after: Fitted, class_name: Any) -> str:
    """\"“new-4” is two classes now: “new-4”, 80 rows, and “new-9”, 40 rows.\"."""
    position = before.classes.position(class_name)
    parts = np.unique(after.classes.component_class[before.classes.components(position)])
    sizes = [f"“{after.classes.names[i]}”, {count(int((after.row_classes == i).sum()), 'row')}" for i in parts]
    return f"“{before.classes.names[position]}” is two classes now: {', and '.join(sizes)}."


def _part(fitted: Fitted, own: np.ndarray) -> np.ndarray:
    """The components of a class that are parted from the others."""
    found_new = own[fitted.classes.component_is_new[own]]
    if len(found_new) < len(own):
        return found_new
    if fitted.tree is None:  # each of its components was a class that was asked for
        return own[own != own[fitted.component_rows[own].argmax()]]
    first = fitted.classes.n_components - fitted.tree.n_fragments
    return own[fitted.tree.among(own - first).cut(2) == 1]
