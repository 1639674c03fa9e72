"""What a person decides about classes after a fit: their names, which are one, which is two, how many, which is none.

Each act is a function from a fitted model to another one, and one line in `ACTS`. An act changes to which class a
component belongs, never to which component a row belongs. For each act there is a sentence that reports it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.records import Count, Record
from newfound._internal.words import and_list, count, short_list
from newfound.classes import NO_CLASS, Classes, ClassName
from newfound.config import Number, check_parameters
from newfound.fitted import Fitted
from newfound.labels import means_unlabelled

GivenLabels = Sequence[Sequence[Any]]  # pairs of the number of a row and its label

# ---- rename ----------------------------------------------------------------------------------------------------------


def rename(fitted: Fitted, names: Mapping[Any, Any] | Sequence[Sequence[Any]]) -> Fitted:
    """Other names for some classes, known or new: pairs of a name or id and the new name."""
    classes, pairs = fitted.classes, _name_pairs(names)
    position = [classes.position(old) for old, _ in pairs]
    if len(set(position)) < len(position):
        twice = next(i for i in position if position.count(i) > 1)
        raise ValueError(f"The class {classes.names[twice].item()!r} is given two names. Give it one.")
    chosen = {i: _checked_name(classes, i, new) for i, (_, new) in zip(position, pairs, strict=True)}
    is_text = any(isinstance(name, str) for name in chosen.values())
    listed = [str(name) if is_text else name for name in classes.names.tolist()]
    listed = [chosen.get(i, name) for i, name in enumerate(listed)]
    if twins := [name for name in listed if listed.count(name) > 1]:
        raise ValueError(
            f"Two classes would be called {twins[0]!r}. If they are one, merge them; if not, choose another name."
        )
    is_named = classes.is_named | np.isin(np.arange(len(classes)), position)
    return replace(fitted, classes=replace(classes, names=np.array(listed), is_named=is_named))


def _rename_sentence(before: Fitted, after: Fitted, names: Any) -> str:
    position = [before.classes.position(old) for old, _ in _name_pairs(names)]
    return and_list(f"“{before.classes.names[i]}” is now called “{after.classes.names[i]}”" for i in position) + "."


def _name_pairs(names: Any) -> list[tuple[Any, Any]]:
    pairs = list(names.items()) if isinstance(names, Mapping) else names
    if not pairs or not isinstance(pairs, list) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"Give names or ids with their new names, such as {{'new-1': 'fox'}}; got {names!r}.")
    return [(old, new) for old, new in pairs]


def _checked_name(classes: Classes, position: int, name: Any) -> Any:
    """A new name as it will be stored; refused if `y` could not hold it, or if it stands for another class."""
    name = name.item() if isinstance(name, np.generic) else name
    _check_kind(classes, name)
    name = name.strip() if isinstance(name, str) else name
    if means_unlabelled(name):
        raise ValueError(f"{name!r} means unlabelled, so no class can be called that. Choose another name.")
    if isinstance(name, str) and not name.isprintable():
        raise ValueError(f"A name must be one line of printable text; got {name!r}. Remove invisible characters.")
    own, ids, is_number = str(classes.ids[position]), classes.ids.astype(str), classes.ids.dtype.kind == "i"
    number = str(name) if is_number else str(name).removeprefix("new-")
    is_like_id = number.isdecimal() and (is_number or str(name).startswith("new-"))
    first = int(classes.ids[~classes.is_new].max(initial=-1)) + 1 if is_number else 1
    was_given = is_like_id and first <= int(number) < classes.next_new
    if str(name) != own and (str(name) in ids or was_given):
        raise ValueError(f"{name!r} is or was the id of another class, and ids are never reused. Choose another name.")
    return name


def _check_kind(classes: Classes, name: Any) -> None:
    """Names have the type of the labels, whole numbers or text; either is accepted if there are no labels."""
    kind = classes.names.dtype.kind
    if isinstance(name, str) and (classes.n_known == 0 or kind == "U"):
        return
    if isinstance(name, int) and not isinstance(name, bool) and kind == "i":
        return
    if kind == "b":
        raise ValueError("Classes that are True and False keep these names. For others, fit with labels of text.")
    raise ValueError(
        f"The new name must be {'a whole number' if kind == 'i' else 'text'}, as the names of all classes are; got "
        f"{name!r}. To use names of another kind, fit with labels of that kind."
    )


# ---- merge -----------------------------------------------------------------------------------------------------------


def merge(fitted: Fitted, classes: Sequence[Any], into: Any = None) -> Fitted:
    """Several classes as one, which is known if one of them is. Rows of all other classes keep their answers.

    The merged class has the id and name of `into`, else of one that a person named, else of the largest.
    """
    of = fitted.classes
    merged = _merged_positions(fitted, classes, into)
    known = [i for i in merged if not of.is_new[i]]
    surviving_class = None if into is None else of.position(into)
    if len(known) > 1:
        raise ValueError(
            f"{and_list(repr(of.names[i].item()) for i in known)} are both known: rows carry the label of each. "
            f"Give these rows one label and fit again."
        )
    if known and surviving_class is not None and surviving_class != known[0]:
        raise ValueError(
            f"The class {of.names[known[0]].item()!r} is known and keeps its name, so it cannot become part of "
            f"{of.names[surviving_class].item()!r}. Merge the other way round, into={of.names[known[0]].item()!r}."
        )
    group = np.where(np.isin(of.component_class, merged), merged[0], of.component_class)
    return _with_groups(fitted, group, surviving_class)


def _merge_sentence(before: Fitted, after: Fitted, classes: Sequence[Any], into: Any = None) -> str:
    merged = _merged_positions(before, classes, into)
    position = int(after.classes.component_class[before.classes.components(merged[0])[0]])
    names = and_list(f"“{before.classes.names[i]}”" for i in merged)
    return f"{names} are one class now: “{after.classes.names[position]}”, {_rows(after, position)}."


def _merged_positions(fitted: Fitted, classes: Sequence[Any], into: Any) -> list[int]:
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise ValueError(f"Give the classes to merge as a list, such as ['new-2', 'new-5']; got {classes!r}.")
    given = [*classes] if into is None else [*classes, into]
    positions = list(dict.fromkeys(fitted.classes.position(name) for name in given))
    if len(positions) < 2:
        raise ValueError(f"A merge needs at least two different classes; got {and_list(map(repr, given))}.")
    return positions


# ---- split -----------------------------------------------------------------------------------------------------------


def split(fitted: Fitted, class_name: Any) -> Fitted:
    """A class as two, separated at its last join in the class tree; the larger part keeps id and name.

    New classes that were merged into a known class are separated from it again.
    """
    classes, tree = fitted.classes, fitted.tree
    position = classes.position(class_name)
    own = classes.components(position)
    if len(own) < 2:
        raise ValueError(
            f"The class {classes.names[position].item()!r} is a single component of the model and cannot be split. "
            f"Fit again for more new classes, or label some of its rows."
        )
    part = own[classes.component_is_new[own]]
    if len(part) == len(own) and tree is None:  # each component was a class that was asked for
        part = own[own != own[fitted.component_rows[own].argmax()]]
    elif len(part) == len(own) and tree is not None:
        part = own[tree.among(own - classes.n_components + tree.n_fragments).cut(2) == 1]
    group = classes.component_class.copy()
    group[part] = len(classes)
    return _with_groups(fitted, group)


def _split_sentence(before: Fitted, after: Fitted, class_name: Any) -> str:
    position = before.classes.position(class_name)
    parts = np.unique(after.classes.component_class[before.classes.components(position)])
    sizes = [f"“{after.classes.names[i]}”, {_rows(after, i)}" for i in parts]
    return f"“{before.classes.names[position]}” is two classes now: {', and '.join(sizes)}."


# ---- cut -------------------------------------------------------------------------------------------------------------


def cut(fitted: Fitted, n_new: int) -> Fitted:
    """Another number of new classes, from the tree of their components; known and discarded classes do not change."""
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
    return _with_groups(fitted, group)


def _cut_sentence(before: Fitted, after: Fitted, n_new: int) -> str:
    names = after.classes.names
    sizes = [f"“{names[i]}” ({_rows(after, i)})" for i in np.flatnonzero(after.classes.is_new).tolist()]
    are = "There is 1 new class" if n_new == 1 else f"There are {n_new} new classes"
    return f"{are} now: {short_list(sizes, 6)}."


# ---- discard ---------------------------------------------------------------------------------------------------------


def discard(fitted: Fitted, class_name: Any) -> Fitted:
    """Without one new class: its rows move to the best remaining class and are not sure of it."""
    classes = fitted.classes
    position = classes.position(class_name)
    name = classes.names[position].item()
    if not classes.is_new[position]:
        raise ValueError(
            f"The class {name!r} is known: rows carry its label. Only new classes can be discarded. To drop a known "
            f"class, remove its labels and fit again."
        )
    if len(classes) == 1:
        raise ValueError(f"The class {name!r} is the only one, and cannot be discarded. Split it first, or fit again.")
    return _with_groups(fitted, np.where(classes.component_class == position, NO_CLASS, classes.component_class))


def _discard_sentence(before: Fitted, after: Fitted, class_name: Any) -> str:
    position = before.classes.position(class_name)
    moved = f"its {_rows(before, position)} moved to the best remaining class, none of them sure"
    return f"“{before.classes.names[position]}” is discarded: {moved}."


# ---- label: changes no class now; the next fit learns from the labels ------------------------------------------------


def label(fitted: Fitted, given: GivenLabels, corrections: GivenLabels = ()) -> Fitted:
    """Labels of rows that had none, and separately other labels for rows that had one."""
    n_rows = len(fitted.row_components)
    for row, _ in [*given, *corrections]:
        if not 0 <= row < n_rows:
            raise ValueError(f"There is no row {row}: expected 0 to {n_rows - 1:,}.")
    return fitted


def _label_sentence(before: Fitted, after: Fitted, given: GivenLabels, corrections: GivenLabels = ()) -> str:
    n = len(given) + len(corrections)
    corrected = f", {len(corrections):,} of them with another label than before" if corrections else ""
    return f"{count(n, 'row is', 'rows are')} labelled{corrected}; a refit learns from that."


def _rows(fitted: Fitted, position: int) -> str:
    """\"120 rows\"."""
    return count(int((fitted.row_classes == position).sum()), "row")


# ---- The registry, by the names in the history of a run --------------------------------------------------------------


class Names(Record, frozen=True):
    """The arguments of `rename`, as the history holds them."""

    names: list[tuple[ClassName, ClassName]]


class Merged(Record, frozen=True):
    """Those of `merge`."""

    classes: list[ClassName]
    into: ClassName | None = None


class OneClass(Record, frozen=True):
    """Those of `split` and `discard`."""

    class_name: ClassName


class NumberOfClasses(Record, frozen=True):
    """Those of `cut`."""

    n_new: int


class RowLabels(Record, frozen=True):
    """Those of `label`."""

    given: list[tuple[Count, str]]
    corrections: list[tuple[Count, str]] = []


class Act(NamedTuple):
    """An act and its sentence; both take the act's own arguments by name, which are plain JSON."""

    apply: Callable[..., Fitted]  # (fitted, **arguments)
    sentence: Callable[..., str]  # (before, after, **arguments)
    arguments: type[Record]  # the form of stored ones


ACTS: dict[str, Act] = {
    "rename": Act(rename, _rename_sentence, Names),
    "merge": Act(merge, _merge_sentence, Merged),
    "split": Act(split, _split_sentence, OneClass),
    "cut": Act(cut, _cut_sentence, NumberOfClasses),
    "discard": Act(discard, _discard_sentence, OneClass),
    "label": Act(label, _label_sentence, RowLabels),
}


def perform(fitted: Fitted, act: str, arguments: Mapping[str, Any]) -> tuple[Fitted, str]:
    """The fitted model after an act, and the sentence that reports it."""
    after = ACTS[act].apply(fitted, **arguments)
    return after, ACTS[act].sentence(fitted, after, **arguments)


# ---- Other classes of the same components: which of them keep id and name, by one rule for all acts -----------------


def _with_groups(fitted: Fitted, group: np.ndarray, surviving_class: int | None = None) -> Fitted:
    """The model with another group for each component; a person has now chosen the number of new classes."""
    classes = _in_order(_regrouped(fitted.classes, group, fitted.component_rows, surviving_class), fitted)
    n_new = int(classes.is_new.sum())
    return replace(fitted, classes=classes, n_new_range=(n_new, n_new))


def _regrouped(classes: Classes, group: np.ndarray, n_rows: np.ndarray, surviving_class: int | None) -> Classes:
    """The classes that `group` makes of the components (NO_CLASS for none); `n_rows` is of each component.

    A class goes to the group with most of its rows, a known one to the group with its labels. Of the classes that go
    to one group, one gives it id and name: `surviving_class`, else a known one, else one that a person named, else the
    largest. The ids of the others are retired. A group to which no class goes gets an id of its own.
    """
    homes = np.array([_home(classes, i, group, n_rows) for i in range(len(classes))])
    size = [int(n_rows[classes.components(i)].sum()) for i in range(len(classes))]

    def claim(i: int) -> tuple[bool, bool, bool, int]:
        return i == surviving_class, not classes.is_new[i], bool(classes.is_named[i]), size[i]

    groups = [g for g in np.unique(group).tolist() if g != NO_CLASS]
    survivors = {g: max(np.flatnonzero(homes == g).tolist(), key=claim) for g in groups if g in homes}
    inherited = sorted(survivors, key=lambda g: survivors[g])
    fresh = [g for g in groups if g not in survivors]
    position = {g: i for i, g in enumerate([*inherited, *fresh])} | {NO_CLASS: NO_CLASS}
    kept = [survivors[g] for g in inherited]
    ids, next_new = _fresh_ids(classes, len(fresh))
    names = [str(i) for i in ids] if classes.names.dtype.kind == "U" else ids
    return replace(
        classes,
        names=_with(classes.names[kept], names),
        ids=_with(classes.ids[kept], ids),
        is_new=np.append(classes.is_new[kept], np.ones(len(fresh), bool)),
        is_named=np.append(classes.is_named[kept], np.zeros(len(fresh), bool)),
        component_class=np.array([position[g] for g in group.tolist()], dtype=int),
        next_new=next_new,
    )


def _home(classes: Classes, position: int, group: np.ndarray, n_rows: np.ndarray) -> int:
    """The group to which a class goes; NO_CLASS if all of it is discarded."""
    own = classes.components(position)
    if not classes.is_new[position]:
        return int(group[own[0]])  # the component of its labels
    own = own[group[own] != NO_CLASS]
    groups, which = np.unique(group[own], return_inverse=True)
    return int(groups[np.bincount(which, n_rows[own]).argmax()]) if len(own) else NO_CLASS


def _fresh_ids(classes: Classes, n: int) -> tuple[list[int] | list[str], int]:
    """Ids that are not and never were the id or name of a class; and the number of the next id."""
    taken = {str(name) for name in (*classes.names.tolist(), *classes.ids.tolist())}
    form = "{}" if classes.ids.dtype.kind == "i" else "new-{}"
    numbers = [i for i in range(classes.next_new, classes.next_new + n + len(taken)) if form.format(i) not in taken][:n]
    after = numbers[-1] + 1 if numbers else classes.next_new
    return (numbers, after) if form == "{}" else ([form.format(i) for i in numbers], after)


def _with(names: np.ndarray, more: list[int] | list[str]) -> np.ndarray:
    return np.array([*names.tolist(), *more]) if more else names


def _in_order(classes: Classes, fitted: Fitted) -> Classes:
    """Known classes in their order, then new ones, the largest first, as after a fit, independent of earlier acts.

    Without a tree, new classes are in the order of their components, each of which was a class that was asked for.
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
