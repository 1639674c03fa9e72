"""What a person decides about classes: what one is called, which are one, which is two, how many, which is none.

Each act is a function from a fitted model to another one, and one line in `ACTS`. It changes which class a component
belongs to, never which component a row belongs to (`classes`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import and_list, count, short_list
from newfound.classes import NO_CLASS, Classes
from newfound.config import Number, check_parameters
from newfound.fitted import Fitted
from newfound.labels import means_unlabelled

# ---- The same components in other classes ----
# Which of them keep id and name. One rule for merge, split, cut and discard.


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


# ---- What a class is called ----


def rename(fitted: Fitted, names: Mapping[Any, Any] | Sequence[Sequence[Any]]) -> Fitted:
    """Other names for some classes, known or new: from each one's name or id to its new name."""
    classes, pairs = fitted.classes, _pairs(names)
    position = [classes.position(old) for old, _ in pairs]
    if len(set(position)) < len(position):
        twice = next(i for i in position if position.count(i) > 1)
        raise ValueError(f"The class {classes.names[twice].item()!r} is given two names. Give it one.")
    chosen = {i: _checked(classes, i, new) for i, (_, new) in zip(position, pairs, strict=True)}
    is_text = any(isinstance(name, str) for name in chosen.values())
    listed = [str(name) if is_text else name for name in classes.names.tolist()]
    listed = [chosen.get(i, name) for i, name in enumerate(listed)]
    if twins := [name for name in listed if listed.count(name) > 1]:
        raise ValueError(
            f"Two classes would be called {twins[0]!r}. If they are one, merge them; else take another name."
        )
    is_named = classes.is_named | np.isin(np.arange(len(classes)), position)
    return replace(fitted, classes=replace(classes, names=np.array(listed), is_named=is_named))


def say_rename(before: Fitted, after: Fitted, names: Any) -> str:
    """\"“new-1” is now called “chinstrap”.\"."""
    position = [before.classes.position(old) for old, _ in _pairs(names)]
    return and_list(f"“{before.classes.names[i]}” is now called “{after.classes.names[i]}”" for i in position) + "."


def _pairs(names: Any) -> list[tuple[Any, Any]]:
    pairs = list(names.items()) if isinstance(names, Mapping) else names
    if not pairs or not isinstance(pairs, list) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"Give names or ids with their new names, such as {{'new-1': 'fox'}}; got {names!r}.")
    return [(old, new) for old, new in pairs]


def _checked(classes: Classes, position: int, name: Any) -> Any:
    """A name as it will be; refused where it could not stand in `y`, or would be taken for another class."""
    name = name.item() if isinstance(name, np.generic) else name
    _check_kind(classes, name)
    name = name.strip() if isinstance(name, str) else name
    if means_unlabelled(name):
        raise ValueError(f"{name!r} means unlabelled, so no class can be called that. Take another name.")
    if isinstance(name, str) and not name.isprintable():
        raise ValueError(f"A name must be one line of printable text; got {name!r}. Leave out what cannot be seen.")
    if _is_id_of_another(classes, position, name):
        raise ValueError(f"{name!r} is or was the id of another class, and ids are never reused. Take another name.")
    return name


def _check_kind(classes: Classes, name: Any) -> None:
    """Names are of the kind of the labels: whole numbers or text. Where there is no label, either will do."""
    is_number = isinstance(name, int) and not isinstance(name, bool)
    if isinstance(name, str) and (classes.n_known == 0 or classes.names.dtype.kind == "U"):
        return
    if is_number and classes.names.dtype.kind == "i":
        return
    if classes.names.dtype.kind == "b":
        raise ValueError("Classes that are True and False keep these names. For others, fit with labels of text.")
    expected = "a whole number" if classes.names.dtype.kind == "i" else "text"
    raise ValueError(
        f"The new name must be {expected}, as the names of all classes are; got {name!r}. "
        f"To use names of another kind, fit with labels of that kind."
    )


def _is_id_of_another(classes: Classes, position: int, name: Any) -> bool:
    own, ids = str(classes.ids[position]), {str(i) for i in classes.ids.tolist()}
    is_number = classes.ids.dtype.kind == "i"
    number = str(name) if is_number else str(name).removeprefix("new-")
    has_form = number.isdecimal() and (is_number or str(name).startswith("new-"))
    first = int(classes.ids[~classes.is_new].max(initial=-1)) + 1 if is_number else 1
    was_given = has_form and first <= int(number) < classes.next_new
    return str(name) != own and (str(name) in ids or was_given)


# ---- Classes that are one ----


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


# ---- A class that is two ----


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


# ---- How many new classes there are ----


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


# ---- A class that is none ----


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


# ---- Labels of some rows. They change no class now: the next fit learns from them ----

Given = Sequence[Sequence[Any]]  # pairs of a row's number and its label


def label(fitted: Fitted, given: Given, corrections: Given = ()) -> Fitted:
    """Labels of rows that had none, and, kept apart, other labels for rows that had one."""
    n_rows = len(fitted.row_components)
    for row, _ in [*given, *corrections]:
        if not 0 <= row < n_rows:
            raise ValueError(f"There is no row {row}: expected 0 to {n_rows - 1:,}.")
    return fitted


def say_label(before: Fitted, after: Fitted, given: Given, corrections: Given = ()) -> str:
    """\"20 rows are labelled, of which 3 are corrections.\"."""
    n = len(given) + len(corrections)
    corrected = f", {len(corrections):,} of them with another label than before" if corrections else ""
    return f"{count(n, 'row is', 'rows are')} labelled{corrected}; a refit takes that in."


# ---- All acts, by the names that a run's history has for them ----


class Act(NamedTuple):
    """What is done, and what is said of it: both get the act's own arguments, which JSON can hold, by name."""

    apply: Callable[..., Fitted]  # (fitted, **arguments)
    say: Callable[..., str]  # (before, after, **arguments): one sentence


ACTS: dict[str, Act] = {
    "rename": Act(rename, say_rename),
    "merge": Act(merge, say_merge),
    "split": Act(split, say_split),
    "cut": Act(cut, say_cut),
    "discard": Act(discard, say_discard),
    "label": Act(label, say_label),
}


def perform(fitted: Fitted, act: str, arguments: Mapping[str, Any]) -> tuple[Fitted, str]:
    """What a fitted model is after an act, and the act in a sentence."""
    after = ACTS[act].apply(fitted, **arguments)
    return after, ACTS[act].say(fitted, after, **arguments)
