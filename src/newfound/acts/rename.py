"""What a class is called."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from newfound.classes import Classes
from newfound.fitted import Fitted
from newfound.labels import means_unlabelled
from newfound.wording import and_list


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
