"""The same components in other classes: which of them keep id and name. One rule for merge, split, cut and discard."""

from dataclasses import replace

import numpy as np

from newfound.classes import NO_CLASS, Classes
from newfound.fitted import Fitted


def with_groups(fitted: Fitted, group: np.ndarray, heir: int | None = None) -> Fitted:
    """The same model with another group for each component; a person has chosen how many new classes there are."""
    classes = in_order(regrouped(fitted.classes, group, fitted.component_rows, heir), fitted)
    n_new = int(classes.is_new.sum())
    return replace(fitted, classes=classes, n_new_range=(n_new, n_new))


def regrouped(classes: Classes, group: np.ndarray, n_rows: np.ndarray, heir: int | None = None) -> Classes:
    """The classes that `group` makes of the components, NO_CLASS where one belongs to none; `n_rows` of each component.

    A class goes to where most of its rows are, a known one to where its labels are. Of those that go to one group, one
    gives it id and name: `heir`, else a known one, else one that a person named, else the largest. The ids of the
    others retire. A group to which no class goes has a fresh id.
    """
    homes = np.array([_home(classes, i, group, n_rows) for i in range(len(classes))])
    size = [int(n_rows[classes.components(i)].sum()) for i in range(len(classes))]

    def claim(i: int) -> tuple[bool, bool, bool, int]:
        return i == heir, not classes.is_new[i], bool(classes.is_named[i]), size[i]

    groups = [g for g in np.unique(group).tolist() if g != NO_CLASS]
    heirs = {g: max(np.flatnonzero(homes == g).tolist(), key=claim) for g in groups if g in homes}
    kept = sorted(heirs, key=lambda g: heirs[g])
    fresh = [g for g in groups if g not in heirs]
    position = {g: i for i, g in enumerate([*kept, *fresh])} | {NO_CLASS: NO_CLASS}
    return _inherited(
        classes, [heirs[g] for g in kept], len(fresh), np.array([position[g] for g in group.tolist()], dtype=int)
    )


def in_order(classes: Classes, fitted: Fitted) -> Classes:
    """Known classes as they are, then new ones, the largest first, as a fit has them: by no act that was done before.

    Where there is no tree, by their components, each of which was a class that was asked for.
    """
    tree, first = fitted.tree, classes.n_components - (0 if fitted.tree is None else fitted.tree.n_fragments)

    def place(position: int) -> tuple[int, ...]:
        own = classes.components(position)
        if not classes.is_new[position]:
            return 0, position
        return 1, 0 if tree is None else -int(tree.sizes[own - first].sum()), int(own.min())

    order = sorted(range(len(classes)), key=place)
    now = {before: i for i, before in enumerate(order)} | {NO_CLASS: NO_CLASS}
    of_classes = {name: getattr(classes, name)[order] for name in ("names", "ids", "is_new", "is_named")}
    component_class = np.array([now[i] for i in classes.component_class.tolist()], dtype=int)
    return replace(classes, **of_classes, component_class=component_class)


def _home(classes: Classes, position: int, group: np.ndarray, n_rows: np.ndarray) -> int:
    """The group to which a class goes; NO_CLASS where all of it is discarded."""
    own = classes.components(position)
    if not classes.is_new[position]:
        return int(group[own[0]])  # the component of its labels
    own = own[group[own] != NO_CLASS]
    places, which = np.unique(group[own], return_inverse=True)
    return int(places[np.bincount(which, n_rows[own]).argmax()]) if len(own) else NO_CLASS


def _inherited(classes: Classes, kept: list[int], n_fresh: int, component_class: np.ndarray) -> Classes:
    """Some of the classes, then fresh ones, all of which are new."""
    ids, next_new = fresh_ids(classes, n_fresh)
    names = [str(i) for i in ids] if classes.names.dtype.kind == "U" else ids
    return replace(
        classes,
        names=_with(classes.names[kept], names),
        ids=_with(classes.ids[kept], ids),
        is_new=np.append(classes.is_new[kept], np.ones(n_fresh, bool)),
        is_named=np.append(classes.is_named[kept], np.zeros(n_fresh, bool)),
        component_class=component_class,
        next_new=next_new,
    )


def fresh_ids(classes: Classes, n: int) -> tuple[list[int] | list[str], int]:
    """Ids that no class has or had, nor any class as its name; and the number that comes after them."""
    taken = {str(name) for name in (*classes.names.tolist(), *classes.ids.tolist())}
    form = "{}" if classes.ids.dtype.kind == "i" else "new-{}"
    numbers = [i for i in range(classes.next_new, classes.next_new + n + len(taken)) if form.format(i) not in taken][:n]
    after = numbers[-1] + 1 if numbers else classes.next_new
    return (numbers, after) if form == "{}" else ([form.format(i) for i in numbers], after)


def _with(names: np.ndarray, more: list[int] | list[str]) -> np.ndarray:
    return np.array([*names.tolist(), *more]) if more else names
