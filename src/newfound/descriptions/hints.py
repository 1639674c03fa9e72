"""Hints for whoever decides about a class: what the class tree would do next, and whom its rows border on."""

from typing import NamedTuple

import numpy as np

from newfound.classes import Classes
from newfound.discovery import ClassTree
from newfound.wording import percent

BORDER = 0.1  # a row borders on another class that is more probable than this
MIN_SHARE = 0.05  # of a class's rows on a border, to be told


class TreeHints(NamedTuple):
    """What the class tree would do next, as far as the number of new classes leaves room for it."""

    closest: tuple[str, ...] = ()  # the two new classes that may be one
    divisible: str | None = None  # the new class that could be two


def tree_hints(tree: ClassTree | None, classes: Classes, n_new_range: tuple[int, int]) -> TreeHints:
    """Fewer or more classes are hinted at only where the range of their number says so."""
    closest, divisible = near_and_wide(tree, classes)
    n_new = int(classes.is_new.sum())
    return TreeHints(tuple(closest) if n_new_range[0] < n_new else (), divisible if n_new < n_new_range[1] else None)


def near_and_wide(tree: ClassTree | None, classes: Classes) -> tuple[list[str], str | None]:
    """Which two new classes the tree would join next, and which one it would divide."""
    components = np.array(classes.new_components, dtype=int)
    if tree is None or len(components) == 0:
        return [], None
    own = tree.among(components - (classes.n_components - tree.n_fragments))
    position = classes.component_class[components]
    held = [{int(i)} for i in position]  # by each node: the classes of its fragments
    closest: list[str] = []
    divisible = None
    for a, b in own.children.tolist():
        held.append(held[a] | held[b])
        if len(held[-1]) == 1:  # the last such join parts the widest class
            divisible = str(classes.names[next(iter(held[-1]))])
        elif not closest and len(held[a]) == len(held[b]) == 1:
            closest = [str(classes.names[i]) for i in sorted(held[-1])]
    return closest if classes.is_new.sum() > 2 else [], divisible  # two have no choice


def hints_for(name: str, tree: TreeHints, border: tuple[str, float] | None) -> tuple[str, ...]:
    """The hints in words."""
    said = ["It could be two classes."] if name == tree.divisible else []
    pair = tree.closest if name in tree.closest else ()
    said += [f"Close to “{other}”; the two may be one class." for other in pair if other != name]
    if border is not None and border[1] >= MIN_SHARE:
        said.append(f"{percent(border[1])} of it borders on “{border[0]}”.")
    return tuple(said)


def border_of(
    position: int, rows: np.ndarray, weight: np.ndarray, probabilities: np.ndarray
) -> tuple[int, float] | None:
    """The class that most of these rows border on, and their share.

    A row borders on the most probable other class, if that is more probable than BORDER. `probabilities` are of
    classes, for all rows; `rows` are flags of those of the class at `position`.
    """
    others = probabilities[rows].astype(float)
    if not len(others) or others.shape[1] < 2:
        return None
    others[:, position] = -1.0
    second = others.argmax(axis=1)
    is_border = others.max(axis=1) > BORDER
    shares = np.bincount(second, weight[rows] * is_border, minlength=others.shape[1]) / weight[rows].sum()
    return int(shares.argmax()), float(shares.max())
