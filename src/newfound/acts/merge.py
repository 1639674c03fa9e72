"""Classes that are one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from newfound.acts.regroup import with_groups
from newfound.fitted import Fitted
from newfound.wording import and_list, count


def merge(fitted: Fitted, classes: Sequence[Any], into: Any = None) -> Fitted:
    """Several classes as one, which is known where one of them is. All rows of other classes stay as they are.

    It has the id and name of `into`, else of the one that a person named, else of the largest.
    """
    of = fitted.classes
    merged = _positions(fitted, classes, into)
    known = [i for i in merged if not of.is_new[i]]
    heir = None if into is None else of.position(into)
    if len(known) > 1:
        raise ValueError(
            f"{and_list(repr(of.names[i].item()) for i in known)} are both known: rows carry the label of each. "
            f"Give these rows one label and fit again."
        )
    if known and heir is not None and heir != known[0]:
        raise ValueError(
            f"The class {of.names[known[0]].item()!r} is known and keeps its name, so it cannot become part of "
            f"{of.names[heir].item()!r}. Merge the other way round, into={of.names[known[0]].item()!r}."
        )
    group = np.where(np.isin(of.component_class, merged), merged[0], of.component_class)
    return with_groups(fitted, group, heir)


def say_merge(before: Fitted, after: Fitted, classes: Sequence[Any], into: Any = None) -> str:
    """\"“new-2” and “new-5” are one class now: “new-2”, 120 rows.\"."""
    merged = _positions(before, classes, into)
    position = int(after.classes.component_class[before.classes.components(merged[0])[0]])
    names = and_list(f"“{before.classes.names[i]}”" for i in merged)
    n_rows = count(int((after.row_classes == position).sum()), "row")
    return f"{names} are one class now: “{after.classes.names[position]}”, {n_rows}."


def _positions(fitted: Fitted, classes: Sequence[Any], into: Any) -> list[int]:
    """Of all classes that are to be one, each once."""
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise ValueError(f"Give the classes to merge as a list, such as ['new-2', 'new-5']; got {classes!r}.")
    given = [*classes] if into is None else [*classes, into]
    positions = list(dict.fromkeys(fitted.classes.position(name) for name in given))
    if len(positions) < 2:
        raise ValueError(f"A merge needs two different classes or more; got {and_list(map(repr, given))}.")
    return positions
