"""A class that is none."""

from typing import Any

import numpy as np

from newfound.acts.regroup import with_groups
from newfound.classes import NO_CLASS
from newfound.fitted import Fitted
from newfound.wording import count


def discard(fitted: Fitted, class_name: Any) -> Fitted:
    """A new class taken out of the answer: its rows take the best class that remains, and are not sure of it."""
    classes = fitted.classes
    position = classes.position(class_name)
    name = classes.names[position].item()
    if not classes.is_new[position]:
        raise ValueError(
            f"The class {name!r} is known: rows carry its label. Only a new class can be discarded; to be rid of a "
            f"known one, take its labels away and fit again."
        )
    if len(classes) == 1:
        raise ValueError(f"The class {name!r} is the only one there is, and cannot be discarded.")
    return with_groups(fitted, np.where(classes.component_class == position, NO_CLASS, classes.component_class))


def say_discard(before: Fitted, after: Fitted, class_name: Any) -> str:
    """\"“new-6” is discarded: its 30 rows take the best other class, and are not sure of it.\"."""
    position = before.classes.position(class_name)
    n_rows = int((before.row_classes == position).sum())
    rest = f"its {count(n_rows, 'row')} take the best other class, and are not sure of it"
    return f"“{before.classes.names[position]}” is discarded: {rest}."
