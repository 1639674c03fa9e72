"""From one fit to the next of the same rows: which classes are the same, and keep their ids and names.

- A class that a person named, or that the labels given in it name, keeps its name: each class of the next fit that has
  more than half of its rows from there is part of it. (`split` parts them again.)
- All other new classes are matched one-to-one, so that as many rows as possible stay in their class (Hungarian
  algorithm); a pair counts where more than half of the rows of one are in the other.
- What is left has fresh ids: none is ever reused.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from newfound.acts.regroup import fresh_ids
from newfound.classes import Classes
from newfound.fitted import Fitted

NONE = -1  # nothing of the fit before


class Identity(NamedTuple):
    """What a class is to a person."""

    name: Any
    id: Any
    is_new: bool
    is_named: bool


class Heritage(NamedTuple):
    """Of each new class, by positions of the classes of the fit before: what it is; NONE where it is nothing of it."""

    part_of: np.ndarray  # the class with a name that it is part of, or
    same_as: np.ndarray  # the class without one that it is


def carried_over(before: Fitted, after: Fitted, called: dict[int, str]) -> Classes:
    """The classes of a fit with the ids and names of the fit before; `called` is what its new ones are called."""
    heritage = inherit(overlap(before, after), before.classes, called)
    known = [_known(before.classes, name, called) for name in after.classes.known.tolist()]
    new = [
        _new(before.classes, part, same, called) for part, same in zip(heritage.part_of, heritage.same_as, strict=True)
    ]
    ids, next_new = fresh_ids(_both(before.classes, after.classes), new.count(None))
    fresh = iter([Identity(i, i, True, False) for i in ids])
    return _assembled(after.classes, known, [next(fresh) if of is None else of for of in new], next_new)


def overlap(before: Fitted, after: Fitted) -> np.ndarray:
    """(classes before, new classes after): the rows they share."""
    counts = np.zeros((len(before.classes), len(after.classes)), int)
    np.add.at(counts, (before.row_classes, after.row_classes), 1)
    return counts[:, after.classes.is_new]


def inherit(counts: np.ndarray, before: Classes, called: dict[int, str]) -> Heritage:
    """What each new class is, by the rows it shares with the classes before."""
    from scipy.optimize import linear_sum_assignment

    home, n_rows = counts.argmax(axis=0), counts.sum(axis=0)
    is_part = np.isin(home, list(called)) & (2 * counts.max(axis=0, initial=0) > n_rows)
    same_as = np.full(counts.shape[1], NONE)
    others, free = np.setdiff1d(np.flatnonzero(before.is_new), list(called)), np.flatnonzero(~is_part)
    rows, columns = linear_sum_assignment(counts[np.ix_(others, free)], maximize=True)
    for old, new in zip(others[rows], free[columns], strict=True):
        if 2 * counts[old, new] > min(counts[old].sum(), n_rows[new]):
            same_as[new] = old
    return Heritage(np.where(is_part, home, NONE), same_as)


def _known(before: Classes, name: Any, called: dict[int, str]) -> Identity:
    """A class that labels name: it may have been new, or be there for the first time."""
    new = [position for position, called_so in called.items() if called_so == str(name)]
    positions = [*np.flatnonzero(~before.is_new & (before.names.astype(str) == str(name))), *new]
    return Identity(name, before.ids[positions[0]].item() if positions else name, is_new=False, is_named=True)


def _new(before: Classes, part_of: int, same_as: int, called: dict[int, str]) -> Identity | None:
    """A class that no label names; None where it was not there before."""
    if part_of != NONE:
        kind = type(before.names[part_of].item())
        return Identity(kind(called[part_of]), before.ids[part_of].item(), is_new=True, is_named=True)
    if same_as != NONE:
        return Identity(before.names[same_as].item(), before.ids[same_as].item(), is_new=True, is_named=False)
    return None


def _both(before: Classes, after: Classes) -> Classes:
    """So that a fresh id is none of the ids before and no name of a class after."""
    names = _alike([*before.names.tolist(), *after.known.tolist()])
    ids = _alike([*before.ids.tolist(), *after.known.tolist()])
    numbers = [before.next_new] + ([int(ids.max()) + 1] if ids.dtype.kind == "i" else [])
    return replace(before, names=names, ids=ids, next_new=max(numbers))


def _assembled(after: Classes, known: list[Identity], new: list[Identity], next_new: int) -> Classes:
    """Classes of the same name are one: the first of them tells what it is."""
    identities = {str(of.name): of for of in reversed([*known, *new])}
    order = list(dict.fromkeys(str(of.name) for of in [*known, *new]))
    position = np.array([order.index(str(of.name)) for of in [*known, *new]])
    found = [identities[name] for name in order]
    return Classes(
        names=_alike([of.name for of in found]),
        is_new=np.array([of.is_new for of in found], dtype=bool),
        component_class=position[after.component_class],
        ids=_alike([of.id for of in found]),
        is_named=np.array([of.is_named for of in found], dtype=bool),
        component_is_new=after.component_is_new,
        next_new=next_new,
    )


def _alike(names: list[Any]) -> np.ndarray:
    """Numbers where all are, else text."""
    is_number = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    return np.array(names if is_number else [str(name) for name in names])
