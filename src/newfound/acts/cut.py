"""How many new classes there are."""

import numpy as np

from newfound.acts.regroup import with_groups
from newfound.fitted import Fitted
from newfound.parameters import Number, check_parameters
from newfound.wording import count, short_list


def cut(fitted: Fitted, n_new: int) -> Fitted:
    """Another number of new classes, by the tree of their components; known and discarded classes stay as they are."""
    check_parameters({"n_new": n_new}, {"n_new": (Number(1, whole=True),)})
    classes, tree = fitted.classes, fitted.tree
    components = np.array(classes.new_components, dtype=int)
    if tree is None or len(components) == 0:
        raise ValueError(
            "There is no class tree to cut: no new class was discovered. "
            "Fit again with n_new = 'auto' or a number, and with rows that have no label."
        )
    group = classes.component_class.copy()
    first = classes.n_components - tree.n_fragments
    group[components] = len(classes) + tree.among(components - first).cut(n_new)
    return with_groups(fitted, group)


def say_cut(before: Fitted, after: Fitted, n_new: int) -> str:
    """\"There are 2 new classes now: “new-1”, 80 rows, and “fox”, 40 rows.\"."""
    classes = after.classes
    sizes = {i: int((after.row_classes == i).sum()) for i in np.flatnonzero(classes.is_new)}
    listed = short_list([f"“{classes.names[i]}” ({count(n, 'row')})" for i, n in sizes.items()], 6)
    are = "There is 1 new class" if n_new == 1 else f"There are {n_new} new classes"
    return f"{are} now: {listed}."
